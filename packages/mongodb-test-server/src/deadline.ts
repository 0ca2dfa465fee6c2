import { CommandError } from "./errors.ts";

/** The time that `maxTimeMS` leaves a command. */
export interface Deadline {
  check(): void;
  /** Waits for the promise, but not longer than the command may take. */
  wait(promise: Promise<void>): Promise<void>;
}

const expired = () => new CommandError("MaxTimeMSExpired", "operation exceeded time limit");

export const createDeadline = (maxTimeMs: number): Deadline => {
  if (maxTimeMs <= 0) return { check: () => {}, wait: (promise) => promise };
  const end = performance.now() + maxTimeMs;
  const check = () => {
    if (performance.now() >= end) throw expired();
  };
  return {
    check,
    wait: async (promise) => {
      check();
      let timer: NodeJS.Timeout | undefined;
      const timeout = new Promise<never>((_, reject) => {
        timer = setTimeout(() => {
          reject(expired());
        }, end - performance.now());
      });
      try {
        await Promise.race([promise, timeout]);
      } finally {
        clearTimeout(timer);
      }
    },
  };
};
