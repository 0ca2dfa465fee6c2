import type { Runtime } from "../base/runtime.ts";
import type { StateJob } from "../store/contract/job.ts";
import type { WorkerContext } from "./context.ts";
import { refusalAbortReason, reportRefusal } from "./attempt-events.ts";
import {
  type CrashIsolation,
  type HeldJob,
  isLeaseTrusted,
  loseLease,
  trustedLeaseEnd,
} from "./held-jobs.ts";
import { attemptLimit } from "./outcome.ts";

export const createCrashIsolation = (): CrashIsolation => {
  const listeners = new Set<() => void>();
  const turns = new Set<object>();
  let held = 0;
  let running = 0;
  let aloneRunning = false;
  let aloneRequests = 0;

  const changed = (): void => {
    for (const listener of listeners) listener();
  };

  return {
    hold: () => {
      held += 1;
    },
    drop: () => {
      held -= 1;
      if (held === 0 && running === 0 && aloneRunning) {
        aloneRunning = false;
        changed();
      } else if ((held === 1 && aloneRequests > 0) || (held === 0 && turns.size > 0)) changed();
    },
    tryEnter: (alone) => {
      if (aloneRunning || (alone ? running > 0 || held > 1 : aloneRequests + turns.size > 0)) return false;
      running += 1;
      aloneRunning = alone;
      return true;
    },
    leave: (alone) => {
      running -= 1;
      // Until its outcome is written, a crash would still cost the suspect its last attempt: the lease ends it, not this.
      if (alone && held === 0) aloneRunning = false;
      if (alone || aloneRequests > 0 || turns.size > 0) changed();
    },
    requestAlone: () => {
      aloneRequests += 1;
      changed();
    },
    withdrawRequest: () => {
      aloneRequests -= 1;
      if (aloneRequests === 0) changed();
    },
    requestTurn: (worker) => {
      turns.add(worker);
      changed();
    },
    endTurn: (worker) => {
      if (!turns.delete(worker)) return false;
      changed();
      return true;
    },
    mayClaim: (worker) => {
      if (aloneRunning || aloneRequests > 0) return false;
      // A handler can outlive its lease. While it does, every claim of a suspect would only release it again.
      return turns.size === 0 || (turns.has(worker) && held === 0 && running === 0);
    },
    get isQuiet() {
      return running === 0;
    },
    get isReserved() {
      return aloneRunning || aloneRequests > 0 || turns.size > 0;
    },
    onChange: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
};

const thisProcess = createCrashIsolation();

const simulated = new WeakMap<Runtime, CrashIsolation>();

/** All Leasehold instances of a process share its fate and so its crashIsolation. In simulations each runtime is a process. */
export const crashIsolationOf = (runtime: Runtime | undefined): CrashIsolation => {
  if (runtime === undefined) return thisProcess;
  const crashIsolation = simulated.get(runtime) ?? createCrashIsolation();
  simulated.set(runtime, crashIsolation);
  return crashIsolation;
};

/**
 * A suspect is a job whose lease has run out before and that is at its last attempt: it may be what took its process
 * down. It runs alone in its process.
 */
export const isSuspect = (worker: WorkerContext, job: StateJob): boolean =>
  job.expiredLeases > 0 && job.attempt >= attemptLimit(worker, job);

/** How a suspect that waited ends up. */
export interface SuspectEnds {
  readonly start: (job: HeldJob) => void;
  readonly drop: (job: HeldJob) => void;
  readonly release: (job: HeldJob) => void;
}

/**
 * Writes that the last attempt begins. Before this write, an expired lease does not count against the suspect: another job may
 * have taken the process down. Returns whether the job may start; undefined if the store could not be asked.
 */
const beginLastAttempt = async (worker: WorkerContext, held: HeldJob): Promise<boolean | undefined> => {
  const { store, observe, runtime } = worker.engine;
  const { leaseToken, leaseMs } = held;
  const askedAt = runtime.clock.monotonic();
  const attempt = Math.min(held.job.attempt, attemptLimit(worker, held.job));
  const lease = { jobId: held.job.id, leaseToken, leaseMs, lastAttempt: attempt };
  try {
    const [result] = await store.renewLeases({ leases: [lease] });
    if (result?.kind === "refused") {
      reportRefusal(observe, worker, held, result);
      loseLease(held, refusalAbortReason(result));
      return false;
    }
    if (result?.kind !== "renewed") return undefined;
  } catch {
    return undefined;
  }
  held.leaseEndsAt = trustedLeaseEnd(askedAt, leaseMs);
  held.job = { ...held.job, attempt };
  held.eventData = undefined;
  // After a late answer the handler may not start here. The job is released, so that it keeps the attempt written as begun.
  return isLeaseTrusted(held, runtime.clock) ? true : undefined;
};

/** The part of one worker in `CrashIsolation`. */
export interface Suspects {
  /** A claim has been answered: the turn in which it was made is over. */
  beginClaim(): void;
  /** Where a claimed job goes: into the buffer, back to the store, or it waits here to run alone. */
  place(job: HeldJob): "buffer" | "release" | "waits";
  /** All jobs of the claim have been placed. */
  endClaim(): void;
  /** Begins the suspect that waits here if nothing else is in the process, or drops it when its lease is gone. */
  pump(ends: SuspectEnds): void;
  /** A job of this worker has left its slot. */
  leave(job: HeldJob): void;
  /** Runs no suspect any more; a suspect that waits here is released. */
  stop(release: (job: HeldJob) => void): void;
  /** How many suspects wait here or are about to start: none or one. */
  readonly waiting: number;
}

export const createSuspects = (worker: WorkerContext): Suspects => {
  const { crashIsolation, engine } = worker;
  const { clock } = engine.runtime;
  let waiting: HeldJob | undefined;
  let beginning: HeldJob | undefined;
  let runningAlone: HeldJob | undefined;
  let metSuspect = false;

  const leave = (job: HeldJob): void => {
    const alone = job === runningAlone;
    if (alone) runningAlone = undefined;
    crashIsolation.leave(alone);
  };

  const begin = async (job: HeldJob, { start, drop, release }: SuspectEnds): Promise<void> => {
    beginning = job;
    runningAlone = job;
    const mayStart = await beginLastAttempt(worker, job);
    // The worker has stopped meanwhile and has released the job.
    if (beginning !== job) return;
    beginning = undefined;
    if (mayStart === true) {
      start(job);
      return;
    }
    leave(job);
    (mayStart === undefined ? release : drop)(job);
  };

  return {
    beginClaim: () => {
      // Nothing runs now if this is what the turn was for, so a suspect that the claim has brought may wait here.
      crashIsolation.endTurn(worker);
      metSuspect = false;
    },
    place: (job) => {
      if (crashIsolation.isReserved || metSuspect) return "release";
      if (!isSuspect(worker, job.job)) return "buffer";
      if (!crashIsolation.isQuiet) {
        metSuspect = true;
        return "release";
      }
      waiting = job;
      crashIsolation.requestAlone();
      return "waits";
    },
    endClaim: () => {
      if (metSuspect) crashIsolation.requestTurn(worker);
    },
    pump: (ends) => {
      const job = waiting;
      if (!job) return;
      const trusted = isLeaseTrusted(job, clock);
      if (trusted && !crashIsolation.tryEnter(true)) return;
      waiting = undefined;
      if (trusted) void begin(job, ends);
      else ends.drop(job);
      crashIsolation.withdrawRequest();
    },
    leave,
    stop: (release) => {
      crashIsolation.endTurn(worker);
      const job = waiting ?? beginning;
      if (!job) return;
      const waited = job === waiting;
      waiting = undefined;
      beginning = undefined;
      release(job);
      if (waited) crashIsolation.withdrawRequest();
      else leave(job);
    },
    get waiting() {
      return waiting || beginning ? 1 : 0;
    },
  };
};
