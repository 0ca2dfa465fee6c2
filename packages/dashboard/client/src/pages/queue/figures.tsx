import type { Statistics } from "../../../../src/answers/numbers.ts";
import { Figure } from "../../parts/figures.tsx";
import { formatAge, formatCount, formatDuration, formatShare, plural, rateOf } from "../../state/format.ts";
import { emptyIn, type QueueRow } from "../../state/queue-rows.ts";
import { rangeEnd, range } from "../../state/range.ts";
import { jobsPath } from "../../state/router.ts";
import { now } from "../../state/settings.ts";

const rateFigures = ({ numbers, perSecond, queue }: QueueRow, { from, before }: Statistics) => {
  const ended = numbers.completed + numbers.failed;
  return (
    <>
      <Figure
        label="In"
        {...rateOf(perSecond?.in ?? 0)}
        note={`${plural(numbers.created, "job")} created`}
        to={jobsPath({ queue, createdFrom: from, createdBefore: before })}
      />
      <Figure
        label="Out"
        {...rateOf(perSecond?.out ?? 0)}
        note={`${formatCount(ended)} ended, ${formatShare(numbers.failed, ended)} failed`}
        to={jobsPath({ queue, status: ["completed", "failed"], finishedFrom: from, finishedBefore: before })}
      />
      <Figure
        label="Time to start, p95"
        value={numbers.startP95 === null ? "–" : formatDuration(numbers.startP95)}
        note={numbers.startP50 === null ? "no job started" : `p50 ${formatDuration(numbers.startP50)}`}
      />
      <Figure
        label="Run time, p95"
        value={numbers.runP95 === null ? "–" : formatDuration(numbers.runP95)}
        note={numbers.runP50 === null ? "no job ended" : `p50 ${formatDuration(numbers.runP50)}`}
      />
    </>
  );
};

const emptyWords = (row: QueueRow): string => {
  const time = emptyIn(row);
  if (time === undefined) return row.backlog.runnable === 0 ? "nothing waits" : "rates are not known";
  if (time === "paused") return "it is paused";
  if (time === "grows") return "more come than end";
  return `empty in ${row.isCapped ? "over " : ""}${formatDuration(time)}`;
};

/** The numbers of one queue. A past range has counts only. */
export const QueueFigures = ({
  row,
  statistics,
}: {
  readonly row: QueueRow;
  readonly statistics: Statistics | undefined;
}) => {
  const { queue, backlog, isCapped } = row;
  return (
    <div class="figures of-queue">
      {rangeEnd.value === undefined && (
        <>
          <Figure
            label="Runnable now"
            value={formatCount(backlog.runnable) + (isCapped ? "+" : "")}
            note={<span title={`At the rates of ${range.value[3]}`}>{emptyWords(row)}</span>}
            to={jobsPath({ queue, status: "pending", due: "now" })}
          />
          <Figure
            label="Oldest runnable"
            value={
              backlog.oldestRunnableAt === null
                ? "–"
                : formatAge(now.value - Date.parse(backlog.oldestRunnableAt))
            }
            note={`${formatCount(backlog.later)} for later, ${formatCount(backlog.blocked)} blocked`}
            to={jobsPath({ queue, status: "pending", due: "now", order: "oldest" })}
          />
          <Figure
            label="Running"
            value={formatCount(backlog.running)}
            note={
              row.workers === undefined
                ? "workers are not known"
                : `${plural(row.workers, "live worker")} for it`
            }
            to={jobsPath({ queue, status: "running" })}
          />
          <Figure
            label="Failed"
            value={formatCount(backlog.failed)}
            note="kept until redriven or deleted"
            to={jobsPath({ queue, status: "failed" })}
            tone={backlog.failed > 0 ? "bad" : ""}
          />
        </>
      )}
      {statistics !== undefined && rateFigures(row, statistics)}
    </div>
  );
};
