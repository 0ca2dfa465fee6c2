import { toStoredErrorText } from "../base/stored-error.ts";
import { createAfterCommit } from "../engine/operation.ts";
import { leaseExpired, leaseExpiredKind } from "../history/attempts.ts";
import { parseProcessInfo } from "../history/processes.ts";
import { createFolding } from "../history/roll-up.ts";
import { announceCascade, announceFailure } from "../jobs/announce.ts";
import { announcePruned } from "../jobs/delete.ts";
import type { Dispose } from "../notify/contract.ts";
import { jobEventData } from "../observability/observe.ts";
import { recurringJobsChanged } from "../recurring/change.ts";
import { zoneDataVersion } from "../recurring/definition.ts";
import { tickBatchSize, tickRecurringJobs } from "../recurring/tick.ts";
import { clockToleranceMs } from "../store/contract/recurring.ts";
import { expiredError } from "../store/rules/checks.ts";
import type { WorkerContext } from "./context.ts";
import { type Loop, startLoop } from "./loop.ts";

/** A piece of maintenance. `turn` returns the delay before the next turn, 0 if there may be more to do. */
export interface Task {
  readonly name: string;
  /** Jobs may wait for it: a short run does it first, the others when it is idle. */
  readonly isUrgent: boolean;
  readonly firstDelayMs: () => number;
  readonly turn: () => Promise<number>;
}

/** Fails jobs that have waited too long where no worker claims them. Returns whether there may be more. */
const expireWaitingJobs = async ({ engine }: WorkerContext, limit: number): Promise<boolean> => {
  const { edits } = engine.store;
  if (edits === undefined) return false;
  const error = toStoredErrorText(expiredError());
  const expired = await edits.expireWaitingJobs({ limit, error });
  const afterCommit = createAfterCommit(engine);
  for (const { job, cascaded } of expired) {
    announceFailure(afterCommit, job, "expired", job.lastError);
    announceCascade(afterCommit, job, cascaded);
  }
  afterCommit.publish();
  return expired.length === limit;
};

const intervalMs = 30_000;

const aliveMs = 30_000;

/**
 * How many processes to read, in growing samples of the latest reports. Most processes find a smaller id in the first
 * sample, so that in a large fleet only a few read the whole list.
 */
const samples: readonly number[] = [10, 100, 1_000];

/**
 * Rolls statistics up into larger buckets and deletes old ones. Elected process: the smallest id among processes with workers.
 * If two are elected for a while, the store lets only one of them replace a row.
 */
const createRollUp = (worker: WorkerContext): Task | undefined => {
  const { store, runtime, reporter } = worker.engine;
  const { history } = store;
  if (!reporter.isOn || !history) return undefined;
  const folding = createFolding(history);

  // Jitter keeps the workers of a fleet from asking in step.
  const rest = (): number => intervalMs * (0.75 + runtime.random() / 2);

  const isMine = async (now: number): Promise<boolean> => {
    if (reporter.id === undefined || reporter.firstWorkerId !== worker.settings.workerId) return false;
    for (const limit of samples) {
      const reporters = await history.listProcesses({ seenFrom: now - aliveMs, limit });
      const working = reporters.filter(({ info }) => parseProcessInfo(info).workers.length > 0);
      if (working.some(({ id }) => id < reporter.id!)) return false;
      if (reporters.length < limit) break;
    }
    return true;
  };

  return {
    name: "roll-up",
    isUrgent: false,
    firstDelayMs: rest,
    turn: async () => {
      const now = await store.getTime();
      if (!(await isMine(now))) return rest();
      return (await folding.turn(now)) ? 0 : rest();
    },
  };
};

// Small enough for a short transaction.
const batchSize = 500;

/**
 * Removes finished jobs that are past their retention, one bounded batch at a time. After each batch it pauses for as long as
 * the batch took, after each pass for `pruneIntervalMs`. While another worker prunes, it does nothing.
 */
const createPruner = (worker: WorkerContext): Task | undefined => {
  const { engine, settings } = worker;
  const { store, runtime, retention } = engine;
  const { clock, random } = runtime;
  if (retention.isUnlimited) return undefined;
  let rules = retention.rulesAt(0);
  let after: string | null = null;

  // Jitter keeps the workers of a fleet from pruning in step; the first wait is a share of the time, whatever it is.
  const rest = (): number => settings.pruneIntervalMs * (0.75 + random() / 2);

  return {
    name: "pruner",
    isUrgent: false,
    firstDelayMs: () => settings.pruneIntervalMs * random(),
    turn: async () => {
      // The same moment for a whole pass.
      if (after === null) rules = retention.rulesAt(await store.getTime());
      const startedAt = clock.monotonic();
      const result = await store.pruneSequences({ rules, limit: batchSize, after, alone: true });
      announcePruned(engine, result);
      after = result?.next ?? null;
      return after === null ? rest() : Math.max(1, clock.monotonic() - startedAt);
    },
  };
};

const batchSizeReaper = 100;

const error = JSON.stringify(leaseExpired);

const { fingerprint } = leaseExpiredKind;

/**
 * Reclaims jobs with expired leases and fails jobs past `expireAfterMs`, including types that no worker claims.
 */
const createReaper = (worker: WorkerContext): Task => {
  const { engine, settings, maxAttempts } = worker;
  const { store, runtime } = engine;

  const reapBatch = async (): Promise<number> => {
    const reaped = await store.reapExpiredLeases({ limit: batchSizeReaper, error, fingerprint, maxAttempts });
    if (reaped.length > 0) engine.reporter.addCause(leaseExpiredKind);
    const afterCommit = createAfterCommit(engine);
    for (const { job, previouslyLeasedBy, cascaded } of reaped) {
      afterCommit.count(job, "reaped");
      afterCommit.observe("jobReaped", () => ({
        previousWorkerId: previouslyLeasedBy,
        ...jobEventData(job),
      }));
      afterCommit.notify("jobOwnershipLost", job.id);
      if (job.status === "pending") afterCommit.notify("jobScheduled", job.typeName);
      if (job.status === "failed") announceFailure(afterCommit, job, job.failureReason!, job.lastError);
      announceCascade(afterCommit, job, cascaded);
    }
    afterCommit.publish();
    return reaped.length;
  };

  return {
    name: "reaper",
    isUrgent: true,
    firstDelayMs: () => 0,
    turn: async () => {
      const reaped = await reapBatch();
      const mayBeMore = await expireWaitingJobs(worker, batchSizeReaper);
      // Jitter keeps the workers of a fleet from reaping in step.
      return reaped === batchSizeReaper || mayBeMore
        ? 0
        : settings.reapIntervalMs * (0.75 + runtime.random() / 2);
    },
  };
};

/** What a worker does besides its own jobs: one task of each kind that this store and these settings need. */
export const createMaintenance = (worker: WorkerContext): readonly Task[] =>
  [createReaper(worker), createPruner(worker), createRollUp(worker)].filter((task) => task !== undefined);

/** Runs a task again and again. While the worker is asleep, its turn is postponed. */
export const startTask = (worker: WorkerContext, { name, firstDelayMs, turn }: Task): Loop => {
  const { settings, sleep, wakeUps } = worker;
  let isFirst = true;
  let isPostponed = false;
  const loop = startLoop(worker, name, async () => {
    if (isFirst) {
      isFirst = false;
      const delayMs = firstDelayMs();
      if (delayMs > 0) return delayMs;
    }
    isPostponed = sleep.isAsleep;
    return isPostponed ? settings.idleSleepMs! : turn();
  });
  wakeUps.awake.subscribe(() => {
    if (isPostponed) loop.wake();
  });
  return loop;
};

export interface Ticker extends Loop {
  /** Ticks at once when a notification reports a new or changed recurring job. */
  listen(): Promise<Dispose>;
}

// Without recurring jobs, the only cost is one query of an empty index at this interval. The first recurring job wakes the
// worker by a notification; where those of other processes do not arrive, the interval is shorter.
const pauseWithoutAnyMs = { notified: 60_000, notNotified: 15_000 } as const;
// A worker with older zone data, or a clock that was ahead, may have computed a time after this one began.
const timesCheckIntervalMs = 3_600_000;
// A tick costs about the same for one as for many: in this time more become due, and other workers advance locked ones.
const pauseAfterTickMs = 20;

/** Starts the jobs of recurring jobs when they are due. Every worker does; the store's locks share the work out. */
export const startTicker = (worker: WorkerContext): Ticker | undefined => {
  const { engine, listening, settings } = worker;
  const { store, runtime } = engine;
  const { recurring } = store;
  if (recurring === undefined) return undefined;
  const { clock } = runtime;
  const { idleSleepMs, reapIntervalMs } = settings;
  const pauseMs = idleSleepMs ?? pauseWithoutAnyMs[listening.isInProcess ? "notNotified" : "notified"];
  let timesCheckedAt = -Infinity;
  let lastReading: { readonly storeTime: number; readonly monotonic: number } | undefined;

  const wasClockSetBack = async (): Promise<boolean> => {
    const before = lastReading;
    lastReading = { storeTime: await store.getTime(), monotonic: clock.monotonic() };
    if (before === undefined) return false;
    const expected = before.storeTime + lastReading.monotonic - before.monotonic;
    return lastReading.storeTime < expected - clockToleranceMs;
  };

  const loop = startLoop(worker, "ticker", async () => {
    const dueIn = await recurring.nextRecurringIn({});
    // Jitter keeps the workers of a fleet from looking in step.
    const jitter = 0.75 + runtime.random() / 4;
    if (dueIn === null) return pauseMs * jitter;
    // While recurring jobs are due, the clock need not be read: a clock that was set back leaves none due.
    if ((dueIn > 0 || lastReading === undefined) && (await wasClockSetBack())) timesCheckedAt = -Infinity;
    const checksTimes = clock.monotonic() - timesCheckedAt >= timesCheckIntervalMs;
    if (dueIn > 0 && !checksTimes) return Math.min(dueIn, (idleSleepMs ?? reapIntervalMs) * jitter);
    const looked = await tickRecurringJobs(engine, checksTimes ? zoneDataVersion : null);
    if (checksTimes && looked < tickBatchSize) timesCheckedAt = clock.monotonic();
    return looked === tickBatchSize ? 0 : pauseAfterTickMs;
  });

  return {
    ...loop,
    listen: () => listening.listen("jobScheduled", [recurringJobsChanged], loop.wake),
  };
};
