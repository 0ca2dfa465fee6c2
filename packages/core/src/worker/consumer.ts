import type { ClaimRequest, JobOutcome } from "../contracts/state-adapter.ts";
import { isObserved } from "../engine/observe.ts";
import { UnknownJobTypeError } from "../errors.ts";
import { startAttempt } from "./attempt.ts";
import { reportLostLease } from "./attempt-events.ts";
import { attemptLimit, failOutcome, releaseOutcome } from "./decide-outcome.ts";
import { createFifo, type Fifo } from "./fifo.ts";
import { type HeldJob, isLeaseTrusted } from "./held-jobs.ts";
import { createPrefetchEstimate } from "./prefetch.ts";
import type { CrashIsolation } from "./crash-isolation.ts";
import type { QueueSettings, WorkerContext } from "./worker-context.ts";

/** Runs claimed jobs in slots, fairly across queues, and says how many more it could take. */
export interface Consumer {
  accept(jobs: readonly HeldJob[]): void;
  /** How many queues have enough room to be worth a claim. */
  queuesWithRoom(): number;
  /** What to claim now; empty while there is no room. */
  claimRequests(): { requests: readonly ClaimRequest[]; limit: number };
  /** Starts nothing any more; buffered jobs are given back. */
  stop(): void;
  /** Tells every running process function that the worker is going. Answers how many. */
  abortRunning(): number;
  /** Resolves when no slot is in use. */
  drained(): Promise<void>;
  readonly running: number;
  readonly buffered: number;
  /** Jobs given back without having been started. */
  readonly released: number;
  /** Process functions that ignored their signal until they were given up on. */
  readonly abandoned: number;
}

export interface ConsumerOptions {
  readonly crashIsolation: CrashIsolation;
  readonly commit: (held: HeldJob, outcome: JobOutcome) => void;
  /** How many outcomes wait to be written. */
  readonly uncommitted: () => number;
  /** Room has come free, or the lease of a buffered job is gone. */
  readonly onRoom: () => void;
}

interface Lane {
  readonly queue: QueueSettings;
  readonly buffer: Fifo<HeldJob>;
  readonly typeNames: readonly string[] | null;
  running: number;
}

export const createConsumer = (
  worker: WorkerContext,
  { crashIsolation, commit, uncommitted, onRoom }: ConsumerOptions,
): Consumer => {
  const { engine, settings, handlers, held } = worker;
  const { clock } = engine.runtime;
  const typeNames = [...handlers.keys()];
  const lanes: Lane[] = settings.queues.map((queue) => ({
    queue,
    buffer: createFifo(),
    typeNames: queue.claimAllTypes ? null : typeNames,
    running: 0,
  }));
  const laneOf = new Map(lanes.map((lane) => [lane.queue.name, lane]));
  const prefetch = createPrefetchEstimate(clock, settings.prefetch);
  const runningJobs = new Set<HeldJob>();
  let suspect: HeldJob | undefined;
  let runningAlone: HeldJob | undefined;
  let buffered = 0;
  let released = 0;
  let abandoned = 0;
  let stopping = false;
  let pumpIsDue = false;
  let nextLane = 0;
  /** How many jobs to hold in advance of free slots, when last reckoned. */
  let ahead = 0;
  let onDrained: (() => void)[] = [];

  const drop = (job: HeldJob): void => {
    held.remove(job);
    reportLostLease(engine.observe, worker, job, "lease_expired");
  };

  const finish = (job: HeldJob, outcome: JobOutcome | undefined, wasAbandoned: boolean): void => {
    const alone = job === runningAlone;
    if (alone) runningAlone = undefined;
    if (wasAbandoned) abandoned += 1;
    runningJobs.delete(job);
    laneOf.get(job.job.queue)!.running -= 1;
    prefetch.jobFinished();
    reportProcessing(job, -1);
    if (outcome) commit(job, outcome);
    else held.remove(job);
    crashIsolation.leave(alone);
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
      onRoom();
    });
  };

  const start = (job: HeldJob, lane: Lane, alone: boolean): void => {
    const handler = handlers.get(job.job.typeName)!;
    runningJobs.add(job);
    lane.running += 1;
    prefetch.jobStarted();
    if (alone) runningAlone = job;
    reportProcessing(job, 1);
    startAttempt(worker, job, handler, finish);
  };

  const reportProcessing = ({ job }: HeldJob, delta: 1 | -1): void => {
    if (!isObserved(engine.observe)) return;
    const { typeName } = job;
    const { workerId } = settings;
    engine.observe("jobTypeProcessingChange", () => ({ typeName, workerId, delta }));
    engine.observe("jobTypeIdleChange", () => ({ typeName, workerId, delta: -delta }));
  };

  /** Jobs that must not run here get their outcome at once. */
  const refuse = (job: HeldJob): JobOutcome | undefined => {
    const { typeName, attempt } = job.job;
    if (!handlers.has(typeName)) {
      return failOutcome(
        job,
        "no_handler",
        new UnknownJobTypeError(typeName, "has no handler in the worker that owns its queue"),
      );
    }
    if (attempt > attemptLimit(worker, job.job)) {
      return failOutcome(
        job,
        "attempts_exhausted",
        new Error("No attempt is left under this worker's limit."),
      );
    }
    return undefined;
  };

  const isSuspect = ({ job }: HeldJob): boolean =>
    job.expiredLeases > 0 && job.attempt >= attemptLimit(worker, job);

  const pumpSuspect = (): void => {
    const job = suspect;
    if (!job) return;
    const trusted = isLeaseTrusted(job, clock);
    if (trusted && !crashIsolation.tryEnter(true)) return;
    suspect = undefined;
    buffered -= 1;
    if (trusted) start(job, laneOf.get(job.job.queue)!, true);
    else drop(job);
    crashIsolation.withdrawRequest();
  };

  const pump = (): void => {
    pumpSuspect();
    // One job a lane in turn, so that a full queue cannot keep the others from the slots.
    let blockedLanes = 0;
    while (blockedLanes < lanes.length && runningJobs.size < settings.concurrency) {
      const lane = lanes[nextLane]!;
      nextLane = (nextLane + 1) % lanes.length;
      const job = lane.running < lane.queue.concurrency ? lane.buffer.peek() : undefined;
      if (!job) {
        blockedLanes += 1;
        continue;
      }
      blockedLanes = 0;
      const trusted = isLeaseTrusted(job, clock);
      if (trusted && !crashIsolation.tryEnter(false)) return;
      // Out of the buffer first: a process function may stop the worker before it even returns.
      lane.buffer.shift();
      buffered -= 1;
      if (trusted) start(job, lane, false);
      else drop(job);
    }
  };

  const giveBack = (job: HeldJob): void => {
    released += 1;
    commit(job, releaseOutcome(job));
  };

  const giveBackBuffered = (): void => {
    for (const lane of lanes) {
      for (let job = lane.buffer.shift(); job; job = lane.buffer.shift()) {
        buffered -= 1;
        giveBack(job);
      }
    }
  };

  /** How many more jobs could be taken on; 0 while asking for them is not worth a round trip. */
  const room = (): number => {
    if (stopping || !crashIsolation.mayClaim(worker)) return 0;
    // Half a buffer is worth a round trip; a single free slot is not while there is work in hand.
    if (buffered > ahead / 2 && runningJobs.size >= settings.concurrency) return 0;
    // A store that is slow to write holds back claiming, so that leases do not pile up behind it.
    const backlog = Math.max(0, uncommitted() - settings.commitBatchSize);
    return settings.concurrency - runningJobs.size + ahead - buffered - backlog;
  };

  const laneRoom = (lane: Lane): number => lane.queue.concurrency - lane.running + ahead - lane.buffer.size;

  const stopListening = crashIsolation.onChange(() => {
    if (crashIsolation.isReserved) giveBackBuffered();
    pump();
    onRoom();
  });

  return {
    accept: (jobs) => {
      // Nothing runs now if this is what the turn was for, so a suspect that the claim has brought may wait here.
      crashIsolation.endTurn(worker);
      let metSuspect = false;
      for (const job of jobs) {
        const refusal = refuse(job);
        if (refusal) commit(job, refusal);
        else if (stopping) giveBack(job);
        else if (crashIsolation.isReserved || metSuspect) giveBack(job);
        else if (isSuspect(job) && !crashIsolation.isQuiet) {
          metSuspect = true;
          giveBack(job);
        } else if (isSuspect(job)) {
          suspect = job;
          buffered += 1;
          crashIsolation.requestAlone();
        } else {
          laneOf.get(job.job.queue)!.buffer.push(job);
          buffered += 1;
        }
      }
      if (metSuspect) crashIsolation.requestTurn(worker);
      pump();
    },
    queuesWithRoom: () => {
      // Asked after every job: while there is enough in hand by the last estimate, a new one is not worth its while.
      if (buffered > ahead / 2 && runningJobs.size >= settings.concurrency) return 0;
      ahead = prefetch.current();
      if (room() <= 0) return 0;
      let count = 0;
      for (const lane of lanes) if (laneRoom(lane) > 0) count += 1;
      return count;
    },
    claimRequests: () => {
      ahead = prefetch.current();
      const free = room();
      if (free <= 0) return { requests: [], limit: 0 };
      const wanting = lanes.map((lane) => ({ lane, room: laneRoom(lane) })).filter(({ room }) => room > 0);
      if (wanting.length === 0) return { requests: [], limit: 0 };
      // The order rotates, so that when there is little room every queue comes first in turn.
      const first = nextLane % wanting.length;
      const share = Math.ceil(free / wanting.length);
      const requests = [...wanting.slice(first), ...wanting.slice(0, first)].map(({ lane, room }) => ({
        queue: lane.queue.name,
        typeNames: lane.typeNames,
        limit: Math.min(room, share),
      }));
      nextLane = (nextLane + 1) % lanes.length;
      return { requests, limit: free };
    },
    stop: () => {
      stopping = true;
      stopListening();
      giveBackBuffered();
      crashIsolation.endTurn(worker);
      if (!suspect) return;
      giveBack(suspect);
      suspect = undefined;
      buffered -= 1;
      crashIsolation.withdrawRequest();
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
      return buffered;
    },
    get released() {
      return released;
    },
    get abandoned() {
      return abandoned;
    },
  };
};
