/**
 * Decides which jobs may be in this process together. A job suspected of taking its process down runs with nothing else
 * around it, not even jobs that merely wait their turn: whatever is held when the process dies loses an attempt. So the
 * next crash speaks for itself and costs no healthy neighbour anything.
 */
export interface ProcessGate {
  /** A lease is held, or about to be, from here on, by whichever worker of this process. */
  hold(): void;
  drop(): void;
  tryEnter(alone: boolean): boolean;
  leave(alone: boolean): void;
  /** Asks for the process to be emptied; nothing else may enter until the suspect has run. */
  requestAlone(): void;
  withdrawRequest(): void;
  /** Whether a suspect is running or waiting: nothing else should be started, fetched or kept waiting. */
  readonly isReserved: boolean;
  /** Called when the process is to be emptied, and whenever somebody might get in who could not before. */
  onChange(listener: () => void): () => void;
}

export const createProcessGate = (): ProcessGate => {
  const listeners = new Set<() => void>();
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
      } else if (held === 1 && aloneRequests > 0) changed();
    },
    tryEnter: (alone) => {
      if (aloneRunning || (alone ? running > 0 || held > 1 : aloneRequests > 0)) return false;
      running += 1;
      aloneRunning = alone;
      return true;
    },
    leave: (alone) => {
      running -= 1;
      // Until its outcome is written, a crash would still cost the suspect its last attempt: the lease ends it, not this.
      if (alone && held === 0) aloneRunning = false;
      if (alone || aloneRequests > 0) changed();
    },
    requestAlone: () => {
      aloneRequests += 1;
      changed();
    },
    withdrawRequest: () => {
      aloneRequests -= 1;
      if (aloneRequests === 0) changed();
    },
    get isReserved() {
      return aloneRunning || aloneRequests > 0;
    },
    onChange: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
};
