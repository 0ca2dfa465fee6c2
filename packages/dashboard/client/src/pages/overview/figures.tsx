import type { Backlog, Statistics } from "../../../../src/answers/numbers.ts";
import { Figure } from "../../parts/figures.tsx";
import { formatAge, formatCount, formatDuration, formatShare, plural, rateOf } from "../../state/format.ts";
import { secondsOf, sum } from "../../state/queue-rows.ts";
import { queuePath } from "../../state/range.ts";
import { jobsPath } from "../../state/router.ts";
import { now } from "../../state/settings.ts";

/** Jobs created and ended in the shown range. */
const CountedFigures = ({ statistics }: { readonly statistics: Statistics }) => {
  const { points, from, before } = statistics;
  const seconds = secondsOf(statistics);
  const created = sum(points, (point) => point.created);
  const completed = sum(points, (point) => point.completed);
  return (
    <>
      <Figure
        label="Created"
        {...rateOf(created / seconds)}
        note={plural(created, "job")}
        to={jobsPath({ createdFrom: from, createdBefore: before })}
      />
      <Figure
        label="Completed"
        {...rateOf(completed / seconds)}
        note={plural(completed, "job")}
        to={jobsPath({ status: "completed", finishedFrom: from, finishedBefore: before })}
      />
    </>
  );
};

const shareLost = ({ points }: Statistics): string => {
  const lost = sum(points, ({ failed }) => failed);
  return `${formatShare(lost, lost + sum(points, ({ completed }) => completed))} of what ended`;
};

/** The figures of now. */
export const PresentFigures = ({
  known: { types, cap },
  statistics,
}: {
  readonly known: Backlog;
  readonly statistics: Statistics | undefined;
}) => {
  const isCapped = types.some(({ runnable }) => runnable >= cap);
  const runnable = sum(types, (type) => type.runnable);
  const most = [...types].sort((a, b) => b.runnable - a.runnable)[0];
  const oldest = types
    .filter(({ oldestRunnableAt }) => oldestRunnableAt !== null)
    .sort((a, b) => Date.parse(a.oldestRunnableAt!) - Date.parse(b.oldestRunnableAt!))[0];
  const failed = sum(types, (type) => type.failed);
  const expired = sum(types, (type) => type.expired);
  return (
    <div class="figures">
      {statistics !== undefined && <CountedFigures statistics={statistics} />}
      <Figure
        label="Failed"
        value={formatCount(failed)}
        note={statistics === undefined ? "kept until redriven or deleted" : shareLost(statistics)}
        to="/failed"
        tone={failed > 0 ? "bad" : ""}
      />
      <Figure
        label="Runnable now"
        value={formatCount(runnable) + (isCapped ? "+" : "")}
        note={most === undefined || most.runnable === 0 ? "nothing waits" : `most of them ${most.typeName}`}
        to={jobsPath({ status: "pending", due: "now" })}
      />
      <Figure
        label="Oldest runnable"
        value={oldest === undefined ? "–" : formatAge(now.value - Date.parse(oldest.oldestRunnableAt!))}
        note={oldest === undefined ? "nothing waits" : `${oldest.typeName} in ${oldest.queue}`}
        to={jobsPath(
          oldest === undefined
            ? { status: "pending", due: "now" }
            : { status: "pending", due: "now", queue: oldest.queue, typeName: oldest.typeName },
        )}
      />
      <Figure
        label="Running"
        value={formatCount(sum(types, (type) => type.running))}
        note={expired === 0 ? "all leases held" : `${formatCount(expired)} with an expired lease`}
        to={jobsPath({ status: "running" })}
        tone={expired > 0 ? "bad" : ""}
      />
    </div>
  );
};

const slowest = (statistics: Statistics) =>
  [...statistics.queues].sort((a, b) => (b.startP95 ?? -1) - (a.startP95 ?? -1))[0];

/** The figures of a past range: only counts, because the backlog is not stored. */
export const PastFigures = ({ statistics }: { readonly statistics: Statistics }) => {
  const { points, from, before } = statistics;
  const failed = sum(points, (point) => point.failed);
  const retried = sum(points, (point) => point.retried);
  const leftOver = sum(points, (point) => point.created - point.completed - point.failed);
  const slow = slowest(statistics);
  return (
    <div class="figures">
      <CountedFigures statistics={statistics} />
      <Figure
        label="Failed"
        value={formatCount(failed)}
        note={shareLost(statistics)}
        to={jobsPath({ status: "failed", finishedFrom: from, finishedBefore: before })}
        tone={failed > 0 ? "bad" : ""}
      />
      <Figure
        label={leftOver < 0 ? "Worked off" : "Left over"}
        value={formatCount(Math.abs(leftOver))}
        note={leftOver < 0 ? "more ended than came" : "more came than ended"}
      />
      <Figure
        label="Slowest start, p95"
        value={slow?.startP95 == null ? "–" : formatDuration(slow.startP95)}
        note={slow?.startP95 == null ? "no job started" : `queue ${slow.queue}`}
        to={slow?.startP95 == null ? undefined : queuePath(slow.queue)}
      />
      <Figure label="Retried" value={formatCount(retried)} note="attempts to be repeated" />
    </div>
  );
};
