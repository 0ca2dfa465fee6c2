import { useEffect, useState } from "preact/hooks";
import type { CheckReport } from "../../../src/answers/numbers.ts";
import { Card, Empty, Problem, Skeleton } from "../parts/card.tsx";
import { countFindings } from "../parts/findings.tsx";
import { Icon } from "../parts/icon.tsx";
import { Age } from "../parts/job-state.tsx";
import { Top } from "../parts/shell.tsx";
import { type ApiError, read, usePolled } from "../state/api.ts";
import { plural } from "../state/format.ts";
import { announce } from "../state/settings.ts";

type CheckResult = CheckReport["results"][number];

const looks = {
  problem: { icon: "failed", word: "problem" },
  warning: { icon: "warning", word: "warning" },
  ok: { icon: "calm", word: "ok" },
} as const;

/** Commands are quoted with backticks. */
const Words = ({ text }: { readonly text: string }) => (
  <>{text.split("`").map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part))}</>
);

const Row = ({ finding: { check, status, summary, advice } }: { readonly finding: CheckResult }) => (
  <li class={`finding ${status}`} data-row="">
    <span class="mark">
      <Icon name={looks[status].icon} /> {looks[status].word}
    </span>
    <span class="strong">{check}</span>
    <div>
      <p>{summary}</p>
      {advice !== null && (
        <p class="dim">
          <Words text={advice} />
        </p>
      )}
    </div>
  </li>
);

const Findings = ({
  title,
  findings,
}: {
  readonly title: string;
  readonly findings: readonly CheckResult[];
}) =>
  findings.length === 0 ? null : (
    <Card title={title} note={plural(findings.length, "check")} flush>
      <ul class="findings">
        {findings.map((finding, index) => (
          <Row key={index} finding={finding} />
        ))}
      </ul>
    </Card>
  );

/** The last check, and a function that runs another one. */
const useExamination = () => {
  const polled = usePolled<CheckReport>("doctor", 30_000);
  const [own, setOwn] = useState<CheckReport>();
  const [error, setError] = useState<ApiError>();
  const [isLooking, setLooking] = useState(false);
  const lookAgain = async (): Promise<void> => {
    setLooking(true);
    try {
      const found = await read<CheckReport>("doctor/again");
      setOwn(found);
      setError(undefined);
      announce(`Doctor has looked: ${countFindings(found) ?? "all is well"}.`);
    } catch (problem) {
      setError(problem as ApiError);
    }
    setLooking(false);
  };
  // A check of another viewer may be later.
  useEffect(() => setOwn(undefined), [polled.data]);
  return { data: own ?? polled.data, error: error ?? polled.error, isLooking, lookAgain };
};

export const DoctorPage = () => {
  const { data, error, isLooking, lookAgain } = useExamination();
  const trouble = data?.results.filter(({ status }) => status !== "ok") ?? [];
  const well = data?.results.filter(({ status }) => status === "ok") ?? [];
  return (
    <>
      <Top title="Doctor" />
      {error !== undefined && <Problem error={error} />}
      {data === undefined && error === undefined && <Skeleton />}
      {data !== undefined && (
        <>
          <div class="row">
            <p class="dim">
              {data.isThorough ? "Full check" : "Quick check"}, <Age at={data.checkedAt} />.
              {!data.isThorough && " Look again for all checks."}
            </p>
            <button type="button" class="button side" disabled={isLooking} onClick={() => void lookAgain()}>
              <Icon name="redrive" />
              {isLooking ? "Looking …" : "Look again"}
            </button>
          </div>
          {trouble.length === 0 ? (
            <div class="card">
              <Empty title="All is well.">
                Nothing was found that slows or stops jobs. The same checks: <code>leasehold doctor</code>.
              </Empty>
            </div>
          ) : (
            <Findings
              title="Needs attention"
              findings={[...trouble].sort((a, b) => a.status.localeCompare(b.status))}
            />
          )}
          <Findings title="In order" findings={well} />
        </>
      )}
    </>
  );
};
