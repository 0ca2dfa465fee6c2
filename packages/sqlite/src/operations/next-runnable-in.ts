import type { Operation } from "../operation.ts";
import type { Runnable } from "../runnable.ts";

export const prepareNextRunnableIn =
  (runnable: Runnable): Operation<"nextRunnableIn"> =>
  (db, { requests, maxAttempts }, now) => {
    let next: number | null = null;
    for (const { queue, typeNames } of requests) {
      const at = runnable.nextAt(db, { queue, typeNames, maxAttempts });
      if (at !== null && (next === null || at < next)) next = at;
    }
    return next === null ? null : Math.max(0, next - now);
  };
