import {
  asksToDiscard,
  attemptOf,
  completesSequence,
  interruptedAttempt,
  isTerminal,
  type JobOutcome,
  type JobReference,
  type JobStatus,
  checkOutcome,
  type LeaseState,
  type OrderedGroup,
  type OutcomeResult,
  resolveSchedule,
  type StateAttempt,
} from "leasehold/adapter";
import type { SqliteConnection } from "../database/connection.ts";
import type { Operation } from "../database/operation.ts";
import { type Columns, defineRow } from "../database/sql.ts";
import type { Tables } from "../database/tables.ts";
import type { Attempts } from "../history/attempts.ts";
import type { CountedJob, GroupQueues } from "../limits/group-queues.ts";
import { countingKey, type JobLookup } from "../rows/job-table.ts";
import type { Deduplication } from "./deduplication.ts";
import type { Dependants } from "./dependants.ts";
import { describeLease } from "./leases.ts";

export type Completion = Extract<JobOutcome, { readonly kind: "complete" }>;

/**
 * How most jobs end: they complete under a valid lease, nothing waits for them, and they have no deduplication key. One
 * statement for each claim checks and writes all of them.
 */
export interface PlainCompletions {
  isCandidate(outcome: JobOutcome): outcome is Completion;
  /** Writes the outcomes that end in this way, each of a different job. Returns whether it wrote all of them. */
  write(db: SqliteConnection, outcomes: readonly Completion[], now: number): boolean;
  /** The same, but writes none unless it can write all. */
  tryAll(db: SqliteConnection, outcomes: readonly Completion[], now: number): boolean;
}

// After a failed try, skips the next tries: where some jobs have keys or dependants, most batches have such a job.
const pauseAfterFailure = 16;

// Needs no escaping in JSON.
const plainId = /^[\w-]+$/;

const countedRow = defineRow((columns): CountedJob => ({
  queue: columns.value("j.queue"),
  typeName: columns.value("j.type_name"),
  claimKey: columns.value(countingKey("j.counted_in"), null),
  countedIn: columns.value("j.counted_in"),
}));

export const createPlainCompletions = (
  { job, blocker }: Tables,
  groupQueues: GroupQueues,
): PlainCompletions => {
  const isDone = (
    counted: string,
  ): string => `j.id = done.key AND j.status = 'running' AND j.lease_token = ? AND j.leased_until > ? AND j.counted_in ${counted}
      AND NOT EXISTS (SELECT 1 FROM ${blocker} AS b WHERE b.sequence_id = j.sequence_id)
      AND (j.sequence_index = 0 AND j.deduplication_key IS NULL OR j.sequence_index > 0 AND NOT EXISTS
        (SELECT 1 FROM ${job} AS f WHERE f.id = j.sequence_id AND f.deduplication_open IS NOT NULL))`;
  const complete = `UPDATE ${job} AS j
    SET status = 'completed', output = done.value, completed_at = ?, completed_by = ?, leased_by = NULL, leased_until = NULL`;
  const completeFree = `${complete} FROM json_each(?) AS done WHERE ${isDone("IS NULL")}`;
  // Counted jobs release their slots.
  const findCounted = `SELECT ${countedRow.text} FROM json_each(?) AS done CROSS JOIN ${job} AS j
    WHERE ${isDone("IS NOT NULL")}`;
  const completeCounted = `${complete}, counted_in = NULL FROM json_each(?) AS done
    WHERE ${isDone("IS NOT NULL")}`;
  let pause = 0;
  // Whether most jobs of the last batch were counted: this kind is tried first.
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
      groupQueues.release(db, counted);
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

/** Deletes the completed jobs that need not be kept. Returns the ids of the deleted jobs. */
type DiscardCompleted = (
  db: SqliteConnection,
  outcomes: readonly JobOutcome[],
  now: number,
) => ReadonlySet<string>;

const noIds: ReadonlySet<string> = new Set();

const discardedRow = defineRow((columns) => ({ id: columns.value<string>("id") }));

const prepareDiscardCompleted = ({ job, blocker }: Tables): DiscardCompleted => {
  // `isDiscardable` of core. Takes the ids, the token, the time, and whether the leases may have expired.
  const discard = `DELETE FROM ${job} AS j WHERE j.id IN (SELECT value FROM json_each(?))
    AND j.status = 'running' AND j.lease_token = ? AND (j.leased_until > ? OR ?)
    AND j.id = j.root_sequence_id AND j.deduplication_key IS NULL AND j.blocker_count = 0 AND j.lease_version = 1
    AND j.group_key IS NULL AND j.counted_in IS NULL
    AND NOT EXISTS (SELECT 1 FROM ${job} AS c WHERE c.root_sequence_id = j.id AND c.id <> c.root_sequence_id)
    AND NOT EXISTS (SELECT 1 FROM ${blocker} AS b WHERE b.sequence_id = j.id)
    RETURNING ${discardedRow.columns}`;

  return (db, outcomes, now) => {
    const groups = new Map<string, { readonly outcome: JobOutcome; readonly jobIds: string[] }>();
    for (const outcome of outcomes) {
      if (!asksToDiscard(outcome)) continue;
      const key = `${outcome.leaseToken} ${outcome.locked === true}`;
      const group = groups.get(key);
      if (group === undefined) groups.set(key, { outcome, jobIds: [outcome.jobId] });
      else group.jobIds.push(outcome.jobId);
    }
    if (groups.size === 0) return noIds;
    const discarded = new Set<string>();
    for (const { outcome, jobIds } of groups.values()) {
      const values = [JSON.stringify(jobIds), outcome.leaseToken, now, outcome.locked === true ? 1 : 0];
      for (const { id } of discardedRow.all(db, discard, values)) discarded.add(id);
    }
    return discarded;
  };
};

const nothing: readonly JobReference[] = [];

const appliedAlone = (at: number): OutcomeResult => ({
  kind: "applied",
  at,
  unblocked: nothing,
  cascaded: nothing,
});

/** The part of a job that is needed to end its attempt. */
interface JobState extends LeaseState {
  readonly id: string;
  readonly seq: number;
  readonly sequenceId: string;
  readonly openBlockers: number;
  /** Whether its sequence may have a deduplication key, which is refreshed when the job ends. */
  readonly mayBeKeyed: boolean;
  /** Whether anything was ever blocked by its sequence. */
  readonly hasDependants: boolean;
  /** Whether it has a group or is counted by a limit. */
  readonly isLimited: boolean;
}

const describeState = (columns: Columns, blocker: string): JobState => ({
  id: columns.value("j.id"),
  seq: columns.value("j.seq"),
  ...describeLease(columns),
  sequenceId: columns.value("j.sequence_id"),
  openBlockers: columns.value("j.open_blockers"),
  mayBeKeyed: columns.holds("j.sequence_index > 0 OR j.deduplication_key IS NOT NULL"),
  hasDependants: columns.holds(`EXISTS (SELECT 1 FROM ${blocker} AS b WHERE b.sequence_id = j.sequence_id)`),
  isLimited: columns.holds("(j.counted_in IS NOT NULL OR j.group_key IS NOT NULL)"),
});

const groupRow = defineRow((columns) => ({
  id: columns.value<string>("id"),
  queue: columns.value<string>("queue"),
  typeName: columns.value<string>("type_name"),
  group: columns.value<string | null>("group_key", null),
  ordered: columns.value<OrderedGroup | null>("ordered", null),
}));

export const prepareCommitOutcomes = (
  tables: Tables,
  dependants: Dependants,
  deduplication: Deduplication,
  plain: PlainCompletions,
  groupQueues: GroupQueues,
  lookup: JobLookup,
  attempts: Attempts,
): Operation<"commitOutcomes"> => {
  const { job, blocker } = tables;
  const discard = prepareDiscardCompleted(tables);
  const stateRow = defineRow((columns) => describeState(columns, blocker));
  const findStates = `SELECT ${stateRow.text} FROM json_each(?) AS given CROSS JOIN ${job} AS j ON j.id = given.value`;
  const findGroup = `SELECT ${groupRow.columns} FROM ${job} WHERE seq = ?`;
  const set = (changes: string): string =>
    `UPDATE ${job} SET ${changes}, lease_token = ?, leased_by = NULL, leased_until = NULL WHERE seq = ?`;
  const complete = set(
    "status = 'completed', output = ?, completed_at = ?, completed_by = ?, continued_to_id = ?",
  );
  const retry = set("status = ?, scheduled_at = ?, expired_leases = 0, last_error = ?, last_failed_at = ?");
  // Only a running job has an attempt to release.
  const giveBack = set(
    "expired_leases = abs(expired_leases), attempt = attempt - (status = 'running'), status = ?, scheduled_at = coalesce(?, scheduled_at), last_error = coalesce(?, last_error)",
  );
  const fail = set(
    "status = 'failed', failed_at = ?, failure_reason = ?, expired_leases = 0, last_error = ?, last_failed_at = ?, fingerprint = ?",
  );

  const loadStates = (db: SqliteConnection, jobIds: readonly string[]): Map<string, JobState> =>
    new Map(stateRow.allOfText(db, findStates, [JSON.stringify(jobIds)]).map((state) => [state.id, state]));

  /** Writes the outcome and returns the job's new status. */
  const write = (db: SqliteConnection, state: JobState, outcome: JobOutcome, now: number): JobStatus => {
    const { leaseToken } = outcome;
    const { seq } = state;
    const waiting = state.openBlockers > 0 ? "blocked" : "pending";
    switch (outcome.kind) {
      case "complete":
        db.run(complete, [outcome.output, now, outcome.completedBy, outcome.continuedToId, leaseToken, seq]);
        return "completed";
      case "retry":
        db.run(retry, [waiting, resolveSchedule(outcome.schedule, now), outcome.error, now, leaseToken, seq]);
        return waiting;
      case "release": {
        const at = outcome.schedule === null ? null : resolveSchedule(outcome.schedule, now);
        db.run(giveBack, [waiting, at, outcome.error, leaseToken, seq]);
        return waiting;
      }
      case "fail":
        db.run(fail, [
          now,
          outcome.reason,
          outcome.error,
          now,
          outcome.note?.fingerprint ?? null,
          leaseToken,
          seq,
        ]);
        return "failed";
    }
  };

  /** The same for a job with a group or a counted slot. */
  const writeLimited = (
    db: SqliteConnection,
    state: JobState,
    outcome: JobOutcome,
    now: number,
  ): JobStatus => {
    groupQueues.leave(db, [state.id]);
    const status = write(db, state, outcome, now);
    if (status === "pending") groupQueues.enter(db, [state.id], now);
    if (outcome.kind === "fail") groupQueues.stop(db, groupRow.first(db, findGroup, [state.seq])!);
    return status;
  };

  /** The attempt that an outcome ends, from before the outcome is written. */
  const endedAttempt = (
    db: SqliteConnection,
    { id, status }: JobState,
    outcome: JobOutcome,
    now: number,
  ): StateAttempt | undefined => {
    if (outcome.leaseToken !== null) return attemptOf(outcome, now);
    return status === "running" ? interruptedAttempt(lookup.find(db, id)!, outcome.kind, now) : undefined;
  };

  /** One by one: an outcome may change other jobs, and two may be for the same job. */
  const commitInOrder = (
    db: SqliteConnection,
    outcomes: readonly JobOutcome[],
    now: number,
  ): OutcomeResult[] => {
    const jobIds = outcomes.map(({ jobId }) => jobId);
    const states = loadStates(db, jobIds);
    let plainOnes: Completion[] = [];
    const writePlainOnes = (): void => {
      plain.write(db, plainOnes, now);
      plainOnes = [];
    };

    const apply = (outcome: JobOutcome, state: JobState): OutcomeResult => {
      const { sequenceId, hasDependants } = state;
      if (plain.isCandidate(outcome) && !state.mayBeKeyed && !hasDependants) {
        plainOnes.push(outcome);
        states.set(outcome.jobId, { ...state, status: "completed" });
        return appliedAlone(now);
      }
      writePlainOnes();
      const attempt = endedAttempt(db, state, outcome, now);
      const status = (state.isLimited ? writeLimited : write)(db, state, outcome, now);
      if (attempt !== undefined) attempts.add(db, attempt);
      if (isTerminal(status) && state.mayBeKeyed) deduplication.refresh(db, sequenceId);
      states.delete(outcome.jobId);
      if (!hasDependants) return appliedAlone(now);
      const unblocked = completesSequence(outcome)
        ? dependants.unblockDependants(db, sequenceId, now)
        : nothing;
      const cascaded = outcome.kind === "fail" ? dependants.failDependants(db, sequenceId, now) : nothing;
      // The jobs that this has changed may come later in the batch.
      states.clear();
      return { kind: "applied", at: now, unblocked, cascaded };
    };

    const results = outcomes.map((outcome): OutcomeResult => {
      const { jobId } = outcome;
      const state = states.get(jobId) ?? loadStates(db, [jobId]).get(jobId);
      return checkOutcome(state, outcome, now) ?? apply(outcome, state!);
    });
    writePlainOnes();
    return results;
  };

  const commitKept = (
    db: SqliteConnection,
    outcomes: readonly JobOutcome[],
    areDifferentJobs: boolean,
    now: number,
  ): OutcomeResult[] => {
    const candidates = outcomes.filter((outcome) => plain.isCandidate(outcome));
    if (!areDifferentJobs || !plain.tryAll(db, candidates, now)) return commitInOrder(db, outcomes, now);
    if (candidates.length === outcomes.length) return outcomes.map(() => appliedAlone(now));
    // Plain completions have no dependants and no key, so the other outcomes cannot change them.
    const others = commitInOrder(
      db,
      outcomes.filter((outcome) => !plain.isCandidate(outcome)),
      now,
    );
    let next = 0;
    return outcomes.map((outcome) => (plain.isCandidate(outcome) ? appliedAlone(now) : others[next++]!));
  };

  return (db, { outcomes }, now) => {
    const areDifferentJobs = new Set(outcomes.map(({ jobId }) => jobId)).size === outcomes.length;
    // A job that can be deleted is tied to no other, so the other outcomes cannot change it.
    const discarded = areDifferentJobs ? discard(db, outcomes, now) : noIds;
    if (discarded.size === 0) return commitKept(db, outcomes, areDifferentJobs, now);
    const isKept = ({ jobId }: JobOutcome): boolean => !discarded.has(jobId);
    const kept = commitKept(db, outcomes.filter(isKept), areDifferentJobs, now);
    let next = 0;
    return outcomes.map((outcome) => (isKept(outcome) ? kept[next++]! : appliedAlone(now)));
  };
};
