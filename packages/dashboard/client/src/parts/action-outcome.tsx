import { useEffect, useRef, useState } from "preact/hooks";
import { toSegment } from "../../../src/http/path-segment.ts";
import type { ActionKind, ActionProgress, LoggedAction, Plan } from "../../../src/answers/jobs.ts";
import { formatSkip, kinds, standOf } from "../state/action.ts";
import { act, type ApiError, usePolled } from "../state/api.ts";
import { formatCount, formatDuration, plural, shortId } from "../state/format.ts";
import { jobPath } from "../state/router.ts";
import { announce } from "../state/settings.ts";
import { Problem } from "./card.tsx";
import { Icon } from "./icon.tsx";
import { Link } from "./link.tsx";

interface Sample {
  readonly at: number;
  readonly done: number;
}

const mostSamples = 20;

/** How many jobs a second, over the last reports; undefined until there are two. */
const usePace = (done: number, isOver: boolean): number | undefined => {
  const samples = useRef<Sample[]>([]);
  const last = samples.current.at(-1);
  if (!isOver && last?.done !== done)
    samples.current = [...samples.current, { at: performance.now(), done }].slice(-mostSamples);
  const [first] = samples.current;
  const latest = samples.current.at(-1);
  if (first === undefined || latest === undefined || latest.done <= first.done) return undefined;
  return (latest.done - first.done) / ((latest.at - first.at) / 1_000);
};

/** An action under way, or how it ended. */
export const Progress = ({
  kind,
  id,
  onEnd,
}: {
  readonly kind: ActionKind;
  readonly id: string;
  onEnd(): void;
}) => {
  const [everyMs, setEveryMs] = useState(600);
  const { data, error, reload } = usePolled<LoggedAction>(`actions/${toSegment(id)}`, everyMs, {
    evenPaused: true,
  });
  const progress: ActionProgress = data?.result ?? { state: "running" };
  const { changed = 0, skipped = 0, revived = 0, expected = null } = progress;
  const done = changed + skipped;
  const { state, words, isOver, canStop, canResume } = standOf(progress);
  useEffect(() => {
    if (!isOver) return;
    announce(`${kinds[kind].name}: ${words}. ${plural(changed, "job")}.`);
    setEveryMs(60_000);
    onEnd();
  }, [isOver, state]);
  // Without a number the bar shows that it runs, not how far it is.
  const share =
    state === "done" ? 1 : expected === null ? undefined : Math.min(1, done / Math.max(1, expected));
  const pace = usePace(done, isOver);
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
        {formatCount(changed)} {kinds[kind].done[changed === 1 ? 0 : 1]}
        {revived > 0 && `, ${formatCount(revived)} wait for them again`}
        {skipped > 0 && `, ${formatCount(skipped)} were left alone`}.
      </p>
      <progress max={1} value={share} aria-label={`${kinds[kind].name}, ${words}`} />
      {!isOver && (
        <p class="small dim">
          {expected !== null && `${formatCount(done)} of ${formatCount(expected)}`}
          {pace !== undefined && `${expected === null ? "" : " · "}${formatCount(Math.round(pace))} a second`}
          {pace !== undefined &&
            expected !== null &&
            expected > done &&
            ` · about ${formatDuration(((expected - done) / pace) * 1_000)} left`}
        </p>
      )}
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
  const { changed, total, revived, failed, skipped, isExact } = plan.preview;
  if (changed === 0)
    return skipped === 0
      ? "There is nothing to do: no job fits."
      : "Nothing would change: all of them are left alone.";
  const among = isExact
    ? skipped === 0
      ? unitOf(plan, changed)
      : `${formatCount(changed)} of ${unitOf(plan, changed + skipped)}`
    : total === null
      ? `More than ${unitOf(plan, changed)}`
      : `Up to ${unitOf(plan, total)}`;
  const besides = [
    revived === 0
      ? ""
      : `, and ${plural(revived, "job")} that failed because of them would wait for them again`,
    failed === 0
      ? ""
      : `, and ${plural(failed, "job")} that ${failed === 1 ? "waits" : "wait"} for ${changed === 1 ? "it" : "them"} would fail`,
  ].join("");
  return `${among} ${kinds[kind].would}${besides}.`;
};

export const Outcomes = ({ kind, plan }: { readonly kind: ActionKind; readonly plan: Plan }) => {
  const { changed, revived, failed, goesOn, reasons, examples } = plan.preview;
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
      {failed > 0 && (
        <li class="failed">
          <Icon name="failed" />
          <span>would fail: {failed === 1 ? "it waits" : "they wait"} for a job that is cancelled</span>
          <b>{formatCount(failed)}</b>
        </li>
      )}
      {goesOn !== null && goesOn > 0 && (
        <li>
          <Icon name="play" />
          <span>would go on: other unfinished jobs of the same trees</span>
          <b>{formatCount(goesOn)}</b>
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
