import assert from "node:assert/strict";

/** A listener that remembers what it heard and lets a test wait for more. */
export interface Recorder {
  readonly heard: readonly string[];
  readonly record: (value: string) => void;
  timesHeard(value: string): number;
  /** Resolves when `value` has been heard `times`, at least; fails after a deadline, saying what came instead. */
  waitFor(value: string, times?: number): Promise<void>;
}

const deadlineMs = 5_000;

export const createRecorder = (): Recorder => {
  const heard: string[] = [];
  const waiting = new Set<() => void>();
  const timesHeard = (value: string): number => heard.filter((other) => other === value).length;

  return {
    heard,
    timesHeard,
    record: (value) => {
      heard.push(value);
      for (const check of Array.from(waiting)) check();
    },
    waitFor: (value, times = 1) =>
      new Promise((resolve, reject) => {
        const settle = (finish: () => void): void => {
          clearTimeout(timer);
          waiting.delete(check);
          finish();
        };
        const check = (): void => {
          if (timesHeard(value) >= times) settle(resolve);
        };
        const fail = (): void => {
          const message = `${JSON.stringify(value)} was not heard ${times} times; heard ${JSON.stringify(heard)}`;
          settle(() => reject(new assert.AssertionError({ message })));
        };
        // A transport runs on real time, whatever clock the test has.
        const timer = setTimeout(fail, deadlineMs);
        waiting.add(check);
        check();
      }),
  };
};
