import type { AnyStateAdapter } from "../store/contract/state-adapter.ts";
import { StateNotInTransactionError } from "../store/errors.ts";
import { createSpoiledTransactions } from "./spoiled-transactions.ts";
import { type AnyMethod, wrapAdapter } from "../store/wrap-adapter.ts";

const notCalls = new Set(["isInTransaction", "isTransientError", "isConflictRollback"]);

/** The same store without savepoints: a nested transaction that fails takes the outer one with it. */
export const withoutSavepoints = <TAdapter extends AnyStateAdapter>(adapter: TAdapter): TAdapter => {
  const transactions = createSpoiledTransactions();
  type Callback = (ctx: object) => Promise<unknown>;

  const runNested = async (callback: Callback, parent: object): Promise<unknown> => {
    transactions.assertIntact();
    if (!(await adapter.isInTransaction(parent))) throw new StateNotInTransactionError("runInTransaction");
    try {
      return await callback(parent);
    } catch (error) {
      transactions.spoil(error);
      throw error;
    }
  };

  const wrapped = wrapAdapter(adapter, (method, original): AnyMethod => {
    if (method === "runInTransaction") {
      return (callback, parent, options) =>
        parent === undefined
          ? original(transactions.guard(callback as Callback), undefined, options)
          : runNested(callback as Callback, parent as object);
    }
    if (notCalls.has(method)) return original;
    return (...args) => {
      const { ctx } = (args[0] ?? {}) as { ctx?: unknown };
      if (ctx === undefined) return original(...args);
      return (async () => {
        transactions.assertIntact();
        return original(...args);
      })();
    };
  });
  return { ...wrapped, capabilities: { ...adapter.capabilities, savepoints: false } };
};
