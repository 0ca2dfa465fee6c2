import {
  type BaseStateAdapterContext,
  InvalidOptionError,
  type OptionNames,
  requireOptions,
} from "leasehold/adapter";
import type { ClientSession, Db, MongoClient, MongoError } from "mongodb";

const tries = 3;

/** Not by its class: a client of another copy of the driver, such as Mongoose may bring, has classes of its own. */
const isOutcomeUnknown = (error: unknown): boolean =>
  error instanceof Error &&
  (error as Partial<MongoError>).hasErrorLabel?.("UnknownTransactionCommitResult") === true;

/** A commit may be repeated: one that went through before succeeds again. */
export const commit = async (session: ClientSession): Promise<void> => {
  for (let attempt = 1; ; attempt++) {
    try {
      await session.commitTransaction();
      return;
    } catch (error) {
      if (!isOutcomeUnknown(error) || attempt >= tries) throw error;
    }
  }
};

/** How the adapter gets at a database, and what it hands to your code. */
export interface MongoStateProvider<
  TTxContext extends BaseStateAdapterContext = MongoTransactionContext,
  TContext extends BaseStateAdapterContext = object,
> {
  getDatabase(): Db;
  /** The session whose transaction a context stands for. */
  getSession(ctx: TTxContext): ClientSession;
  provideContext<T>(callback: (ctx: TContext) => Promise<T>): Promise<T>;
  /** The names of the properties of a context. Every other name in a call is an option, or a misspelt one. */
  readonly contextKeys: readonly string[];
  /** Commits when the callback resolves, and else aborts. */
  runInTransaction<T>(callback: (ctx: TTxContext) => Promise<T>): Promise<T>;
  /** Never throws. */
  isInTransaction(ctx: unknown): boolean;
}

/** Pass `session` to every operation of your own that belongs to the transaction. */
export interface MongoTransactionContext {
  readonly session: ClientSession;
}

/** Options of `createMongoStateProvider`. */
export interface MongoProviderOptions {
  readonly client: MongoClient;
  /** The name of the database. Default: the one in the client's connection string. */
  readonly database?: string | undefined;
}

const knownOptions: OptionNames<keyof MongoProviderOptions> = { client: true, database: true };

const isOpenSession = (client: MongoClient, ctx: unknown): boolean => {
  try {
    const { session } = ctx as { readonly session: ClientSession & { readonly client?: unknown } };
    return session.client === client && session.inTransaction();
  } catch {
    return false;
  }
};

/** A provider over your own client. It is never closed by Leasehold. */
export const createMongoStateProvider = (passed: MongoProviderOptions): MongoStateProvider => {
  const { client, database } = requireOptions(
    passed,
    "createMongoStateProvider",
    knownOptions,
  ) as MongoProviderOptions;
  if (typeof client?.startSession !== "function") {
    throw new InvalidOptionError("client", "must be a MongoClient", typeof client);
  }
  const db = client.db(database);
  return {
    getDatabase: () => db,
    getSession: ({ session }) => session,
    contextKeys: ["session"],
    provideContext: (callback) => callback({}),
    runInTransaction: async (callback) => {
      const session = client.startSession();
      try {
        session.startTransaction({
          readConcern: { level: "snapshot" },
          writeConcern: { w: "majority" },
          readPreference: "primary",
        });
        const result = await callback({ session });
        await commit(session);
        return result;
      } catch (error) {
        if (session.inTransaction()) await session.abortTransaction().catch(() => undefined);
        throw error;
      } finally {
        await session.endSession();
      }
    },
    isInTransaction: (ctx) => isOpenSession(client, ctx),
  };
};
