import type { StateJob } from "../store/contract/job.ts";

/** One row as it was before and after a call; undefined where it was not stored. */
export interface RowChange {
  readonly before: StateJob | undefined;
  readonly after: StateJob | undefined;
}

/** One write call as the store carried it out. */
export interface StoreStep {
  /** The store's time. */
  readonly at: number;
  readonly method: string;
  readonly call: Record<string, unknown>;
  readonly result: unknown;
  readonly changes: readonly RowChange[];
}

/** What happened, in order. Only what the store really did counts; what a process believes is not in here. */
export type HistoryEvent =
  /** Was committed: a call outside transactions, or all calls of a transaction. */
  | {
      readonly kind: "applied";
      readonly at: number;
      readonly process: string;
      readonly steps: readonly StoreStep[];
    }
  | {
      readonly kind: "rolled_back";
      readonly at: number;
      readonly process: string;
      readonly createdIds: readonly string[];
    }
  /** The store did what no call explains. */
  | { readonly kind: "anomaly"; readonly at: number; readonly description: string }
  /** A caller got the answer that its sequences are started. */
  | {
      readonly kind: "acknowledged";
      readonly at: number;
      readonly process: string;
      readonly jobIds: readonly string[];
    }
  /** A start without an id of the caller's was refused because the id exists already. */
  | {
      readonly kind: "start_refused";
      readonly at: number;
      readonly process: string;
      readonly jobIds: readonly string[];
    }
  | ({ readonly kind: "execution_started" } & ExecutionStart)
  | {
      readonly kind: "execution_ended";
      readonly at: number;
      readonly execution: number;
      readonly ending: "returned" | "threw";
      /** What the handler's signal said by then. */
      readonly abortReason: string | undefined;
    }
  /** A worker began or ended an attempt: what its slots are counted by. The jobs of a batch share a call, and so a slot. */
  | {
      readonly kind: "slot_taken" | "slot_freed";
      readonly at: number;
      readonly workerId: string;
      readonly queue: string;
      readonly call: number;
    }
  | {
      readonly kind: "worker_started";
      readonly at: number;
      readonly workerId: string;
      readonly limits: WorkerLimits;
    }
  | {
      readonly kind: "worker_stopped";
      readonly at: number;
      readonly process: string;
      readonly workerId: string;
      readonly since: number;
    }
  /** `process` null: all of them. `until` is Infinity for a process that was killed. */
  | {
      readonly kind: "fault";
      readonly at: number;
      readonly until: number;
      readonly process: string | null;
      readonly description: string;
    }
  /** From here on nothing goes wrong any more. */
  | { readonly kind: "calm"; readonly at: number }
  /** Everything had drained, or the time for it was over. */
  | { readonly kind: "end"; readonly at: number; readonly drained: boolean };

export interface ExecutionStart {
  readonly at: number;
  readonly execution: number;
  readonly process: string;
  readonly workerId: string;
  readonly jobId: string;
  readonly attempt: number;
}

export interface WorkerLimits {
  readonly concurrency: number;
  /** Only queues with a limit of their own. */
  readonly queues: Readonly<Record<string, number>>;
  /** The operator's cap on attempts. */
  readonly maxAttempts: number;
}

export interface History {
  readonly events: readonly HistoryEvent[];
  add(event: HistoryEvent): void;
}

export const createHistory = (): History => {
  const events: HistoryEvent[] = [];
  return { events, add: (event) => void events.push(event) };
};
