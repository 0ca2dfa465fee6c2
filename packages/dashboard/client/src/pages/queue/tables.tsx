import type { Process, TypeBacklog, TypeStatistics } from "../../../../src/answers/numbers.ts";
import { Card, Empty, Scroll } from "../../parts/card.tsx";
import { AgeCell, BusySlots, CountCell, DurationCell, lateMs } from "../../parts/figures.tsx";
import { Age } from "../../parts/job-state.tsx";
import { Link } from "../../parts/link.tsx";
import { formatCount, plural } from "../../state/format.ts";
import { type Known, workersOf } from "../../state/queue-rows.ts";
import { jobsPath } from "../../state/router.ts";
import { offers } from "../../state/session.ts";

interface TypeRow {
  readonly typeName: string;
  readonly backlog: TypeBacklog | undefined;
  readonly numbers: TypeStatistics | undefined;
}

/** The types of a queue, by name. */
export const describeTypes = (queue: string, { backlog, statistics }: Known): TypeRow[] => {
  const waiting = backlog?.types.filter((type) => type.queue === queue) ?? [];
  const counted = statistics?.types.filter((type) => type.queue === queue) ?? [];
  return [...new Set([...waiting, ...counted].map(({ typeName }) => typeName))]
    .sort((a, b) => a.localeCompare(b))
    .map((typeName) => ({
      typeName,
      backlog: waiting.find((type) => type.typeName === typeName),
      numbers: counted.find((type) => type.typeName === typeName),
    }));
};

const none: TypeBacklog = {
  queue: "",
  typeName: "",
  runnable: 0,
  throttled: 0,
  overdue: 0,
  later: 0,
  running: 0,
  expired: 0,
  blocked: 0,
  failed: 0,
  oldestRunnableAt: null,
};

/** The backlog of a type, if it is known, and its counts. */
export const TypeTable = ({ queue, known }: { readonly queue: string; readonly known: Known }) => {
  const rows = describeTypes(queue, known);
  const isNow = known.backlog !== undefined;
  const cap = known.backlog?.cap;
  if (rows.length === 0) return null;
  return (
    <Card title="Types" flush>
      <Scroll label="Types of this queue">
        <table class="queues">
          <thead>
            <tr>
              <th>Type</th>
              {isNow && (
                <>
                  <th class="number">Runnable</th>
                  <th class="number">Throttled</th>
                  <th class="number">For later</th>
                  <th class="number">Running</th>
                  <th class="number">Blocked</th>
                  <th class="number">Failed</th>
                  <th class="number">Oldest</th>
                </>
              )}
              {offers("history") && (
                <>
                  <th class="number">Created</th>
                  <th class="number">Completed</th>
                  {!isNow && (
                    <>
                      <th class="number">Failed</th>
                      <th class="number">Retried</th>
                    </>
                  )}
                  <th class="number">Start p50</th>
                  <th class="number">p95</th>
                  <th class="number">Run p50</th>
                  <th class="number">p95</th>
                </>
              )}
            </tr>
          </thead>
          <tbody>
            {rows.map(({ typeName, backlog = none, numbers }) => {
              const filter = (status: string) => ({ queue, typeName, status });
              return (
                <tr key={typeName} data-row="">
                  <td>
                    <Link class="strong" to={jobsPath({ queue, typeName })}>
                      {typeName}
                    </Link>
                  </td>
                  {isNow && (
                    <>
                      <CountCell
                        count={backlog.runnable}
                        cap={cap}
                        filter={{ ...filter("pending"), due: "now" }}
                      />
                      <CountCell
                        count={backlog.throttled}
                        cap={cap}
                        filter={{ ...filter("pending"), due: "now" }}
                      />
                      <CountCell
                        count={backlog.later}
                        cap={cap}
                        filter={{ ...filter("pending"), due: "later" }}
                      />
                      <CountCell count={backlog.running} cap={cap} filter={filter("running")} />
                      <CountCell count={backlog.blocked} cap={cap} filter={filter("blocked")} />
                      <CountCell count={backlog.failed} cap={cap} filter={filter("failed")} isBad />
                      <AgeCell since={backlog.oldestRunnableAt} />
                    </>
                  )}
                  {offers("history") && (
                    <>
                      <td class="number">{formatCount(numbers?.created ?? 0)}</td>
                      <td class="number">{formatCount(numbers?.completed ?? 0)}</td>
                      {!isNow && (
                        <>
                          <td class="number">{formatCount(numbers?.failed ?? 0)}</td>
                          <td class="number">{formatCount(numbers?.retried ?? 0)}</td>
                        </>
                      )}
                      <DurationCell ms={numbers?.startP50 ?? null} />
                      <DurationCell ms={numbers?.startP95 ?? null} late={lateMs} />
                      <DurationCell ms={numbers?.runP50 ?? null} />
                      <DurationCell ms={numbers?.runP95 ?? null} />
                    </>
                  )}
                </tr>
              );
            })}
          </tbody>
        </table>
      </Scroll>
    </Card>
  );
};

/** The live workers that take jobs of a queue. */
export const QueueWorkers = ({
  queue,
  processes,
}: {
  readonly queue: string;
  readonly processes: readonly Process[];
}) => {
  const workers = workersOf(processes, queue);
  return (
    <Card title="Workers" note={`${plural(workers.length, "live worker")} for this queue`} flush>
      {workers.length === 0 ? (
        <Empty icon="workers" title="No live worker serves this queue.">
          Its jobs wait. Name it in <code>start(&#123; queues: … &#125;)</code> of a worker that has handlers
          for its types.
        </Empty>
      ) : (
        <Scroll label="Workers of this queue">
          <table>
            <thead>
              <tr>
                <th>Worker</th>
                <th>Host</th>
                <th>Deployment</th>
                <th>Types</th>
                <th>Busy, all its queues</th>
                <th class="number">Seen</th>
              </tr>
            </thead>
            <tbody>
              {workers.map(({ workerId, typeNames, slots, running, process }) => (
                <tr key={`${process.id} ${workerId}`} data-row="">
                  <td>
                    <Link class="mono" to={jobsPath({ leasedBy: workerId })}>
                      {workerId}
                    </Link>
                  </td>
                  <td>
                    {process.host} <span class="dim">{process.pid}</span>
                  </td>
                  <td class="mono">{process.deployment ?? "–"}</td>
                  <td title={typeNames.join(", ")}>{plural(typeNames.length, "type")}</td>
                  <td>
                    <BusySlots running={running} slots={slots} />
                  </td>
                  <td class="number">
                    <Age at={process.seenAt} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </Scroll>
      )}
    </Card>
  );
};
