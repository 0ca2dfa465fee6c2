import type { StateCall, StateRead } from "../state-call.ts";
import type { NewCause } from "./causes.ts";

/** A process that has created a Leasehold, as it describes itself. */
export interface Reporter {
  readonly id: string;
  readonly deployment: string | null;
  readonly startedAt: number;
  /** Its host, versions, workers and what they serve, as text that only core can read. */
  readonly about: string;
}

export interface StateReporter extends Reporter {
  /** When it last reported. */
  readonly seenAt: number;
}

/** What identifies a row of counts: one reporter, one type, one stretch of time. */
export interface RollupKey {
  /** The length of the stretch in milliseconds. */
  readonly width: number;
  /** Its beginning, a multiple of `width`. */
  readonly from: number;
  readonly queue: string;
  readonly typeName: string;
  /** Empty for none, since it is part of the key. */
  readonly deployment: string;
  /** Empty for rows into which those of several reporters have been folded. */
  readonly reporterId: string;
}

export interface Rollup extends RollupKey {
  /** Numbers and histograms, as text that only core can read. */
  readonly counts: string;
}

export interface ReportCall {
  readonly reporter: Reporter;
  /** Absolute numbers, so that the same report again changes nothing. */
  readonly rollups: readonly Rollup[];
  readonly causes: readonly NewCause[];
  /** Rollups that begin longer ago than this are dropped: they may have been folded already. */
  readonly maxAgeMs: number;
}

export interface ListReportersCall {
  /** Only those that have reported since. */
  readonly seenFrom: number;
  readonly limit: number;
}

export interface ReadRollupsCall {
  readonly width: number;
  /** Rows that begin at this moment or later. */
  readonly from: number;
  /** Rows that begin before this moment. */
  readonly before: number;
  readonly queues?: readonly string[] | undefined;
  readonly typeNames?: readonly string[] | undefined;
  readonly limit: number;
}

export interface FoldRollupsCall {
  /** As they were read. */
  readonly remove: readonly Rollup[];
  readonly put: readonly Rollup[];
}

export interface ForgetReportsCall {
  /** Reporters that have been silent since before this moment. */
  readonly reportersBefore: number;
  /** Causes that were last reported before this moment, and that no failed job has. */
  readonly causesBefore: number;
  /** Rows of a width that begin before a moment. */
  readonly rollups: readonly { readonly width: number; readonly before: number }[];
  /** At most so many rows in all. */
  readonly limit: number;
}

/** What happened lately, counted by each process for itself. Nothing of it is needed to run jobs. */
export interface Reports<TTxContext> {
  /**
   * Overwrites the reporter's own rows: the description, and the rollups given. Rows of others are not touched, and nobody is
   * waited for. Of a cause that is known only `lastSeenAt` changes, and not even that while somebody else changes it. Returns the
   * store's time.
   */
  report(call: StateCall<TTxContext> & ReportCall): Promise<number>;

  /** The one that reported last comes first. */
  listReporters(call: StateRead<TTxContext> & ListReportersCall): Promise<StateReporter[]>;

  /** Ordered by `from`, then by the rest of the key as it is declared, texts by their bytes. */
  readRollups(call: StateRead<TTxContext> & ReadRollupsCall): Promise<Rollup[]>;

  /**
   * Replaces rows by others, which may have the keys of rows removed. Does nothing and returns false if a row to remove is
   * gone or has changed, or if a row to put exists. No key is named twice in `remove`, or twice in `put`.
   */
  foldRollups(call: StateCall<TTxContext> & FoldRollupsCall): Promise<boolean>;

  /** Deletes what is too old to be shown. Returns how many rows that was. */
  forgetReports(call: StateCall<TTxContext> & ForgetReportsCall): Promise<number>;
}
