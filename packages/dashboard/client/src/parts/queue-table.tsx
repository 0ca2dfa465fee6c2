import type { TimeToStart, TypeBacklog } from "../../../src/answers/numbers.ts";
import { formatCount, formatDuration } from "../state/format.ts";
import { emptyIn, type QueueRow, sum } from "../state/queue-rows.ts";
import { rangeEnd, queuePath, range } from "../state/range.ts";
import { offers } from "../state/session.ts";
import { Card, Empty, Scroll } from "./card.tsx";
import { AgeCell, CountCell, DurationCell, lateMs, RateCell, Spark } from "./figures.tsx";
import { Link } from "./link.tsx";
import { SortHead, sortRows } from "./sort.tsx";

const parts = [
  ["runnable", "runnable"],
  ["throttled", "throttled"],
  ["later", "for later"],
  ["running", "running"],
  ["blocked", "blocked"],
] as const;

/** What is not finished, by state. */
const BacklogBar = ({ backlog }: { readonly backlog: TypeBacklog }) => {
  const total = sum(parts, ([name]) => backlog[name]);
  let x = 0;
  return (
    <svg class="bar" viewBox="0 0 100 8" preserveAspectRatio="none" aria-hidden="true">
      <rect class="part-none" width="100" height="8" />
      {total > 0 &&
        parts.map(([name]) => {
          const width = (100 * backlog[name]) / total;
          const from = x;
          x += width;
          return width === 0 ? null : (
            <rect key={name} class={`part-${name}`} x={from} width={width} height="8" />
          );
        })}
    </svg>
  );
};

const BacklogLegend = () => (
  <span class="legend">
    {parts.map(([name, words]) => (
      <span key={name}>
        <i class={`key-${name}`} /> {words}
      </span>
    ))}
  </span>
);

const NameCell = ({ row: { queue, isPaused } }: { readonly row: QueueRow }) => (
  <td>
    {queue === "" ? (
      <span class="dim">other queues</span>
    ) : (
      <Link class="strong" to={queuePath(queue)}>
        {queue}
      </Link>
    )}
    {isPaused && <span class="tag new">paused</span>}
  </td>
);

const EmptyIn = ({ row }: { readonly row: QueueRow }) => {
  const time = emptyIn(row);
  if (time === undefined) return <span class="dim">–</span>;
  if (time === "paused") return <span class="dim">paused</span>;
  if (time === "grows") return <span class="bad">grows</span>;
  return <>{(row.isCapped ? "over " : "") + formatDuration(time)}</>;
};

/** A queue without a live worker is marked if something waits in it. */
const WorkersCell = ({ row: { workers, backlog } }: { readonly row: QueueRow }) => (
  <td class={workers === 0 && backlog.runnable > 0 ? "number bad" : "number"}>
    {workers === undefined ? <span class="dim">–</span> : formatCount(workers)}
  </td>
);

interface Rows {
  readonly rows: readonly QueueRow[];
  readonly timeToStart: TimeToStart | undefined;
}

/** How many jobs ended over time. */
const EndedCell = ({ queue, timeToStart }: { readonly queue: string } & Omit<Rows, "rows">) => {
  const ended = timeToStart?.queues.find((row) => row.queue === queue)?.ended;
  if (timeToStart === undefined || ended === undefined) return <td />;
  const { from, before, bucketMs } = timeToStart;
  // An incomplete bucket would look like a drop.
  const whole = Math.floor((Date.parse(before) - Date.parse(from)) / bucketMs);
  return (
    <td>
      <Spark values={ended.slice(0, whole)} />
    </td>
  );
};

const PresentTable = ({ rows, timeToStart }: Rows) => (
  <table class="queues">
    <thead>
      <tr>
        <SortHead name="queue">Queue</SortHead>
        <th>Unfinished</th>
        <SortHead name="runnable" number>
          Runnable
        </SortHead>
        <SortHead name="running" number>
          Running
        </SortHead>
        <SortHead name="failed" number>
          Failed
        </SortHead>
        {offers("history") && (
          <>
            <th class="number">In</th>
            <th class="number">Out</th>
            <th>Ended</th>
            <th class="number">Start p50</th>
            <SortHead name="p95" number>
              p95
            </SortHead>
          </>
        )}
        <SortHead name="oldest">Oldest</SortHead>
        {offers("history") && (
          <>
            <th class="number" title={`At the rates of ${range.value[3]}`}>
              Empty in
            </th>
            <th class="number">Workers</th>
          </>
        )}
      </tr>
    </thead>
    <tbody>
      {rows.map((row) => {
        const { queue, backlog, numbers, perSecond } = row;
        return (
          <tr key={queue} data-row="">
            <NameCell row={row} />
            <td>
              <BacklogBar backlog={backlog} />
            </td>
            <CountCell count={backlog.runnable} filter={{ queue, status: "pending", due: "now" }} />
            <CountCell count={backlog.running} filter={{ queue, status: "running" }} />
            <CountCell count={backlog.failed} filter={{ queue, status: "failed" }} isBad />
            {offers("history") && (
              <>
                <RateCell perSecond={perSecond?.in} />
                <RateCell perSecond={perSecond?.out} />
                <EndedCell queue={queue} timeToStart={timeToStart} />
                <DurationCell ms={numbers.startP50} />
                <DurationCell ms={numbers.startP95} late={lateMs} />
              </>
            )}
            <AgeCell since={backlog.oldestRunnableAt} />
            {offers("history") && (
              <>
                <td class="number">
                  <EmptyIn row={row} />
                </td>
                <WorkersCell row={row} />
              </>
            )}
          </tr>
        );
      })}
    </tbody>
  </table>
);

const PastTable = ({ rows, timeToStart }: Rows) => (
  <table class="queues">
    <thead>
      <tr>
        <th>Queue</th>
        <th class="number">Created</th>
        <th class="number">Completed</th>
        <th class="number">Failed</th>
        <th class="number">Retried</th>
        <th class="number">In</th>
        <th class="number">Out</th>
        <th>Ended</th>
        <th class="number">Start p50</th>
        <th class="number">p95</th>
        <th class="number">Run p50</th>
        <th class="number">p95</th>
      </tr>
    </thead>
    <tbody>
      {rows.map((row) => {
        const { queue, numbers, perSecond } = row;
        return (
          <tr key={queue} data-row="">
            <NameCell row={row} />
            <td class="number">{formatCount(numbers.created)}</td>
            <td class="number">{formatCount(numbers.completed)}</td>
            <td class={numbers.failed > 0 ? "number bad" : "number"}>{formatCount(numbers.failed)}</td>
            <td class="number">{formatCount(numbers.retried)}</td>
            <RateCell perSecond={perSecond?.in} />
            <RateCell perSecond={perSecond?.out} />
            <EndedCell queue={queue} timeToStart={timeToStart} />
            <DurationCell ms={numbers.startP50} />
            <DurationCell ms={numbers.startP95} late={lateMs} />
            <DurationCell ms={numbers.runP50} />
            <DurationCell ms={numbers.runP95} />
          </tr>
        );
      })}
    </tbody>
  </table>
);

const sortable: Readonly<Record<string, (row: QueueRow) => string | number | null>> = {
  queue: ({ queue }) => queue,
  runnable: ({ backlog }) => backlog.runnable,
  running: ({ backlog }) => backlog.running,
  failed: ({ backlog }) => backlog.failed,
  p95: ({ numbers }) => numbers.startP95,
  oldest: ({ backlog }) => backlog.oldestRunnableAt,
};

/** All queues, as they are or as they were. */
export const QueueTable = ({ rows, timeToStart }: Rows) => {
  const isPast = rangeEnd.value !== undefined;
  if (rows.length === 0)
    return (
      <Card title="Queues">
        {isPast ? (
          <Empty icon="queues" title="No queue had jobs then.">
            Counts are kept for 90 days. Choose another time, or a longer range.
          </Empty>
        ) : (
          <Empty icon="queues" title="Nothing waits, runs or has failed.">
            All jobs have completed, or none was started. Those that completed are under{" "}
            <Link class="link" to="/jobs">
              Jobs
            </Link>
            .
          </Empty>
        )}
      </Card>
    );
  return (
    <Card title="Queues" flush side={!isPast && <BacklogLegend />}>
      <Scroll label="Queues">
        {isPast ? (
          <PastTable rows={rows} timeToStart={timeToStart} />
        ) : (
          <PresentTable rows={sortRows(rows, sortable)} timeToStart={timeToStart} />
        )}
      </Scroll>
    </Card>
  );
};
