import type { Process } from "../../answers.ts";
import { plural } from "../../format.ts";
import { BusySlots } from "../../parts/busy-slots.tsx";
import { Card, Scroll } from "../../parts/card.tsx";
import { Link } from "../../parts/link.tsx";
import { Empty } from "../../parts/notice.tsx";
import { Age } from "../../parts/time.tsx";
import { workersOf } from "../../state/queue-rows.ts";
import { jobsPath } from "../../state/router.ts";

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
