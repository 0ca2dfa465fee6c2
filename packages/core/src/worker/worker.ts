import { longestDurationMs, optionalInteger, requireOptions } from "../base/options.ts";
import { sleep } from "../base/runtime.ts";
import type { Engine } from "../engine/engine.ts";
import type { MaxAttempts } from "../store/contract/claims.ts";
import type { RunningWorker, StopOptions, StopResult, WorkerHealth } from "./api.ts";
import { createCommitter } from "./committer.ts";
import { createConsumer } from "./consumer.ts";
import type { Handler, WorkerContext, WorkerSettings } from "./context.ts";
import { startFetcher } from "./fetcher.ts";
import { type CrashIsolation, createHeldJobs, createWakeUps } from "./held-jobs.ts";
import { startLeaseKeeper } from "./lease-keeper.ts";
import { startRollUp, startPruner, startReaper, startTicker } from "./maintenance.ts";

// How long a stop lasts after the last handler has ended, if the deadline is over by then: time to write its result.
const windUpMs = 2_000;

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
): Promise<RunningWorker> => {
  const { observe, runtime } = engine;
  const { clock } = runtime;
  const { workerId } = settings;
  const typeNames = [...handlers.keys()];
  const wakeUps = createWakeUps();
  const worker: WorkerContext = {
    engine,
    settings,
    handlers,
    held: createHeldJobs(settings.leaseMs, crashIsolation, wakeUps),
    wakeUps,
    crashIsolation,
    maxAttempts: attemptsByType(handlers),
  };

  const committer = createCommitter(worker);
  const consumer = createConsumer(worker, committer);
  const leaseKeeper = startLeaseKeeper(worker);
  const reaper = startReaper(worker);
  const pruner = startPruner(worker);
  const ticker = startTicker(worker);
  const rollUp = startRollUp(worker);
  const fetcher = startFetcher(worker, consumer);
  // The lease keeper runs until the last outcome is written.
  const loopsThatEndFirst = {
    fetcher,
    reaper,
    ...(pruner && { pruner }),
    ...(ticker && { ticker }),
    ...(rollUp && { "roll-up": rollUp }),
  };
  const loops = { ...loopsThatEndFirst, "lease keeper": leaseKeeper };

  const reportIdle = (delta: 1 | -1): void => {
    for (const typeName of typeNames) observe("jobTypeIdleChange", () => ({ typeName, workerId, delta }));
  };
  const leaveReporter = engine.reporter.addWorker(() => ({
    id: workerId,
    concurrency: settings.concurrency,
    queues: settings.queues,
    typeNames,
    running: consumer.running,
  }));
  // Before anything is awaited: the first claim has not been answered yet.
  reportIdle(1);
  observe("workerStarted", () => ({ workerId, typeNames }));

  const subscriptions = await Promise.all([
    fetcher.listen(),
    leaseKeeper.listen(),
    ...(ticker ? [ticker.listen()] : []),
  ]);

  let state: WorkerHealth["state"] = "running";

  /**
   *   stop ──▶ handlers finish ──deadline──▶ abort ──at most abortGraceMs──▶ write and leave, until `windUpMs` later
   *
   * However the store and the transport behave, each step has its end.
   */
  const stopNow = async (deadlineMs: number): Promise<StopResult> => {
    const deadline = clock.monotonic() + deadlineMs;
    const unwrittenBefore = committer.unwritten;
    state = "stopping";
    observe("workerStopping", () => ({ workerId, typeNames }));
    consumer.stop();
    const loopsEnded = Promise.all(Object.values(loopsThatEndFirst).map((loop) => loop.stop()));

    await endsBy(deadline, consumer.drained());
    const abortedJobs = consumer.abortRunning();
    await consumer.drained();

    const end = Math.max(deadline, clock.monotonic() + windUpMs);
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
