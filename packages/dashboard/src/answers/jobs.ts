/** What the routes answer. The page imports these types, so this file imports nothing that a browser does not have. */

export type Status = "blocked" | "pending" | "running" | "completed" | "failed";

export type Right = "read" | "payloads" | "redrive" | "cancel" | "delete" | "update" | "flow";

export type ActionKind = "redrive" | "cancel" | "run_now" | "reschedule" | "delete";

/** Stands in place of a value that the server keeps to itself. */
export interface Hidden {
  readonly $hidden: string;
}

export interface StoredError {
  readonly name: string;
  readonly message: unknown;
  readonly stack?: unknown;
  readonly code?: string;
  readonly cause?: StoredError;
}

export interface JobRow {
  readonly id: string;
  readonly typeName: string;
  readonly queue: string;
  readonly status: Status;
  readonly sequenceId: string;
  readonly sequenceTypeName: string;
  readonly rootSequenceId: string;
  readonly originId: string | null;
  readonly priority: number;
  readonly attempt: number;
  readonly createdAt: string;
  readonly scheduledAt: string;
  readonly startedAt: string | null;
  readonly endedAt: string | null;
  readonly failureReason: string | null;
  readonly error: StoredError | null;
  readonly leasedBy: string | null;
  readonly group: string | null;
  readonly deduplicationKey: string | null;
}

export interface JobPage {
  readonly jobs: readonly JobRow[];
  readonly cursor: string | null;
  /** When the last job was created that was looked at, where there is a cursor. */
  readonly searchedTo: string | null;
  readonly now: string;
}

export interface Explanation {
  readonly jobId?: string;
  readonly state?: string;
  readonly summary?: string;
  readonly aheadInQueue?: number;
  readonly aheadCapped?: boolean;
  readonly until?: string;
  readonly expiresAt?: string | null;
  readonly attempt?: number;
  readonly maxAttempts?: number;
  readonly claimableAt?: string | null;
  readonly leasedBy?: string;
  readonly leasedUntil?: string;
  readonly since?: string;
  readonly workers?: number | null;
  readonly estimatedStart?: string | null;
}

export interface Attempt {
  readonly attempt: number;
  readonly outcome: string;
  readonly workerId: string | null;
  readonly deployment: string | null;
  readonly dueAt: string;
  readonly startedAt: string;
  readonly endedAt: string;
  readonly fingerprint: string | null;
  readonly error: StoredError | null;
  readonly log: unknown;
}

export interface JobDetail {
  readonly job: JobRow & { readonly input: unknown; readonly output: unknown; readonly progress: unknown };
  readonly explanation: Explanation;
  readonly blockers: readonly { readonly id: string; readonly typeName: string; readonly status: string }[];
  readonly sequence: readonly JobRow[];
  readonly actions: readonly ActionKind[];
  readonly attempts: readonly Attempt[];
  readonly traceUrl: string | null;
  readonly now: string;
}

/** What an action would do. */
export interface Foreseen {
  readonly changed: number;
  readonly revived: number;
  readonly skipped: number;
  /** How many were left alone for which reason. */
  readonly reasons: Readonly<Record<string, number>>;
  readonly examples: {
    readonly changed: readonly string[];
    readonly skipped: readonly { readonly jobId: string; readonly reason: string }[];
  };
  /** False if there were too many to look at all of them: then the numbers are those of the first. */
  readonly isExact: boolean;
}

export interface Plan {
  readonly before: string;
  readonly expiresAt: string;
  readonly unit: "jobs" | "trees";
  readonly needsConfirmation: boolean;
  readonly command: string | null;
  readonly foreseen: Foreseen;
}

export interface ActionProgress {
  readonly state: "running" | "done" | "stopped" | "failed";
  readonly changed?: number;
  readonly revived?: number;
  readonly skipped?: number;
  readonly reasons?: Readonly<Record<string, number>>;
  readonly error?: string | null;
  readonly by?: string;
}

export interface LoggedAction {
  readonly id: string;
  readonly user: string;
  readonly kind: string;
  readonly plan: Readonly<Record<string, unknown>>;
  readonly result: ActionProgress;
  readonly startedAt: string;
}

export interface LimitValues {
  readonly concurrency: number | null;
  readonly rate: { readonly limit: number; readonly perMs: number; readonly burst: number } | null;
}

export interface LimitRule extends LimitValues {
  readonly queue: string;
  readonly typeName: string | null;
  readonly paused: boolean;
  readonly version: number;
  readonly perGroup: LimitValues | null;
  readonly running: number;
  readonly tokens: number | null;
  readonly claimableGroups: number;
  readonly throttledGroups: number;
}

export interface RecurringJob {
  readonly id: string;
  readonly cron: string | null;
  readonly timeZone: string | null;
  readonly everyMs: number | null;
  readonly overlap: string;
  readonly catchUp: string;
  readonly job: { readonly typeName: string; readonly input: unknown };
  readonly paused: boolean;
  readonly owner: string | null;
  readonly nextAt: string | null;
  readonly waitingFor: string | null;
  readonly lastSequenceId: string | null;
  readonly counts: Readonly<Record<string, number>>;
  readonly recent: readonly {
    readonly result: string;
    readonly nominalAt: string;
    readonly at: string;
    readonly count: number;
    readonly sequenceId: string | null;
    readonly triggered: boolean;
  }[];
}

export interface TreeNode {
  readonly id: string;
  readonly typeName: string;
  readonly queue: string;
  readonly status: Status;
  readonly createdAt: string;
  readonly startedAt: string | null;
  readonly endedAt: string | null;
}

export interface Tree {
  readonly nodes: readonly TreeNode[];
  readonly edges: readonly { readonly from: string; readonly to: string; readonly kind: string }[];
  readonly criticalPath: readonly string[];
  readonly isComplete: boolean;
}
