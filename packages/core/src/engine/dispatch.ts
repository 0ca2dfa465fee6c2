import { type Backoff, type CheckedRetryConfig, conflictRepetition, repeat } from "../base/backoff.ts";
import { LeaseholdError } from "../base/errors.ts";
import { type Clock, type Runtime, withDeadline } from "../base/runtime.ts";
import type { Observe } from "../observability/observe.ts";
import type { StateCall } from "../store/contract/calls.ts";
import type { CreatedStateJob, NewJob } from "../store/contract/creation.ts";
import type { StateJob } from "../store/contract/job.ts";
import type { AnyStateAdapter, OptionalParts, StateAdapter } from "../store/contract/state-adapter.ts";
import { JobAlreadyExistsError, StoreCallTimeoutError } from "../store/errors.ts";
import { partMethods, partNames } from "../store/parts.ts";
import { recogniseLostAnswer } from "./lost-replies.ts";

/**
 * A transaction's own code may take as long as it likes, so the deadline watches only what the store does: opening the
 * transaction, and ending it once the code has finished.
 */
const runTransactionWithDeadlines = <TCtx, T>(
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

/** The state adapter as the rest of core sees it. Its contexts are opaque here. */
export type StateStore = StateAdapter;

export interface DispatchOptions {
  readonly adapter: AnyStateAdapter;
  readonly runtime: Runtime;
  readonly observe: Observe;
  readonly deadlineMs: number;
  readonly retry: CheckedRetryConfig;
}

/** One try of a call in a transaction of its own; with an answer, it may have been committed. */
interface Try {
  answer: unknown;
  isOver: boolean;
}

type CallArguments = StateCall<object> & Record<string, unknown>;

/** Methods that are one store call each: same deadline, same retries, same error event. */
const storeCalls = [
  "getTime",
  "createJobs",
  "addJobBlockers",
  "claimJobs",
  "nextRunnableIn",
  "renewLeases",
  "lockHeldJobs",
  "lockSequence",
  "commitOutcomes",
  "reapExpiredLeases",
  "cancelSequences",
  "redriveJobs",
  "deleteSequences",
  "pruneSequences",
  "getJobs",
  "getSequences",
  "listJobs",
  "getBlockers",
  "listBlockedJobs",
  "countJobs",
  "countAhead",
] as const satisfies readonly (keyof StateStore)[];

/**
 * Every call to the store goes through here. Each has a deadline. A call that fails with a transient error is repeated,
 * unless it belongs to a transaction, which is then lost as a whole. Repeating is safe: creations carry their ids, outcomes
 * and renewals their lease token, and a repeated claim asks for what its token already holds. The other calls that need it
 * recognise their earlier try (`recogniseLostAnswer`).
 */
export const createDispatch = ({
  adapter,
  runtime,
  observe,
  deadlineMs,
  retry,
}: DispatchOptions): StateStore => {
  const { clock } = runtime;
  const { maxAttempts } = retry;
  const delay: Backoff = { firstMs: retry.initialDelayMs, longestMs: retry.maxDelayMs, jitter: "half" };

  const isWorthRepeating = (error: unknown): boolean =>
    error instanceof StoreCallTimeoutError || adapter.isTransientError(error);

  const isConflictRollback = (error: unknown): boolean =>
    answerSafely(() => adapter.isConflictRollback(error));

  const invoke = (owner: object, method: string, args: unknown): Promise<unknown> =>
    (owner as Record<string, (args: unknown) => Promise<unknown>>)[method]!(args);

  const answerOf = (method: string, call: Promise<unknown>): Promise<unknown> =>
    withDeadline(call, deadlineMs, () => new StoreCallTimeoutError(method, deadlineMs), clock);

  const invokeInTransaction = (
    owner: object,
    method: string,
    args: CallArguments | undefined,
    made: Try,
  ): Promise<unknown> =>
    repeat(runtime, { ...conflictRepetition, isRepeatable: isConflictRollback }, () =>
      adapter.runInTransaction(async (ctx) => {
        made.answer = undefined;
        // The deadline is for the call, too: a transaction that stays open holds up others.
        const answer = await answerOf(method, invoke(owner, method, { ...args, ctx }));
        // Nobody waits any more: let it roll back instead of committing unseen.
        if (made.isOver) throw new StoreCallTimeoutError(method, deadlineMs);
        made.answer = answer;
        return answer;
      }),
    );

  /** `owner` is the adapter, or the part of it that has the method. */
  const call = async (owner: object, method: string, args: CallArguments | undefined): Promise<unknown> => {
    const recognise = args?.ctx === undefined ? recogniseLostAnswer[method] : undefined;
    let earlier: Try | undefined;
    const isRepeatable = (error: unknown): boolean => {
      const isTransient = isWorthRepeating(error);
      // An error that the contract defines is an answer, not a fault.
      if (isTransient || !(error instanceof LeaseholdError)) {
        observe("stateAdapterError", () => ({ operation: method, error }));
      }
      return isTransient && args?.ctx === undefined;
    };
    return repeat(runtime, { maxRuns: maxAttempts, delay, isRepeatable }, async (attempt) => {
      const current: Try = { answer: undefined, isOver: false };
      try {
        const repeated = attempt > 1 && method === "claimJobs" ? { ...args, isRepeat: true } : args;
        const made = recognise
          ? invokeInTransaction(owner, method, args, current)
          : invoke(owner, method, repeated);
        const answer = await answerOf(method, made);
        return earlier && recognise ? recognise(earlier.answer as never, answer as never) : answer;
      } catch (error) {
        current.isOver = true;
        if (current.answer !== undefined) earlier = current;
        if (error instanceof JobAlreadyExistsError && attempt > 1) {
          return await matchRetriedCreate(args?.["jobs"] as readonly NewJob[], error);
        }
        throw error;
      }
    });
  };

  /** Only one that never began is begun again: its callback is the caller's, and may have done things by then. */
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
        (inner) => adapter.runInTransaction(inner, parent, options),
        watched,
      ),
    );
  };

  /**
   * A creation whose answer was lost finds its own jobs on the second try. They are ours if type, sequence and input are the
   * same; another job that only has the same id differs. The first try was applied as a whole, so what it did not store were
   * duplicates: asking for those alone gives the answer that was lost.
   */
  const matchRetriedCreate = async (
    jobs: readonly NewJob[],
    error: JobAlreadyExistsError,
  ): Promise<CreatedStateJob[]> => {
    const stored = (await call(adapter, "getJobs", { jobIds: jobs.map(({ id }) => id) })) as (
      | StateJob
      | undefined
    )[];
    const isForeign = (job: NewJob, found: StateJob | undefined): boolean =>
      found === undefined ? job.deduplication === null : !isSameJob(job, found);
    if (jobs.some((job, index) => isForeign(job, stored[index]))) throw error;
    const duplicates = jobs.filter((_job, index) => stored[index] === undefined);
    const answers =
      duplicates.length === 0
        ? []
        : ((await call(adapter, "createJobs", { jobs: duplicates })) as CreatedStateJob[]);
    let next = 0;
    return stored.map((job) => (job === undefined ? answers[next++]! : { job, deduplicated: false }));
  };

  const callsOf = (owner: object, methods: readonly string[]): unknown =>
    Object.fromEntries(
      methods.map((method) => [method, (args?: CallArguments) => call(owner, method, args)]),
    );

  const parts = Object.fromEntries(
    partNames.map((part) => {
      const offered = adapter[part];
      return [part, offered && callsOf(offered, Object.keys(partMethods[part]))];
    }),
  ) as OptionalParts<object>;

  return {
    ...(callsOf(adapter, storeCalls) as Pick<StateStore, (typeof storeCalls)[number]>),
    ...parts,
    capabilities: adapter.capabilities,
    provideContext: (callback) => adapter.provideContext(callback),
    runInTransaction,
    isInTransaction: (ctx) => adapter.isInTransaction(ctx),
    isTransientError: (error) => answerSafely(() => isWorthRepeating(error)),
    isConflictRollback,
    close: () => adapter.close(),
  };
};

/** User code may throw anything, even a value that throws when it is inspected. Of that the answer is no. */
const answerSafely = (question: () => boolean): boolean => {
  try {
    return question();
  } catch {
    return false;
  }
};

/** Another start, or an update, may have changed the input since. */
const isSameJob = (job: NewJob, stored: StateJob): boolean =>
  stored.typeName === job.typeName &&
  stored.sequenceId === job.sequenceId &&
  (stored.input === job.input || stored.replacedBy !== null);

interface Creation {
  readonly jobs: readonly NewJob[];
  readonly resolve: (created: CreatedStateJob[]) => void;
  readonly reject: (error: unknown) => void;
}

const mostJobsTogether = 1_000;

const mostJobsToJoin = 100;

/**
 * A store whose concurrent creations share calls: while one call is under way the others wait, and the next call takes
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
      // Nothing was stored, because one of them was refused. Sent one by one, only that one fails.
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
      // Those who were waiting for this batch may want to start more: let them join the next.
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
