/** What the routes answer. The page imports these types, so this file imports nothing that a browser does not have. */

export type Status = "blocked" | "pending" | "running" | "completed" | "failed";
export type Right = "read" | "payloads" | "redrive" | "cancel" | "delete" | "update" | "flow";
export type ActionKind = "redrive" | "cancel" | "run_now" | "reschedule" | "delete";

/** Stands in place of a value that the server keeps to itself. */
export interface Hidden {
  readonly $hidden: string;
}

export interface Session {
  readonly user: string;
  readonly can: readonly Right[];
  readonly environment: { readonly label: string; readonly tone: string } | null;
  readonly parts: { readonly statistics: boolean; readonly flow: boolean; readonly history: boolean };
  readonly now: string;
}

export interface TypeBacklog {
  readonly queue: string;
  readonly typeName: string;
  readonly runnable: number;
  readonly later: number;
  readonly running: number;
  readonly expired: number;
  readonly blocked: number;
  readonly failed: number;
  readonly oldestRunnableAt: string | null;
}

export interface Backlog {
  readonly cap: number;
  readonly now: string;
  readonly types: readonly TypeBacklog[];
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
  readonly opensAt?: string | null;
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
  readonly state: "running" | "stopping" | "done" | "stopped" | "failed";
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
  readonly plan: Readonly<Record<string, unknown>> | null;
  readonly result: ActionProgress | null;
  readonly startedAt: string;
  readonly changedAt: string | null;
  /** False also for one whose process has said nothing for a while. */
  readonly isUnderWay: boolean;
}

export interface Cause {
  /** Null for jobs that failed without an error of a handler. */
  readonly fingerprint: string | null;
  readonly name: string | null;
  readonly message: unknown;
  readonly frame: string | null;
  readonly deployment: string | null;
  readonly firstSeenAt: string | null;
  readonly count: number;
  readonly lastFailedAt: string;
  readonly firstFailedAt: string;
  readonly exampleId: string;
  readonly types: readonly { readonly queue: string; readonly typeName: string; readonly count: number }[];
  readonly reasons: readonly string[];
  /** How many failed in each hour of the last day, the earliest first. */
  readonly trend: readonly number[];
}

export interface Causes {
  readonly causes: readonly Cause[];
  readonly isComplete: boolean;
}

export interface Process {
  readonly id: string;
  readonly host: string;
  readonly pid: number;
  readonly nodeVersion: string;
  readonly leaseholdVersion: string | null;
  readonly deployment: string | null;
  readonly startedAt: string;
  readonly seenAt: string;
  readonly isAlive: boolean;
  readonly hasClosed: boolean;
  readonly workers: readonly {
    readonly workerId: string;
    readonly queues: readonly string[];
    readonly typeNames: readonly string[];
    readonly slots: number;
    readonly running: number;
  }[];
}

export interface StatisticsPoint {
  readonly at: string;
  readonly created: number;
  readonly completed: number;
  readonly failed: number;
  readonly retried: number;
}

export interface QueueStatistics {
  readonly queue: string;
  readonly created: number;
  readonly completed: number;
  readonly failed: number;
  readonly retried: number;
  /** In milliseconds; estimates. */
  readonly startP50: number | null;
  readonly startP95: number | null;
  readonly runP50: number | null;
  readonly runP95: number | null;
}

export interface TypeStatistics extends QueueStatistics {
  readonly typeName: string;
}

export interface TypeFailures {
  /** Null for all other types together. */
  readonly typeName: string | null;
  readonly types: number;
  readonly failed: number;
  readonly points: readonly { readonly at: string; readonly failed: number }[];
}

export interface NewDeployment {
  readonly deployment: string;
  readonly at: string;
}

export interface Statistics {
  readonly from: string;
  readonly before: string;
  /** How long a point is, in milliseconds. */
  readonly width: number;
  readonly isEstimate: boolean;
  readonly points: readonly StatisticsPoint[];
  readonly queues: readonly QueueStatistics[];
  readonly types: readonly TypeStatistics[];
  readonly failures: readonly TypeFailures[];
  readonly deployments: readonly NewDeployment[];
}

export interface TimeToStart {
  readonly from: string;
  readonly before: string;
  readonly width: number;
  /** The 95th percentile for each part of the time, in milliseconds; null where no job started. */
  readonly queues: readonly {
    readonly queue: string;
    readonly p95: readonly (number | null)[];
    /** How many jobs completed or failed. */
    readonly ended: readonly number[];
  }[];
  /** How many queues are not listed. */
  readonly left: number;
}

export interface Situation {
  readonly level: "calm" | "attention" | "trouble";
  readonly sentences: readonly {
    readonly text: string;
    readonly href: string | null;
    readonly since: string | null;
  }[];
}

export interface ComparedSide {
  /** Jobs that completed or failed. */
  readonly ended: number;
  readonly failed: number;
  readonly attempts: number;
  readonly runP50: number | null;
  readonly runP95: number | null;
}

export interface Comparison {
  readonly from: string;
  readonly before: string;
  readonly fewestSamples: number;
  /** The latest first. `(none)` stands for processes without a deployment. */
  readonly deployments: readonly {
    readonly deployment: string;
    readonly firstSeenAt: string;
    readonly ended: number;
  }[];
  readonly one: string | null;
  readonly other: string | null;
  readonly types: readonly {
    readonly queue: string;
    readonly typeName: string;
    readonly one: ComparedSide;
    readonly other: ComparedSide;
    readonly failures: "too_few" | "same" | "more" | "fewer";
    readonly runTime: "too_few" | "same" | "slower" | "faster";
  }[];
}

export interface Examination {
  readonly lookedAt: string;
  readonly isThorough: boolean;
  readonly findings: readonly {
    readonly check: string;
    readonly status: "ok" | "warning" | "problem";
    readonly summary: string;
    readonly advice: string | null;
  }[];
}

export interface FlowLimits {
  readonly concurrency: number | null;
  readonly rate: { readonly limit: number; readonly perMs: number; readonly burst: number } | null;
}

export interface FlowRule extends FlowLimits {
  readonly queue: string;
  readonly typeName: string | null;
  readonly paused: boolean;
  readonly version: number;
  readonly perGroup: FlowLimits | null;
  readonly running: number;
  readonly tokens: number | null;
  readonly openLines: number;
  readonly heldLines: number;
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
