import {
  AdapterClosedError,
  type Diagnostics,
  type Edits,
  type History,
  InvalidOptionError,
  isolationLevels,
  type Limits,
  type Recurring,
  type StateAdapter,
  type Statistics,
} from "leasehold/adapter";
import { setTimeout as sleep } from "node:timers/promises";
import { createBusyRetry } from "./database/busy-retry.ts";
import { isTransient } from "./database/errors.ts";
import { type AfterCommit, createCheckpoints, createWriteQueue } from "./database/group-commit.ts";
import type { SqliteStateProvider } from "./database/provider.ts";
import { createConnectionRunner } from "./database/runner.ts";
import { nameTables } from "./database/tables.ts";
import { createTransactions, type SqliteTransactionContext } from "./database/transactions.ts";
import { estimateJobs, runChecks, type DiagnosticsContext } from "./diagnostics.ts";
import { createMigrations, type MigrationStatus } from "./migrations/migrate.ts";
import { createOperations } from "./operations.ts";
import {
  type AnySqliteOptions,
  readFlag,
  readFunction,
  readIdType,
  readOptions,
  readRetryConfig,
  readWalBytes,
  type SqliteFileOptions,
  type SqliteProviderOptions,
} from "./options.ts";
import { sqliteDrivers } from "./providers/drivers.ts";
import { openFile, type SqliteFileContext } from "./providers/file.ts";

export interface SqliteStateAdapter<
  TContext extends object = SqliteFileContext,
  TJobId extends string = string,
> extends StateAdapter<TContext & SqliteTransactionContext, TContext, TJobId> {
  readonly statistics: Statistics<TContext & SqliteTransactionContext>;
  readonly recurring: Recurring<TContext & SqliteTransactionContext>;
  readonly edits: Edits<TContext & SqliteTransactionContext>;
  readonly limits: Limits<TContext & SqliteTransactionContext>;
  readonly history: History<TContext & SqliteTransactionContext>;
  readonly diagnostics: Diagnostics;
  /** Brings the tables up to date. Safe to call again, and from several processes at once. */
  migrate(): Promise<MigrationStatus>;
  /** What `migrate` has done and would do, with its SQL. */
  migrationStatus(): Promise<MigrationStatus>;
}

// A transaction that never ends must not keep the process from stopping.
const longestCloseWaitMs = 5_000;

const noCheckpoints: AfterCommit = () => undefined;

const openProvider = async (
  { stateProvider, file, driver }: Partial<AnySqliteOptions>,
  retryBusy: ReturnType<typeof createBusyRetry>,
): Promise<SqliteStateProvider> => {
  if (stateProvider !== undefined && file === undefined) return stateProvider;
  if (stateProvider !== undefined || typeof file !== "string" || file === "" || file.includes("\0")) {
    throw new InvalidOptionError("file", "must be a path, unless `stateProvider` is given instead", file);
  }
  if (driver !== undefined && !sqliteDrivers.includes(driver)) {
    throw new InvalidOptionError("driver", `must be one of ${sqliteDrivers.join(", ")}`, driver);
  }
  return openFile({ file, driver, retryBusy });
};

export function createSqliteStateAdapter<TJobId extends string = string>(
  options: SqliteFileOptions<TJobId>,
): Promise<SqliteStateAdapter<SqliteFileContext, TJobId>>;

export function createSqliteStateAdapter<TContext extends object, TJobId extends string = string>(
  options: SqliteProviderOptions<TContext, TJobId>,
): Promise<SqliteStateAdapter<TContext, TJobId>>;
/**
 * Keeps jobs in an SQLite database: a file that this opens with safe settings, or the database of a provider. Several
 * processes on one machine may use the same file.
 */
export async function createSqliteStateAdapter(
  passed: SqliteProviderOptions<object> | SqliteFileOptions,
): Promise<SqliteStateAdapter<object>> {
  const options = readOptions(passed);
  const tables = nameTables(options.tablePrefix ?? "leasehold_");
  const idType = readIdType(options.idType);
  const idGenerator = readFunction(options.idGenerator, "idGenerator");
  const isTransientToo = readFunction(options.isTransientError, "isTransientError");
  const migrateNow = readFlag(options.migrate, "migrate", true);
  const maxWalBytes = readWalBytes(options.maxWalBytes);
  const retryBusy = createBusyRetry(readRetryConfig(options.connectionRetryConfig));
  const now = (): number => (options.clock ?? Date).now();

  const provider = await openProvider(options, retryBusy);
  const { writer, reader, context, file } = provider;
  const migrations = createMigrations({ db: writer, retryBusy, tables, idType, now });
  try {
    if (migrateNow) await migrations.migrate();
  } catch (error) {
    provider.close();
    throw error;
  }

  const onCommit = file === null ? noCheckpoints : createCheckpoints({ db: writer, file, maxWalBytes });
  const writeQueue = createWriteQueue({ db: writer, retryBusy, onCommit });
  const transactions = createTransactions({ db: writer, writeQueue, retryBusy, onCommit });
  let closing: Promise<void> | undefined;
  const closedError = (): Error => new AdapterClosedError("SQLite state adapter");
  const assertUsable = (): void => {
    if (closing !== undefined) throw closedError();
  };
  const { read, write, writeInTransaction } = createConnectionRunner({
    writer,
    reader,
    writeQueue,
    transactions,
    retryBusy,
    assertUsable,
    now,
  });
  const operations = createOperations(tables);
  const examined: DiagnosticsContext = {
    migrations,
    tables,
    file,
    read: (look) => read("runChecks", {}, look),
  };

  const close = async (): Promise<void> => {
    // A caller inside a transaction cannot wait for its end.
    const patience = new AbortController();
    const giveUp = sleep(transactions.isInside() ? 0 : longestCloseWaitMs, undefined, {
      signal: patience.signal,
      ref: false,
    });
    await Promise.race([writeQueue.end(closedError()), giveUp.catch(() => undefined)]);
    patience.abort();
    provider.close();
  };

  return {
    capabilities: { conflicts: "wait", savepoints: true, isolationLevels, discardsCompleted: true },
    contextKeys: [...Object.keys(context), "transaction"],
    idGenerator,
    migrate: async () => {
      assertUsable();
      return transactions.exclusively(migrations.migrate, assertUsable);
    },
    migrationStatus: () => read("migrationStatus", {}, migrations.status),

    provideContext: async (callback) => {
      assertUsable();
      return transactions.provide(() => callback(context), assertUsable);
    },
    runInTransaction: async (callback, parent) => {
      assertUsable();
      return transactions.run((own) => callback({ ...context, ...own }), parent, assertUsable);
    },
    isInTransaction: async (ctx) => transactions.has(ctx),
    isTransientError: (error) => isTransient(error) || isTransientToo?.(error) === true,
    // Every transaction has the write lock from its beginning, so none has to give way to another.
    isConflictRollback: () => false,
    getTime: async (call = {}) => {
      assertUsable();
      if (call.ctx !== undefined) return writeInTransaction("getTime", call, (_db, _call, at) => at);
      return call.now ?? now();
    },

    createJobs: (call) => write("createJobs", call, operations.createJobs),
    addJobBlockers: (call) => writeInTransaction("addJobBlockers", call, operations.addJobBlockers),

    claimJobs: (call) => write("claimJobs", call, operations.claimJobs),
    nextRunnableIn: (call) => read("nextRunnableIn", call, operations.nextRunnableIn),
    countAhead: (call) => read("countAhead", call, operations.countAhead),

    renewLeases: (call) => write("renewLeases", call, operations.renewLeases),
    lockHeldJobs: (call) => writeInTransaction("lockHeldJobs", call, operations.lockHeldJobs),
    lockSequence: (call) => writeInTransaction("lockSequence", call, operations.lockSequence),
    commitOutcomes: (call) => write("commitOutcomes", call, operations.commitOutcomes),
    reapExpiredLeases: (call) => write("reapExpiredLeases", call, operations.reapExpiredLeases),

    cancelSequences: (call) => write("cancelSequences", call, operations.cancelSequences),
    redriveJobs: (call) => write("redriveJobs", call, operations.redriveJobs),
    deleteSequences: (call) => write("deleteSequences", call, operations.deleteSequences),
    pruneSequences: (call) => write("pruneSequences", call, operations.pruneSequences),

    getJobs: (call) => read("getJobs", call, operations.getJobs),
    getSequences: (call) => read("getSequences", call, operations.getSequences),
    listJobs: (call) => read("listJobs", call, operations.listJobs),
    getBlockers: (call) => read("getBlockers", call, operations.getBlockers),
    listBlockedJobs: (call) => read("listBlockedJobs", call, operations.listBlockedJobs),
    countJobs: (call) => read("countJobs", call, operations.countJobs),

    statistics: {
      measureBacklog: (call) => read("measureBacklog", call, operations.measureBacklog),
      listRecentlyFinished: (call) => read("listRecentlyFinished", call, operations.listRecentlyFinished),
    },

    recurring: {
      getRecurring: (call) => read("getRecurring", call, operations.getRecurring),
      listRecurring: (call) => read("listRecurring", call, operations.listRecurring),
      nextRecurringIn: (call) => read("nextRecurringIn", call, operations.nextRecurringIn),
      lockRecurring: (call) => writeInTransaction("lockRecurring", call, operations.lockRecurring),
      lockDueRecurring: (call) => writeInTransaction("lockDueRecurring", call, operations.lockDueRecurring),
      putRecurring: (call) => writeInTransaction("putRecurring", call, operations.putRecurring),
      advanceRecurring: (call) => writeInTransaction("advanceRecurring", call, operations.advanceRecurring),
      deleteRecurring: (call) => write("deleteRecurring", call, operations.deleteRecurring),
    },

    edits: {
      updateWaitingJobs: (call) => write("updateWaitingJobs", call, operations.updateWaitingJobs),
      expireWaitingJobs: (call) => write("expireWaitingJobs", call, operations.expireWaitingJobs),
    },

    limits: {
      setRule: (call) => write("setRule", call, operations.setRule),
      pauseGroup: (call) => write("pauseGroup", call, operations.pauseGroup),
      resumeGroup: (call) => write("resumeGroup", call, operations.resumeGroup),
      listRules: (call) => read("listRules", call, operations.listRules),
      listGroups: (call) => read("listGroups", call, operations.listGroups),
      explainThrottle: (call) => read("explainThrottle", call, operations.explainThrottle),
      repairCounters: (call) => write("repairCounters", call, operations.repairCounters),
    },

    history: {
      listAttempts: (call) => read("listAttempts", call, operations.listAttempts),
      listCauses: (call) => read("listCauses", call, operations.listCauses),
      writeReport: (call) => write("writeReport", call, operations.writeReport),
      listProcesses: (call) => read("listProcesses", call, operations.listProcesses),
      readBuckets: (call) => read("readBuckets", call, operations.readBuckets),
      rollUpBuckets: (call) => write("rollUpBuckets", call, operations.rollUpBuckets),
      deleteOldReports: (call) => write("deleteOldReports", call, operations.deleteOldReports),
    },

    diagnostics: {
      runChecks: async (call) => {
        assertUsable();
        return runChecks(examined, call);
      },
      estimateJobs: ({ limit }) => estimateJobs(examined, limit),
    },

    close: () => (closing ??= close()),
  };
}
