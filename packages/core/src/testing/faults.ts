import { type Clock, sleep, systemClock } from "../base/runtime.ts";
import type { NotifyAdapter } from "../notify/contract.ts";
import type { AnyStateAdapter } from "../store/contract/state-adapter.ts";
import { LeaseholdError } from "../base/errors.ts";
import { requireOptions } from "../base/options.ts";
import type { Fault, FaultPlan } from "./fault-plans.ts";
import { createSpoiledTransactions } from "./spoiled-transactions.ts";
import { type AnyMethod, wrapAdapter } from "../store/wrap-adapter.ts";

/** Stands for a lost connection, a deadlock or a store that is starting up. */
export class InjectedFaultError extends LeaseholdError {
  readonly method: string;
  readonly kind: "fail_before" | "fail_after";
  constructor(method: string, kind: "fail_before" | "fail_after", options?: ErrorOptions) {
    const effect = kind === "fail_before" ? "before it did anything" : "and its reply was lost";
    super("InjectedFault", `${method} was made to fail ${effect}.`, options);
    this.method = method;
    this.kind = kind;
  }
}

/** Options of `withFaults`. */
export interface FaultOptions {
  /** For `delay`; the system's unless given. */
  readonly clock?: Clock;
  /** Whether the adapter calls injected errors transient. They are, unless told otherwise. */
  readonly transient?: boolean;
}

// The contract has these never fail.
const neverFaulty = new Set(["idGenerator", "isInTransaction", "isTransientError", "isConflictRollback"]);

const never = (): Promise<never> => new Promise(() => undefined);

const hasContext = (method: string, args: readonly unknown[]): boolean => {
  if (method === "runInTransaction") return args[1] !== undefined;
  const call = args[0];
  return typeof call === "object" && call !== null && (call as { ctx?: unknown }).ctx !== undefined;
};

const errorOf = (
  method: string,
  fault: Fault & { kind: "fail_before" | "fail_after" },
  cause?: unknown,
): unknown => {
  if (fault.error !== undefined) return fault.error;
  return new InjectedFaultError(method, fault.kind, cause === undefined ? undefined : { cause });
};

const applyFault = async (
  method: string,
  fault: Fault | undefined,
  call: () => unknown,
  clock: Clock,
): Promise<unknown> => {
  switch (fault?.kind) {
    case "fail_before":
      throw errorOf(method, fault);
    case "fail_after": {
      let cause: unknown;
      try {
        await call();
      } catch (error) {
        // A caller that hears nothing cannot tell a refusal from a success either.
        cause = error;
      }
      throw errorOf(method, fault, cause);
    }
    case "hang":
      return never();
    case "delay":
      await sleep(clock, fault.ms);
      return call();
    case undefined:
      return call();
  }
};

/**
 * The same adapter over a store or a transport that fails by plan. For `runInTransaction`, `fail_before` means that it
 * never began and `fail_after` that it committed. A fault inside a transaction spoils it, as the contract says.
 */
export const withFaults = <TAdapter extends AnyStateAdapter | NotifyAdapter>(
  adapter: TAdapter,
  plan: FaultPlan,
  options: FaultOptions = {},
): TAdapter => {
  const { clock = systemClock, transient = true } = requireOptions<keyof FaultOptions>(
    options,
    "withFaults",
    {
      clock: true,
      transient: true,
    },
  ) as FaultOptions;
  const calls = new Map<string, number>();
  let total = 0;
  const transactions = createSpoiledTransactions();
  const savepoints = "capabilities" in adapter && adapter.capabilities.savepoints;

  const faultFor = (method: string): Fault | undefined => {
    const nth = (calls.get(method) ?? 0) + 1;
    calls.set(method, nth);
    total += 1;
    return plan({ method, nth, total });
  };

  const wrap = (method: string, original: AnyMethod): AnyMethod => {
    if (method === "isTransientError") {
      return (error) => (error instanceof InjectedFaultError ? transient : original(error));
    }
    if (neverFaulty.has(method)) return original;
    return async (...args) => {
      const inTransaction = hasContext(method, args);
      if (inTransaction) transactions.assertIntact();
      if (method === "runInTransaction")
        args[0] = transactions.guard(args[0] as (ctx: object) => Promise<unknown>);
      const fault = faultFor(method);
      try {
        return await applyFault(method, fault, () => original(...args), clock);
      } catch (error) {
        // A savepoint whose callback failed has been undone; an injected fault stands for the connection itself.
        const injected = fault?.kind === "fail_before" || fault?.kind === "fail_after";
        const undone = method === "runInTransaction" && savepoints && !injected;
        if (inTransaction && !undone) transactions.spoil(error);
        throw error;
      }
    };
  };

  return wrapAdapter(adapter, wrap);
};
