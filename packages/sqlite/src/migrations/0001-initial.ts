import type { Tables } from "../database/tables.ts";

/**
 * Jobs and what blocks them. `seq` is the order of creation. Large texts stand last, so that a look at a job's state
 * does not read them. Indexes cover only what claims, cascades and listings look for; a job that has completed is in
 * none of those that change, so finished jobs cost a claim nothing.
 *
 * `deduplication_live` is kept for first jobs with a key: whether their sequence is unfinished.
 */
export const createJobTables = (tables: Tables, idType: string): string[] => [
  `CREATE TABLE ${tables.job} (
  seq INTEGER PRIMARY KEY,
  id ${idType} NOT NULL UNIQUE,
  status TEXT NOT NULL,
  queue TEXT NOT NULL,
  type_name TEXT NOT NULL,
  priority INTEGER NOT NULL,
  scheduled_at INTEGER NOT NULL,
  attempt INTEGER NOT NULL DEFAULT 0,
  max_attempts INTEGER NOT NULL,
  lease_token TEXT,
  lease_version INTEGER NOT NULL DEFAULT 0,
  leased_by TEXT,
  leased_until INTEGER,
  expired_leases INTEGER NOT NULL DEFAULT 0,
  lease_ms INTEGER,
  timeout_ms INTEGER,
  last_attempt_at INTEGER,
  sequence_id ${idType} NOT NULL,
  sequence_type_name TEXT NOT NULL,
  sequence_index INTEGER NOT NULL,
  sequence_created_at INTEGER NOT NULL,
  root_sequence_id ${idType} NOT NULL,
  origin_id ${idType},
  created_at INTEGER NOT NULL,
  completed_at INTEGER,
  completed_by TEXT,
  continued_to_id ${idType},
  failed_at INTEGER,
  failure_reason TEXT,
  failed_blocker_id ${idType},
  on_blocker_failure TEXT NOT NULL,
  blocker_count INTEGER NOT NULL DEFAULT 0,
  open_blockers INTEGER NOT NULL DEFAULT 0,
  deduplication_key TEXT,
  deduplication_live INTEGER,
  trace_context TEXT,
  input TEXT NOT NULL,
  output TEXT,
  progress TEXT,
  last_error TEXT
)`,
  `CREATE INDEX ${tables.pendingIndex} ON ${tables.job} (queue, type_name, priority DESC, scheduled_at)
  WHERE status = 'pending'`,
  `CREATE INDEX ${tables.runningIndex} ON ${tables.job} (leased_until) WHERE status = 'running'`,
  `CREATE INDEX ${tables.failedIndex} ON ${tables.job} (created_at) WHERE status = 'failed'`,
  `CREATE INDEX ${tables.createdIndex} ON ${tables.job} (created_at)`,
  `CREATE UNIQUE INDEX ${tables.sequenceIndex} ON ${tables.job} (sequence_id, sequence_index)
  WHERE sequence_index > 0`,
  `CREATE INDEX ${tables.treeIndex} ON ${tables.job} (root_sequence_id) WHERE id <> root_sequence_id`,
  `CREATE INDEX ${tables.keyIndex} ON ${tables.job} (sequence_type_name, deduplication_key, created_at)
  WHERE deduplication_live IS NOT NULL`,
  `CREATE INDEX ${tables.liveKeyIndex} ON ${tables.job} (sequence_type_name, deduplication_key, created_at)
  WHERE deduplication_live = 1`,
  `CREATE TABLE ${tables.blocker} (
  job_id ${idType} NOT NULL,
  position INTEGER NOT NULL,
  sequence_id ${idType} NOT NULL,
  PRIMARY KEY (job_id, position)
) WITHOUT ROWID`,
  `CREATE INDEX ${tables.blockerSequenceIndex} ON ${tables.blocker} (sequence_id)`,
];

/**
 * `last_failed_at` is written by attempts that fail, never by a completion. `max_attempts_given` is null where the
 * number of attempts was asked for, as in every older row, and 0 where it is a default.
 */
export const addAttemptColumns = ({ job }: Tables): string[] => [
  `ALTER TABLE ${job} ADD COLUMN last_failed_at INTEGER`,
  `ALTER TABLE ${job} ADD COLUMN max_attempts_given INTEGER`,
];

/** For counting blocked jobs; a job that is never blocked does not touch it. */
export const indexBlockedJobs = ({ job, blockedIndex }: Tables): string[] => [
  `CREATE INDEX ${blockedIndex} ON ${job} (queue, type_name) WHERE status = 'blocked'`,
];

/** `recurrence` is null in every job that no recurring job has started. Large texts stand last. */
export const addRecurringJobs = ({ job, recurring, recurringDueIndex }: Tables, idType: string): string[] => [
  `ALTER TABLE ${job} ADD COLUMN recurrence TEXT`,
  `CREATE TABLE ${recurring} (
  id TEXT NOT NULL PRIMARY KEY,
  owner TEXT,
  paused INTEGER NOT NULL,
  version INTEGER NOT NULL,
  next_nominal_at INTEGER,
  fire_at INTEGER,
  last_sequence_id ${idType},
  zone_data TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  record TEXT NOT NULL,
  definition TEXT NOT NULL
)`,
  `CREATE INDEX ${recurringDueIndex} ON ${recurring} (fire_at) WHERE paused = 0`,
];

/**
 * `expire_after_ms` is null for jobs that wait for ever, and `replaced_by` for jobs with the input of their own start. Such
 * jobs are in neither index.
 */
export const addWaitingColumns = (
  { job, expiringIndex, replacedIndex }: Tables,
  idType: string,
): string[] => [
  `ALTER TABLE ${job} ADD COLUMN expire_after_ms INTEGER`,
  `ALTER TABLE ${job} ADD COLUMN replaced_by ${idType}`,
  `CREATE INDEX ${expiringIndex} ON ${job} (scheduled_at + expire_after_ms)
  WHERE expire_after_ms IS NOT NULL AND status = 'pending' AND attempt = 0`,
  `CREATE INDEX ${replacedIndex} ON ${job} (replaced_by) WHERE replaced_by IS NOT NULL`,
];

/**
 * Groups and rules. A job that uses neither has null in all of these columns, and is in none of these tables and indexes.
 *
 * A `lane` is a queue (its `type_name` is empty) or a type in a queue, once it has a rule or groups. A `line` is a group of a
 * type; with an empty `group_key`, the jobs of a type whose place depends on how long they have waited.
 *
 * Of a job, `line` says in which line it waits, and `slots` where it is counted while it runs: 1 in its line, 2 in the lane of
 * its type, 4 in that of its queue; and 8 times the number of that line. So the index of lines does not depend on `status`, and
 * jobs that are in no line can change theirs without a look at it. `rank` is the place in line, highest first; null until it is due.
 * The index of pending jobs contains jobs in lines, too, all below the lowest priority: so nobody who looks for jobs without a
 * line has to walk past them. That is what `priority` says of such a job, and `given_priority` keeps its own.
 *
 * A line is `open` when a claim has to look at it. `wake_at` is when something about it changes without anybody's doing.
 * `turn` and `served` are about whose turn it is, `tat` is the bucket of a rate, and `epoch` changes with every rule and lane.
 */
export const addFlow = ({
  job,
  flow,
  lane,
  line,
  lineIndex,
  openLineIndex,
  timedLineIndex,
}: Tables): string[] => [
  `ALTER TABLE ${job} ADD COLUMN group_key TEXT`,
  `ALTER TABLE ${job} ADD COLUMN ordered TEXT`,
  `ALTER TABLE ${job} ADD COLUMN slots INTEGER`,
  `ALTER TABLE ${job} ADD COLUMN line INTEGER`,
  `ALTER TABLE ${job} ADD COLUMN rank INTEGER`,
  `ALTER TABLE ${job} ADD COLUMN given_priority INTEGER`,
  `CREATE INDEX ${lineIndex} ON ${job} (line, rank DESC, scheduled_at)
  WHERE line IS NOT NULL`,
  `CREATE TABLE ${flow} (id INTEGER PRIMARY KEY CHECK (id = 1), enabled INTEGER NOT NULL, epoch INTEGER NOT NULL)`,
  // Where there are jobs, there may be workers of a version that knows nothing of lines.
  `INSERT INTO ${flow} SELECT 1, NOT EXISTS (SELECT 1 FROM ${job}), 0`,
  `CREATE TABLE ${lane} (
  number INTEGER PRIMARY KEY,
  queue TEXT NOT NULL,
  type_name TEXT NOT NULL,
  running INTEGER NOT NULL DEFAULT 0,
  tat INTEGER NOT NULL DEFAULT 0,
  turn REAL NOT NULL DEFAULT 0,
  served REAL NOT NULL DEFAULT 0,
  ungrouped_turn REAL NOT NULL DEFAULT 0,
  ungrouped_open INTEGER NOT NULL DEFAULT 0,
  rerank_at INTEGER,
  rerank_seq INTEGER,
  rule TEXT,
  UNIQUE (queue, type_name)
)`,
  `CREATE TABLE ${line} (
  number INTEGER PRIMARY KEY,
  lane INTEGER NOT NULL,
  group_key TEXT NOT NULL,
  ordered INTEGER NOT NULL,
  running INTEGER NOT NULL DEFAULT 0,
  tat INTEGER NOT NULL DEFAULT 0,
  turn REAL NOT NULL,
  open INTEGER NOT NULL,
  wake_at INTEGER,
  stopped_by TEXT,
  UNIQUE (lane, group_key)
)`,
  `CREATE INDEX ${openLineIndex} ON ${line} (lane, turn) WHERE open = 1`,
  `CREATE INDEX ${timedLineIndex} ON ${line} (lane, wake_at) WHERE wake_at IS NOT NULL`,
];

/**
 * What has happened. Large texts stand last.
 *
 * The indexes do not depend on `status`, as that of lines does not: a job that does not fail can change its status without a
 * look at them. A failure and a redrive write them, a completion never does. That of causes has all that counting them needs. A
 * look at the row would have to read its large texts, since the fingerprint comes after them.
 *
 * A trigger takes away the attempts of a job that goes. So they also go when a version of this package deletes the job that
 * knows nothing of attempts.
 */
export const addHistory = (
  {
    job,
    attempt,
    attemptTrigger,
    reporter,
    rollup,
    cause,
    action,
    actionIndex,
    fingerprintIndex,
    causeIndex,
  }: Tables,
  idType: string,
): string[] => [
  `ALTER TABLE ${job} ADD COLUMN fingerprint TEXT`,
  `CREATE INDEX ${fingerprintIndex} ON ${job} (fingerprint, created_at) WHERE fingerprint IS NOT NULL`,
  `CREATE INDEX ${causeIndex} ON ${job} (id, queue, type_name, failure_reason, failed_at, fingerprint)
  WHERE failed_at IS NOT NULL`,
  `CREATE TABLE ${attempt} (
  job_id ${idType} NOT NULL,
  lease_version INTEGER NOT NULL,
  attempt INTEGER NOT NULL,
  outcome TEXT NOT NULL,
  worker_id TEXT NOT NULL,
  deployment TEXT,
  due_at INTEGER NOT NULL,
  started_at INTEGER NOT NULL,
  ended_at INTEGER NOT NULL,
  fingerprint TEXT,
  error TEXT,
  log TEXT,
  PRIMARY KEY (job_id, lease_version)
) WITHOUT ROWID`,
  `CREATE TRIGGER ${attemptTrigger} AFTER DELETE ON ${job} BEGIN
  DELETE FROM ${attempt} WHERE job_id = OLD.id;
END`,
  `CREATE TABLE ${reporter} (
  id TEXT NOT NULL PRIMARY KEY,
  deployment TEXT,
  started_at INTEGER NOT NULL,
  seen_at INTEGER NOT NULL,
  about TEXT NOT NULL
)`,
  `CREATE TABLE ${rollup} (
  width INTEGER NOT NULL,
  starts_at INTEGER NOT NULL,
  queue TEXT NOT NULL,
  type_name TEXT NOT NULL,
  deployment TEXT NOT NULL,
  reporter_id TEXT NOT NULL,
  counts TEXT NOT NULL,
  PRIMARY KEY (width, starts_at, queue, type_name, deployment, reporter_id)
) WITHOUT ROWID`,
  `CREATE TABLE ${cause} (
  fingerprint TEXT NOT NULL PRIMARY KEY,
  first_seen_at INTEGER NOT NULL,
  deployment TEXT,
  name TEXT NOT NULL,
  frame TEXT,
  message TEXT NOT NULL
) WITHOUT ROWID`,
  `CREATE TABLE ${action} (
  id TEXT NOT NULL PRIMARY KEY,
  actor TEXT NOT NULL,
  kind TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  changed_at INTEGER,
  plan TEXT NOT NULL,
  result TEXT
)`,
  `CREATE INDEX ${actionIndex} ON ${action} (started_at, id)`,
];

/**
 * So that causes can be forgotten that do not come up any more. An older version of this package leaves `last_seen_at` null: then
 * it was first seen when it was last seen, as far as anybody knows.
 */
export const addCauseLastSeen = ({ cause, causeLastSeenIndex }: Tables): string[] => [
  `ALTER TABLE ${cause} ADD COLUMN last_seen_at INTEGER`,
  `CREATE INDEX ${causeLastSeenIndex} ON ${cause} (coalesce(last_seen_at, first_seen_at))`,
];
