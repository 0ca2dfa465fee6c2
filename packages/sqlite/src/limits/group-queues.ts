import { countedIn, type StateJob } from "leasehold/adapter";
import type { SqliteConnection } from "../database/connection.ts";
import { allTexts, defineRow, firstNumber } from "../database/sql.ts";
import type { Tables } from "../database/tables.ts";
import { countingKey, groupedPriority, groupOrderOf, keyFactor, type OrderedJob } from "../rows/job-table.ts";
import type { LimitRuleRows } from "./rule-rows.ts";

type GroupedJob = OrderedJob & Pick<StateJob, "queue" | "typeName">;

/** What a job releases when it no longer waits or runs. */
export interface CountedJob {
  readonly queue: string;
  readonly typeName: string;
  /** Of its group. */
  readonly claimKey: number | null;
  /** Bits: see `countedIn` in core. */
  readonly countedIn: number;
}

/** The values of new jobs that differ only in their groups. */
export interface Places {
  readonly groupOrder: number | null;
  /** In the order of the jobs. */
  readonly claimKeys: readonly number[];
}

/**
 * The group queues of pending jobs, and the slots of running ones. A change of a job's status is written between `leave` and,
 * if the job waits again, `enter`. Claims, and completions in bulk, write the same in fewer statements.
 */
export interface GroupQueues {
  /** Whether any queue has rules or groups. If none has, no job is in a group queue or counted. */
  areUsed(db: SqliteConnection): boolean;
  /** Opens the groups of jobs that are about to be inserted. Undefined if these jobs have no group or are blocked. */
  placeNew(db: SqliteConnection, jobs: readonly StateJob[], now: number): Places | undefined;
  /** Puts the pending ones of these jobs into their group queues. */
  enter(db: SqliteConnection, jobIds: readonly string[], now: number): void;
  /** Takes these jobs out of their group queues, and releases their slots. */
  leave(db: SqliteConnection, jobIds: readonly string[]): void;
  release(db: SqliteConnection, jobs: readonly CountedJob[]): void;
  /** Stops the group of a job that has failed permanently, if its `ordered` is `stop`. */
  stop(db: SqliteConnection, job: Pick<StateJob, "id" | "queue" | "typeName" | "group" | "ordered">): void;
  /** Pauses a group until this time. */
  pause(
    db: SqliteConnection,
    group: Pick<StateJob, "queue" | "typeName"> & { readonly group: string },
    until: number,
  ): void;
  /** Ends the pause of a group. Returns whether it was paused. */
  endPause(
    db: SqliteConnection,
    group: Pick<StateJob, "queue" | "typeName"> & { readonly group: string },
    now: number,
  ): boolean;
  /** Resumes a stopped group. With `jobId` only if this job has stopped it. */
  resume(
    db: SqliteConnection,
    group: Pick<StateJob, "queue" | "typeName" | "group">,
    jobId: string | null,
  ): boolean;
}

const enteringRow = defineRow((columns) => ({
  seq: columns.value<number>("seq"),
  queue: columns.value<string>("queue"),
  typeName: columns.value<string>("type_name"),
  group: columns.value<string | null>("group_key", null),
  ordered: columns.value<string | null>("ordered", null),
  priority: columns.value<number>("coalesce(given_priority, priority)"),
  scheduledAt: columns.value<number>("scheduled_at"),
  leaseVersion: columns.value<number>("lease_version"),
}));

const leavingRow = defineRow((columns) => ({
  seq: columns.value<number>("seq"),
  queue: columns.value<string>("queue"),
  typeName: columns.value<string>("type_name"),
  claimKey: columns.value<number | null>(`coalesce(claim_key, ${countingKey("counted_in")})`, null),
  countedIn: columns.value<number>("coalesce(counted_in, 0)"),
}));

const keyRow = defineRow((columns) => ({
  key: columns.value<number>("claim_key"),
  group: columns.value<string>("group_key"),
}));

/** For the state of a group under the alias `g` that becomes claimable: it continues from the virtual time served last. */
export const resumedVirtualTime = (limitRule: string): string =>
  `virtual_time = CASE WHEN claimable THEN virtual_time ELSE
    max(virtual_time, (SELECT served_virtual_time FROM ${limitRule} AS l WHERE l.id = g.limit_rule_id)) END`;

export const createGroupQueues = (tables: Tables, limitRules: LimitRuleRows): GroupQueues => {
  const { job, limitRule, groupState, groupIndex, runningIndex } = tables;
  const given = "FROM json_each(?) AS given";
  const findEntering = `SELECT ${enteringRow.columns} FROM ${job}
    WHERE id IN (SELECT value ${given}) AND status = 'pending'`;
  const findLeaving = `SELECT ${leavingRow.columns} FROM ${job}
    WHERE id IN (SELECT value ${given}) AND (claim_key IS NOT NULL OR counted_in IS NOT NULL)`;
  const takeOut = `UPDATE ${job} SET claim_key = NULL, counted_in = NULL WHERE seq IN (SELECT value ${given})`;
  const putIn = `UPDATE ${job} SET claim_key = ?, group_order = ?, given_priority = ?, priority = ${groupedPriority}
    WHERE seq = ?`;
  const openGroups = `INSERT INTO ${groupState} AS g
      (limit_rule_id, group_key, ordered, claimable, claimable_at, virtual_time)
    SELECT ?, given.value, ?, ? IS NULL, ?, (SELECT served_virtual_time FROM ${limitRule} WHERE id = ?)
    FROM json_each(?) AS given WHERE true
    ON CONFLICT (limit_rule_id, group_key) DO UPDATE SET
      virtual_time = CASE WHEN claimable OR NOT excluded.claimable THEN virtual_time
        ELSE max(virtual_time, excluded.virtual_time) END,
      claimable = max(claimable, excluded.claimable), ordered = max(ordered, excluded.ordered),
      claimable_at = min(coalesce(claimable_at, excluded.claimable_at), coalesce(excluded.claimable_at, claimable_at))
    RETURNING ${keyRow.columns}`;
  const findUnordered = `SELECT value ${given} CROSS JOIN ${groupState} AS g
    ON g.limit_rule_id = ? AND g.group_key = given.value WHERE NOT g.ordered`;
  const freeGroups = `UPDATE ${groupState} AS g SET running = running - (given.value ->> 1),
      ${resumedVirtualTime(limitRule)},
      claimable = claimable OR EXISTS (SELECT 1 FROM ${job} AS j INDEXED BY ${groupIndex}
        WHERE j.claim_key = g.claim_key AND j.group_order IS NOT NULL)
    ${given} WHERE g.claim_key = given.value ->> 0`;
  const freeRule = `UPDATE ${limitRule} SET running = running - ? WHERE queue = ? AND type_name = ?`;
  const countRunning = `UPDATE ${job} INDEXED BY ${runningIndex}
    SET counted_in = coalesce(counted_in, 0) + ${countedIn.group} + ${keyFactor} * ?
    WHERE status = 'running' AND queue = ? AND type_name = ? AND group_key = ?
      AND NOT coalesce(counted_in, 0) & ${countedIn.group}`;
  const addRunning = `UPDATE ${groupState} SET running = running + ? WHERE limit_rule_id = ? AND group_key = ?`;
  const stop = `UPDATE ${groupState} SET stopped_by = ? WHERE limit_rule_id = ? AND group_key = ?`;
  const resume = `UPDATE ${groupState} AS g SET stopped_by = NULL, ${resumedVirtualTime(limitRule)}, claimable = 1
    WHERE limit_rule_id = ? AND group_key = ? AND stopped_by = coalesce(?, stopped_by)`;
  // Without a job it stays closed, so that it opens no turn for a group that waits for nothing.
  const openEmpty = `INSERT INTO ${groupState} (limit_rule_id, group_key, ordered, claimable, virtual_time)
    VALUES (?, ?, 0, 0, (SELECT served_virtual_time FROM ${limitRule} WHERE id = ?))
    ON CONFLICT (limit_rule_id, group_key) DO NOTHING`;
  // The next claim notes when it ends.
  const pause = `UPDATE ${groupState} AS g SET paused_until = ?, ${resumedVirtualTime(limitRule)},
      claimable = EXISTS (SELECT 1 FROM ${job} AS j INDEXED BY ${groupIndex}
        WHERE j.claim_key = g.claim_key AND j.group_order IS NOT NULL) OR claimable
    WHERE limit_rule_id = ? AND group_key = ?`;
  const endPause = `UPDATE ${groupState} AS g SET paused_until = NULL, ${resumedVirtualTime(limitRule)}, claimable = 1
    WHERE limit_rule_id = ? AND group_key = ?`;
  const findPause = `SELECT paused_until FROM ${groupState} WHERE limit_rule_id = ? AND group_key = ?`;
  const findKey = `SELECT claim_key FROM ${groupState} WHERE limit_rule_id = ? AND group_key = ?`;

  /** Counts the running jobs of groups that become ordered: the next job waits for them. */
  const makeOrdered = (db: SqliteConnection, { queue, typeName }: GroupedJob, groups: string): void => {
    const { id } = limitRules.open(db, queue, typeName);
    for (const group of allTexts(db, findUnordered, [groups, id])) {
      const key = firstNumber(db, findKey, [id, group])!;
      const counted = db.run(countRunning, [key, queue, typeName, group]);
      if (counted > 0) db.run(addRunning, [counted, id, group]);
    }
  };

  /** Opens these groups for jobs that equal the example otherwise. Returns their claim keys. */
  const open = (
    db: SqliteConnection,
    example: GroupedJob,
    groups: readonly string[],
    now: number,
  ): Map<string, number> => {
    const { id } = limitRules.open(db, example.queue, example.typeName);
    const text = JSON.stringify([...new Set(groups)]);
    const isOrdered = example.ordered !== null;
    if (isOrdered) makeOrdered(db, example, text);
    const at = example.scheduledAt > now ? example.scheduledAt : null;
    const found = keyRow.all(db, openGroups, [id, Number(isOrdered), at, at, id, text]);
    return new Map(found.map(({ group, key }) => [group, key]));
  };

  const release: GroupQueues["release"] = (db, jobs) => {
    const byGroup = new Map<number, number>();
    const byRule = new Map<string, { queue: string; typeName: string; count: number }>();
    const addToRule = (queue: string, typeName: string): void => {
      const key = JSON.stringify([queue, typeName]);
      const counting = byRule.get(key) ?? { queue, typeName, count: 0 };
      counting.count += 1;
      byRule.set(key, counting);
    };
    for (const { queue, typeName, claimKey, countedIn: counted } of jobs) {
      if (claimKey !== null)
        byGroup.set(claimKey, (byGroup.get(claimKey) ?? 0) + (counted & countedIn.group ? 1 : 0));
      if (counted & countedIn.type) addToRule(queue, typeName);
      if (counted & countedIn.queue) addToRule(queue, "");
    }
    if (byGroup.size > 0) db.run(freeGroups, [JSON.stringify([...byGroup])]);
    for (const { queue, typeName, count } of byRule.values()) db.run(freeRule, [count, queue, typeName]);
  };

  return {
    areUsed: (db) => limitRules.read(db).size > 0,
    placeNew: (db, jobs, now) => {
      const [example] = jobs;
      if (example === undefined || example.group === null) return undefined;
      if (example.status !== "pending") {
        // With this row `areUsed` is true, so that the job enters its group queue when it is unblocked.
        limitRules.open(db, example.queue, example.typeName);
        return undefined;
      }
      const groups = jobs.map(({ group }) => group!);
      const keys = open(db, example, groups, now);
      return { groupOrder: groupOrderOf(example, now), claimKeys: groups.map((group) => keys.get(group)!) };
    },
    enter: (db, jobIds, now) => {
      for (const entering of enteringRow.all(db, findEntering, [JSON.stringify(jobIds)])) {
        const { group, priority, seq } = entering;
        if (group === null) continue;
        const key = open(db, entering, [group], now).get(group)!;
        db.run(putIn, [key, groupOrderOf(entering, now), priority, seq]);
      }
    },
    leave: (db, jobIds) => {
      const leaving = leavingRow.all(db, findLeaving, [JSON.stringify(jobIds)]);
      if (leaving.length === 0) return;
      db.run(takeOut, [JSON.stringify(leaving.map(({ seq }) => seq))]);
      release(db, leaving);
    },
    release,
    stop: (db, { id: jobId, queue, typeName, group, ordered }) => {
      if (ordered !== "stop" || group === null) return;
      const { id } = limitRules.open(db, queue, typeName);
      // The state of the group may have been deleted while its last job was running.
      db.query(openGroups, [id, 1, null, null, id, JSON.stringify([group])]);
      db.run(stop, [jobId, id, group]);
    },
    pause: (db, { queue, typeName, group }, until) => {
      const { id } = limitRules.open(db, queue, typeName);
      db.run(openEmpty, [id, group, id]);
      db.run(pause, [until, id, group]);
    },
    endPause: (db, { queue, typeName, group }, now) => {
      const found = limitRules.read(db).get(queue)?.types.get(typeName);
      const until = found && firstNumber(db, findPause, [found.id, group]);
      // A pause that is over goes, too: the clock may be turned back.
      if (found !== undefined && typeof until === "number") db.run(endPause, [found.id, group]);
      return (until ?? 0) > now;
    },
    resume: (db, { queue, typeName, group }, jobId) => {
      const found = limitRules.read(db).get(queue)?.types.get(typeName);
      return found !== undefined && group !== null && db.run(resume, [found.id, group, jobId]) > 0;
    },
  };
};
