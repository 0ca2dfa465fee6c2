import type { BaseStateAdapterContext, IsolationLevel, StateCall, Transactions } from "./calls.ts";
import type { Claims, Leases } from "./claims.ts";
import type { Deletion, NewJobs } from "./creation.ts";
import type { Diagnostics, Statistics } from "./diagnostics.ts";
import type { Edits } from "./edits.ts";
import type { History } from "./history.ts";
import type { Limits } from "./limits.ts";
import type { StateJobType } from "./job.ts";
import type { CancelAndRedrive, Outcomes } from "./outcomes.ts";
import type { Reads } from "./reads.ts";
import type { Recurring } from "./recurring.ts";

/**
 * The parts of the state adapter's contract that an adapter may leave out. A part is a property of the adapter: either
 * present with all its methods, or absent. Core checks for a part, never for a single method.
 *
 * A new part needs a contract file, a line here, an entry in `store/parts.ts`, and a folder of conformance suites.
 */
export interface OptionalParts<TTxContext> {
  readonly recurring?: Recurring<TTxContext> | undefined;
  readonly edits?: Edits<TTxContext> | undefined;
  readonly limits?: Limits<TTxContext> | undefined;
  readonly history?: History<TTxContext> | undefined;
  readonly statistics?: Statistics<TTxContext> | undefined;
  readonly diagnostics?: Diagnostics | undefined;
}

/** The name of an optional part of the contract. */
export type PartName = keyof OptionalParts<object>;

/** The required part. */
export interface Jobs<TTxContext>
  extends
    NewJobs<TTxContext>,
    Claims<TTxContext>,
    Leases<TTxContext>,
    Outcomes<TTxContext>,
    CancelAndRedrive<TTxContext>,
    Deletion<TTxContext>,
    Reads<TTxContext> {
  /** The store's clock. */
  getTime(call?: StateCall<TTxContext>): Promise<number>;
}

/** Every method that is one store call, of the required part and of the optional ones. */
export type StoreMethods<TTxContext extends object = object> = Jobs<TTxContext> &
  Recurring<TTxContext> &
  Edits<TTxContext> &
  Limits<TTxContext> &
  History<TTxContext> &
  Statistics<TTxContext> &
  Diagnostics;

type CallOf<TMethod> = TMethod extends (call: infer TCall) => unknown ? Omit<TCall, "ctx" | "now"> : never;

/** What a method does in a store that answers without waiting. */
export type SyncOperation<TStore, TMethod extends keyof StoreMethods> = (
  store: TStore,
  call: CallOf<StoreMethods[TMethod]>,
  now: number,
) => Awaited<ReturnType<StoreMethods[TMethod]>>;

/** How stores differ besides the optional parts. */
export interface StateAdapterCapabilities {
  /**
   * What happens to a transaction that wants to change what another one has changed: it waits until that one has ended, or
   * is rolled back at once (`isConflictRollback`). With `abort`, core also runs the transactions of users again.
   */
  readonly conflicts: "wait" | "abort";
  /** The levels that `runInTransaction` can be asked for. A store may give more than was asked for, never less. */
  readonly isolationLevels: readonly IsolationLevel[];
  /** Whether a nested `runInTransaction` that fails is undone alone, or takes the outer one with it. */
  readonly savepoints: boolean;
  /** Whether reads that may lag are answered from a copy of the store. Default: they are not. */
  readonly readsFromReplica?: boolean | undefined;
  /** Whether a completion with `keep: false` deletes the job. Default: it does not. */
  readonly discardsCompleted?: boolean | undefined;
}

/**
 * The seam between Leasehold and a database. Core owns meaning, the adapter owns atomicity: each method is one atomic
 * transition or one read, returns facts, and never decides on a retry, sends a notification or traces.
 *
 * For every method:
 * - it takes effect completely or not at all, and a rejection inside a transaction spoils that transaction;
 * - time is `now` if given, else the store's own clock, the same for every worker;
 * - a schedule in the past means now, because `scheduledAt` is also a place in line;
 * - the results of batch methods are in the order of what was passed;
 * - rows are locked in the order of their ids, so that overlapping batches never deadlock;
 * - after `close` it throws `AdapterClosedError`.
 *
 * Every adapter has the part `Jobs`. It has each of the optional parts as a whole, or leaves it out.
 */
export interface StateAdapter<
  TTxContext extends BaseStateAdapterContext = BaseStateAdapterContext,
  TContext extends BaseStateAdapterContext = BaseStateAdapterContext,
  TJobId extends string = string,
>
  extends Transactions<TTxContext, TContext>, Jobs<TTxContext>, OptionalParts<TTxContext> {
  readonly capabilities: StateAdapterCapabilities;

  /** Never called: carries the id type for `GetStateAdapterJobId`. */
  readonly jobIdType?: TJobId;

  /** The names of the properties of a transaction context. Core refuses every other name that is not an option of the call. */
  readonly contextKeys: readonly string[];

  /** Makes the ids of new jobs, where the adapter was given a way to. `createLeasehold({ createId })` overrides it. */
  readonly idGenerator?: (() => TJobId) | undefined;

  /**
   * Stores what is known of job types, for starts that do not come through Leasehold, such as from SQL. Workers call it when they
   * start. It writes nothing for a type that is stored as it is. Absent in stores without such starts.
   */
  readonly registerJobTypes?: ((types: readonly StateJobType[]) => Promise<void>) | undefined;

  /** Ends the use of the store. Idempotent. */
  close(): Promise<void>;
}

/** A state adapter of any store. */
// oxlint-disable-next-line typescript/no-explicit-any -- only `any` matches adapters of every context type
export type AnyStateAdapter = StateAdapter<any, any, any>;

/** The context of an adapter's transactions. */
export type GetStateAdapterTxContext<TStateAdapter> =
  TStateAdapter extends StateAdapter<infer TTxContext, infer _TContext, infer _TJobId> ? TTxContext : never;

/** The context of an adapter outside transactions. */
export type GetStateAdapterContext<TStateAdapter> =
  TStateAdapter extends StateAdapter<infer _TTxContext, infer TContext, infer _TJobId> ? TContext : never;

/** The type of an adapter's job ids. */
export type GetStateAdapterJobId<TStateAdapter> =
  TStateAdapter extends StateAdapter<infer _TTxContext, infer _TContext, infer TJobId> ? TJobId : never;
