import { InvalidOptionError } from "leasehold/adapter";
import {
  type CallbackArgument,
  type PgStateProvider,
  readKnownOptions,
  type SqlRow,
} from "../database/provider.ts";

/** What is used of a `PrismaClient` whose database is PostgreSQL. */
export interface PrismaLike {
  $transaction(...args: never[]): unknown;
  $queryRawUnsafe(query: string, ...values: unknown[]): PromiseLike<unknown>;
  $disconnect(): Promise<void>;
}

/** What `$transaction` of a `PrismaClient` passes to its callback: `Prisma.TransactionClient`. */
export type PrismaTransactionOf<TClient extends PrismaLike> = CallbackArgument<TClient["$transaction"]>;

/** The context of a transaction: Prisma's own client of it. */
export interface PrismaContext<TTransaction> {
  readonly tx: TTransaction;
}

/** Options of `createPrismaStateProvider`. */
export interface PrismaProviderOptions<TClient extends PrismaLike> {
  /** Yours: the provider never disconnects it. */
  readonly prisma: TClient;
  /** How long Prisma waits for a connection to begin a transaction. Default: 10,000 (Prisma's own default is 2,000). */
  readonly maxWaitMs?: number | undefined;
  /** How long a transaction may take before Prisma rolls it back. Default: 30,000 (Prisma's own default is 5,000). */
  readonly timeoutMs?: number | undefined;
}

type Raw = Pick<PrismaLike, "$queryRawUnsafe">;

/** A provider over Prisma. Its context is `{ tx }`, with what `$transaction` passes to its callback. */
export const createPrismaStateProvider = <TClient extends PrismaLike>(
  options: PrismaProviderOptions<TClient>,
): PgStateProvider<PrismaContext<PrismaTransactionOf<TClient>>, PrismaContext<TClient>> => {
  const {
    prisma,
    maxWaitMs = 10_000,
    timeoutMs = 30_000,
  } = readKnownOptions(options, "createPrismaStateProvider", {
    prisma: true,
    maxWaitMs: true,
    timeoutMs: true,
  });
  type TTransaction = PrismaTransactionOf<TClient>;
  if (typeof prisma?.$transaction !== "function" || typeof prisma.$queryRawUnsafe !== "function") {
    throw new InvalidOptionError("prisma", "must be a PrismaClient", typeof prisma);
  }
  const open = new WeakSet<object>();
  const transaction = prisma.$transaction.bind(prisma) as unknown as <T>(
    callback: (tx: TTransaction & object) => Promise<T>,
    options: object,
  ) => Promise<T>;

  return {
    contextKeys: ["tx"],
    provideContext: (callback) => callback({ tx: prisma }),
    // Prisma sets the level with an extra statement. The adapter does that only where it is needed.
    runInTransaction: (callback) =>
      transaction(
        async (tx) => {
          open.add(tx);
          try {
            return await callback({ tx });
          } finally {
            open.delete(tx);
          }
        },
        { maxWait: maxWaitMs, timeout: timeoutMs },
      ),
    isInTransaction: async (ctx) => {
      try {
        const { tx } = ctx as PrismaContext<Raw>;
        if (open.has(tx)) return true;
        // Only the client itself can be disconnected.
        if (typeof tx.$queryRawUnsafe !== "function" || "$disconnect" in tx) return false;
        // A transaction that the user began. Whether it has ended is unknown until it is used.
        await tx.$queryRawUnsafe("SELECT 1");
        return true;
      } catch {
        return false;
      }
    },
    executeSql: async (ctx, { sql, params }) =>
      (await ((ctx?.tx ?? prisma) as Raw).$queryRawUnsafe(sql, ...params)) as SqlRow[],
  };
};
