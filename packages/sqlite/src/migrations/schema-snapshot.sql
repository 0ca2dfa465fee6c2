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
  lease_token TEXT,
  lease_version INTEGER NOT NULL DEFAULT 0,
  leased_by TEXT,
  leased_until INTEGER,
  expired_leases INTEGER NOT NULL DEFAULT 0,
  lease_ms INTEGER,
  timeout_ms INTEGER,
  last_attempt_at INTEGER,
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
, last_failed_at INTEGER, max_attempts_given INTEGER, recurrence TEXT, expire_after_ms INTEGER, replaced_by TEXT, group_key TEXT, ordered TEXT, slots INTEGER, line INTEGER, rank INTEGER, given_priority INTEGER, fingerprint TEXT);

CREATE INDEX "leasehold_job_pending" ON "leasehold_job" (queue, type_name, priority DESC, scheduled_at)
  WHERE status = 'pending';

CREATE INDEX "leasehold_job_running" ON "leasehold_job" (leased_until) WHERE status = 'running';

CREATE INDEX "leasehold_job_failed" ON "leasehold_job" (created_at) WHERE status = 'failed';

CREATE INDEX "leasehold_job_created" ON "leasehold_job" (created_at);

CREATE UNIQUE INDEX "leasehold_job_sequence" ON "leasehold_job" (sequence_id, sequence_index)
  WHERE sequence_index > 0;

CREATE INDEX "leasehold_job_tree" ON "leasehold_job" (root_sequence_id) WHERE id <> root_sequence_id;

CREATE INDEX "leasehold_job_key" ON "leasehold_job" (sequence_type_name, deduplication_key, created_at)
  WHERE deduplication_live IS NOT NULL;

CREATE INDEX "leasehold_job_live_key" ON "leasehold_job" (sequence_type_name, deduplication_key, created_at)
  WHERE deduplication_live = 1;

CREATE TABLE "leasehold_job_blocker" (
  job_id TEXT NOT NULL,
  position INTEGER NOT NULL,
  sequence_id TEXT NOT NULL,
  PRIMARY KEY (job_id, position)
) WITHOUT ROWID;

CREATE INDEX "leasehold_job_blocker_sequence" ON "leasehold_job_blocker" (sequence_id);

CREATE INDEX "leasehold_job_blocked" ON "leasehold_job" (queue, type_name) WHERE status = 'blocked';

CREATE TABLE "leasehold_recurring_job" (
  id TEXT NOT NULL PRIMARY KEY,
  owner TEXT,
  paused INTEGER NOT NULL,
  version INTEGER NOT NULL,
  next_nominal_at INTEGER,
  fire_at INTEGER,
  last_sequence_id TEXT,
  zone_data TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  record TEXT NOT NULL,
  definition TEXT NOT NULL
);

CREATE INDEX "leasehold_recurring_job_due" ON "leasehold_recurring_job" (fire_at) WHERE paused = 0;

CREATE INDEX "leasehold_job_expiring" ON "leasehold_job" (scheduled_at + expire_after_ms)
  WHERE expire_after_ms IS NOT NULL AND status = 'pending' AND attempt = 0;

CREATE INDEX "leasehold_job_replaced" ON "leasehold_job" (replaced_by) WHERE replaced_by IS NOT NULL;

CREATE INDEX "leasehold_job_line" ON "leasehold_job" (line, rank DESC, scheduled_at)
  WHERE line IS NOT NULL;

CREATE TABLE "leasehold_flow" (id INTEGER PRIMARY KEY CHECK (id = 1), enabled INTEGER NOT NULL, epoch INTEGER NOT NULL);

CREATE TABLE "leasehold_lane" (
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
);

CREATE TABLE "leasehold_line" (
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
);

CREATE INDEX "leasehold_line_open" ON "leasehold_line" (lane, turn) WHERE open = 1;

CREATE INDEX "leasehold_line_timed" ON "leasehold_line" (lane, wake_at) WHERE wake_at IS NOT NULL;

CREATE INDEX "leasehold_job_fingerprint" ON "leasehold_job" (fingerprint, created_at) WHERE fingerprint IS NOT NULL;

CREATE INDEX "leasehold_job_cause" ON "leasehold_job" (id, queue, type_name, failure_reason, failed_at, fingerprint)
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

CREATE TRIGGER "leasehold_job_attempts_go" AFTER DELETE ON "leasehold_job" BEGIN
  DELETE FROM "leasehold_job_attempt" WHERE job_id = OLD.id;
END;

CREATE TABLE "leasehold_reporter" (
  id TEXT NOT NULL PRIMARY KEY,
  deployment TEXT,
  started_at INTEGER NOT NULL,
  seen_at INTEGER NOT NULL,
  about TEXT NOT NULL
);

CREATE TABLE "leasehold_rollup" (
  width INTEGER NOT NULL,
  starts_at INTEGER NOT NULL,
  queue TEXT NOT NULL,
  type_name TEXT NOT NULL,
  deployment TEXT NOT NULL,
  reporter_id TEXT NOT NULL,
  counts TEXT NOT NULL,
  PRIMARY KEY (width, starts_at, queue, type_name, deployment, reporter_id)
) WITHOUT ROWID;

CREATE TABLE "leasehold_cause" (
  fingerprint TEXT NOT NULL PRIMARY KEY,
  first_seen_at INTEGER NOT NULL,
  deployment TEXT,
  name TEXT NOT NULL,
  frame TEXT,
  message TEXT NOT NULL
, last_seen_at INTEGER) WITHOUT ROWID;

CREATE TABLE "leasehold_action" (
  id TEXT NOT NULL PRIMARY KEY,
  actor TEXT NOT NULL,
  kind TEXT NOT NULL,
  started_at INTEGER NOT NULL,
  changed_at INTEGER,
  plan TEXT NOT NULL,
  result TEXT
);

CREATE INDEX "leasehold_action_started" ON "leasehold_action" (started_at, id);

CREATE INDEX "leasehold_cause_last_seen" ON "leasehold_cause" (coalesce(last_seen_at, first_seen_at));
