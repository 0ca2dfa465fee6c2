import type { Runtime } from "../clock.ts";

/**
 * Decides which jobs may be in this process together. A job suspected of taking its process down runs with nothing else
 * around it, not even jobs that merely wait their turn: whatever is held when the process dies loses an attempt. So the
 * next crash is certainly its own, and costs no healthy neighbour an attempt.
 *
 * Nor may a suspect wait here while others run: if one of those crashes, the suspect loses its last attempt. It is given
 * back, and the worker that met it asks for its turn: the process fills up no further, empties, and that worker then
 * claims before all others.
 */
export interface CrashIsolation {
  /** A lease is held, or about to be, from here on, by whichever worker of this process. */
  hold(): void;
  drop(): void;
  tryEnter(alone: boolean): boolean;
  leave(alone: boolean): void;
  /** Asks for the process to be emptied; nothing else may enter until the suspect has run. */
  requestAlone(): void;
  withdrawRequest(): void;
  /** Asks for the process to be emptied, so that this worker can claim while nothing runs. */
  requestTurn(worker: object): void;
  /** The worker has claimed, could not, or stops. Returns whether it had asked for a turn. */
  endTurn(worker: object): boolean;
  /** Whether this worker may fetch jobs now. */
  mayClaim(worker: object): boolean;
  /** Whether nothing runs in this process. */
  readonly isQuiet: boolean;
  /** Whether a suspect is running, waiting or to be fetched: nothing else should be started or kept waiting. */
  readonly isReserved: boolean;
  /** Called when the process is to be emptied, and whenever somebody might get in who could not before. */
  onChange(listener: () => void): () => void;
}

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
      // A handler can outlive its lease. While it does, a suspect would only be given back, again and again.
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
