import type { BaseStateAdapterContext } from "leasehold/adapter";
import type { PgStateProvider } from "./provider.ts";

/** Transactions inside a transaction: when one fails, only its own changes are rolled back. */
export const createSavepoints = <
  TTxContext extends BaseStateAdapterContext,
  TContext extends BaseStateAdapterContext,
>(
  provider: PgStateProvider<TTxContext, TContext>,
): (<T>(callback: (ctx: TTxContext) => Promise<T>, parent: TTxContext) => Promise<T>) => {
  let count = 0;
  return async (callback, parent) => {
    if (provider.runInSavepoint) return provider.runInSavepoint(callback, parent);
    count += 1;
    const name = `leasehold_${count}`;
    const execute = (sql: string): Promise<unknown> => provider.executeSql(parent, { sql, params: [] });
    await execute(`SAVEPOINT ${name}`);
    try {
      const result = await callback(parent);
      await execute(`RELEASE SAVEPOINT ${name}`);
      return result;
    } catch (error) {
      // If this fails too, the whole transaction is lost. The first error is the one that matters.
      await execute(`ROLLBACK TO SAVEPOINT ${name}`).catch(() => {});
      throw error;
    }
  };
};
