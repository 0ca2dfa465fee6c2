import type { Process } from "../../answers.ts";
import { formatCount, plural } from "../../format.ts";
import { BusySlots } from "../../parts/busy-slots.tsx";
import { Card, Scroll } from "../../parts/card.tsx";
import { Link } from "../../parts/link.tsx";
import { Empty } from "../../parts/notice.tsx";
import { Age } from "../../parts/time.tsx";
import { sum } from "../../state/queue-rows.ts";

/** Processes that are alive, by deployment: the newest first. */
export const WorkersCard = ({ processes }: { readonly processes: readonly Process[] }) => {
  const alive = processes.filter(({ isAlive }) => isAlive);
  const deployments = new Map<string | null, Process[]>();
  for (const process of alive)
    deployments.set(process.deployment, [...(deployments.get(process.deployment) ?? []), process]);
  const rows = [...deployments]
    .map(([deployment, all]) => {
      const workers = all.flatMap((process) => process.workers);
      return {
        deployment,
        processes: all.length,
        workers: workers.length,
        slots: sum(workers, ({ slots }) => slots),
        running: sum(workers, ({ running }) => running),
        startedAt: all.map(({ startedAt }) => startedAt).sort()[0]!,
        seenAt: all
          .map(({ seenAt }) => seenAt)
          .sort()
          .at(-1)!,
      };
    })
    .sort((a, b) => (a.startedAt < b.startedAt ? 1 : -1));
  const slots = sum(rows, (row) => row.slots);
  return (
    <Card
      title="Workers"
      note={`${plural(
        sum(rows, (row) => row.workers),
        "worker",
      )} alive, ${plural(slots, "slot")}`}
      side={
        <>
          <Link class="link small" to="/compare">
            Compare deployments
          </Link>
          <Link class="link small" to="/workers">
            All processes
          </Link>
        </>
      }
      flush
    >
      {rows.length === 0 ? (
        <Empty icon="workers" title="No process is alive.">
          Jobs wait until a worker starts: <code>createWorker().start()</code>. It appears here with its first
          report.
        </Empty>
      ) : (
        <Scroll label="Workers by deployment">
          <table>
            <thead>
              <tr>
                <th>Deployment</th>
                <th class="number">Processes</th>
                <th class="number">Workers</th>
                <th>Busy</th>
                <th class="number">Since</th>
                <th class="number">Seen</th>
              </tr>
            </thead>
            <tbody>
              {rows.map((row) => (
                <tr key={row.deployment}>
                  <td class="mono">{row.deployment ?? <span class="dim">not named</span>}</td>
                  <td class="number">{formatCount(row.processes)}</td>
                  <td class="number">{formatCount(row.workers)}</td>
                  <td>
                    <BusySlots running={row.running} slots={row.slots} />
                  </td>
                  <td class="number">
                    <Age at={row.startedAt} />
                  </td>
                  <td class="number">
                    <Age at={row.seenAt} />
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
