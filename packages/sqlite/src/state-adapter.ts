import { setTimeout as sleep } from "node:timers/promises";
import {
  AdapterClosedError,
  InvalidOptionError,
  isolationLevels,
  resolveSchedule,
  type StateAdapter,
  type Statistics,
} from "leasehold/adapter";
import { createBusyRetry } from "./connection/busy-retry.ts";
import { type AfterCommit, createCheckpoints } from "./connection/checkpoints.ts";
import { createMigrations, type MigrationStatus } from "./migrate.ts";
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
import type { SqliteStateProvider } from "./provider.ts";
import { sqliteDrivers } from "./providers/drivers.ts";
import { openFile, type SqliteFileContext } from "./providers/file.ts";
import { isTransient } from "./sqlite-error.ts";
import { createConnectionRunner } from "./connection/run-on-connection.ts";
import { nameTables } from "./tables.ts";
import { createTransactions, type SqliteTransactionContext } from "./connection/transactions.ts";
import { createWriteQueue } from "./connection/group-commit.ts";

export interface SqliteStateAdapter<
  TContext extends object = SqliteFileContext,
  TJobId extends string = string,
> extends StateAdapter<TContext & SqliteTransactionContext, TContext, TJobId> {
  readonly statistics: Statistics<TContext & SqliteTransactionContext>;
  /** Brings the tables up to date. Safe to call again, and from several processes at once. */
  migrate(): Promise<MigrationStatus>;
  /** What `migrate` has done and would do, with its SQL. */
  migrationStatus(): Promise<MigrationStatus>;
}

// An open transaction that never ends must not keep a process from stopping.
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

  const close = async (): Promise<void> => {
    // From inside a transaction there is no waiting for its end.
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
    capabilities: { savepoints: true, isolationLevels },
    idGenerator,
    migrate: async () => {
      assertUsable();
      return transactions.provide(migrations.migrate, assertUsable);
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
    // Every transaction has the write lock from its beginning, so there is nobody to give way to.
    isRolledBackForOthers: () => false,
    getTime: async (call = {}) => {
      assertUsable();
      if (call.ctx !== undefined) return writeInTransaction("getTime", call, (_db, at) => at);
      return call.now ?? now();
    },

    createJobs: (call) => write("createJobs", call, (db, at) => operations.createJobs(db, call.jobs, at)),
    addJobBlockers: (call) =>
      writeInTransaction("addJobBlockers", call, (db, at) => operations.addJobBlockers(db, call, at)),
    claimJobs: (call) => write("claimJobs", call, (db, at) => operations.claimJobs(db, call, at)),
    nextRunnableIn: (call) =>
      read("nextRunnableIn", call, (db, at) => operations.nextRunnableIn(db, call, at)),
    renewLeases: (call) =>
      write("renewLeases", call, (db, at) => operations.renewLeases(db, call.leases, at)),
    lockJob: (call) => writeInTransaction("lockJob", call, (db, at) => operations.lockJob(db, call, at)),
    lockSequence: (call) =>
      writeInTransaction(
        "lockSequence",
        call,
        (db) => operations.sequences.getMany(db, [call.sequenceId])[0],
      ),
    commitOutcomes: (call) =>
      write("commitOutcomes", call, (db, at) => operations.commitOutcomes(db, call.outcomes, at)),
    reapExpiredLeases: (call) =>
      write("reapExpiredLeases", call, (db, at) => operations.reapExpiredLeases(db, call, at)),
    cancelSequences: (call) =>
      write("cancelSequences", call, (db, at) => operations.cancelSequences(db, call, at)),
    redriveJobs: (call) =>
      write("redriveJobs", call, (db, at) =>
        operations.redriveJobs(db, call.jobIds, resolveSchedule(call.schedule ?? { afterMs: 0 }, at)),
      ),
    deleteSequences: (call) =>
      write("deleteSequences", call, (db) => operations.deleteSequences(db, call.rootSequenceIds)),
    pruneSequences: (call) => write("pruneSequences", call, (db) => operations.pruneSequences(db, call)),

    getJobs: (call) => read("getJobs", call, (db) => operations.sequences.findMany(db, call.jobIds)),
    getSequences: (call) =>
      read("getSequences", call, (db) => operations.sequences.getMany(db, call.sequenceIds)),
    listJobs: (call) => read("listJobs", call, (db) => operations.listJobs(db, call)),
    getBlockers: (call) => read("getBlockers", call, (db) => operations.getBlockers(db, call.jobIds)),
    listBlockedJobs: (call) => read("listBlockedJobs", call, (db) => operations.listBlockedJobs(db, call)),
    countJobs: (call) => read("countJobs", call, (db) => operations.countJobs(db, call.filter)),
    countAhead: (call) => read("countAhead", call, (db, at) => operations.countAhead(db, call.jobId, at)),

    statistics: {
      measureBacklog: (call) =>
        read("measureBacklog", call, (db, at) => operations.measureBacklog(db, call.cap, at)),
      listRecentlyFinished: (call) =>
        read("listRecentlyFinished", call, (db) => operations.listRecentlyFinished(db, call)),
    },

    close: () => (closing ??= close()),
  };
}
