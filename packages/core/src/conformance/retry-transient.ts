import { repeat, repeatAfterConflict, systemBackoff } from "../base/backoff.ts";
import { lostReplies } from "../engine/lost-replies.ts";
import type { AnyStateAdapter } from "../store/contract/state-adapter.ts";
import { wrapAdapter } from "../store/wrap-adapter.ts";

/** Repeats a call after a transient error, as core does. */
export const retryTransient = <T>(
  { adapter }: { readonly adapter: AnyStateAdapter },
  call: () => Promise<T>,
): Promise<T> => {
  const delay = { firstMs: 1, longestMs: 20, jitter: "full" } as const;
  const isRepeatable = (error: unknown): boolean => adapter.isTransientError(error);
  return repeat(systemBackoff, { maxRuns: 100, delay, isRepeatable }, call);
};

const notRepeated: ReadonlySet<string> = new Set([
  "close",
  "isConflictRollback",
  "isInTransaction",
  "isTransientError",
  "provideContext",
  "runInTransaction",
]);

/** The adapter, whose calls outside transactions are repeated after a conflict rollback, as core does. */
export const repeatConflicts = (adapter: AnyStateAdapter): AnyStateAdapter => {
  const isConflictRollback = (error: unknown): boolean => adapter.isConflictRollback(error);
  return wrapAdapter(adapter, (method, original) => {
    if (notRepeated.has(method)) return original;
    return (...args) => {
      const [call] = args as [(object & { readonly ctx?: object }) | undefined];
      if (call?.ctx !== undefined) return original(...args);
      let runs = 0;
      const again = lostReplies[method]?.again;
      return repeatAfterConflict(systemBackoff, isConflictRollback, async () =>
        (runs += 1) > 1 && again ? original(again(call)) : original(...args),
      );
    };
  });
};
