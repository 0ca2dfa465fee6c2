import { useEffect, useState } from "preact/hooks";
import { toSegment } from "../../../src/http/path-segment.ts";
import type { ActionKind, ActionProgress, LoggedAction, Plan } from "../../../src/answers/jobs.ts";
import { formatSkip, kinds, standOf } from "../state/action.ts";
import { act, type ApiError, usePolled } from "../state/api.ts";
import { formatCount, plural, shortId } from "../state/format.ts";
import { jobPath } from "../state/router.ts";
import { announce } from "../state/settings.ts";
import { Problem } from "./card.tsx";
import { Icon } from "./icon.tsx";
import { Link } from "./link.tsx";

/** An action under way, or how it ended. */
export const Progress = ({
  kind,
  id,
  expected,
  onEnd,
}: {
  readonly kind: ActionKind;
  readonly id: string;
  readonly expected: number;
  onEnd(): void;
}) => {
  const [everyMs, setEveryMs] = useState(600);
  const { data, error, reload } = usePolled<LoggedAction>(`actions/${toSegment(id)}`, everyMs, {
    evenPaused: true,
  });
  const progress: ActionProgress = data?.result ?? { state: "running" };
  const { changed = 0, skipped = 0, revived = 0 } = progress;
  const { state, words, isOver, canStop, canResume } = standOf(progress);
  useEffect(() => {
    if (!isOver) return;
    announce(`${kinds[kind].name}: ${words}. ${plural(changed, "job")}.`);
    setEveryMs(60_000);
    onEnd();
  }, [isOver, state]);
  const share = state === "done" ? 1 : Math.min(1, (changed + skipped) / Math.max(1, expected));
  const call = async (verb: "stop" | "resume"): Promise<void> => {
    await act(`plans/${kind}/${verb}/${toSegment(id)}`).catch((problem: ApiError) =>
      announce(problem.message),
    );
    setEveryMs(600);
    reload();
  };
  return (
    <div class="stack">
      <p class="big">
        {formatCount(changed)} {kinds[kind].done}
        {revived > 0 && `, ${formatCount(revived)} wait for them again`}
        {skipped > 0 && `, ${formatCount(skipped)} were left alone`}.
      </p>
      <progress max={1} value={share} aria-label={`${kinds[kind].name}, ${words}`} />
      <div class="row">
        <span class={`tag ${state === "failed" ? "bad" : ""}`}>{words}</span>
        {progress.error != null && <span class="small">{progress.error}</span>}
        <span class="side row">
          {canStop && (
            <button type="button" class="button" onClick={() => void call("stop")}>
              Stop
            </button>
          )}
          {canResume && (
            <button type="button" class="button" onClick={() => void call("resume")}>
              Resume
            </button>
          )}
          <Link class="link small" to="/actions">
            Log of actions
          </Link>
        </span>
      </div>
      {error !== undefined && <Problem error={error} />}
    </div>
  );
};

export const unitOf = (plan: Plan, count: number): string =>
  plural(count, plan.unit === "trees" ? "tree" : "job");

/** What a dry run found, as a sentence. */
export const foresee = (kind: ActionKind, plan: Plan): string => {
  const { changed, revived, skipped, isExact } = plan.preview;
  if (changed === 0)
    return skipped === 0
      ? "There is nothing to do: no job fits."
      : "Nothing would change: all of them are left alone.";
  const among = isExact
    ? skipped === 0
      ? unitOf(plan, changed)
      : `${formatCount(changed)} of ${unitOf(plan, changed + skipped)}`
    : `More than ${unitOf(plan, changed)}`;
  const besides =
    revived === 0
      ? ""
      : `, and ${plural(revived, "job")} that failed because of them would wait for them again`;
  return `${among} ${kinds[kind].would}${besides}.`;
};

export const Outcomes = ({ kind, plan }: { readonly kind: ActionKind; readonly plan: Plan }) => {
  const { changed, revived, reasons, examples } = plan.preview;
  return (
    <ul class="outcomes">
      {changed > 0 && (
        <li>
          <Icon
            name={
              kind === "redrive" || kind === "edit"
                ? "redrive"
                : kind === "run_now"
                  ? "play"
                  : kind === "reschedule"
                    ? "clock"
                    : "close"
            }
          />
          <span>{kinds[kind].would}</span>
          <b>{formatCount(changed)}</b>
        </li>
      )}
      {revived > 0 && (
        <li>
          <Icon name="blocked" />
          <span>would be blocked again, until those are done</span>
          <b>{formatCount(revived)}</b>
        </li>
      )}
      {Object.entries(reasons).map(([reason, count]) => (
        <li key={reason} class="dim">
          <Icon name="close" />
          <span>left alone: {formatSkip(reason)}</span>
          <b>{formatCount(count)}</b>
        </li>
      ))}
      {plan.unit === "jobs" && examples.changed.length > 0 && (
        <li class="examples small dim">
          <span>
            such as{" "}
            {examples.changed.slice(0, 3).map((id, index) => (
              <>
                {index > 0 && ", "}
                <Link class="link mono" to={jobPath(id)} key={id}>
                  {shortId(id)}
                </Link>
              </>
            ))}
          </span>
        </li>
      )}
    </ul>
  );
};
