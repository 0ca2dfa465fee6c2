import { Problem, Skeleton } from "../parts/card.tsx";
import { QueueTable } from "../parts/queue-table.tsx";
import { MomentBar, RangePicker } from "../parts/range-bar.tsx";
import { Top } from "../parts/shell.tsx";
import { describeQueues, useKnown } from "../state/queue-rows.ts";
import { useTimeToStart } from "../state/range.ts";
import { place } from "../state/router.ts";
import { QueuePage } from "./queue.tsx";

const QueueList = () => {
  const { known, error, isComplete } = useKnown();
  const { data: timeToStart } = useTimeToStart();
  return (
    <>
      <Top title="Queues">
        <RangePicker />
      </Top>
      <MomentBar statistics={known.statistics} />
      {error !== undefined && <Problem error={error} />}
      {isComplete && <QueueTable rows={describeQueues(known)} timeToStart={timeToStart} />}
      {!isComplete && error === undefined && <Skeleton />}
    </>
  );
};

/** The name of a queue is in the query: a path cannot have every name, `..` for one. */
export const QueuesPage = () => {
  const queue = place.value.query.get("name");
  return queue === null || queue === "" ? <QueueList /> : <QueuePage key={queue} queue={queue} />;
};
