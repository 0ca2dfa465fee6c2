CREATE TABLE "leasehold_migration" (version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at INTEGER NOT NULL);

CREATE TABLE "leasehold_job" (
  seq INTEGER PRIMARY KEY,
  id TEXT NOT NULL UNIQUE,
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
  sequence_id TEXT NOT NULL,
  sequence_type_name TEXT NOT NULL,
  sequence_index INTEGER NOT NULL,
  sequence_created_at INTEGER NOT NULL,
  root_sequence_id TEXT NOT NULL,
  origin_id TEXT,
  created_at INTEGER NOT NULL,
  completed_at INTEGER,
  completed_by TEXT,
  continued_to_id TEXT,
  failed_at INTEGER,
  failure_reason TEXT,
  failed_blocker_id TEXT,
  fingerprint TEXT,
  on_blocker_failure TEXT NOT NULL,
  blocker_count INTEGER NOT NULL DEFAULT 0,
  open_blockers INTEGER NOT NULL DEFAULT 0,
  deduplication_key TEXT,
  deduplication_open INTEGER,
  replaced_by TEXT,
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
);

CREATE INDEX "leasehold_job_pending" ON "leasehold_job" (queue, type_name, priority DESC, scheduled_at)
  WHERE status = 'pending';

CREATE INDEX "leasehold_job_running" ON "leasehold_job" (leased_until) WHERE status = 'running';

CREATE INDEX "leasehold_job_failed" ON "leasehold_job" (created_at) WHERE status = 'failed';

CREATE INDEX "leasehold_job_blocked" ON "leasehold_job" (queue, type_name) WHERE status = 'blocked';

CREATE INDEX "leasehold_job_created" ON "leasehold_job" (created_at);

CREATE UNIQUE INDEX "leasehold_job_sequence" ON "leasehold_job" (sequence_id, sequence_index)
  WHERE sequence_index > 0;

CREATE INDEX "leasehold_job_tree" ON "leasehold_job" (root_sequence_id) WHERE id <> root_sequence_id;

CREATE INDEX "leasehold_job_key" ON "leasehold_job" (sequence_type_name, deduplication_key, created_at)
  WHERE deduplication_open IS NOT NULL;

CREATE INDEX "leasehold_job_open_key" ON "leasehold_job" (sequence_type_name, deduplication_key, created_at)
  WHERE deduplication_open = 1;

CREATE INDEX "leasehold_job_expiring" ON "leasehold_job" (scheduled_at + expire_after_ms)
  WHERE expire_after_ms IS NOT NULL AND status = 'pending' AND attempt = 0;

CREATE INDEX "leasehold_job_replaced" ON "leasehold_job" (replaced_by) WHERE replaced_by IS NOT NULL;

CREATE INDEX "leasehold_job_group" ON "leasehold_job" (claim_key, group_order DESC, scheduled_at)
  WHERE claim_key IS NOT NULL;

CREATE INDEX "leasehold_job_own_group" ON "leasehold_job" (group_key, created_at, id)
  WHERE group_key IS NOT NULL;

CREATE INDEX "leasehold_job_recurring" ON "leasehold_job" (json_extract(recurrence, '$.id'), created_at, id)
  WHERE recurrence IS NOT NULL;

CREATE TABLE "leasehold_job_input" (job_seq INTEGER PRIMARY KEY, input TEXT NOT NULL);

CREATE TRIGGER "leasehold_job_input_delete" AFTER DELETE ON "leasehold_job" WHEN OLD.input IS NULL BEGIN
  DELETE FROM "leasehold_job_input" WHERE job_seq = OLD.seq;
END;

CREATE TABLE "leasehold_job_blocker" (
  job_id TEXT NOT NULL,
  position INTEGER NOT NULL,
  sequence_id TEXT NOT NULL,
  PRIMARY KEY (job_id, position)
) WITHOUT ROWID;

CREATE INDEX "leasehold_job_blocker_sequence" ON "leasehold_job_blocker" (sequence_id);

CREATE TABLE "leasehold_recurring_job" (
  id TEXT NOT NULL PRIMARY KEY,
  owner TEXT,
  paused INTEGER NOT NULL,
  version INTEGER NOT NULL,
  next_nominal_at INTEGER,
  runs_at INTEGER,
  last_sequence_id TEXT,
  time_zone_version TEXT NOT NULL,
  computed_at INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  tick_history TEXT NOT NULL,
  definition TEXT NOT NULL
);

CREATE INDEX "leasehold_recurring_job_due" ON "leasehold_recurring_job" (runs_at) WHERE paused = 0;

CREATE TABLE "leasehold_limit_epoch" (id INTEGER PRIMARY KEY CHECK (id = 1), epoch INTEGER NOT NULL);

CREATE TABLE "leasehold_limit_rule" (
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
);

CREATE TABLE "leasehold_group_state" (
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
);

CREATE INDEX "leasehold_group_state_claimable" ON "leasehold_group_state" (limit_rule_id, virtual_time) WHERE claimable = 1;

CREATE INDEX "leasehold_group_state_claimable_at" ON "leasehold_group_state" (limit_rule_id, claimable_at)
  WHERE claimable_at IS NOT NULL;

CREATE INDEX "leasehold_job_fingerprint" ON "leasehold_job" (fingerprint, created_at) WHERE fingerprint IS NOT NULL;

CREATE INDEX "leasehold_job_failure_cause" ON "leasehold_job" (id, queue, type_name, failure_reason, failed_at, fingerprint)
  WHERE failed_at IS NOT NULL;

CREATE TABLE "leasehold_job_attempt" (
  job_id TEXT NOT NULL,
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
) WITHOUT ROWID;

CREATE TRIGGER "leasehold_job_attempt_delete" AFTER DELETE ON "leasehold_job" BEGIN
  DELETE FROM "leasehold_job_attempt" WHERE job_id = OLD.id;
END;

CREATE TABLE "leasehold_process" (
  id TEXT NOT NULL PRIMARY KEY,
  deployment TEXT,
  started_at INTEGER NOT NULL,
  seen_at INTEGER NOT NULL,
  info TEXT NOT NULL
);

CREATE TABLE "leasehold_statistics_bucket" (
  bucket_ms INTEGER NOT NULL,
  starts_at INTEGER NOT NULL,
  queue TEXT NOT NULL,
  type_name TEXT NOT NULL,
  deployment TEXT NOT NULL,
  process_id TEXT NOT NULL,
  counts TEXT NOT NULL,
  PRIMARY KEY (bucket_ms, starts_at, queue, type_name, deployment, process_id)
) WITHOUT ROWID;

CREATE TABLE "leasehold_failure_cause" (
  fingerprint TEXT NOT NULL PRIMARY KEY,
  first_seen_at INTEGER NOT NULL,
  last_seen_at INTEGER NOT NULL,
  deployment TEXT,
  name TEXT NOT NULL,
  frame TEXT,
  message TEXT NOT NULL
) WITHOUT ROWID;

CREATE INDEX "leasehold_failure_cause_last_seen" ON "leasehold_failure_cause" (last_seen_at);
