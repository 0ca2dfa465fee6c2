import type { Tables } from "../tables.ts";

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
