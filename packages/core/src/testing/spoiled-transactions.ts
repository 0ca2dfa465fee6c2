import { createAsyncScope } from "../base/async.ts";

type TransactionCallback = (ctx: object) => Promise<unknown>;

/**
 * A failed call spoils the transaction it was made in: a caller that catches the error and goes on must not commit.
 * A real database sees to that by itself, but it never learns of a fault that is injected in front of it.
 *
 * Which transaction a call belongs to is known from where it was made, because contexts may be copied or shared.
 */
export interface SpoiledTransactions {
  /** Marks the transaction around the running code. */
  spoil(error: unknown): void;
  /** Throws what spoiled the transaction around the running code, if something did. */
  assertIntact(): void;
  /** Has `runInTransaction` roll back when the callback swallowed a failure. */
  guard(callback: TransactionCallback): TransactionCallback;
}

interface Transaction {
  spoiledBy: { readonly error: unknown } | undefined;
}

export const createSpoiledTransactions = (): SpoiledTransactions => {
  const scope = createAsyncScope<Transaction>();

  const assertIntact = (): void => {
    const spoiledBy = scope.getStore()?.spoiledBy;
    if (spoiledBy) throw spoiledBy.error;
  };

  return {
    spoil: (error) => {
      const transaction = scope.getStore();
      if (transaction) transaction.spoiledBy ??= { error };
    },
    assertIntact,
    guard: (callback) => (ctx) =>
      scope.run({ spoiledBy: undefined }, async () => {
        const result = await callback(ctx);
        assertIntact();
        return result;
      }),
  };
};
