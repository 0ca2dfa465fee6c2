import {
  type Backoff,
  type CheckedRetryConfig,
  readRetryConfig,
  repeat,
  repeatAfterConflict,
  type RetryConfig,
} from "../base/backoff.ts";
import { LeaseholdError } from "../base/errors.ts";
import { type Clock, createSystemRuntime, type Runtime, withDeadline } from "../base/runtime.ts";
import type { Observe } from "../observability/observe.ts";
import type { StateCall } from "../store/contract/calls.ts";
import type { CreatedStateJob, NewJob } from "../store/contract/creation.ts";
import type { AnyStateAdapter, Jobs, OptionalParts, StateAdapter } from "../store/contract/state-adapter.ts";
import { StoreCallTimeoutError } from "../store/errors.ts";
import { type CallInProgress, giveUp, withCall } from "../store/given-up.ts";
import { contractMethods, partNames } from "../store/parts.ts";
import { type LostReply, lostReplies } from "./lost-replies.ts";

/**
 * A transaction's own code may take as long as it likes, so the deadline watches only what the store does: opening the
 * transaction, and ending it once the code has finished.
 */
const runTransactionWithDeadlines = <TCtx, T>(
  clock: Clock,
  deadlineMs: number,
  run: (callback: (ctx: TCtx) => Promise<T>, call: CallInProgress) => Promise<T>,
  callback: (ctx: TCtx) => Promise<T>,
): Promise<T> =>
  new Promise((resolve, reject) => {
    const call: CallInProgress = { givenUpBy: undefined };
    const watch = (step: string) =>
      clock.setTimer(() => reject(giveUp(call, new StoreCallTimeoutError(step, deadlineMs))), deadlineMs);
    let cancel = watch("begin transaction");
    run(async (ctx) => {
      cancel();
      // The caller has timed out. Throw, so that the transaction rolls back; a commit now would go unreported.
      if (call.givenUpBy) throw call.givenUpBy;
      try {
        return await callback(ctx);
      } finally {
        cancel = watch("end transaction");
      }
    }, call).then(
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

/** The state adapter as core uses it. Its contexts are opaque here. */
export type StateStore = StateAdapter;

export interface DispatchOptions {
  readonly adapter: AnyStateAdapter;
  readonly runtime: Runtime;
  readonly observe: Observe;
  readonly deadlineMs: number;
  readonly retry: CheckedRetryConfig;
  /** Whether the job may be deleted as soon as it completes. Default: none may. */
  readonly mayVanish?: (job: NewJob) => boolean;
}

type CallArguments = StateCall<object> & Record<string, unknown>;

/**
 * Every call to the store goes through here. Each has a deadline. A call outside the caller's transaction is repeated after a
 * conflict rollback and after a transient error; in a transaction, an error rolls the whole transaction back. Repeating
 * is safe: `lostReplies` recognises an earlier try that was committed without a reply.
 */
export const createDispatch = ({
  adapter,
  runtime,
  observe,
  deadlineMs,
  retry,
  mayVanish = () => false,
}: DispatchOptions): StateStore => {
  const { clock } = runtime;
  const { maxAttempts } = retry;
  const delay: Backoff = { firstMs: retry.initialDelayMs, longestMs: retry.maxDelayMs, jitter: "half" };

  const isWorthRepeating = (error: unknown): boolean =>
    error instanceof StoreCallTimeoutError || adapter.isTransientError(error);

  const isConflictRollback = (error: unknown): boolean => adapter.isConflictRollback(error);

  const invoke = (
    owner: object,
    method: string,
    args: Partial<CallArguments> | undefined,
  ): Promise<unknown> => {
    const run = (given: unknown) =>
      (owner as Record<string, (args: unknown) => Promise<unknown>>)[method]!(given);
    const tooLate = () => new StoreCallTimeoutError(method, deadlineMs);
    if (args?.ctx === undefined) return withDeadline(run(args), deadlineMs, tooLate, clock);
    const call: CallInProgress = { givenUpBy: undefined };
    const answer = run({ ...args, ctx: withCall(args.ctx, call) });
    return withDeadline(answer, deadlineMs, () => giveUp(call, tooLate()), clock);
  };

  const repeatCall = (
    method: string,
    args: CallArguments | undefined,
    run: () => Promise<unknown>,
  ): Promise<unknown> => {
    const inTransaction = args?.ctx !== undefined;
    const isRepeatable = (error: unknown): boolean => {
      const isTransient = isWorthRepeating(error);
      // An error that the contract defines is an answer, not a fault.
      if (isTransient || !(error instanceof LeaseholdError)) {
        observe("stateAdapterError", () => ({ operation: method, error }));
      }
      return isTransient && !inTransaction;
    };
    const runOrRepeat = inTransaction ? run : () => repeatAfterConflict(runtime, isConflictRollback, run);
    return repeat(runtime, { maxRuns: maxAttempts, delay, isRepeatable }, runOrRepeat);
  };

  /** Repeats a call whose first try has failed. */
  const repeatFailed = (
    owner: object,
    method: string,
    args: CallArguments | undefined,
    failure: unknown,
  ): Promise<unknown> => {
    const { again, find, recover, recognise } = lostReplies[method] ?? {};
    const store = { getJobs: calls.getJobs, createJobs: calls.createJobs, mayVanish };
    let isFirst = true;
    return repeatCall(method, args, async () => {
      if (isFirst) {
        isFirst = false;
        throw failure;
      }
      const found = await find?.(failure, args, store);
      if (found !== undefined) return found;
      const call = invoke(owner, method, again ? again(args) : args);
      if (recover) return call.catch((error: unknown) => recover(error, args, store));
      return recognise ? call.then((answer) => recognise(answer, args)) : call;
    });
  };

  /** A call whose answer is compared with that of an earlier try. */
  const createMatchedTries = (
    owner: object,
    method: string,
    args: CallArguments | undefined,
    match: NonNullable<LostReply["match"]>,
  ): (() => Promise<unknown>) => {
    // Of a try that may have been committed.
    let earlier: { readonly answer: unknown } | undefined;
    return async () => {
      let own: { readonly answer: unknown } | undefined;
      let isOver = false;
      const transaction = adapter.runInTransaction(async (ctx) => {
        // The deadline applies to the call, too: an open transaction holds locks.
        const answer = await invoke(owner, method, { ...args, ctx });
        // The caller has timed out. Throw, so that the transaction rolls back; a commit now would go unreported.
        if (isOver) throw new StoreCallTimeoutError(method, deadlineMs);
        own = { answer };
        return answer;
      });
      const tooLate = () => new StoreCallTimeoutError(method, deadlineMs);
      try {
        const answer = await withDeadline(transaction, deadlineMs, tooLate, clock);
        return earlier ? match(earlier.answer, answer) : answer;
      } catch (error) {
        isOver = true;
        if (own && !isConflictRollback(error)) earlier = own;
        throw error;
      }
    };
  };

  /** `owner` is the adapter, or the part of it that has the method. */
  const call = async (owner: object, method: string, args: CallArguments | undefined): Promise<unknown> => {
    const match = args?.ctx === undefined && lostReplies[method]?.match;
    if (match) return repeatCall(method, args, createMatchedTries(owner, method, args, match));
    try {
      return await invoke(owner, method, args);
    } catch (error) {
      return repeatFailed(owner, method, args, error);
    }
  };

  /** Repeats only a transaction that never began: the caller's callback may have had effects by then. */
  const runInTransaction: StateStore["runInTransaction"] = (callback, parent, options) => {
    let began = false;
    const watched: typeof callback = (ctx) => {
      began = true;
      return callback(ctx);
    };
    const isRepeatable = (error: unknown): boolean => {
      if (began || !isWorthRepeating(error)) return false;
      observe("stateAdapterError", () => ({ operation: "runInTransaction", error }));
      return parent === undefined;
    };
    return repeat(runtime, { maxRuns: maxAttempts, delay, isRepeatable }, () =>
      runTransactionWithDeadlines(
        clock,
        deadlineMs,
        (inner, call) => adapter.runInTransaction(inner, parent && withCall(parent, call), options),
        watched,
      ),
    );
  };

  /** Every method as one store call: same deadline, same retries, same error event. */
  const callsOf = (owner: object, methods: object): unknown =>
    Object.fromEntries(
      Object.keys(methods).map((method) => [method, (args?: CallArguments) => call(owner, method, args)]),
    );

  const parts = Object.fromEntries(
    partNames.map((part) => {
      const offered = adapter[part];
      return [part, offered && callsOf(offered, contractMethods[part])];
    }),
  ) as OptionalParts<object>;

  const calls = callsOf(adapter, contractMethods.jobs) as Jobs<object>;

  const { registerJobTypes } = callsOf(adapter, { registerJobTypes: true }) as StateStore;

  return {
    ...calls,
    ...parts,
    ...(adapter.registerJobTypes && { registerJobTypes }),
    capabilities: adapter.capabilities,
    contextKeys: adapter.contextKeys,
    provideContext: (callback) => adapter.provideContext(callback),
    runInTransaction,
    isInTransaction: (ctx) => adapter.isInTransaction(ctx),
    isTransientError: isWorthRepeating,
    isConflictRollback,
    close: () => adapter.close(),
  };
};

export const defaultStoreRetry: CheckedRetryConfig = {
  maxAttempts: 3,
  initialDelayMs: 50,
  maxDelayMs: 1_000,
};

export const defaultStoreDeadlineMs = 10_000;

/**
 * A state adapter with the deadlines and retries of Leasehold, for programs that call it themselves. `createLeasehold` does this
 * for the adapter it gets, with the options `storeDeadlineMs` and `storeRetry`.
 */
export const wrapStateAdapterWithRetry = <TAdapter extends AnyStateAdapter>(
  stateAdapter: TAdapter,
  retryConfig?: RetryConfig,
): TAdapter => {
  const dispatch = createDispatch({
    adapter: stateAdapter,
    runtime: createSystemRuntime(),
    observe: () => {},
    deadlineMs: defaultStoreDeadlineMs,
    retry: readRetryConfig(retryConfig, "retryConfig", defaultStoreRetry),
  });
  return { ...stateAdapter, ...dispatch };
};

interface Creation {
  readonly jobs: readonly NewJob[];
  readonly resolve: (created: CreatedStateJob[]) => void;
  readonly reject: (error: unknown) => void;
}

const mostJobsTogether = 1_000;

const mostJobsToJoin = 100;

/**
 * A store whose concurrent creations share calls: while one call is under way later ones wait, and the next call takes
 * them all. Each caller still waits for the commit of its own jobs, and a job that cannot be stored fails alone.
 *
 * Calls inside a transaction are passed on as they are. So are jobs with a deduplication key, since they may have to wait
 * for each other.
 */
export const coalesceCreations = (store: StateStore, clock: Clock): StateStore => {
  let waiting: Creation[] = [];
  let sending = false;

  const sendAlone = async ({ jobs, resolve, reject }: Creation): Promise<void> => {
    try {
      resolve(await store.createJobs({ jobs }));
    } catch (error) {
      reject(error);
    }
  };

  const sendTogether = async (creations: readonly Creation[]): Promise<void> => {
    const jobs = creations.flatMap((creation) => creation.jobs);
    let created: CreatedStateJob[];
    try {
      created = await store.createJobs({ jobs });
    } catch (error) {
      if (store.isTransientError(error)) for (const { reject } of creations) reject(error);
      // Nothing was stored, because one creation was refused. Sent one by one, only that one fails.
      else await Promise.all(creations.map(sendAlone));
      return;
    }
    let next = 0;
    for (const { jobs: own, resolve } of creations) {
      resolve(created.slice(next, next + own.length));
      next += own.length;
    }
  };

  const takeBatch = (): Creation[] => {
    let count = 0;
    const end = waiting.findIndex(({ jobs }) => (count += jobs.length) > mostJobsTogether);
    return waiting.splice(0, end < 0 ? waiting.length : Math.max(end, 1));
  };

  const sendAll = async (): Promise<void> => {
    while (waiting.length > 0) {
      const batch = takeBatch();
      const isShared = batch.length > 1;
      await (isShared ? sendTogether(batch) : sendAlone(batch[0]!));
      // Callers that waited for this batch may start more jobs: these join the next batch.
      if (isShared) await new Promise<void>((resolve) => clock.soon(resolve));
    }
    sending = false;
  };

  const createJobs: StateStore["createJobs"] = (call) => {
    const { jobs, ctx, now } = call;
    const isAlone =
      ctx !== undefined ||
      now !== undefined ||
      jobs.length === 0 ||
      jobs.length > mostJobsToJoin ||
      jobs.some(({ deduplication }) => deduplication !== null);
    if (isAlone) return store.createJobs(call);
    return new Promise((resolve, reject) => {
      waiting.push({ jobs, resolve, reject });
      if (sending) return;
      sending = true;
      void sendAll();
    });
  };

  return { ...store, createJobs };
};
