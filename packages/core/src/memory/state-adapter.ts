import { requireOptions } from "../base/options.ts";
import { type Clock, systemClock } from "../base/runtime.ts";
import { isolationLevels, type StateCall } from "../store/contract/calls.ts";
import type { Jobs, OptionalParts, PartName, StateAdapter } from "../store/contract/state-adapter.ts";
import { AdapterClosedError, StateNotInTransactionError } from "../store/errors.ts";
import { contractMethods } from "../store/parts.ts";
import * as backlog from "./backlog.ts";
import * as claim from "./claim.ts";
import * as create from "./create.ts";
import * as history from "./history.ts";
import * as leases from "./leases.ts";
import * as limitRules from "./limit-rules.ts";
import * as outcomes from "./outcomes.ts";
import * as reads from "./reads.ts";
import * as recurring from "./recurring.ts";
import { type Operations, Rows } from "./rows.ts";
import { createClient, createTransactions, type InProcessContext, readCommitted } from "./transactions.ts";

type Parts = { readonly [TPart in PartName]: NonNullable<OptionalParts<InProcessContext>[TPart]> };

/** A store in memory, which ends with the process. */
export type InProcessStateAdapter = StateAdapter<InProcessContext, InProcessContext> & Parts;

/** Options of `createInProcessStateAdapter`. */
export interface InProcessStateAdapterOptions {
  /** Default: the system clock. */
  readonly clock?: Pick<Clock, "now">;
}

type Call = StateCall<InProcessContext>;
type Effects = Readonly<Record<string, "read" | "lock" | "write">>;

/** The methods of the contract, each under its own name. */
const operations: Operations = {
  getTime: (_rows, _call, now) => now,
  ...backlog,
  ...claim,
  ...create,
  ...history,
  ...leases,
  ...limitRules,
  ...outcomes,
  ...reads,
  ...recurring,
};

const writesInTransactions = new Set(["addJobBlockers", "putRecurring", "advanceRecurring"]);
// `nextRunnableIn` is often polled and only a hint. The changes of an open transaction count: claims wait for its end.
const uncommittedReads = new Set(["getTime", "nextRunnableIn"]);

/**
 * Keeps jobs in this process: for tests, and for work that may be lost with the process. It has transactions with
 * savepoints. An open transaction blocks every other write, so keep transactions short.
 */
export const createInProcessStateAdapter = (
  options: InProcessStateAdapterOptions = {},
): InProcessStateAdapter => {
  const { clock = systemClock } = requireOptions<"clock">(options, "createInProcessStateAdapter", {
    clock: true,
  }) as InProcessStateAdapterOptions;
  const rows = new Rows();
  let closed = false;
  const assertUsable = (): void => {
    if (closed) throw new AdapterClosedError("in-process state adapter");
  };
  const transactions = createTransactions(rows.journal, assertUsable);

  const methodOf = (name: keyof Operations, effect: Effects[string]) => {
    const operation = operations[name] as (rows: Rows, call: Call, now: number) => unknown;
    const needsTransaction = effect === "lock" || writesInTransactions.has(name);
    return async (call: Call = {}): Promise<unknown> => {
      const perform = (): unknown => {
        assertUsable();
        return operation(rows, call, call.now ?? clock.now());
      };
      if (call.ctx === undefined && !needsTransaction) {
        if (effect === "write") return transactions.write(name, perform);
        return uncommittedReads.has(name) ? perform() : readCommitted(rows.journal, perform);
      }
      assertUsable();
      if (!transactions.has(call.ctx)) throw new StateNotInTransactionError(name);
      return perform();
    };
  };

  const methodsOf = (effects: Effects): object => {
    const names = Object.keys(effects) as (keyof Operations)[];
    return Object.fromEntries(names.map((name) => [name, methodOf(name, effects[name]!)]));
  };
  const { jobs, ...parts } = contractMethods;
  const ofParts = Object.entries(parts).map(([part, effects]) => [part, methodsOf(effects)] as const);
  return {
    capabilities: { conflicts: "wait", savepoints: true, isolationLevels, discardsCompleted: true },
    contextKeys: ["client"],
    ...(methodsOf(jobs) as Jobs<InProcessContext>),
    ...(Object.fromEntries(ofParts) as unknown as Parts),
    provideContext: async (callback) => {
      assertUsable();
      return callback({ client: createClient() });
    },
    runInTransaction: (callback, parent) => transactions.run(callback, parent),
    isInTransaction: async (ctx) => transactions.has(ctx),
    isTransientError: () => false,
    isConflictRollback: () => false,
    close: async () => {
      closed = true;
    },
  };
};
