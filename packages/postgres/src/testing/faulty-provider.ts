import type { PgStateProvider, SqlStatement } from "../database/provider.ts";

export interface FaultyProvider {
  readonly provider: PgStateProvider<object, object>;
  /** How many calls there have been. */
  readonly calls: number;
}

/** Runs `before` ahead of each call of the provider that goes to the server. Calls are counted from 1. */
export const createFaultyProvider = (
  provider: PgStateProvider<object, object>,
  before: (call: number) => Promise<void> | void,
): FaultyProvider => {
  let calls = 0;
  const count = async (): Promise<void> => {
    calls += 1;
    await before(calls);
  };
  return {
    get calls() {
      return calls;
    },
    provider: {
      ...provider,
      runInTransaction: async (callback, options) => {
        await count();
        return provider.runInTransaction(callback, options);
      },
      executeSql: async (ctx, statement) => {
        await count();
        return provider.executeSql(ctx, statement);
      },
      ...(provider.executeLast && {
        executeLast: async (ctx: object, statement: SqlStatement) => {
          await count();
          return provider.executeLast!(ctx, statement);
        },
      }),
    },
  };
};
