import { isObserved } from "../observability/observe.ts";
import type { ClaimRequest } from "../store/contract/claims.ts";
import type { JobOutcome } from "../store/contract/outcomes.ts";
import { UnknownJobTypeError } from "../store/errors.ts";
import { expiredError, hadExpired } from "../store/rules/checks.ts";
import { reportLostLease } from "./attempt-events.ts";
import { type OnAttemptOver, runCall } from "./call.ts";
import { type Committer, endAttempt } from "./committer.ts";
import type { WorkerContext } from "./context.ts";
import { createSuspects } from "./crash-isolation.ts";
import { type HeldJob, isLeaseTrusted } from "./held-jobs.ts";
import { attemptLimit, failOutcome, giveBackOutcome, type Verdict } from "./outcome.ts";
import { type BatchSlots, createSlots, type QueueSlots, type Capacity } from "./slots.ts";

/** Runs claimed jobs in slots, fairly across queues, and says how many more it could take. */
export interface Consumer {
  accept(jobs: readonly HeldJob[]): void;
  /** How many queues, and batch types of queues, have enough room to be worth a claim. */
  queuesWithRoom(): number;
  /** What to claim now; empty while there is no room. */
  claimRequests(): { readonly requests: readonly ClaimRequest[]; readonly limit: number };
  /** Starts nothing any more; buffered jobs are given back. */
  stop(): void;
  /** Tells every running handler that the worker is going. Returns how many. */
  abortRunning(): number;
  /** Resolves when no slot is in use. */
  drained(): Promise<void>;
  readonly running: number;
  readonly buffered: number;
  /** Jobs given back without having been started. */
  readonly givenBack: number;
  /** Handlers that ignored their signal until they were given up on. */
  readonly abandoned: number;
}

const nothingToClaim = { requests: [], limit: 0 };

const noRoom: Capacity = { calls: 0, jobs: 0, backlog: Infinity };

export const createConsumer = (worker: WorkerContext, committer: Committer): Consumer => {
  const { engine, settings, handlers, crashIsolation, wakeUps } = worker;
  const { clock } = engine.runtime;
  const slots = createSlots(worker, () => pump());
  const suspects = createSuspects(worker);
  const runningJobs = new Set<HeldJob>();
  const counts = { givenBack: 0, abandoned: 0 };
  /** How many calls of handlers are running. */
  let calls = 0;
  let stopping = false;
  let pumpIsDue = false;
  /** How many jobs to hold in advance of free slots, by the last estimate. */
  let ahead = 0;
  let onDrained: (() => void)[] = [];

  const startJob = (job: HeldJob): void => {
    calls += 1;
    const queue = slots.of(job);
    queue.running += 1;
    queue.prefetch.jobStarted();
    enter(job);
    runCall(worker, [job], handlers.get(job.job.typeName)!, leaveSlot, freeSlot);
  };

  const leaveSlot = (job: HeldJob, verdict: Verdict, wasAbandoned: boolean): void => {
    slots.of(job).prefetch.jobFinished();
    leave(job, verdict, wasAbandoned);
  };

  const startBatch = (batch: BatchSlots, jobs: readonly HeldJob[]): void => {
    calls += 1;
    const first = jobs[0]!;
    slots.of(first).running += 1;
    for (const job of jobs) {
      batch.prefetch.jobStarted();
      enter(job);
    }
    const onOver: OnAttemptOver = (job, verdict, wasAbandoned) => {
      batch.prefetch.jobFinished();
      leave(job, verdict, wasAbandoned);
    };
    runCall(worker, jobs, handlers.get(batch.typeName)!, onOver, freeSlot);
  };

  /** A job that runs alone is a batch of one, where its type runs in batches. */
  const startAlone = (job: HeldJob): void => {
    const batch = slots.batchOf(job);
    if (batch) startBatch(batch, [job]);
    else startJob(job);
  };

  const enter = (job: HeldJob): void => {
    runningJobs.add(job);
    reportProcessing(worker, job, 1);
  };

  const leave = (job: HeldJob, verdict: Verdict, wasAbandoned: boolean): void => {
    if (wasAbandoned) counts.abandoned += 1;
    runningJobs.delete(job);
    reportProcessing(worker, job, -1);
    if (typeof verdict === "object") committer.add(job, verdict);
    else endAttempt(worker, job, { kind: verdict });
  };

  /** The call that this job was the first of is over. */
  const freeSlot = (job: HeldJob): void => {
    calls -= 1;
    slots.of(job).running -= 1;
    suspects.leave(job);
    if (runningJobs.size === 0) for (const resolve of onDrained.splice(0)) resolve();
    pumpSoon();
  };

  /** Jobs that finish in the same moment make room together. */
  const pumpSoon = (): void => {
    if (pumpIsDue) return;
    pumpIsDue = true;
    void Promise.resolve().then(() => {
      pumpIsDue = false;
      pump();
      wakeUps.roomFreed.signal();
    });
  };

  const drop = (job: HeldJob): void => {
    reportLostLease(engine.observe, worker, job, "lease_expired");
    endAttempt(worker, job, { kind: "lost" });
  };

  const pump = (): void => {
    suspects.pump(startAlone, drop);
    while (calls < settings.concurrency) {
      const queue = slots.next();
      if (!queue) return;
      const batch = slots.hasBatches ? slots.nextBatch(queue) : undefined;
      if (!(batch ? pumpBatch(batch) : pumpJob(queue))) return;
    }
  };

  /** Starts the first job of the buffer, or drops it. Returns false if nothing may be started now. */
  const pumpJob = (queue: QueueSlots): boolean => {
    const trusted = isLeaseTrusted(queue.buffer.peek()!, clock);
    if (trusted && !crashIsolation.tryEnter(false)) return false;
    // Out of the buffer first: a handler may stop the worker before it even returns.
    const job = slots.shift(queue)!;
    if (trusted) startJob(job);
    else drop(job);
    return true;
  };

  const pumpBatch = (batch: BatchSlots): boolean => {
    if (!crashIsolation.tryEnter(false)) return false;
    const jobs: HeldJob[] = [];
    for (const job of slots.takeBatch(batch)) {
      if (isLeaseTrusted(job, clock)) jobs.push(job);
      else drop(job);
    }
    if (jobs.length > 0) startBatch(batch, jobs);
    else crashIsolation.leave(false);
    return true;
  };

  const giveBack = (job: HeldJob): void => {
    counts.givenBack += 1;
    committer.add(job, giveBackOutcome(job));
  };

  const giveBackBuffered = (): void => {
    for (const job of slots.drain()) giveBack(job);
  };

  const accept = (job: HeldJob): void => {
    const refusal = refuse(worker, job);
    if (refusal) committer.add(job, refusal);
    else if (stopping) giveBack(job);
    else {
      const place = suspects.place(job);
      if (place === "buffer") slots.push(job);
      if (place === "giveBack") giveBack(job);
    }
  };

  const countBuffered = (): number => slots.buffered + suspects.waiting;

  // Half a buffer is worth a round trip; a single free slot is not while there is work in hand.
  const hasEnough = (): boolean => countBuffered() > ahead / 2 && calls >= settings.concurrency;

  const room = (): Capacity => {
    if (stopping || !crashIsolation.mayClaim(worker)) return noRoom;
    // A store that is slow to write holds back claiming, so that leases do not pile up behind it.
    const backlog = Math.max(0, committer.pending - settings.commitBatchSize);
    const free = settings.concurrency - calls;
    // What waits although slots are free waits for those of its own queue, and must not take these from the others.
    const jobs = hasEnough() ? 0 : free + Math.max(0, ahead - countBuffered()) - backlog;
    return { calls: free, jobs, backlog };
  };

  const stopListening = crashIsolation.onChange(() => {
    if (crashIsolation.isReserved) giveBackBuffered();
    pump();
    wakeUps.roomFreed.signal();
  });

  return {
    accept: (jobs) => {
      suspects.beginClaim();
      for (const job of jobs) accept(job);
      suspects.endClaim();
      pump();
    },
    queuesWithRoom: () => {
      // Asked after every job: while there is enough by the last estimate, a new one is not worth its cost.
      if (hasEnough() && !slots.hasBatches) return 0;
      ahead = slots.updatePrefetchTarget();
      return slots.countWithRoom(room());
    },
    claimRequests: () => {
      ahead = slots.updatePrefetchTarget();
      const free = room();
      const requests = slots.claimRequests(free);
      if (requests.length === 0) return nothingToClaim;
      const limit = slots.hasBatches ? requests.reduce((sum, request) => sum + request.limit, 0) : free.jobs;
      return { requests, limit };
    },
    stop: () => {
      stopping = true;
      stopListening();
      giveBackBuffered();
      suspects.stop(giveBack);
    },
    abortRunning: () => {
      const jobs = [...runningJobs];
      for (const job of jobs) job.attempt?.abort("shutdown");
      return jobs.length;
    },
    drained: () =>
      runningJobs.size === 0 ? Promise.resolve() : new Promise((resolve) => onDrained.push(resolve)),
    get running() {
      return runningJobs.size;
    },
    get buffered() {
      return countBuffered() + slots.bufferedInBatches;
    },
    get givenBack() {
      return counts.givenBack;
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
  if (attempt > attemptLimit(worker, held.job)) {
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
