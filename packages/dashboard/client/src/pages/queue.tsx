import { Empty, Problem, Skeleton } from "../parts/card.tsx";
import { HeatMap } from "../parts/heat-map.tsx";
import { Link } from "../parts/link.tsx";
import { MomentBar, RangePicker } from "../parts/range-bar.tsx";
import { Top } from "../parts/shell.tsx";
import { Failures, Throughput } from "../parts/throughput.tsx";
import { countUnfinished, describeQueue, type Known, useKnown } from "../state/queue-rows.ts";
import { useTimeToStart, withMoment } from "../state/range.ts";
import { offers } from "../state/session.ts";
import { QueueFigures } from "./queue/figures.tsx";
import { QueueLimits } from "./queue/limits.tsx";
import { describeTypes, QueueWorkers, TypeTable } from "./queue/tables.tsx";

/** Whether a queue is known: it has jobs, counts, workers or rules. */
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
        ? "No job waits, runs or has failed, none came in the time that is shown, and no worker serves it. Choose a longer range, or see "
        : "Choose another time, or see "}
      <Link class="link" to={withMoment("/queues")}>
        all queues
      </Link>
      .
    </Empty>
  </div>
);

export const QueuePage = ({ queue }: { readonly queue: string }) => {
  const { isNow, known, error, isComplete, reloadRules } = useKnown(queue);
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
          {isNow && offers("limits") && rules !== undefined && (
            <QueueLimits
              queue={queue}
              rules={rules.filter((rule) => rule.queue === queue)}
              typeNames={describeTypes(queue, known).map(({ typeName }) => typeName)}
              onDone={reloadRules}
            />
          )}
        </>
      )}
    </>
  );
};
