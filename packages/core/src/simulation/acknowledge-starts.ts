import type { AsyncScope } from "../base/async.ts";
import type { Leasehold } from "../leasehold-api.ts";
import type { StartArguments } from "../jobs/api/start.ts";
import type {
  AnyStateAdapter,
  GetStateAdapterJobId,
  GetStateAdapterTxContext,
} from "../store/contract/state-adapter.ts";
import { JobAlreadyExistsError } from "../store/errors.ts";
import type { JobTypeNames } from "../job-types/navigation.ts";

type AnyContext = GetStateAdapterTxContext<AnyStateAdapter>;
type AnyId = GetStateAdapterJobId<AnyStateAdapter>;

type Started = { readonly id: string } | readonly { readonly id: string }[];

/**
 * Reports sequences once the application may rely on them: when the outermost call or transaction they were started in
 * has succeeded.
 */
export const acknowledgeStarts = <TDefs>(
  leasehold: Leasehold<TDefs, AnyStateAdapter>,
  acknowledging: AsyncScope<string[]>,
  report: (kind: "acknowledged" | "start_refused", jobIds: readonly string[]) => void,
): Leasehold<TDefs, AnyStateAdapter> => {
  const collect = async <T>(call: () => Promise<T>, idsIn: (result: T) => readonly string[]): Promise<T> => {
    const outer = acknowledging.getStore();
    const ids: string[] = [];
    const result = await acknowledging.run(ids, call);
    ids.push(...idsIn(result));
    if (outer) outer.push(...ids);
    else if (ids.length > 0) report("acknowledged", ids);
    return result;
  };
  const startedIds = (started: unknown): string[] => [started as Started].flat().map(({ id }) => id);
  const none = (): string[] => [];

  /** An id that was made for this start cannot be taken, unless by the start itself. */
  const watchIds = async <T>(options: unknown, call: () => Promise<T>): Promise<T> => {
    try {
      return await call();
    } catch (error) {
      const ownId = typeof options === "object" && options !== null && "id" in options;
      if (error instanceof JobAlreadyExistsError && !ownId) report("start_refused", error.ids);
      throw error;
    }
  };

  return {
    ...leasehold,
    startJobSequence: <TTypeName extends JobTypeNames<TDefs>["external"]>(
      options: StartArguments<TDefs, AnyContext, AnyId, TTypeName>["startJobSequence"],
    ) => collect(() => watchIds(options, () => leasehold.startJobSequence<TTypeName>(options)), startedIds),
    startJobSequences: (options) =>
      collect(() => watchIds(options, () => leasehold.startJobSequences(options)), startedIds),
    runInTransaction: (callback) => collect(() => leasehold.runInTransaction(callback), none),
  };
};
