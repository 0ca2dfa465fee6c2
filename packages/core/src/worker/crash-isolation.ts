import type { Runtime } from "../base/runtime.ts";
import type { WorkerContext } from "./context.ts";
import { type CrashIsolation, type HeldJob, isLeaseTrusted } from "./held-jobs.ts";
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
 * down. It runs alone in its process, under `CrashIsolation`; this is the part of one worker.
 */
export interface Suspects {
  /** A claim has been answered: the turn in which it was made is over. */
  beginClaim(): void;
  /** Where a claimed job goes: into the buffer, back to the store, or it waits here to run alone. */
  place(job: HeldJob): "buffer" | "release" | "waits";
  /** All jobs of the claim have been placed. */
  endClaim(): void;
  /** Starts the suspect that waits here if nothing else is in the process, or drops it when its lease is gone. */
  pump(start: (job: HeldJob) => void, drop: (job: HeldJob) => void): void;
  /** A job of this worker has left its slot. */
  leave(job: HeldJob): void;
  /** Runs no suspect any more; a suspect that waits here is released. */
  stop(release: (job: HeldJob) => void): void;
  /** How many suspects wait here: none or one. */
  readonly waiting: number;
}

export const createSuspects = (worker: WorkerContext): Suspects => {
  const { crashIsolation, engine } = worker;
  const { clock } = engine.runtime;
  let waiting: HeldJob | undefined;
  let runningAlone: HeldJob | undefined;
  let metSuspect = false;

  const isSuspect = ({ job }: HeldJob): boolean =>
    job.expiredLeases > 0 && job.attempt >= attemptLimit(worker, job);

  return {
    beginClaim: () => {
      // Nothing runs now if this is what the turn was for, so a suspect that the claim has brought may wait here.
      crashIsolation.endTurn(worker);
      metSuspect = false;
    },
    place: (job) => {
      if (crashIsolation.isReserved || metSuspect) return "release";
      if (!isSuspect(job)) return "buffer";
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
    pump: (start, drop) => {
      const job = waiting;
      if (!job) return;
      const trusted = isLeaseTrusted(job, clock);
      if (trusted && !crashIsolation.tryEnter(true)) return;
      waiting = undefined;
      if (trusted) {
        runningAlone = job;
        start(job);
      } else drop(job);
      crashIsolation.withdrawRequest();
    },
    leave: (job) => {
      const alone = job === runningAlone;
      if (alone) runningAlone = undefined;
      crashIsolation.leave(alone);
    },
    stop: (release) => {
      crashIsolation.endTurn(worker);
      const job = waiting;
      if (!job) return;
      waiting = undefined;
      release(job);
      crashIsolation.withdrawRequest();
    },
    get waiting() {
      return waiting ? 1 : 0;
    },
  };
};
