import { Failures } from "../parts/failures.tsx";
import { HeatMap } from "../parts/heat-map.tsx";
import { Link } from "../parts/link.tsx";
import { MomentBar, RangePicker } from "../parts/moment-bar.tsx";
import { Empty, Problem, Skeleton } from "../parts/notice.tsx";
import { Top } from "../parts/shell.tsx";
import { Throughput } from "../parts/throughput.tsx";
import { useKnown } from "../state/known.ts";
import { useTimeToStart, withMoment } from "../state/moment.ts";
import { countUnfinished, describeQueue, type Known } from "../state/queue-rows.ts";
import { offers } from "../state/session.ts";
import { QueueFigures } from "./queue/figures.tsx";
import { QueueLimits } from "./queue/limits.tsx";
import { TypeTable } from "./queue/type-table.tsx";
import { QueueWorkers } from "./queue/workers.tsx";

/** Whether anybody has heard of a queue. */
const isKnown = (queue: string, { backlog, statistics, processes, rules }: Known): boolean =>
  [...(backlog?.types ?? []), ...(statistics?.types ?? []), ...(rules ?? [])].some(
    (row) => row.queue === queue,
  ) || processes?.some(({ workers }) => workers.some(({ queues }) => queues.includes(queue))) === true;

const NoQueue = ({ isNow }: { readonly isNow: boolean }) => (
  <div class="card">
    <Empty
      icon="queues"
      title={isNow ? "There is nothing in this queue." : "Nothing was counted for this queue then."}
    >
      {isNow
        ? "No job waits, runs or has failed, none came in the time that is shown, and no worker serves it. Choose a longer time, or look at "
        : "Look at another moment, or at "}
      <Link class="link" to={withMoment("/queues")}>
        all queues
      </Link>
      .
    </Empty>
  </div>
);

export const QueuePage = ({ queue }: { readonly queue: string }) => {
  const { isNow, known, error, isComplete } = useKnown(queue);
  const { data: timeToStart } = useTimeToStart(queue);
  const { statistics, processes, rules } = known;
  const row = describeQueue(queue, known);
  return (
    <>
      <Top title={queue}>
        <RangePicker />
      </Top>
      <p class="crumbs">
        <Link class="link" to={withMoment("/queues")}>
          All queues
        </Link>
      </p>
      <MomentBar statistics={statistics} />
      {error !== undefined && <Problem error={error} />}
      {!isComplete && error === undefined && <Skeleton rows={8} />}
      {isComplete && !isKnown(queue, known) && <NoQueue isNow={isNow} />}
      {isComplete && isKnown(queue, known) && (
        <>
          <QueueFigures row={row} statistics={statistics} />
          {statistics !== undefined && (
            <div class="columns wide-narrow">
              <Throughput statistics={statistics} unfinished={countUnfinished(known.backlog, queue)} />
              <Failures statistics={statistics} queue={queue} />
            </div>
          )}
          {timeToStart !== undefined && <HeatMap title="Time to start" data={timeToStart} />}
          <TypeTable queue={queue} known={known} />
          {processes !== undefined && <QueueWorkers queue={queue} processes={processes} />}
          {isNow && offers("flow") && rules !== undefined && (
            <QueueLimits queue={queue} rules={rules.filter((rule) => rule.queue === queue)} />
          )}
        </>
      )}
    </>
  );
};
