import type { AsyncScope } from "../async-scope.ts";
import type { Leasehold } from "../api.ts";
import type { AnyStateAdapter } from "../contracts/state-adapter.ts";

type Started = { readonly id: string } | readonly { readonly id: string }[];

/**
 * Reports sequences once the application may rely on them: when the outermost call or transaction they were started in
 * has succeeded.
 */
export const acknowledgeStarts = <TDefs>(
  leasehold: Leasehold<TDefs, AnyStateAdapter>,
  acknowledging: AsyncScope<string[]>,
  report: (jobIds: readonly string[]) => void,
): Leasehold<TDefs, AnyStateAdapter> => {
  const collect = async <T>(call: () => Promise<T>, idsIn: (result: T) => readonly string[]): Promise<T> => {
    const outer = acknowledging.getStore();
    const ids: string[] = [];
    const result = await acknowledging.run(ids, call);
    ids.push(...idsIn(result));
    if (outer) outer.push(...ids);
    else if (ids.length > 0) report(ids);
    return result;
  };
  const startedIds = (started: unknown): string[] => [started as Started].flat().map(({ id }) => id);
  const none = (): string[] => [];

  return {
    ...leasehold,
    startJobSequence: (options) => collect(() => leasehold.startJobSequence(options), startedIds),
    startJobSequences: (options) => collect(() => leasehold.startJobSequences(options), startedIds),
    runInTransaction: (callback) => collect(() => leasehold.runInTransaction(callback), none),
  };
};
