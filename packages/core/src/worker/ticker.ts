import type { Dispose } from "../contracts/notify-adapter.ts";
import { zoneDataVersion } from "../engine/recurring/definition.ts";
import { recurringJobsChanged } from "../engine/recurring/wake-up.ts";
import { tickBatchSize, tickRecurringJobs } from "../engine/recurring/tick.ts";
import { type Loop, startLoop } from "./loop.ts";
import type { WorkerContext } from "./worker-context.ts";

export interface Ticker extends Loop {
  /** Looks at once when others say that a recurring job was put or changed. */
  listen(): Promise<Dispose>;
}

// Where there are no recurring jobs, this is all that they cost: one look at an empty index every minute.
const pauseWithoutAnyMs = 60_000;
// A worker with older zone data may have computed a time after this one began.
const zoneCheckIntervalMs = 3_600_000;
// A tick costs about as much for one as for many: time for some more to fall due, or for others to move on what they have locked.
const pauseAfterTickMs = 20;

/** Starts the jobs of recurring jobs when they are due. Every worker does; the store's locks share the work out. */
export const startTicker = (worker: WorkerContext): Ticker | undefined => {
  const { engine, settings } = worker;
  const { store, runtime, listening } = engine;
  const { flow } = store;
  if (flow === undefined) return undefined;
  const { clock } = runtime;
  let zonesCheckedAt = -Infinity;
  const mustCheckZones = (): boolean =>
    zoneDataVersion !== "" && clock.monotonic() - zonesCheckedAt >= zoneCheckIntervalMs;

  const loop = startLoop(worker, "ticker", async () => {
    const dueIn = await flow.nextRecurringIn({});
    // Jitter keeps the workers of a fleet from looking in step.
    const jitter = 0.75 + runtime.random() / 4;
    if (dueIn === null) return pauseWithoutAnyMs * jitter;
    const checksZones = mustCheckZones();
    if (dueIn > 0 && !checksZones) return Math.min(dueIn, settings.reapIntervalMs * jitter);
    const looked = await tickRecurringJobs(engine, checksZones ? zoneDataVersion : null);
    if (checksZones && looked < tickBatchSize) zonesCheckedAt = clock.monotonic();
    return looked === tickBatchSize ? 0 : pauseAfterTickMs;
  });

  return {
    ...loop,
    listen: () => listening.listen("jobScheduled", [recurringJobsChanged], loop.wake),
  };
};
