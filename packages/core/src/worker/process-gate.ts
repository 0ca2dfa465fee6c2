/**
 * Decides which jobs may run side by side in this process. A job suspected of taking its process down runs with
 * nothing else around it, so that the next crash speaks for itself and costs no healthy neighbour an attempt.
 */
export interface ProcessGate {
  tryEnter(alone: boolean): boolean;
  leave(alone: boolean): void;
  /** Asks for the process to be emptied; nothing else may enter until the suspect has run. */
  requestAlone(): void;
  withdrawRequest(): void;
  /** Whether a suspect is running or waiting: nothing else should be started or fetched. */
  readonly isReserved: boolean;
  /** Called whenever somebody might get in who could not before. */
  onChange(listener: () => void): () => void;
}

export const createProcessGate = (): ProcessGate => {
  const listeners = new Set<() => void>();
  let running = 0;
  let aloneRunning = false;
  let aloneRequests = 0;

  const changed = (): void => {
    for (const listener of [...listeners]) listener();
  };

  return {
    tryEnter: (alone) => {
      if (aloneRunning || (alone ? running > 0 : aloneRequests > 0)) return false;
      running += 1;
      aloneRunning = alone;
      return true;
    },
    leave: (alone) => {
      running -= 1;
      if (alone) aloneRunning = false;
      if (alone || aloneRequests > 0) changed();
    },
    requestAlone: () => {
      aloneRequests += 1;
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
