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
  type StateCall,
  type StateRead,
  type Statistics,
  readRetryConfig,
  withRetry,
} from "leasehold/adapter";
import { createDatabase, createIsolatedProvider, type Database } from "./database/database.ts";
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
  /** The applied migrations, and those that `migrate` would run. */
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
  const checked = <TCall extends { readonly ctx?: TTxContext | undefined }, T>(
    operation: string,
    run: (call: TCall) => Promise<T>,
    ctxRequired = false,
  ): ((call: TCall) => Promise<T>) => {
    const perform = putsJobsBack.has(operation)
      ? (call: TCall): Promise<T> => run(call).finally(database.cursors.forgetAll)
      : run;
    return async (call) => {
      const { ctx } = call;
      if (ctx === undefined && !ctxRequired) {
        database.assertOpen();
        return perform(call);
      }
      return openCalls.track(ctx, async () => {
        await database.assertInTransaction(operation, ctx);
        if (!keepsPlainLocks.has(operation)) database.plainLocks.delete(ctx);
        return perform(call);
      });
    };
  };

  /** A read that uses the replica if there is one and the call allows it. */
  const lagging = <TCall extends StateRead<TTxContext>, T>(
    operation: string,
    perform: (from: Database, call: TCall) => Promise<T>,
  ) =>
    checked(operation, (call: TCall) =>
      replica !== undefined && mayUseReplica(call)
        ? replica.read((from) => perform(from, call))
        : perform(database, call),
    );

  /** A read for dashboards, which always allows the replica. */
  const monitoring = <TCall extends StateCall<TTxContext>, T>(
    operation: string,
    perform: (from: Database, call: TCall) => Promise<T>,
  ) => {
    const read = lagging(operation, perform);
    return (call: TCall): Promise<T> => read({ ...call, mayLag: true });
  };

  const getTime = checked("getTime", async (call: StateCall<TTxContext>) => {
    const sql = `SELECT ${nowSql("$1")} AS now`;
    const [row] = await database.query(call.ctx, { sql, params: [call.now ?? null] });
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

    createJobs: checked("createJobs", (call) => createJobs(database, call)),
    addJobBlockers: checked("addJobBlockers", (call) => addJobBlockers(database, call), true),
    claimJobs: checked("claimJobs", (call) => claimJobs(database, call)),
    nextRunnableIn: checked("nextRunnableIn", (call) => nextRunnableIn(database, call)),
    renewLeases: checked("renewLeases", (call) => renewLeases(database, call)),
    lockHeldJobs: checked("lockHeldJobs", (call) => lockHeldJobs(database, call), true),
    lockSequence: checked("lockSequence", (call) => lockSequence(database, call), true),
    commitOutcomes: checked("commitOutcomes", (call) => commitOutcomes(database, call)),
    reapExpiredLeases: checked("reapExpiredLeases", (call) => reapExpiredLeases(database, call)),
    cancelSequences: checked("cancelSequences", (call) => cancelSequences(database, call)),
    redriveJobs: checked("redriveJobs", (call) => redriveJobs(database, call)),
    deleteSequences: checked("deleteSequences", (call) => deleteSequences(database, call)),
    pruneSequences: checked("pruneSequences", (call) => pruneSequences(database, call)),
    getJobs: lagging("getJobs", (from, call) => getJobs(from, call)),
    getSequences: lagging("getSequences", (from, call) => getSequences(from, call)),
    listJobs: lagging("listJobs", (from, call) => listJobs(from, call)),
    getBlockers: checked("getBlockers", (call) => getBlockers(database, call)),
    listBlockedJobs: checked("listBlockedJobs", (call) => listBlockedJobs(database, call)),
    countJobs: lagging("countJobs", (from, call) => countJobs(from, call)),
    countAhead: checked("countAhead", (call) => countAhead(database, call)),

    statistics: {
      measureBacklog: monitoring("measureBacklog", (from, call) => measureBacklog(from, call)),
      listRecentlyFinished: monitoring("listRecentlyFinished", (from, call) =>
        listRecentlyFinished(from, call),
      ),
    },

    recurring: {
      getRecurring: checked("getRecurring", (call) => getRecurring(database, call)),
      listRecurring: checked("listRecurring", (call) => listRecurring(database, call)),
      nextRecurringIn: checked("nextRecurringIn", (call) => nextRecurringIn(database, call)),
      lockRecurring: checked("lockRecurring", (call) => lockRecurring(database, call), true),
      lockDueRecurring: checked("lockDueRecurring", (call) => lockDueRecurring(database, call), true),
      putRecurring: checked("putRecurring", (call) => putRecurring(database, call), true),
      advanceRecurring: checked("advanceRecurring", (call) => advanceRecurring(database, call), true),
      deleteRecurring: checked("deleteRecurring", (call) => deleteRecurring(database, call)),
    },

    edits: {
      updateWaitingJobs: checked("updateWaitingJobs", (call) => updateWaitingJobs(database, call)),
      expireWaitingJobs: checked("expireWaitingJobs", (call) => expireWaitingJobs(database, call)),
    },

    limits: {
      setRule: checked("setRule", (call) => setRule(database, call)),
      listRules: checked("listRules", (call) => listRules(database, call)),
      listGroups: checked("listGroups", (call) => listGroups(database, call)),
      pauseGroup: checked("pauseGroup", (call) => pauseGroup(database, call)),
      resumeGroup: checked("resumeGroup", (call) => resumeGroup(database, call)),
      explainThrottle: checked("explainThrottle", (call) => explainThrottle(database, call)),
      repairCounters: checked("repairCounters", (call) => repairCounters(database, call)),
    },

    history: {
      listAttempts: checked("listAttempts", (call) => listAttempts(database, call)),
      listCauses: lagging("listCauses", (from, call) => listCauses(from, call)),
      writeReport: checked("writeReport", (call) => writeReport(database, call)),
      listProcesses: lagging("listProcesses", (from, call) => listProcesses(from, call)),
      readBuckets: lagging("readBuckets", (from, call) => readBuckets(from, call)),
      rollUpBuckets: checked("rollUpBuckets", (call) => rollUpBuckets(database, call)),
      deleteOldReports: checked("deleteOldReports", (call) => deleteOldReports(database, call)),
    },

    diagnostics: {
      runChecks: (call) => runChecks(examined, call),
      estimateJobs: async () => {
        database.assertOpen();
        return estimateJobs(examined);
      },
    },

    close: async () => {
      closed = true;
    },
  };
};
