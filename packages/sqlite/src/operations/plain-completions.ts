import type { JobOutcome } from "leasehold/adapter";
import type { SqliteConnection } from "../connection/connection.ts";
import type { CountedJob, Lines } from "../flow/lines.ts";
import { countingLine } from "../flow/place.ts";
import { defineRow } from "../row.ts";
import type { Tables } from "../tables.ts";

export type Completion = Extract<JobOutcome, { readonly kind: "complete" }>;

/**
 * How most jobs end: they complete under a valid lease, nothing waits for them, and they have no deduplication key. One
 * statement for each claim checks and writes all of them.
 */
export interface PlainCompletions {
  isCandidate(outcome: JobOutcome): outcome is Completion;
  /** Writes those that end in this way, each of a different job. Returns whether that was all of them. */
  write(db: SqliteConnection, outcomes: readonly Completion[], now: number): boolean;
  /** The same, but writes none unless it can write all. */
  tryAll(db: SqliteConnection, outcomes: readonly Completion[], now: number): boolean;
}

// Where some jobs have keys or dependants, most batches contain one. Trying each batch would be wasted.
const pauseAfterFailure = 16;

// Needs no escaping in JSON.
const plainId = /^[\w-]+$/;

const countedRow = defineRow((columns): CountedJob => ({
  queue: columns.value("j.queue"),
  typeName: columns.value("j.type_name"),
  line: columns.value(countingLine("j.slots"), null),
  slots: columns.value("j.slots"),
}));

export const createPlainCompletions = ({ job, blocker }: Tables, lines: Lines): PlainCompletions => {
  const isDone = (
    slots: string,
  ): string => `j.id = done.key AND j.status = 'running' AND j.lease_token = ? AND j.leased_until > ? AND j.slots ${slots}
      AND NOT EXISTS (SELECT 1 FROM ${blocker} AS b WHERE b.sequence_id = j.sequence_id)
      AND (j.sequence_index = 0 AND j.deduplication_key IS NULL OR j.sequence_index > 0 AND NOT EXISTS
        (SELECT 1 FROM ${job} AS f WHERE f.id = j.sequence_id AND f.deduplication_live IS NOT NULL))`;
  const complete = `UPDATE ${job} AS j
    SET status = 'completed', output = done.value, completed_at = ?, completed_by = ?, leased_by = NULL, leased_until = NULL`;
  const completeFree = `${complete} FROM json_each(?) AS done WHERE ${isDone("IS NULL")}`;
  // Those that are counted give back their slots.
  const findCounted = `SELECT ${countedRow.text} FROM json_each(?) AS done CROSS JOIN ${job} AS j
    WHERE ${isDone("IS NOT NULL")}`;
  const completeCounted = `${complete}, slots = NULL FROM json_each(?) AS done
    WHERE ${isDone("IS NOT NULL")}`;
  let pause = 0;
  // What most jobs were like last time is tried first.
  let areMostCounted = false;

  const groupByClaim = (outcomes: readonly Completion[]): Completion[][] => {
    const groups = new Map<string, Completion[]>();
    for (const outcome of outcomes) {
      const key = `${outcome.leaseToken} ${outcome.completedBy}`;
      const group = groups.get(key);
      if (group === undefined) groups.set(key, [outcome]);
      else group.push(outcome);
    }
    return [...groups.values()];
  };

  const writeGroup = (db: SqliteConnection, group: readonly Completion[], now: number): boolean => {
    const [{ leaseToken, completedBy }] = group as [Completion];
    const outputs = group.map(({ jobId, output }) => `"${jobId}":${JSON.stringify(output)}`);
    const text = `{${outputs.join(",")}}`;
    const writeFree = (): number => db.run(completeFree, [now, completedBy, text, leaseToken, now]);
    const writeCounted = (): number => {
      const counted = countedRow.allOfText(db, findCounted, [text, leaseToken, now]);
      if (counted.length === 0) return 0;
      lines.giveBack(db, counted);
      return db.run(completeCounted, [now, completedBy, text, leaseToken, now]);
    };
    let written = 0;
    for (const isCounted of [areMostCounted, !areMostCounted]) {
      const completed = isCounted ? writeCounted() : writeFree();
      if (completed === group.length) areMostCounted = isCounted;
      written += completed;
      if (written === group.length) return true;
    }
    return false;
  };

  const write: PlainCompletions["write"] = (db, outcomes, now) => {
    let isComplete = true;
    for (const group of groupByClaim(outcomes)) if (!writeGroup(db, group, now)) isComplete = false;
    return isComplete;
  };

  return {
    write,
    isCandidate: (outcome): outcome is Completion =>
      outcome.kind === "complete" &&
      outcome.leaseToken !== null &&
      outcome.continuedToId === null &&
      outcome.locked !== true &&
      plainId.test(outcome.jobId),
    tryAll: (db, outcomes, now) => {
      if (outcomes.length === 0) return true;
      if (pause > 0) {
        pause -= 1;
        return false;
      }
      db.run("SAVEPOINT leasehold_complete", []);
      const isDone = write(db, outcomes, now);
      if (!isDone) {
        pause = pauseAfterFailure;
        db.run("ROLLBACK TO leasehold_complete", []);
      }
      db.run("RELEASE leasehold_complete", []);
      return isDone;
    },
  };
};
