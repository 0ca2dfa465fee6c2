import { right } from "./jobs.ts";
import {
  type AnswerOf,
  boolean,
  count,
  date,
  listOf,
  nullable,
  number,
  objectOf,
  payload,
  text,
  wordOf,
} from "./schemas.ts";

// What the routes answer about queues, processes and time. Like `jobs.ts`, it imports nothing that a browser does not have.

export const session = objectOf({
  user: text,
  can: listOf(right),
  environment: nullable(objectOf({ label: text, tone: text })),
  /** Where to send a request that signs out; null if the application does that. */
  signOutPath: nullable(text),
  /** The stores of the server, if it has several. */
  stores: listOf(objectOf({ label: text, tone: text, path: text, isThis: boolean })),
  parts: objectOf({
    recurring: boolean,
    edits: boolean,
    limits: boolean,
    history: boolean,
    statistics: boolean,
  }),
  /** The filters of jobs that addresses and plans take. */
  filters: listOf(objectOf({ name: text, many: boolean })),
  now: date,
});
export type Session = AnswerOf<typeof session>;

const typeBacklog = objectOf({
  queue: text,
  typeName: text,
  runnable: count,
  /** Due, but a limit, a rate, a pause or the order of their group delays them. */
  throttled: count,
  /** Past `expireAfterMs`: they fail instead of running. */
  overdue: count,
  later: count,
  running: count,
  expired: count,
  blocked: count,
  failed: count,
  oldestRunnableAt: nullable(date),
});
export type TypeBacklog = AnswerOf<typeof typeBacklog>;

export const backlog = objectOf({ cap: count, now: date, types: listOf(typeBacklog) });
export type Backlog = AnswerOf<typeof backlog>;

const cause = objectOf({
  /** Null for jobs that failed without an error of a handler. */
  fingerprint: nullable(text),
  name: payload,
  message: payload,
  frame: payload,
  deployment: nullable(text),
  firstSeenAt: nullable(date),
  count,
  firstFailedAt: date,
  lastFailedAt: date,
  exampleId: text,
  types: listOf(objectOf({ queue: text, typeName: text, count })),
  reasons: listOf(text),
  /** How many failed in each hour of the last day, the earliest first. */
  trend: listOf(count),
});
export type Cause = AnswerOf<typeof cause>;

export const causes = objectOf({ isComplete: boolean, causes: listOf(cause) });
export type Causes = AnswerOf<typeof causes>;

const workerProcess = objectOf({
  id: text,
  host: text,
  pid: count,
  nodeVersion: text,
  leaseholdVersion: nullable(text),
  deployment: nullable(text),
  startedAt: date,
  seenAt: date,
  isAlive: boolean,
  hasClosed: boolean,
  workers: listOf(
    objectOf({
      workerId: text,
      queues: listOf(text),
      typeNames: listOf(text),
      slots: count,
      running: count,
    }),
  ),
});
export type Process = AnswerOf<typeof workerProcess>;

export const processes = objectOf({ processes: listOf(workerProcess) });
export type Processes = AnswerOf<typeof processes>;

const counts = { created: count, completed: count, failed: count, retried: count };

/** In milliseconds; estimates. */
const percentiles = {
  startP50: nullable(number),
  startP95: nullable(number),
  runP50: nullable(number),
  runP95: nullable(number),
};

const statisticsPoint = objectOf({ at: date, ...counts });
export type StatisticsPoint = AnswerOf<typeof statisticsPoint>;

const queueStatistics = objectOf({ queue: text, ...counts, ...percentiles });
export type QueueStatistics = AnswerOf<typeof queueStatistics>;

const typeStatistics = objectOf({ queue: text, typeName: text, ...counts, ...percentiles });
export type TypeStatistics = AnswerOf<typeof typeStatistics>;

const newDeployment = objectOf({ deployment: text, at: date });
export type NewDeployment = AnswerOf<typeof newDeployment>;

const typeFailures = objectOf({
  /** Null for all other types together. */
  typeName: nullable(text),
  types: count,
  failed: count,
  points: listOf(objectOf({ at: date, failed: count })),
});

export const statistics = objectOf({
  from: date,
  before: date,
  /** The size of a time bucket, in milliseconds. */
  bucketMs: count,
  isEstimate: boolean,
  points: listOf(statisticsPoint),
  queues: listOf(queueStatistics),
  types: listOf(typeStatistics),
  failures: listOf(typeFailures),
  deployments: listOf(newDeployment),
});
export type Statistics = AnswerOf<typeof statistics>;

export const timeToStart = objectOf({
  from: date,
  before: date,
  bucketMs: count,
  queues: listOf(
    objectOf({
      queue: text,
      /** The 95th percentile for each time bucket, in milliseconds; null where no job started. */
      p95: listOf(nullable(number)),
      /** How many jobs completed or failed. */
      ended: listOf(count),
    }),
  ),
  /** How many queues are not listed. */
  left: count,
});
export type TimeToStart = AnswerOf<typeof timeToStart>;

export const summary = objectOf({
  level: wordOf("calm", "attention", "trouble"),
  sentences: listOf(objectOf({ text, href: nullable(text), since: nullable(date) })),
});
export type Summary = AnswerOf<typeof summary>;

const comparedSide = objectOf({
  /** Jobs that completed or failed. */
  ended: count,
  failed: count,
  attempts: count,
  runP50: nullable(number),
  runP95: nullable(number),
});
export type ComparedSide = AnswerOf<typeof comparedSide>;

export const comparison = objectOf({
  from: date,
  before: date,
  fewestSamples: count,
  /** The latest first. `(none)` stands for processes without a deployment. */
  deployments: listOf(objectOf({ deployment: text, firstSeenAt: date, ended: count })),
  one: nullable(text),
  other: nullable(text),
  types: listOf(
    objectOf({
      queue: text,
      typeName: text,
      one: comparedSide,
      other: comparedSide,
      failures: wordOf("too_few", "same", "more", "fewer"),
      runTime: wordOf("too_few", "same", "slower", "faster"),
    }),
  ),
});
export type Comparison = AnswerOf<typeof comparison>;

export const checkReport = objectOf({
  checkedAt: date,
  isThorough: boolean,
  results: listOf(
    objectOf({
      check: text,
      status: wordOf("ok", "warning", "problem"),
      summary: text,
      advice: nullable(text),
    }),
  ),
});
export type CheckReport = AnswerOf<typeof checkReport>;
