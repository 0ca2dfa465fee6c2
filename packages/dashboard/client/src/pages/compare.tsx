import type { ComparedSide, Comparison } from "../../../src/answers/numbers.ts";
import { Card, Empty, Problem, Scroll, Skeleton } from "../parts/card.tsx";
import { Icon, type IconName } from "../parts/icon.tsx";
import { Time } from "../parts/job-state.tsx";
import { Link } from "../parts/link.tsx";
import { Segments, Top } from "../parts/shell.tsx";
import { usePolled } from "../state/api.ts";
import { formatCount, formatDuration, formatShare } from "../state/format.ts";
import { changeQuery, jobsPath, place, withQuery } from "../state/router.ts";
import { offers } from "../state/session.ts";

const ranges = [
  ["1h", "1 h", 60],
  ["24h", "24 h", 24 * 60],
  ["7d", "7 d", 7 * 24 * 60],
  ["30d", "30 d", 30 * 24 * 60],
] as const;

type Range = (typeof ranges)[number][0];

const nameOf = (deployment: string): string => (deployment === "(none)" ? "no deployment" : deployment);

const Choice = ({
  label,
  name,
  value,
  deployments,
}: {
  readonly label: string;
  readonly name: "one" | "other";
  readonly value: string | null;
  readonly deployments: Comparison["deployments"];
}) => (
  <label class="filter">
    {label}
    <select
      value={value ?? undefined}
      onChange={(event) => changeQuery({ [name]: event.currentTarget.value })}
    >
      {deployments.map(({ deployment, ended }) => (
        <option key={deployment} value={deployment} selected={deployment === value}>
          {nameOf(deployment)} ({formatCount(ended)} ended)
        </option>
      ))}
    </select>
  </label>
);

const verdicts: Readonly<Record<string, { icon: IconName; words: string; look: string }>> = {
  too_few: { icon: "skipped", words: "too few to judge", look: "dim" },
  same: { icon: "check", words: "no clear difference", look: "dim" },
  more: { icon: "failed", words: "more failures", look: "bad" },
  fewer: { icon: "calm", words: "fewer failures", look: "good" },
  slower: { icon: "warning", words: "slower", look: "bad" },
  faster: { icon: "calm", words: "faster", look: "good" },
};

const Verdict = ({ verdict }: { readonly verdict: string }) => {
  const { icon, words, look } = verdicts[verdict]!;
  return (
    <span class={`verdict ${look}`}>
      <Icon name={icon} /> {words}
    </span>
  );
};

const Failures = ({ side }: { readonly side: ComparedSide }) =>
  side.ended === 0 ? (
    <span class="dim">–</span>
  ) : (
    <>
      {formatShare(side.failed, side.ended)} <span class="small dim">of {formatCount(side.ended)}</span>
    </>
  );

const RunTime = ({ side }: { readonly side: ComparedSide }) =>
  side.runP50 === null || side.runP95 === null ? (
    <span class="dim">–</span>
  ) : (
    <>
      {formatDuration(side.runP50)} · {formatDuration(side.runP95)}{" "}
      <span class="small dim">of {formatCount(side.attempts)}</span>
    </>
  );

const Row = ({ type }: { readonly type: Comparison["types"][number] }) => (
  <tr data-row="">
    <td>
      <Link class="strong" to={jobsPath({ queue: type.queue, typeName: type.typeName })}>
        {type.typeName}
      </Link>{" "}
      <span class="small dim">{type.queue}</span>
    </td>
    <td class="number">
      <Failures side={type.one} />
    </td>
    <td class="number">
      <Failures side={type.other} />
    </td>
    <td>
      <Verdict verdict={type.failures} />
    </td>
    <td class="number">
      <RunTime side={type.one} />
    </td>
    <td class="number">
      <RunTime side={type.other} />
    </td>
    <td>
      <Verdict verdict={type.runTime} />
    </td>
  </tr>
);

const Table = ({ data }: { readonly data: Comparison }) => (
  <Card
    title="By type"
    flush
    note={
      <>
        since <Time at={data.from} seconds={false} />; run times are estimates of p50 and p95
      </>
    }
  >
    <Scroll label="Types of both deployments">
      <table>
        <thead>
          <tr>
            <th>Type</th>
            <th class="number">Failed, {nameOf(data.one!)}</th>
            <th class="number">Failed, {nameOf(data.other!)}</th>
            <th>Failures</th>
            <th class="number">Run, {nameOf(data.one!)}</th>
            <th class="number">Run, {nameOf(data.other!)}</th>
            <th>Run time</th>
          </tr>
        </thead>
        <tbody>
          {data.types.map((type) => (
            <Row key={`${type.queue} ${type.typeName}`} type={type} />
          ))}
        </tbody>
      </table>
    </Scroll>
  </Card>
);

const Content = ({ data }: { readonly data: Comparison }) => {
  if (data.deployments.length === 0 || data.one === null || data.other === null)
    return (
      <div class="card">
        <Empty icon="compare" title="There is nothing to compare yet.">
          This needs finished jobs of two deployments. Name the version of your program with{" "}
          <code>createLeasehold({"{ deployment }"})</code>, or choose a longer time.
        </Empty>
      </div>
    );
  return (
    <>
      <div class="row">
        <Choice label="Compare" name="one" value={data.one} deployments={data.deployments} />
        <Choice label="with" name="other" value={data.other} deployments={data.deployments} />
      </div>
      {data.types.length === 0 ? (
        <div class="card">
          <Empty icon="compare" title="Neither of them has ended a job in this time." />
        </div>
      ) : (
        <Table data={data} />
      )}
      <p class="small dim">
        Fewer than {data.fewestSamples} jobs of a type are too few to judge. Failures differ clearly where
        chance alone would rarely do that, run times where they differ by a factor of two: they are estimated
        in steps.
      </p>
    </>
  );
};

/** Failures and run time of two deployments, type by type. */
export const ComparePage = () => {
  const { query } = place.value;
  const range = ranges.find(([key]) => key === query.get("range")) ?? ranges[1];
  const { data, error } = usePolled<Comparison>(
    offers("history")
      ? withQuery("deployments/compare", {
          minutes: String(range[2]),
          one: query.get("one") ?? undefined,
          other: query.get("other") ?? undefined,
        })
      : null,
    30_000,
  );
  return (
    <>
      <Top title="Compare deployments">
        <Segments<Range>
          label="Time range"
          options={ranges.map(([key, name]) => [key, name] as const)}
          value={range[0]}
          onChange={(next) => changeQuery({ range: next === "24h" ? undefined : next })}
        />
      </Top>
      {error !== undefined && <Problem error={error} />}
      {!offers("history") && (
        <div class="card">
          <Empty icon="compare" title="This store keeps no statistics of deployments." />
        </div>
      )}
      {offers("history") && data === undefined && error === undefined && <Skeleton />}
      {data !== undefined && <Content data={data} />}
    </>
  );
};
