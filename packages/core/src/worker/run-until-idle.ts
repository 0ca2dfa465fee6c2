import { sleep } from "../base/runtime.ts";
import type { Engine } from "../engine/engine.ts";
import { zoneDataVersion } from "../recurring/definition.ts";
import { tickRecurringJobs } from "../recurring/tick.ts";
import type { RunUntilIdleResult } from "./api.ts";
import type { Task } from "./maintenance.ts";
import type { RunTimes } from "./settings.ts";
import type { StartedWorker } from "./worker.ts";

interface Ticked {
  readonly hasStarted: boolean;
  /** How many milliseconds until the next recurring job is due; not positive if another worker has locked one that is. */
  readonly nextIn: number;
}

/** Starts the runs of recurring jobs that are due, and with `checksTimes` of those whose times another version computed. */
const tickDue = async (engine: Engine, checksTimes: boolean): Promise<Ticked> => {
  const { recurring } = engine.store;
  let hasStarted = false;
  for (let isFirst = true; ; isFirst = false) {
    const nextIn = (await recurring?.nextRecurringIn({})) ?? Infinity;
    const checks = checksTimes && isFirst && nextIn !== Infinity;
    if (nextIn > 0 && !checks) return { hasStarted, nextIn };
    const found = await tickRecurringJobs(engine, checks ? zoneDataVersion : null);
    hasStarted ||= found > 0;
    if (found === 0 && nextIn <= 0) return { hasStarted, nextIn };
  }
};

/**
 *   tick, reap ─┐
 *   claim, run ─┴─▶ idle ─▶ prune, roll up ─▶ tick ─▶ idle ─ no tick has started a job ─▶ stop
 *                                              ▲       └ otherwise ─┐
 *                                              └────────────────────┘
 * When the time is over, the run stops wherever it is.
 */
export const runUntilIdle = async (
  engine: Engine,
  { deadlineMs, abortAfterMs }: RunTimes,
  start: () => Promise<StartedWorker>,
): Promise<RunUntilIdleResult> => {
  const { clock } = engine.runtime;
  const startedAt = clock.monotonic();
  const worker = await engine.lifecycle.startWorker(start);
  const { fetcher, maintenance, ranJobs, stopBy, stopping } = worker.inside;
  const over = new AbortController();
  let nextRunnableAt: number | undefined;

  /** A task that fails does not end the run; the next run repeats it. */
  const attempt = async <T>(loop: string, task: () => Promise<T>): Promise<T | undefined> => {
    if (over.signal.aborted) return undefined;
    try {
      return await task();
    } catch (error) {
      engine.observe("workerError", () => ({ workerId: worker.workerId, loop, error }));
      return undefined;
    }
  };
  const tick = (checksTimes: boolean) => attempt("ticker", () => tickDue(engine, checksTimes));
  const runTasks = async (tasks: readonly Task[]): Promise<void> => {
    for (const { name, turn } of tasks) await attempt(name, turn);
  };

  const work = async (): Promise<void> => {
    await tick(true);
    await runTasks(maintenance.filter(({ isUrgent }) => isUrgent));
    await fetcher.idle();
    // The roll-up is elected from the processes that have reported.
    await engine.reporter.flush();
    await runTasks(maintenance.filter(({ isUrgent }) => !isUrgent));
    let dueIn: number;
    let ticked: Ticked | undefined;
    // Idle comes last: a job that is claimed between it and the stop would be aborted at once.
    do {
      ticked = await tick(false);
      dueIn = await fetcher.idle();
    } while (ticked?.hasStarted);
    nextRunnableAt = clock.now() + Math.min(dueIn, ticked?.nextIn ?? Infinity);
  };

  const timeLeftMs = startedAt + abortAfterMs - clock.monotonic();
  await Promise.race([work(), stopping, sleep(clock, Math.max(0, timeLeftMs), over.signal)]);
  over.abort();
  const isIdle = nextRunnableAt !== undefined;
  const result = await stopBy(startedAt + deadlineMs);
  // Already stopped; this removes it from the workers that `close` stops.
  await worker.stop();
  const { lastSuccessAt, lastError } = fetcher.health();
  if (lastSuccessAt === null && lastError !== undefined) throw lastError;
  return { ...result, ranJobs: ranJobs(), isIdle, nextRunnableAt: asDate(nextRunnableAt ?? clock.now()) };
};

const asDate = (ms: number): Date | null => (ms === Infinity ? null : new Date(Math.ceil(ms)));
