import { MomentBar, RangePicker } from "../parts/moment-bar.tsx";
import { Problem, Skeleton } from "../parts/notice.tsx";
import { QueueTable } from "../parts/queue-table.tsx";
import { Top } from "../parts/shell.tsx";
import { useKnown } from "../state/known.ts";
import { useTimeToStart } from "../state/moment.ts";
import { describeQueues } from "../state/queue-rows.ts";
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
