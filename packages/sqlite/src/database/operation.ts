import type {
  Claims,
  Deletion,
  Edits,
  History,
  CancelAndRedrive,
  Leases,
  Limits,
  NewJobs,
  Outcomes,
  Reads,
  Recurring,
  Statistics,
} from "leasehold/adapter";
import type { SqliteConnection } from "./connection.ts";

type Contract = NewJobs<object> &
  Claims<object> &
  Leases<object> &
  Outcomes<object> &
  CancelAndRedrive<object> &
  Deletion<object> &
  Reads<object> &
  Statistics<object> &
  Recurring<object> &
  Edits<object> &
  Limits<object> &
  History<object>;

/**
 * Implements a method of the contract, on a connection that is in a transaction or reads one snapshot of the database. It
 * is synchronous.
 */
export type Operation<TMethod extends keyof Contract> = (
  db: SqliteConnection,
  call: Omit<Parameters<Contract[TMethod]>[0], "ctx" | "now">,
  now: number,
) => Awaited<ReturnType<Contract[TMethod]>>;

export type Operations = { readonly [TMethod in keyof Contract]: Operation<TMethod> };
