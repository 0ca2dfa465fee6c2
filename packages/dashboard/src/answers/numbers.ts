import type { Right } from "./jobs.ts";

export interface Session {
  readonly user: string;
  readonly can: readonly Right[];
  readonly environment: { readonly label: string; readonly tone: string } | null;
  readonly parts: Readonly<Record<"recurring" | "edits" | "limits" | "history" | "statistics", boolean>>;
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
