import { isObserved } from "../observability/observe.ts";
import type { JobOutcome } from "../store/contract/outcomes.ts";
import { UnknownJobTypeError } from "../store/errors.ts";
import { expiredError, hadExpired, isOwedAttempt } from "../store/rules/checks.ts";
import { reportLostLease } from "./attempt-events.ts";
import { type CallOwner, runCall } from "./call.ts";
import { type Committer, endAttempt } from "./committer.ts";
import type { WorkerContext } from "./context.ts";
import { createSuspects, type SuspectEnds } from "./crash-isolation.ts";
import { type HeldJob, isLeaseTrusted } from "./held-jobs.ts";
import { attemptLimit, failOutcome, releaseOutcome, type Outcome } from "./outcome.ts";
import { staleCheckMs } from "./prefetch.ts";
import { type Claim, createSlots, nothingToClaim } from "./slots.ts";

/** Starts and ends the calls of handlers for claimed jobs. `Slots` decides what may start and what to claim. */
export interface Consumer {
  accept(jobs: readonly HeldJob[]): void;
  /** How many queues, and batch types of queues, have enough room to be worth a claim. */
  queuesWithRoom(): number;
  /** What to claim now; no requests while there is no room. */
  claim(): Claim;
  /** Starts nothing any more; buffered jobs are released. */
  stop(): void;
  /** Aborts every running handler. Returns how many. */
  abortRunning(): number;
  /** Resolves when no slot is in use. */
  drained(): Promise<void>;
  readonly running: number;
  readonly buffered: number;
  /** Jobs whose handler has ended, and that were not aborted by `abortRunning`. */
  readonly ran: number;
  /** Jobs released without having been started. */
  readonly released: number;
  /** Handlers that ignored their signal until they were given up on. */
  readonly abandoned: number;
}

export const createConsumer = (worker: WorkerContext, committer: Committer): Consumer => {
  const { engine, handlers, crashIsolation, wakeUps } = worker;
  const { clock } = engine.runtime;
  const slots = createSlots(worker, () => pump());
  const suspects = createSuspects(worker);
  const runningJobs = new Set<HeldJob>();
  const counts = { finished: 0, aborted: 0, released: 0, abandoned: 0 };
  let stopping = false;
  let pumpIsDue = false;
  let cancelStaleCheck: (() => void) | undefined;
  let onDrained: (() => void)[] = [];

  const start = (jobs: readonly HeldJob[]): void => {
    slots.begin(jobs);
    for (const job of jobs) {
      runningJobs.add(job);
      reportProcessing(worker, job, 1);
    }
    runCall(worker, jobs, handlers.get(jobs[0]!.job.typeName)!, owner);
  };

  const startAlone = (job: HeldJob): void => start([job]);

  const finishJob = (job: HeldJob, outcome: Outcome, wasAbandoned: boolean): void => {
    slots.jobFinished(job);
    counts.finished += 1;
    if (wasAbandoned) counts.abandoned += 1;
    runningJobs.delete(job);
    reportProcessing(worker, job, -1);
    if (typeof outcome === "object") committer.add(job, outcome);
    else endAttempt(worker, job, outcome);
  };

  const endCall = (first: HeldJob): void => {
    slots.end(first);
    suspects.leave(first);
    if (runningJobs.size === 0) for (const resolve of onDrained.splice(0)) resolve();
    // Jobs that finish at the same time make room together.
    if (pumpIsDue) return;
    pumpIsDue = true;
    void Promise.resolve().then(pumpFreed);
  };

  const pumpFreed = (): void => {
    pumpIsDue = false;
    pump();
    wakeUps.roomFreed.signal();
  };

  const owner: CallOwner = { finishJob, endCall };

  const drop = (job: HeldJob): void => {
    reportLostLease(engine.observe, worker, job, "lease_expired");
    endAttempt(worker, job, "lost");
  };

  /** Starts whatever may start. Jobs whose lease may be over are dropped. */
  const pump = (): void => {
    suspects.pump(ends);
    for (let next = slots.next(); next; next = slots.next()) {
      if (!crashIsolation.tryEnter(false)) return;
      // Out of the buffer first: a handler may stop the worker before it even returns.
      const taken = slots.take(next);
      const jobs = taken.length === 1 && isLeaseTrusted(taken[0]!, clock) ? taken : dropLost(taken);
      if (jobs.length > 0) start(jobs);
      else crashIsolation.leave(false);
    }
  };

  const dropLost = (jobs: readonly HeldJob[]): HeldJob[] =>
    jobs.filter((job) => {
      const isTrusted = isLeaseTrusted(job, clock);
      if (!isTrusted) drop(job);
      return isTrusted;
    });

  const release = (job: HeldJob): void => {
    counts.released += 1;
    committer.add(job, releaseOutcome(job));
  };

  const ends: SuspectEnds = { start: startAlone, drop, release };

  const releaseBuffered = (): void => {
    for (const job of slots.drain()) release(job);
  };

  /** What has waited for longer than another worker needs to claim it is released, while anything is buffered. */
  const checkStale = (): void => {
    cancelStaleCheck = undefined;
    for (const job of slots.takeStale()) release(job);
    checkStaleLater();
  };

  const checkStaleLater = (): void => {
    if (slots.buffered > 0) cancelStaleCheck ??= clock.setTimer(checkStale, staleCheckMs);
  };

  const accept = (job: HeldJob): void => {
    const refusal = refuse(worker, job);
    if (refusal) committer.add(job, refusal);
    else if (stopping) release(job);
    else {
      const place = suspects.place(job);
      if (place === "buffer") slots.push(job);
      if (place === "release") release(job);
    }
  };

  const mayClaim = (): boolean => !stopping && crashIsolation.mayClaim(worker);

  const stopListening = crashIsolation.onChange(() => {
    if (crashIsolation.isReserved) releaseBuffered();
    pump();
    wakeUps.roomFreed.signal();
  });

  return {
    accept: (jobs) => {
      suspects.beginClaim();
      for (const job of jobs) accept(job);
      suspects.endClaim();
      pump();
      checkStaleLater();
    },
    queuesWithRoom: () => (mayClaim() ? slots.countWithRoom(committer.pending, suspects.waiting) : 0),
    claim: () => (mayClaim() ? slots.claim(committer.pending, suspects.waiting) : nothingToClaim),
    stop: () => {
      stopping = true;
      stopListening();
      releaseBuffered();
      cancelStaleCheck?.();
      suspects.stop(release);
    },
    abortRunning: () => {
      const jobs = [...runningJobs];
      for (const job of jobs) job.attempt?.abort("shutdown");
      counts.aborted += jobs.length;
      return jobs.length;
    },
    drained: () =>
      runningJobs.size === 0 ? Promise.resolve() : new Promise((resolve) => onDrained.push(resolve)),
    get running() {
      return runningJobs.size;
    },
    get buffered() {
      return slots.buffered + suspects.waiting;
    },
    get ran() {
      return counts.finished - counts.aborted;
    },
    get released() {
      return counts.released;
    },
    get abandoned() {
      return counts.abandoned;
    },
  };
};

/** Jobs that must not run here get their outcome at once. */
const refuse = (worker: WorkerContext, held: HeldJob): JobOutcome | undefined => {
  const { typeName, attempt } = held.job;
  if (!worker.handlers.has(typeName)) {
    const error = new UnknownJobTypeError(typeName, "has no handler in the worker that owns its queue");
    return failOutcome(held, "no_handler", error);
  }
  const limit = attemptLimit(worker, held.job);
  if (attempt > limit && !isOwedAttempt(held.job, limit)) {
    const error = new Error("No attempt is left under this worker's limit.");
    return failOutcome(held, "attempts_exhausted", error);
  }
  if (hadExpired(held.job)) return failOutcome(held, "expired", expiredError());
  return undefined;
};

const reportProcessing = ({ engine, settings }: WorkerContext, { job }: HeldJob, delta: 1 | -1): void => {
  if (!isObserved(engine.observe)) return;
  const { typeName } = job;
  const { workerId } = settings;
  engine.observe("jobTypeProcessingChange", () => ({ typeName, workerId, delta }));
  engine.observe("jobTypeIdleChange", () => ({ typeName, workerId, delta: -delta }));
};
