import type { JobStatus, StateJob } from "../store/contract/job.ts";
import type { JobHistory } from "./job-history.ts";
import type { Line } from "./line.ts";
import type { ClaimableGroups } from "./open-lines.ts";
import type { TimedEntry, TimedQueue } from "./timed-queue.ts";

/** A stored job as readers see it: the row with what the store keeps beside it. */
export interface StoredJob {
  readonly row: StateJob;
  /** Counts up with every job created; breaks ties between jobs scheduled for the same moment. */
  readonly order: number;
  /** The sequences this job was given to wait for, in the order given. */
  readonly blockerIds: readonly string[];
  /** Null for most jobs, which have nothing to look back at. */
  readonly history: JobHistory | null;
}

/** The one mutable cell per job. Rows themselves never change, so they can be handed out without a copy. */
export interface JobRecord extends StoredJob {
  readonly id: string;
  row: StateJob;
  blockerIds: readonly string[];
  history: JobHistory | null;
  queueType: QueueType;
  /** Where it waits or runs; of other jobs the line it was in last. */
  line: Line;
  /** The only valid entry of this job in the runnable index; others that still lie in a heap are stale. */
  entry: RunnableEntry | null;
}

/** Says from when on a job can be claimed: its `scheduledAt`, or the end of its lease. */
export interface RunnableEntry extends TimedEntry {
  readonly record: JobRecord;
}

/** The jobs of one type in one queue. A claim touches only those it asks for, however full the others are. */
export interface QueueType {
  readonly queue: QueueIndex;
  readonly typeName: string;
  /** The jobs without a group. */
  readonly ungrouped: Line;
  /** The lines of groups that have pending or running jobs. */
  readonly groups: Map<string, Line>;
  readonly claimableGroups: ClaimableGroups;
  /** Running jobs that may have an attempt left and so be claimed again when their lease expires. */
  readonly leased: TimedQueue<RunnableEntry>;
  readonly counts: Record<JobStatus, number>;
}

/** The types of one queue that have jobs. */
export interface QueueIndex {
  readonly name: string;
  readonly types: Map<string, QueueType>;
  running: number;
  /** How many lines of groups there are. */
  groupLines: number;
}
