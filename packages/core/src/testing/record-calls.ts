import type { NotifyAdapter } from "../notify/contract.ts";
import type { AnyStateAdapter } from "../store/contract/state-adapter.ts";
import { wrapAdapter } from "../store/wrap-adapter.ts";

export type RecordedOutcome =
  | { readonly kind: "pending" }
  | { readonly kind: "returned"; readonly result: unknown }
  | { readonly kind: "threw"; readonly error: unknown };

/** A call of an adapter, with its arguments and its result. */
export interface RecordedCall {
  readonly method: string;
  readonly args: readonly unknown[];
  /** As of now: `pending` until the call has settled. */
  readonly outcome: RecordedOutcome;
}

/** An adapter with a record of its calls. */
export interface RecordedAdapter<TAdapter> {
  readonly adapter: TAdapter;
  /** In the order in which they were made; grows as the adapter is used. */
  readonly calls: readonly RecordedCall[];
  callsOf(method: string): readonly RecordedCall[];
}

/** Passes every call on and remembers it, for tests that ask how often a store is asked, and for what. */
export const recordCalls = <TAdapter extends AnyStateAdapter | NotifyAdapter>(
  adapter: TAdapter,
): RecordedAdapter<TAdapter> => {
  const calls: RecordedCall[] = [];

  const recorded = wrapAdapter(adapter, (method, original) => (...args) => {
    const call: { method: string; args: unknown[]; outcome: RecordedOutcome } = {
      method,
      args,
      outcome: { kind: "pending" },
    };
    calls.push(call);
    const returned = (result: unknown): unknown => {
      call.outcome = { kind: "returned", result };
      return result;
    };
    const threw = (error: unknown): never => {
      call.outcome = { kind: "threw", error };
      throw error;
    };
    try {
      const result = original(...args);
      return result instanceof Promise ? result.then(returned, threw) : returned(result);
    } catch (error) {
      return threw(error);
    }
  });

  return { adapter: recorded, calls, callsOf: (method) => calls.filter((call) => call.method === method) };
};
