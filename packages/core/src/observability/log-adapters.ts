import { LeaseholdError } from "../base/errors.ts";
import type { AnyStateAdapter } from "../store/contract/state-adapter.ts";
import { contractMethods } from "../store/parts.ts";
import { type AnyMethod, wrapAdapter } from "../store/wrap-adapter.ts";
import { type Log, loggedEvents } from "./log.ts";

const logRejections =
  (log: Log, event: "stateAdapterError" | "notifyAdapterError", operation: string, method: AnyMethod) =>
  async (...args: unknown[]): Promise<unknown> => {
    try {
      return await method(...args);
    } catch (error) {
      // Errors that the contract defines are answers.
      if (!(error instanceof LeaseholdError)) {
        const [level, message] = loggedEvents[event]!;
        log({ level, event, message, data: { operation, error } });
      }
      throw error;
    }
  };

const storeCalls: ReadonlySet<string> = new Set(Object.values(contractMethods).flatMap(Object.keys));

/**
 * A state adapter that logs errors of store calls and throws them on, for programs that call it without Leasehold, which logs
 * them itself. Transactions and contexts pass through as they are.
 */
export const wrapStateAdapterWithLogging = <TAdapter extends AnyStateAdapter>(
  stateAdapter: TAdapter,
  log: Log,
): TAdapter =>
  wrapAdapter(stateAdapter, (name, method) =>
    storeCalls.has(name) ? logRejections(log, "stateAdapterError", name, method) : method,
  );

/** The same for a notify adapter: `notify…` and `listen…` calls. */
export const wrapNotifyAdapterWithLogging = <TAdapter extends { close(): Promise<void> }>(
  notifyAdapter: TAdapter,
  log: Log,
): TAdapter =>
  wrapAdapter(notifyAdapter, (name, method) =>
    name === "close" ? method : logRejections(log, "notifyAdapterError", name, method),
  );
