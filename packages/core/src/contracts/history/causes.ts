import type { FailureReason } from "../../model/job.ts";
import type { StateRead } from "../state-call.ts";

/** What the errors with one fingerprint have in common, and where it was first seen. */
export interface NewCause {
  /** Sixteen hexadecimal digits. */
  readonly fingerprint: string;
  readonly name: string;
  readonly message: string;
  /** The function and file that the error came from. */
  readonly frame: string | null;
  readonly deployment: string | null;
}

export interface ListCausesCall {
  /** Looks at so many failed jobs that match the rest of the call, those with the greatest ids first. */
  readonly cap: number;
  readonly queues?: readonly string[] | undefined;
  readonly typeNames?: readonly string[] | undefined;
  /** Keeps those apart that failed in different stretches of so many milliseconds, counted from the epoch. */
  readonly everyMs?: number | undefined;
}

/** The failed jobs with one fingerprint, of one type, queue and reason. */
export interface FailedJobs {
  /** Null for jobs that failed without an error of a handler, or before fingerprints were kept. */
  readonly fingerprint: string | null;
  readonly queue: string;
  readonly typeName: string;
  readonly reason: FailureReason;
  readonly count: number;
  readonly firstFailedAt: number;
  readonly lastFailedAt: number;
  /** The one that failed last, or one of them. */
  readonly exampleId: string;
}

export interface StateCause extends NewCause {
  readonly firstSeenAt: number;
  /** When it was last reported. */
  readonly lastSeenAt: number;
}

export interface CauseList {
  /** In no particular order. */
  readonly failed: readonly FailedJobs[];
  /** Those of the fingerprints in `failed` that are known. */
  readonly causes: readonly StateCause[];
  /** Whether there are more that match than were looked at. */
  readonly capped: boolean;
}

/** Failed jobs by what they failed from. `report` stores the causes; outcomes give jobs their fingerprints. */
export interface Causes<TTxContext> {
  listCauses(call: StateRead<TTxContext> & ListCausesCall): Promise<CauseList>;
}
