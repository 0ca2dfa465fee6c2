import {
  AdapterClosedError,
  type BaseStateAdapterContext,
  type Diagnostics,
  type Edits,
  givenUpBy,
  type Recurring,
  type StateAdapter,
  type StateCall,
  StateNotInTransactionError,
  type Statistics,
  withRetry,
} from "leasehold/adapter";
import { openCollections } from "./database/collections.ts";
import { createSessions, createStore, type Store, type StoreCall } from "./database/database.ts";
import { isConflict, isTransientMongoError } from "./database/errors.ts";
import { runChecks, type DiagnosticsContext } from "./diagnostics.ts";
import { listRecentlyFinished, measureBacklog } from "./jobs/backlog.ts";
import { cancelSequences } from "./jobs/cancel.ts";
import { claimJobs } from "./jobs/claim.ts";
import { commitOutcomes } from "./jobs/commit.ts";
import { createJobs } from "./jobs/create.ts";
import { deleteSequences, pruneSequences } from "./jobs/delete.ts";
import { addJobBlockers } from "./jobs/dependants.ts";
import { expireWaitingJobs, updateWaitingJobs } from "./jobs/edits.ts";
import { lockHeldJobs, reapExpiredLeases, renewLeases } from "./jobs/leases.ts";
import { countJobs, listBlockedJobs, listJobs } from "./jobs/list.ts";
import { getBlockers, getJobs, getSequences, lockSequence } from "./jobs/reads.ts";
import { redriveJobs } from "./jobs/redrive.ts";
import { countAhead, nextRunnableIn } from "./jobs/runnable.ts";
import { migrateToLatest, migrationStatus, type MongoMigrationStatus } from "./migrate.ts";
import { type MongoStateAdapterOptions, readOptions } from "./options.ts";
import {
  advanceRecurring,
  deleteRecurring,
  getRecurring,
  listRecurring,
  lockDueRecurring,
  lockRecurring,
  nextRecurringIn,
  putRecurring,
} from "./recurring.ts";

export interface MongoStateAdapter<
  TTxContext extends BaseStateAdapterContext = BaseStateAdapterContext,
  TContext extends BaseStateAdapterContext = BaseStateAdapterContext,
  TJobId extends string = string,
> extends StateAdapter<TTxContext, TContext, TJobId> {
  readonly recurring: Recurring<TTxContext>;
  readonly edits: Edits<TTxContext>;
  readonly statistics: Statistics<TTxContext>;
  readonly diagnostics: Diagnostics;
  /** Makes the indexes that are missing. Safe to call again, and from several processes at once. */
  migrateToLatest(): Promise<void>;
  /** The same, by the name it has in the other stores. */
  migrate(): Promise<void>;
  /** Which indexes there are, and which `migrate` would make. */
  migrationStatus(): Promise<MongoMigrationStatus>;
}

/** Keeps jobs in MongoDB, through the client you have. */
export const createMongoStateAdapter = async <
  TTxContext extends BaseStateAdapterContext,
  TContext extends BaseStateAdapterContext,
  TJobId extends string = string,
>(
  passed: MongoStateAdapterOptions<TTxContext, TContext, TJobId>,
): Promise<MongoStateAdapter<TTxContext, TContext, TJobId>> => {
  const { provider, isTransientToo, ...options } = readOptions(passed);
  const collections = openCollections(provider.getDatabase(), options.collectionPrefix);
  const examined: DiagnosticsContext = {
    database: provider.getDatabase(),
    migrationStatus: () => migrationStatus(collections),
  };
  const sessions = createSessions();
  const store = createStore(collections, sessions);
  let closed = false;

  const assertOpen = (): void => {
    if (closed) throw new AdapterClosedError("MongoDB state adapter");
  };
  const assertInTransaction = (operation: string, ctx: unknown): void => {
    assertOpen();
    if (!provider.isInTransaction(ctx)) throw new StateNotInTransactionError(operation);
  };

  const isTransientError = (error: unknown): boolean =>
    isTransientMongoError(error) || isTransientToo?.(error) === true;

  if (options.migrates)
    await withRetry(() => migrateToLatest(collections), options.retryConfig, isTransientError);

  type Perform<TCall, T> = (store: Store, call: StoreCall & TCall) => Promise<T>;

  const inTransaction = async <TCall, T>(
    operation: string,
    call: StateCall<TTxContext> & TCall,
    perform: Perform<TCall, T>,
  ): Promise<T> => {
    assertInTransaction(operation, call.ctx);
    const ctx = call.ctx!;
    const session = provider.getSession(ctx);
    const isOpen = sessions.watch(session);
    // The transaction may end before the call does. Its session is then used without one, or for the next.
    const assertOngoing = (): void => {
      const error = givenUpBy(ctx);
      if (error !== undefined) throw error;
      if (!isOpen()) throw new StateNotInTransactionError(operation);
    };
    return sessions.enqueue(session, async () => {
      assertOpen();
      assertOngoing();
      sessions.assertSound(session);
      try {
        return await perform(store.guarded(assertOngoing), { ...call, session, now: call.now });
      } catch (error) {
        if (isOpen()) sessions.spoil(session, error);
        throw error;
      }
    });
  };

  const call =
    <TCall, T>(operation: string, perform: Perform<TCall, T>) =>
    async (given: StateCall<TTxContext> & TCall): Promise<T> => {
      if (given.ctx !== undefined) return inTransaction(operation, given, perform);
      assertOpen();
      return perform(store, { ...given, session: undefined, now: given.now });
    };
  const onlyInTransaction =
    <TCall, T>(operation: string, perform: Perform<TCall, T>) =>
    (given: StateCall<TTxContext> & TCall): Promise<T> =>
      inTransaction(operation, given, perform);

  const getTime = call<object, number>("getTime", async (_store, { now }) => now ?? store.clock.ask());

  const runNested = async <T>(callback: (ctx: TTxContext) => Promise<T>, parent: TTxContext): Promise<T> => {
    assertInTransaction("runInTransaction", parent);
    const session = provider.getSession(parent);
    sessions.assertSound(session);
    const isOpen = sessions.watch(session);
    try {
      return await callback(parent);
    } catch (error) {
      if (isOpen()) sessions.spoil(session, error);
      throw error;
    }
  };

  return {
    capabilities: {
      conflicts: "abort",
      savepoints: false,
      isolationLevels: ["read committed", "repeatable read"],
    },
    contextKeys: provider.contextKeys,
    idGenerator: options.idGenerator,
    migrateToLatest: () => migrateToLatest(collections),
    migrate: () => migrateToLatest(collections),
    migrationStatus: examined.migrationStatus,

    provideContext: async (callback) => {
      assertOpen();
      return provider.provideContext(callback);
    },
    runInTransaction: async (callback, parent) => {
      assertOpen();
      if (parent !== undefined) return runNested(callback, parent);
      return provider.runInTransaction(async (ctx) => {
        const result = await callback(ctx);
        sessions.assertSound(provider.getSession(ctx));
        return result;
      });
    },
    isInTransaction: async (ctx) => provider.isInTransaction(ctx),
    isTransientError,
    isConflictRollback: (error) => isConflict(error),
    getTime: (given = {}) => getTime(given),

    createJobs: call("createJobs", createJobs),
    addJobBlockers: onlyInTransaction("addJobBlockers", addJobBlockers),
    claimJobs: call("claimJobs", claimJobs),
    nextRunnableIn: call("nextRunnableIn", nextRunnableIn),
    countAhead: call("countAhead", countAhead),
    renewLeases: call("renewLeases", renewLeases),
    lockHeldJobs: onlyInTransaction("lockHeldJobs", lockHeldJobs),
    lockSequence: onlyInTransaction("lockSequence", lockSequence),
    reapExpiredLeases: call("reapExpiredLeases", reapExpiredLeases),
    commitOutcomes: call("commitOutcomes", commitOutcomes),
    cancelSequences: call("cancelSequences", cancelSequences),
    redriveJobs: call("redriveJobs", redriveJobs),
    deleteSequences: call("deleteSequences", deleteSequences),
    pruneSequences: call("pruneSequences", pruneSequences),
    getJobs: call("getJobs", getJobs),
    getSequences: call("getSequences", getSequences),
    listJobs: call("listJobs", listJobs),
    getBlockers: call("getBlockers", getBlockers),
    listBlockedJobs: call("listBlockedJobs", listBlockedJobs),
    countJobs: call("countJobs", countJobs),

    statistics: {
      measureBacklog: call("measureBacklog", measureBacklog),
      listRecentlyFinished: call("listRecentlyFinished", listRecentlyFinished),
    },

    recurring: {
      getRecurring: call("getRecurring", getRecurring),
      listRecurring: call("listRecurring", listRecurring),
      nextRecurringIn: call("nextRecurringIn", nextRecurringIn),
      lockRecurring: onlyInTransaction("lockRecurring", lockRecurring),
      lockDueRecurring: onlyInTransaction("lockDueRecurring", lockDueRecurring),
      putRecurring: onlyInTransaction("putRecurring", putRecurring),
      advanceRecurring: onlyInTransaction("advanceRecurring", advanceRecurring),
      deleteRecurring: call("deleteRecurring", deleteRecurring),
    },

    edits: {
      updateWaitingJobs: call("updateWaitingJobs", updateWaitingJobs),
      expireWaitingJobs: call("expireWaitingJobs", expireWaitingJobs),
    },

    diagnostics: {
      runChecks: async () => {
        assertOpen();
        return runChecks(examined);
      },
      // Kept by the server: counting the documents would take as long as there are many.
      estimateJobs: async () => {
        assertOpen();
        return collections.jobs.estimatedDocumentCount();
      },
    },

    close: async () => {
      closed = true;
    },
  };
};
