import { rights } from "../http/rights.ts";
import {
  type AnswerOf,
  boolean,
  count,
  date,
  integer,
  listOf,
  nullable,
  objectOf,
  opaque,
  payload,
  recordOf,
  text,
  wordOf,
} from "./schemas.ts";

// What the routes answer about jobs: each answer is a schema, and the page imports the types that follow from them. This file imports
// nothing that a browser does not have.

export type { Hidden, Right } from "../http/rights.ts";

export const actionKinds = ["redrive", "cancel", "run_now", "reschedule", "edit", "delete"] as const;

export type ActionKind = (typeof actionKinds)[number];

export const right = wordOf(...rights);

export const status = wordOf("blocked", "pending", "running", "completed", "failed");
export type Status = AnswerOf<typeof status>;

/** Written out because it contains itself. */
export interface StoredError {
  readonly name: unknown;
  readonly message: unknown;
  readonly stack?: unknown;
  readonly code?: unknown;
  readonly cause?: StoredError;
}

const storedError = objectOf(
  { name: payload, message: payload },
  { stack: payload, code: payload, cause: opaque<StoredError>() },
);

/** A job in a list: all but its payloads. */
const jobFields = {
  id: text,
  typeName: text,
  queue: text,
  status,
  sequenceId: text,
  sequenceTypeName: text,
  rootSequenceId: text,
  originId: nullable(text),
  priority: integer,
  attempt: count,
  createdAt: date,
  scheduledAt: date,
  startedAt: nullable(date),
  endedAt: nullable(date),
  failureReason: nullable(text),
  error: nullable(storedError),
  leasedBy: nullable(text),
  group: nullable(text),
  deduplicationKey: nullable(text),
  /** The beginning of the input on one line; null for viewers who may not see it. */
  inputLine: nullable(text),
};

export const jobRow = objectOf(jobFields);
export type JobRow = AnswerOf<typeof jobRow>;

export const jobPage = objectOf({
  jobs: listOf(jobRow),
  cursor: nullable(text),
  /** When the last job was created that was searched, if a search in inputs ended before the page was full. */
  searchedTo: nullable(date),
  now: date,
});
export type JobPage = AnswerOf<typeof jobPage>;

/** Core has the complete type, by state. */
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
  readonly chain?: readonly {
    readonly jobId: string;
    readonly typeName: string;
    readonly state: string;
    readonly reason: string;
  }[];
  readonly holders?: readonly {
    readonly jobId: string;
    readonly typeName: string;
    readonly leasedBy: string;
    readonly since: string;
  }[];
  readonly scope?: { readonly queue: string; readonly typeName: string | null };
  readonly by?: string;
}

const attempt = objectOf({
  attempt: count,
  outcome: text,
  workerId: nullable(text),
  deployment: nullable(text),
  dueAt: date,
  startedAt: date,
  endedAt: date,
  fingerprint: nullable(text),
  error: nullable(storedError),
  log: payload,
});
export type Attempt = AnswerOf<typeof attempt>;

/** What one job allows besides plans. */
export const jobOffers = ["complete", "edit"] as const;

export type JobOffer = (typeof jobOffers)[number];

export const jobDetail = objectOf({
  job: objectOf({ ...jobFields, input: payload, output: payload, progress: payload }),
  explanation: opaque<Explanation>(),
  blockers: listOf(objectOf({ id: text, typeName: text, status: text })),
  sequence: listOf(jobRow),
  attempts: listOf(attempt),
  actions: listOf(wordOf(...actionKinds)),
  offers: listOf(wordOf(...jobOffers)),
  traceUrl: nullable(text),
  now: date,
});
export type JobDetail = AnswerOf<typeof jobDetail>;

const jobType = objectOf({
  typeName: text,
  workerless: boolean,
  internal: boolean,
  /** Null if it is not known here. */
  continuesTo: nullable(listOf(text)),
  hasOutput: nullable(boolean),
  hasBlockers: boolean,
  /** JSON Schema; null if there is none. */
  input: nullable(opaque<object>()),
  output: nullable(opaque<object>()),
});
export type JobType = AnswerOf<typeof jobType>;

export const jobTypes = objectOf({ jobTypes: listOf(jobType) });
export type JobTypes = AnswerOf<typeof jobTypes>;

/** What an action would do. */
const preview = objectOf({
  changed: count,
  /** All jobs that match, also beyond those that were read; null where they are not counted. */
  total: nullable(count),
  revived: count,
  /** Jobs that wait for a cancelled one and fail with it. */
  failed: count,
  /** Unfinished jobs of the same trees that are not cancelled; null where they are not counted. */
  goesOn: nullable(count),
  skipped: count,
  /** How many are skipped for which reason. */
  reasons: recordOf(count),
  examples: objectOf({
    changed: listOf(text),
    skipped: listOf(objectOf({ jobId: text, reason: text })),
  }),
  /** False if there were too many jobs to read all of them: then the numbers are those of the first. */
  isExact: boolean,
});
export type Preview = AnswerOf<typeof preview>;

export const plan = objectOf({
  before: date,
  expiresAt: date,
  unit: wordOf("jobs", "trees"),
  needsConfirmation: boolean,
  command: nullable(text),
  preview,
});
export type Plan = AnswerOf<typeof plan>;

/** The numbers are missing for a change that is no action on many jobs, such as a pause. */
const actionProgress = objectOf(
  { state: wordOf("running", "done", "stopped", "failed") },
  {
    changed: count,
    revived: count,
    skipped: count,
    reasons: recordOf(count),
    error: nullable(text),
    /** How many jobs its plan was about; null where that is not known. */
    expected: nullable(count),
    /** Who started or resumed it last. */
    by: text,
    /** Who stopped it, if it is stopped. */
    stoppedBy: text,
  },
);
export type ActionProgress = AnswerOf<typeof actionProgress>;

export const loggedAction = objectOf({
  id: text,
  user: text,
  kind: text,
  plan: opaque<Readonly<Record<string, unknown>>>(),
  result: actionProgress,
  startedAt: date,
});
export type LoggedAction = AnswerOf<typeof loggedAction>;

export const actionPage = objectOf({ actions: listOf(loggedAction), cursor: nullable(text) });
export type ActionPage = AnswerOf<typeof actionPage>;

/** The limits of a rule. */
export interface LimitValues {
  readonly concurrency: number | null;
  readonly rate: { readonly limit: number; readonly perMs: number; readonly burst: number | null } | null;
}

/** Core has the complete type. */
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

export const limitRules = objectOf({ rules: listOf(opaque<LimitRule>()) });
export type LimitRules = AnswerOf<typeof limitRules>;

export const treeNode = objectOf({
  id: text,
  typeName: text,
  queue: text,
  status,
  createdAt: date,
  startedAt: nullable(date),
  endedAt: nullable(date),
});
export type TreeNode = AnswerOf<typeof treeNode>;

const treeOthers = objectOf({ typeName: text, status, count });
export type TreeOthers = AnswerOf<typeof treeOthers>;

export const tree = objectOf({
  /** All jobs or, of a large tree, the oldest ones and the critical path. */
  nodes: listOf(treeNode),
  edges: listOf(objectOf({ from: text, to: text, kind: text })),
  criticalPath: listOf(text),
  /** The jobs that are not among `nodes`, counted. */
  others: listOf(treeOthers),
});
export type Tree = AnswerOf<typeof tree>;

/** Core has the complete type. */
export interface RecurringJob {
  readonly id: string;
  readonly version: number;
  readonly cron: string | null;
  readonly timeZone: string | null;
  readonly everyMs: number | null;
  readonly overlap: string;
  readonly catchUp: string;
  readonly jitterMs: number;
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

export const recurringPage = objectOf({
  recurringJobs: listOf(opaque<RecurringJob>()),
  cursor: nullable(text),
});
export type RecurringPage = AnswerOf<typeof recurringPage>;
