import {
  type BaseStateAdapterContext,
  type Diagnostics,
  type Edits,
  type History,
  InvalidOptionError,
  isolationLevels,
  type Limits,
  type OptionNames,
  type Recurring,
  type StateAdapter,
  type StateRead,
  type Statistics,
  readRetryConfig,
  withRetry,
} from "leasehold/adapter";
import {
  type Call,
  type Context,
  createDatabase,
  createIsolatedProvider,
  type Database,
} from "./database/database.ts";
import { isConflictRollback, isTransientPgError, StaleSnapshotError } from "./database/errors.ts";
import { readKnownOptions } from "./database/provider.ts";
import { createReadReplica, mayUseReplica, type ReadLag } from "./database/read-replica.ts";
import { checkIdDefault, checkIdType, nowSql, quoteIdentifier } from "./database/sql.ts";
import { nameTables } from "./database/tables.ts";
import { createOpenCalls, createSavepoints } from "./database/transactions.ts";
import { estimateJobs, runChecks, type DiagnosticsContext } from "./diagnostics.ts";
import { listAttempts } from "./history/attempts.ts";
import { listCauses } from "./history/causes.ts";
import {
  rollUpBuckets,
  deleteOldReports,
  listProcesses,
  readBuckets,
  writeReport,
} from "./history/reports.ts";
import { listRecentlyFinished, measureBacklog } from "./jobs/backlog.ts";
import { addJobBlockers, getBlockers } from "./jobs/blockers.ts";
import { cancelSequences } from "./jobs/cancel.ts";
import { claimJobs } from "./jobs/claim.ts";
import { createClaimCursors } from "./jobs/claim-cursors.ts";
import { commitOutcomes } from "./jobs/commit.ts";
import { createJobs } from "./jobs/create.ts";
import { deleteSequences, pruneSequences } from "./jobs/delete.ts";
import { expireWaitingJobs, updateWaitingJobs } from "./jobs/edits.ts";
import { lockHeldJobs, reapExpiredLeases, renewLeases } from "./jobs/leases.ts";
import { listJobs } from "./jobs/list.ts";
import { countAhead, nextRunnableIn } from "./jobs/next-runnable.ts";
import { countJobs, getJobs, getSequences, listBlockedJobs, lockSequence } from "./jobs/reads.ts";
import { redriveJobs } from "./jobs/redrive.ts";
import { registerJobTypes } from "./jobs/register-types.ts";
import { repairCounters, explainThrottle } from "./limits/explain.ts";
import { listRules, listGroups } from "./limits/read.ts";
import { createLimitsCache } from "./limits/rules.ts";
import { pauseGroup, resumeGroup, setRule } from "./limits/set-rule.ts";
import { migrations } from "./migrations/index.ts";
import { migrate, migrationStatus, type MigrationStatus } from "./migrations/migrate.ts";
import type { PgStateAdapterOptions } from "./options.ts";
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

export interface PgStateAdapter<
  TTxContext extends BaseStateAdapterContext = BaseStateAdapterContext,
  TContext extends BaseStateAdapterContext = BaseStateAdapterContext,
  TJobId extends string = string,
> extends StateAdapter<TTxContext, TContext, TJobId> {
  readonly statistics: Statistics<TTxContext>;
  readonly recurring: Recurring<TTxContext>;
  readonly edits: Edits<TTxContext>;
  readonly limits: Limits<TTxContext>;
  readonly history: History<TTxContext>;
  readonly diagnostics: Diagnostics;
  /** Brings the schema up to date. Safe from any number of processes at once. */
  migrate(): Promise<void>;
  /** The applied migrations, and the ones that `migrate` would run. */
  migrationStatus(): Promise<MigrationStatus>;
  /** How far the replica of `readProvider` is behind; null without one. */
  measureReadLag(): Promise<ReadLag | null>;
}

const checkProvider = (provider: unknown, option: string): void => {
  const { executeSql, runInTransaction } = (provider ?? {}) as Record<string, unknown>;
  if (typeof executeSql !== "function" || typeof runInTransaction !== "function") {
    throw new InvalidOptionError(
      option,
      "must be a provider, such as createPgPoolStateProvider({ pool }) returns",
      typeof provider,
    );
  }
};

/** A call of the contract, performed on a database: the primary or its replica. */
type Operation<TCall, T> = (on: Database, call: TCall) => Promise<T>;

/** Calls that do not change jobs which exist already, and the one that ends them. */
const keepsPlainLocks: ReadonlySet<string> = new Set([
  "createJobs",
  "commitOutcomes",
  "getJobs",
  "getSequences",
  "getTime",
  "listJobs",
]);

/** Calls that may put a job before a claim cursor. So may outcomes (jobs/commit.ts). */
const putsJobsBack: ReadonlySet<string> = new Set(["redriveJobs", "reapExpiredLeases", "updateWaitingJobs"]);

const knownOptions: OptionNames<keyof PgStateAdapterOptions<never, never>> = {
  stateProvider: true,
  readProvider: true,
  schema: true,
  idType: true,
  idDefault: true,
  migrate: true,
  connectionRetryConfig: true,
  isTransientError: true,
};

/** Stores jobs in PostgreSQL 15 or newer, through your client. */
export const createPgStateAdapter = async <
  TTxContext extends BaseStateAdapterContext,
  TContext extends BaseStateAdapterContext,
  TJobId extends string = string,
>(
  passed: PgStateAdapterOptions<TTxContext, TContext>,
): Promise<PgStateAdapter<TTxContext, TContext, TJobId>> => {
  const options = readKnownOptions(passed, "createPgStateAdapter", knownOptions);
  const { isTransientError: isAlsoTransient } = options;
  const { schema = "leasehold", idType = "uuid", idDefault = "gen_random_uuid()" } = options;
  checkProvider(options.stateProvider, "stateProvider");
  const { readProvider } = options;
  if (readProvider !== undefined) checkProvider(readProvider, "readProvider");
  const provider = createIsolatedProvider(options.stateProvider);
  const tables = nameTables(
    quoteIdentifier(schema, "schema"),
    checkIdType(idType),
    checkIdDefault(idDefault),
  );
  const retryConfig = readRetryConfig(options.connectionRetryConfig);
  let closed = false;
  const isClosed = (): boolean => closed;
  const shared = {
    tables,
    createLimits: createLimitsCache,
    createCursors: createClaimCursors,
    isClosed,
  };
  const database = createDatabase({ provider, ...shared });
  const replica = readProvider && createReadReplica({ provider: readProvider, primary: database, ...shared });
  const isTransientError = (error: unknown): boolean =>
    isTransientPgError(error) || error instanceof StaleSnapshotError || (isAlsoTransient?.(error) ?? false);
  const migrateNow = (): Promise<void> => migrate(provider, tables, migrations);
  const examined: DiagnosticsContext = {
    database,
    schema,
    migrationStatus: () => migrationStatus(provider, tables, migrations),
    measureReadLag: async () => replica?.measureLag() ?? null,
  };
  const runInSavepoint = createSavepoints(provider);
  const openCalls = createOpenCalls();

  if (options.migrate ?? true) await withRetry(migrateNow, retryConfig, isTransientError);

  /** A given context must be in an open transaction. Otherwise the call would run outside of it. */
  const checked = <TCall extends Call, T>(
    operation: string,
    run: Operation<TCall, T>,
    ctxRequired = false,
  ): ((call: TCall) => Promise<T>) => {
    const perform: typeof run = putsJobsBack.has(operation)
      ? (on, call) => run(on, call).finally(database.cursors.forgetAll)
      : run;
    return async (call) => {
      const { ctx } = call;
      if (ctx === undefined && !ctxRequired) {
        database.assertOpen();
        return perform(database, call);
      }
      return openCalls.track(ctx, async () => {
        await database.assertInTransaction(operation, ctx);
        if (!keepsPlainLocks.has(operation)) database.plainLocks.delete(ctx);
        return perform(database, call);
      });
    };
  };

  /** A read that uses the replica if there is one and the call allows it. */
  const lagging = <TCall extends StateRead<Context>, T>(operation: string, perform: Operation<TCall, T>) =>
    replica === undefined
      ? checked(operation, perform)
      : checked(operation, (primary, call: TCall) =>
          mayUseReplica(call) ? replica.read((from) => perform(from, call)) : perform(primary, call),
        );

  /** A read for dashboards, which always allows the replica. */
  const monitoring = <TCall extends Call, T>(operation: string, perform: Operation<TCall, T>) => {
    const read = lagging(operation, perform);
    return (call: TCall): Promise<T> => read({ ...call, mayLag: true });
  };

  const getTime = checked("getTime", async ({ query }, call: Call) => {
    const sql = `SELECT ${nowSql("$1")} AS now`;
    const [row] = await query(call.ctx, { sql, params: [call.now ?? null] });
    return Number(row?.["now"]);
  });

  return {
    capabilities: {
      conflicts: "wait",
      savepoints: true,
      isolationLevels,
      readsFromReplica: replica !== undefined,
      discardsCompleted: true,
    },
    contextKeys: provider.contextKeys,
    migrate: migrateNow,
    migrationStatus: examined.migrationStatus,
    measureReadLag: examined.measureReadLag,

    provideContext: async (callback) => {
      database.assertOpen();
      return provider.provideContext(callback);
    },
    runInTransaction: async (callback, parent, transactionOptions) => {
      database.assertOpen();
      const work: typeof callback = (ctx) => openCalls.outlive(ctx, () => callback(ctx));
      if (parent === undefined) return provider.runInTransaction(work, transactionOptions);
      await database.assertInTransaction("runInTransaction", parent);
      return runInSavepoint(work, parent);
    },
    isInTransaction: (ctx) => provider.isInTransaction(ctx),
    isTransientError,
    isConflictRollback: (error) => isConflictRollback(error) || error instanceof StaleSnapshotError,
    getTime: (call = {}) => getTime(call),

    createJobs: checked("createJobs", createJobs),
    addJobBlockers: checked("addJobBlockers", addJobBlockers, true),
    claimJobs: checked("claimJobs", claimJobs),
    nextRunnableIn: checked("nextRunnableIn", nextRunnableIn),
    renewLeases: checked("renewLeases", renewLeases),
    lockHeldJobs: checked("lockHeldJobs", lockHeldJobs, true),
    lockSequence: checked("lockSequence", lockSequence, true),
    commitOutcomes: checked("commitOutcomes", commitOutcomes),
    reapExpiredLeases: checked("reapExpiredLeases", reapExpiredLeases),
    cancelSequences: checked("cancelSequences", cancelSequences),
    redriveJobs: checked("redriveJobs", redriveJobs),
    deleteSequences: checked("deleteSequences", deleteSequences),
    pruneSequences: checked("pruneSequences", pruneSequences),
    getJobs: lagging("getJobs", getJobs),
    getSequences: lagging("getSequences", getSequences),
    listJobs: lagging("listJobs", listJobs),
    getBlockers: checked("getBlockers", getBlockers),
    listBlockedJobs: checked("listBlockedJobs", listBlockedJobs),
    countJobs: lagging("countJobs", countJobs),
    countAhead: checked("countAhead", countAhead),

    statistics: {
      measureBacklog: monitoring("measureBacklog", measureBacklog),
      listRecentlyFinished: monitoring("listRecentlyFinished", listRecentlyFinished),
    },

    recurring: {
      getRecurring: checked("getRecurring", getRecurring),
      listRecurring: checked("listRecurring", listRecurring),
      nextRecurringIn: checked("nextRecurringIn", nextRecurringIn),
      lockRecurring: checked("lockRecurring", lockRecurring, true),
      lockDueRecurring: checked("lockDueRecurring", lockDueRecurring, true),
      putRecurring: checked("putRecurring", putRecurring, true),
      advanceRecurring: checked("advanceRecurring", advanceRecurring, true),
      deleteRecurring: checked("deleteRecurring", deleteRecurring),
    },

    edits: {
      updateWaitingJobs: checked("updateWaitingJobs", updateWaitingJobs),
      expireWaitingJobs: checked("expireWaitingJobs", expireWaitingJobs),
    },

    limits: {
      setRule: checked("setRule", setRule),
      listRules: checked("listRules", listRules),
      listGroups: checked("listGroups", listGroups),
      pauseGroup: checked("pauseGroup", pauseGroup),
      resumeGroup: checked("resumeGroup", resumeGroup),
      explainThrottle: checked("explainThrottle", explainThrottle),
      repairCounters: checked("repairCounters", repairCounters),
    },

    history: {
      listAttempts: checked("listAttempts", listAttempts),
      listCauses: lagging("listCauses", listCauses),
      writeReport: checked("writeReport", writeReport),
      listProcesses: lagging("listProcesses", listProcesses),
      readBuckets: lagging("readBuckets", readBuckets),
      rollUpBuckets: checked("rollUpBuckets", rollUpBuckets),
      deleteOldReports: checked("deleteOldReports", deleteOldReports),
    },

    diagnostics: {
      runChecks: (call) => runChecks(examined, call),
      estimateJobs: async () => {
        database.assertOpen();
        return estimateJobs(examined);
      },
    },

    registerJobTypes: (types) => {
      database.assertOpen();
      return registerJobTypes(database, types);
    },

    close: async () => {
      closed = true;
    },
  };
};
