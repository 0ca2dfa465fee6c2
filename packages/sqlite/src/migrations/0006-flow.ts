import type { Tables } from "../tables.ts";

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
