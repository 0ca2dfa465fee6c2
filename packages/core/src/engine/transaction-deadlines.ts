import type { Clock } from "../clock.ts";
import { StoreCallTimeoutError } from "../errors.ts";

/**
 * A transaction's own code may take as long as it likes, so the deadline watches only what the store does: opening the
 * transaction, and ending it once the code has finished.
 */
export const runTransactionWithDeadlines = <TCtx, T>(
  clock: Clock,
  deadlineMs: number,
  run: (callback: (ctx: TCtx) => Promise<T>) => Promise<T>,
  callback: (ctx: TCtx) => Promise<T>,
): Promise<T> =>
  new Promise((resolve, reject) => {
    let gaveUp = false;
    const watch = (step: string) =>
      clock.setTimer(() => {
        gaveUp = true;
        reject(new StoreCallTimeoutError(step, deadlineMs));
      }, deadlineMs);
    let cancel = watch("begin transaction");
    run(async (ctx) => {
      cancel();
      // Nobody waits any more: let the transaction roll back instead of committing unseen.
      if (gaveUp) throw new StoreCallTimeoutError("begin transaction", deadlineMs);
      try {
        return await callback(ctx);
      } finally {
        cancel = watch("end transaction");
      }
    }).then(
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
