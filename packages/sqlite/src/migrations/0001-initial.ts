import type { Tables } from "../database/tables.ts";

/**
 * Jobs, and the sequences that block them. `seq` is the order of creation. Large texts are the last columns: reading the
 * state of a job does not read them. A completed job is in no index that claims, cascades or failures read.
 *
 * - `input` is null where it is so long that it is in `job_input`: SQLite writes a whole row whenever one column changes.
 * - `max_attempts_explicit` is 0 where `max_attempts` is a default, and null otherwise.
 * - `deduplication_open` is for first jobs with a key: whether their sequence is unfinished.
 * - `expire_after_ms` is null for jobs that wait without limit, `replaced_by` for jobs with the input of their own start.
 *
 * The columns from `group_key` on are null for jobs without a group in a queue without rules:
 *
 * - `claim_key` is the group in which a pending job waits. `counted_in` says which limits count a running job: 1 its group,
 *   2 its type, 4 its queue, plus 8 times the claim key of its group. A job has one or the other, so that the index of
 *   groups does not depend on `status`, and other jobs change their status without touching that index.
 * - `group_order` is the order of claims in a group, highest first; null until the job is due.
 * - The index of pending jobs has grouped jobs with a `priority` below all others, so that a search for jobs without a group
 *   does not pass them. `given_priority` is their own priority.
 */
const createJobs = (tables: Tables, idType: string): string[] => [
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
  max_attempts_explicit INTEGER,
  lease_token TEXT,
  lease_version INTEGER NOT NULL DEFAULT 0,
  leased_by TEXT,
  deployment TEXT,
  leased_until INTEGER,
  expired_leases INTEGER NOT NULL DEFAULT 0,
  lease_ms INTEGER,
  timeout_ms INTEGER,
  expire_after_ms INTEGER,
  last_attempt_at INTEGER,
  last_failed_at INTEGER,
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
  fingerprint TEXT,
  on_blocker_failure TEXT NOT NULL,
  blocker_count INTEGER NOT NULL DEFAULT 0,
  open_blockers INTEGER NOT NULL DEFAULT 0,
  deduplication_key TEXT,
  deduplication_open INTEGER,
  replaced_by ${idType},
  recurrence TEXT,
  group_key TEXT,
  ordered TEXT,
  given_priority INTEGER,
  group_order INTEGER,
  claim_key INTEGER,
  counted_in INTEGER,
  trace_context TEXT,
  input TEXT,
  output TEXT,
  progress TEXT,
  last_error TEXT
)`,
  `CREATE INDEX ${tables.pendingIndex} ON ${tables.job} (queue, type_name, priority DESC, scheduled_at)
  WHERE status = 'pending'`,
  `CREATE INDEX ${tables.runningIndex} ON ${tables.job} (leased_until) WHERE status = 'running'`,
  `CREATE INDEX ${tables.failedIndex} ON ${tables.job} (created_at) WHERE status = 'failed'`,
  `CREATE INDEX ${tables.blockedIndex} ON ${tables.job} (queue, type_name) WHERE status = 'blocked'`,
  `CREATE INDEX ${tables.createdIndex} ON ${tables.job} (created_at)`,
  `CREATE UNIQUE INDEX ${tables.sequenceIndex} ON ${tables.job} (sequence_id, sequence_index)
  WHERE sequence_index > 0`,
  `CREATE INDEX ${tables.treeIndex} ON ${tables.job} (root_sequence_id) WHERE id <> root_sequence_id`,
  `CREATE INDEX ${tables.keyIndex} ON ${tables.job} (sequence_type_name, deduplication_key, created_at)
  WHERE deduplication_open IS NOT NULL`,
  `CREATE INDEX ${tables.openKeyIndex} ON ${tables.job} (sequence_type_name, deduplication_key, created_at)
  WHERE deduplication_open = 1`,
  `CREATE INDEX ${tables.expiringIndex} ON ${tables.job} (scheduled_at + expire_after_ms)
  WHERE expire_after_ms IS NOT NULL AND status = 'pending' AND attempt = 0`,
  `CREATE INDEX ${tables.replacedIndex} ON ${tables.job} (replaced_by) WHERE replaced_by IS NOT NULL`,
  `CREATE INDEX ${tables.groupIndex} ON ${tables.job} (claim_key, group_order DESC, scheduled_at)
  WHERE claim_key IS NOT NULL`,
  `CREATE INDEX ${tables.ownGroupIndex} ON ${tables.job} (group_key, created_at, id)
  WHERE group_key IS NOT NULL`,
  `CREATE INDEX ${tables.startedByIndex} ON ${tables.job} (json_extract(recurrence, '$.id'), created_at, id)
  WHERE recurrence IS NOT NULL`,
  `CREATE TABLE ${tables.input} (job_seq INTEGER PRIMARY KEY, input TEXT NOT NULL)`,
  `CREATE TRIGGER ${tables.inputTrigger} AFTER DELETE ON ${tables.job} WHEN OLD.input IS NULL BEGIN
  DELETE FROM ${tables.input} WHERE job_seq = OLD.seq;
END`,
  `CREATE TABLE ${tables.blocker} (
  job_id ${idType} NOT NULL,
  position INTEGER NOT NULL,
  sequence_id ${idType} NOT NULL,
  PRIMARY KEY (job_id, position)
) WITHOUT ROWID`,
  `CREATE INDEX ${tables.blockerSequenceIndex} ON ${tables.blocker} (sequence_id)`,
];

const createRecurringJobs = ({ recurring, recurringDueIndex }: Tables, idType: string): string[] => [
  `CREATE TABLE ${recurring} (
  id TEXT NOT NULL PRIMARY KEY,
  owner TEXT,
  paused INTEGER NOT NULL,
  version INTEGER NOT NULL,
  next_nominal_at INTEGER,
  runs_at INTEGER,
  last_sequence_id ${idType},
  time_zone_version TEXT NOT NULL,
  computed_at INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  tick_history TEXT NOT NULL,
  definition TEXT NOT NULL
)`,
  `CREATE INDEX ${recurringDueIndex} ON ${recurring} (runs_at) WHERE paused = 0`,
];

/**
 * Rules and groups. `limit_rule` has a row for each queue (with an empty `type_name`) and each type that has a rule or groups;
 * `group_state` has a row for each group of a type. `epoch` changes whenever a rule or a row of `limit_rule` is added or changed.
 *
 * A group is `claimable` if a claim has to read it. `claimable_at` is when one of its jobs falls due, or a token arrives.
 * `paused_until` is the end of the last pause of a group. `bucket_full_at` is the bucket of a rate, the virtual times decide whose turn it is: see `store/rules` in core.
 */
const createLimits = (tables: Tables): string[] => [
  `CREATE TABLE ${tables.limitEpoch} (id INTEGER PRIMARY KEY CHECK (id = 1), epoch INTEGER NOT NULL)`,
  `INSERT INTO ${tables.limitEpoch} VALUES (1, 0)`,
  `CREATE TABLE ${tables.limitRule} (
  id INTEGER PRIMARY KEY,
  queue TEXT NOT NULL,
  type_name TEXT NOT NULL,
  running INTEGER NOT NULL DEFAULT 0,
  bucket_full_at INTEGER NOT NULL DEFAULT 0,
  served_virtual_time REAL NOT NULL DEFAULT 0,
  ungrouped_virtual_time REAL NOT NULL DEFAULT 0,
  ungrouped_claimable INTEGER NOT NULL DEFAULT 0,
  rule TEXT,
  UNIQUE (queue, type_name)
)`,
  `CREATE TABLE ${tables.groupState} (
  claim_key INTEGER PRIMARY KEY,
  limit_rule_id INTEGER NOT NULL,
  group_key TEXT NOT NULL,
  ordered INTEGER NOT NULL,
  running INTEGER NOT NULL DEFAULT 0,
  bucket_full_at INTEGER NOT NULL DEFAULT 0,
  virtual_time REAL NOT NULL,
  claimable INTEGER NOT NULL,
  claimable_at INTEGER,
  stopped_by TEXT,
  paused_until INTEGER,
  UNIQUE (limit_rule_id, group_key)
)`,
  `CREATE INDEX ${tables.claimableGroupIndex} ON ${tables.groupState} (limit_rule_id, virtual_time) WHERE claimable = 1`,
  `CREATE INDEX ${tables.timedGroupIndex} ON ${tables.groupState} (limit_rule_id, claimable_at)
  WHERE claimable_at IS NOT NULL`,
];

/**
 * Attempts, failure causes, processes and statistics.
 *
 * The two indexes of failures do not depend on `status`: a job that does not fail changes its status without touching
 * them. A failure and a redrive write them, a completion never does. `job_failure_cause` has all columns that counting
 * causes needs, so that no row of a job is read.
 */
const createHistory = (tables: Tables, idType: string): string[] => [
  `CREATE INDEX ${tables.fingerprintIndex} ON ${tables.job} (fingerprint, created_at) WHERE fingerprint IS NOT NULL`,
  `CREATE INDEX ${tables.jobCauseIndex} ON ${tables.job} (id, queue, type_name, failure_reason, failed_at, fingerprint)
  WHERE failed_at IS NOT NULL`,
  `CREATE TABLE ${tables.attempt} (
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
  // A deleted job takes its attempts with it, whichever statement deletes it.
  `CREATE TRIGGER ${tables.attemptTrigger} AFTER DELETE ON ${tables.job} BEGIN
  DELETE FROM ${tables.attempt} WHERE job_id = OLD.id;
END`,
  `CREATE TABLE ${tables.process} (
  id TEXT NOT NULL PRIMARY KEY,
  deployment TEXT,
  started_at INTEGER NOT NULL,
  seen_at INTEGER NOT NULL,
  info TEXT NOT NULL
)`,
  `CREATE TABLE ${tables.statisticsBucket} (
  bucket_ms INTEGER NOT NULL,
  starts_at INTEGER NOT NULL,
  queue TEXT NOT NULL,
  type_name TEXT NOT NULL,
  deployment TEXT NOT NULL,
  process_id TEXT NOT NULL,
  counts TEXT NOT NULL,
  PRIMARY KEY (bucket_ms, starts_at, queue, type_name, deployment, process_id)
) WITHOUT ROWID`,
  `CREATE TABLE ${tables.failureCause} (
  fingerprint TEXT NOT NULL PRIMARY KEY,
  first_seen_at INTEGER NOT NULL,
  last_seen_at INTEGER NOT NULL,
  deployment TEXT,
  name TEXT NOT NULL,
  frame TEXT,
  message TEXT NOT NULL
) WITHOUT ROWID`,
  `CREATE INDEX ${tables.causeLastSeenIndex} ON ${tables.failureCause} (last_seen_at)`,
];

export const createTables = (tables: Tables, idType: string): string[] => [
  ...createJobs(tables, idType),
  ...createRecurringJobs(tables, idType),
  ...createLimits(tables),
  ...createHistory(tables, idType),
];
