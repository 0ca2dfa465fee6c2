import { type Clock, systemClock } from "./clock.ts";

/** Settles like `call`, or rejects when that takes too long. A late answer is dropped; the call itself goes on. */
export const withDeadline = <T>(
  call: Promise<T>,
  deadlineMs: number,
  createError: () => Error,
  clock: Clock = systemClock,
): Promise<T> =>
  new Promise((resolve, reject) => {
    const cancel = clock.setTimer(() => reject(createError()), deadlineMs);
    call.then(
      (value) => {
        cancel();
        resolve(value);
      },
      (error: unknown) => {
        cancel();
        reject(error);
      },
    );
  });
