import type { BaseStateAdapterContext } from "leasehold/adapter";
import type { PgStateProvider } from "./provider.ts";

/** Transactions inside a transaction: one that fails undoes only itself. */
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
      // If even this fails the whole transaction is lost; what has gone wrong first is what matters.
      await execute(`ROLLBACK TO SAVEPOINT ${name}`).catch(() => {});
      throw error;
    }
  };
};
