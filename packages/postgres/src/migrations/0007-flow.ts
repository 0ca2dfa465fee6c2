import { flowFunctions } from "./flow-functions.ts";
import type { Migration } from "./migration.ts";

/**
 * Groups and rules. A job that uses neither has null in all of these columns, and is not a byte longer.
 *
 * The `lane` of a job with a group is the number of its *line*, and its `home` is the lane of its queue and type. So the jobs
 * of a line are one stretch of `job_ready`. `slots` says where a running job is counted: 1 its line, 2 its type, 4 its
 * queue. `base_priority` is the priority that was asked for, where `priority` is not.
 *
 * `line` has a row for each group, and one (with the number of the lane) for the jobs of a type without a group. It is `open`
 * when something in it can be claimed as far as the line itself is concerned, and `held` when something waits and cannot.
 * `backlog` is how many jobs may be in it, not counting those that notes will still tell of; null if a look has to tell.
 * `flow_use` has what is in use of a type (`home`) and of a queue (`home` 0); and of a queue how far `flow_rerank` has got,
 * null if it has nothing to do. Only who holds the lock of the queue
 * writes these two. Everybody else appends to `line_note` what has happened, in the transaction in which it did.
 *
 * `flow` has one row. Every change of `flow_rule` raises `epoch`; workers compare it to know that their copy is good.
 */
export const flow: Migration = {
  version: 7,
  name: "flow",
  statements: (tables) => {
    const { job, line, lineNote, flow: flowTable, flowRule, flowUse, idType } = tables;
    return [
      `ALTER TABLE ${job} ADD COLUMN IF NOT EXISTS group_key text COLLATE "C",
      ADD COLUMN IF NOT EXISTS ordered text COLLATE "C",
      ADD COLUMN IF NOT EXISTS slots smallint,
      ADD COLUMN IF NOT EXISTS home bigint,
      ADD COLUMN IF NOT EXISTS base_priority integer`,
      `CREATE TABLE IF NOT EXISTS ${flowTable} (
      id boolean NOT NULL DEFAULT true,
      epoch bigint NOT NULL,
      enabled boolean NOT NULL,
      CONSTRAINT flow_pkey PRIMARY KEY (id),
      CONSTRAINT flow_one_row CHECK (id)
    )`,
      // Where there are jobs, there may be workers of an older version, which know nothing of limits.
      `INSERT INTO ${flowTable} (epoch, enabled) SELECT 0, NOT EXISTS (SELECT FROM ${job}) ON CONFLICT DO NOTHING`,
      `CREATE TABLE IF NOT EXISTS ${flowRule} (
      queue text COLLATE "C" NOT NULL,
      home bigint NOT NULL,
      type_name text COLLATE "C",
      paused boolean NOT NULL DEFAULT false,
      concurrency bigint,
      rate_limit bigint,
      rate_per_ms bigint,
      rate_burst bigint,
      rate_interval bigint,
      group_limits boolean NOT NULL DEFAULT false,
      group_concurrency bigint,
      group_rate_limit bigint,
      group_rate_per_ms bigint,
      group_rate_burst bigint,
      group_rate_interval bigint,
      weights jsonb NOT NULL DEFAULT '{}',
      age_priority_ms bigint,
      has_groups boolean NOT NULL DEFAULT false,
      version bigint NOT NULL DEFAULT 0,
      CONSTRAINT flow_rule_pkey PRIMARY KEY (queue, home)
    )`,
      `CREATE TABLE IF NOT EXISTS ${flowUse} (
      queue text COLLATE "C" NOT NULL,
      home bigint NOT NULL,
      running bigint NOT NULL DEFAULT 0,
      tat bigint NOT NULL DEFAULT 0,
      turn bigint NOT NULL DEFAULT 0,
      round bigint NOT NULL DEFAULT 0,
      rerank bigint[],
      CONSTRAINT flow_use_pkey PRIMARY KEY (queue, home)
    ) WITH (fillfactor = 50)`,
      `CREATE INDEX IF NOT EXISTS flow_rule_ageing ON ${flowRule} (queue) WHERE age_priority_ms IS NOT NULL`,
      `CREATE INDEX IF NOT EXISTS flow_use_rerank ON ${flowUse} (queue) WHERE rerank IS NOT NULL`,
      `CREATE TABLE IF NOT EXISTS ${line} (
      number bigint NOT NULL,
      home bigint NOT NULL,
      turn bigint NOT NULL DEFAULT 0,
      running bigint NOT NULL DEFAULT 0,
      tat bigint NOT NULL DEFAULT 0,
      opens_at bigint NOT NULL DEFAULT 0,
      backlog bigint,
      open boolean NOT NULL DEFAULT false,
      held boolean NOT NULL DEFAULT false,
      ordered boolean NOT NULL DEFAULT false,
      queue text COLLATE "C" NOT NULL,
      group_key text COLLATE "C",
      stopped_by ${idType},
      CONSTRAINT line_pkey PRIMARY KEY (number)
    ) WITH (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0)`,
      `CREATE INDEX IF NOT EXISTS line_open ON ${line} (home, turn, number) WHERE open`,
      `CREATE INDEX IF NOT EXISTS line_held ON ${line} (home, number) WHERE held`,
      `CREATE INDEX IF NOT EXISTS line_timed ON ${line} (queue, opens_at) WHERE opens_at > 0`,
      `CREATE TABLE IF NOT EXISTS ${lineNote} (
      number bigint NOT NULL GENERATED ALWAYS AS IDENTITY,
      home bigint NOT NULL,
      line bigint NOT NULL,
      freed integer NOT NULL DEFAULT 0,
      type_freed integer NOT NULL DEFAULT 0,
      queue_freed integer NOT NULL DEFAULT 0,
      ordered boolean NOT NULL DEFAULT false,
      arrived integer,
      queue text COLLATE "C" NOT NULL,
      group_key text COLLATE "C",
      stopped_by ${idType},
      resumed_by ${idType}
    ) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 10000, autovacuum_vacuum_cost_delay = 0)`,
      `CREATE INDEX IF NOT EXISTS line_note_queue ON ${lineNote} (queue)`,
      ...flowFunctions(tables),
    ];
  },
};
