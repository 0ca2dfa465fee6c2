import { createDeferred } from "../base/async.ts";
import { longestDurationMs, optionalInteger, requireOptions } from "../base/options.ts";
import { sleep } from "../base/runtime.ts";
import type { Engine } from "../engine/engine.ts";
import type { MaxAttempts } from "../store/contract/claims.ts";
import type { RunningWorker, StopOptions, StopResult, WorkerHealth } from "./api.ts";
import { createCommitter } from "./committer.ts";
import { createConsumer } from "./consumer.ts";
import type { Handler, WorkerContext, WorkerSettings } from "./context.ts";
import { type Fetcher, startFetcher } from "./fetcher.ts";
import { type CrashIsolation, createHeldJobs, createWakeUps } from "./held-jobs.ts";
import { startLeaseKeeper } from "./lease-keeper.ts";
import type { Loop } from "./loop.ts";
import { createMaintenance, startTask, startTicker, type Task } from "./maintenance.ts";
import { registerTypes } from "./register-types.ts";

// How long a stop lasts after the last handler has ended, if the deadline is over by then: time to write its result.
const windUpMs = 2_000;

export interface StartedWorker extends RunningWorker {
  /** For `runUntilIdle`. */
  readonly inside: {
    /** Not started in a short run. */
    readonly maintenance: readonly Task[];
    readonly fetcher: Pick<Fetcher, "idle" | "health">;
    /** How many jobs have run: their handlers have ended, and were not aborted by `stop`. */
    readonly ranJobs: () => number;
    /** Aborts handlers now, and ends at this monotonic time at the latest. */
    readonly stopBy: (end: number) => Promise<StopResult>;
    /** Resolves when the worker begins to stop. */
    readonly stopping: Promise<void>;
  };
}

/** For expired leases, on which the store decides. Undefined where no handler sets `maxAttempts`. */
const attemptsByType = (handlers: ReadonlyMap<string, Handler>): MaxAttempts | undefined => {
  const limited = [...handlers].flatMap(([typeName, { maxAttempts }]) =>
    maxAttempts === undefined ? [] : [[typeName, maxAttempts] as const],
  );
  return limited.length === 0 ? undefined : Object.fromEntries(limited);
};

/**
 *   store ──claim──▶ fetcher ──▶ consumer (slots) ──outcome──▶ committer ──batched, fenced──▶ store
 *                       ▲ notification, poll
 *
 * The lease keeper renews all leases; the reaper reclaims expired ones. Signals against the direction of the arrows go
 * through the wake-ups.
 */
export const startWorker = async (
  engine: Engine,
  crashIsolation: CrashIsolation,
  settings: WorkerSettings,
  handlers: ReadonlyMap<string, Handler>,
  { isShortRun = false }: { readonly isShortRun?: boolean } = {},
): Promise<StartedWorker> => {
  const { observe, runtime } = engine;
  const { clock } = runtime;
  const { workerId } = settings;
  const typeNames = [...handlers.keys()];
  const wakeUps = createWakeUps();
  const worker: WorkerContext = {
    engine,
    listening: isShortRun ? engine.listeningInProcess : engine.listening,
    settings,
    handlers,
    held: createHeldJobs(settings.leaseMs, crashIsolation, wakeUps),
    wakeUps,
    sleep: { isAsleep: false },
    crashIsolation,
    maxAttempts: attemptsByType(handlers),
  };

  const committer = createCommitter(worker);
  const consumer = createConsumer(worker, committer);
  const leaseKeeper = startLeaseKeeper(worker);
  const maintenance = createMaintenance(worker);
  const ticker = isShortRun ? undefined : startTicker(worker);
  const fetcher = startFetcher(worker, consumer);
  // The lease keeper runs until the last outcome is written.
  const loopsThatEndFirst: Record<string, Loop> = { fetcher, ...(ticker && { ticker }) };
  if (!isShortRun) for (const task of maintenance) loopsThatEndFirst[task.name] = startTask(worker, task);
  const loops = { ...loopsThatEndFirst, "lease keeper": leaseKeeper };

  const reportIdle = (delta: 1 | -1): void => {
    for (const typeName of typeNames) observe("jobTypeIdleChange", () => ({ typeName, workerId, delta }));
  };
  const leaveReporter = engine.reporter.addWorker(
    () => ({
      id: workerId,
      concurrency: settings.concurrency,
      queues: settings.queues,
      typeNames,
      running: consumer.running,
      idleSleepMs: settings.idleSleepMs ?? 0,
    }),
    () => worker.sleep.isAsleep,
  );
  // In the background: no worker waits for it.
  const typesRegistered = registerTypes(engine, typeNames);
  // Before anything is awaited: the first claim has not been answered yet.
  reportIdle(1);
  observe("workerStarted", () => ({ workerId, typeNames }));

  const subscriptions = await Promise.all([
    fetcher.listen(),
    leaseKeeper.listen(),
    ...(ticker ? [ticker.listen()] : []),
  ]);

  // Jobs that were started before the subscriptions came without a notification, and no poll would find them.
  if (settings.idleSleepMs !== undefined) fetcher.wake();

  let state: WorkerHealth["state"] = "running";
  const stopping = createDeferred<void>();

  /**
   *   stop ──▶ handlers finish ──deadline──▶ abort ──at most abortGraceMs──▶ write and leave, until `windUpMs` later
   *
   * However the store and the transport behave, each step has its end.
   */
  const stopNow = async (deadlineMs: number, latestEnd?: number): Promise<StopResult> => {
    const deadline = clock.monotonic() + deadlineMs;
    const unwrittenBefore = committer.unwritten;
    state = "stopping";
    stopping.resolve();
    observe("workerStopping", () => ({ workerId, typeNames }));
    consumer.stop();
    const loopsEnded = Promise.all(Object.values(loopsThatEndFirst).map((loop) => loop.stop()));

    await endsBy(deadline, consumer.drained());
    const abortedJobs = consumer.abortRunning();
    await consumer.drained();

    const end = latestEnd ?? Math.max(deadline, clock.monotonic() + windUpMs);
    const flushed = await endsBy(
      end,
      loopsEnded.then(() => committer.flushed()),
    );
    if (!flushed) committer.abandon();
    leaveReporter();
    const farewells = [
      leaseKeeper.stop(),
      ...subscriptions.map((dispose) => dispose()),
      engine.notifier.settled(),
      engine.reporter.flush(),
      typesRegistered,
    ];
    await endsBy(end, Promise.all(farewells));

    state = "stopped";
    reportIdle(-1);
    const unwrittenResults = committer.unwritten - unwrittenBefore;
    const result = {
      clean: flushed && abortedJobs === 0 && unwrittenResults === 0,
      releasedJobs: consumer.released,
      abortedJobs,
      abandonedJobs: consumer.abandoned,
      unwrittenResults,
    };
    observe("workerStopped", () => ({ workerId, typeNames, ...result }));
    return result;
  };

  /** Waits for the work, but no longer than until `moment`. Returns whether it has ended. */
  const endsBy = async (moment: number, work: Promise<unknown>): Promise<boolean> => {
    const done = new AbortController();
    await Promise.race([
      work.then(() => done.abort()),
      sleep(clock, Math.max(0, moment - clock.monotonic()), done.signal),
    ]);
    return done.signal.aborted;
  };

  let stopped: Promise<StopResult> | undefined;

  return {
    inside: {
      maintenance,
      fetcher,
      ranJobs: () => consumer.ran,
      stopBy: (end) => (stopped ??= stopNow(0, end)),
      stopping: stopping.promise,
    },
    workerId,
    stop: async (options = {}) => {
      const { deadlineMs } = requireOptions<keyof StopOptions>(options, "stop", { deadlineMs: true });
      const limits = { min: 0, max: longestDurationMs };
      const wait = optionalInteger(deadlineMs, "deadlineMs", settings.stopDeadlineMs, limits);
      stopped ??= stopNow(wait);
      return stopped;
    },
    health: () => {
      const problems = Object.entries({ ...loops, committer })
        .map(([name, loop]) => ({ name, ...loop.health() }))
        .filter(({ failures }) => failures >= 3)
        .map(
          ({ name, failures, lastError }) =>
            `The ${name} has failed ${failures} times in a row: ${String(lastError)}`,
        );
      const asDate = (ms: number | null): Date | null => (ms === null ? null : new Date(ms));
      return {
        workerId,
        state,
        healthy: problems.length === 0,
        problems,
        runningJobs: consumer.running,
        bufferedJobs: consumer.buffered,
        uncommittedResults: committer.pending,
        lastClaimAt: asDate(fetcher.health().lastSuccessAt),
        lastRenewalAt: asDate(leaseKeeper.health().lastSuccessAt),
      };
    },
  };
};
