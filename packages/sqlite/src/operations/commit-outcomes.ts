import {
  completesSequence,
  isTerminal,
  type JobOutcome,
  type JobReference,
  type JobStatus,
  judgeOutcome,
  type LeaseState,
  type OutcomeResult,
  resolveSchedule,
} from "leasehold/adapter";
import type { SqliteConnection } from "../connection/connection.ts";
import type { Tables } from "../tables.ts";
import type { Dependants } from "../dependants.ts";
import type { Completion, PlainCompletions } from "./plain-completions.ts";
import type { Sequences } from "./get-jobs.ts";

const nothing: readonly JobReference[] = [];

const appliedAlone = (at: number): OutcomeResult => ({
  kind: "applied",
  at,
  unblocked: nothing,
  cascaded: nothing,
});

/** As much of a job as is needed to end its attempt. */
interface JobState extends LeaseState {
  readonly seq: number;
  readonly sequenceId: string;
  readonly openBlockers: number;
  /** Whether its sequence may have a deduplication key; then it has to be told that its job has ended. */
  readonly mayBeKeyed: boolean;
  /** Whether anything was ever blocked by its sequence. */
  readonly hasDependants: boolean;
}

export type CommitOutcomes = (
  db: SqliteConnection,
  outcomes: readonly JobOutcome[],
  now: number,
) => OutcomeResult[];

export const prepareCommitOutcomes = (
  { job, blocker }: Tables,
  sequences: Sequences,
  dependants: Dependants,
  plain: PlainCompletions,
): CommitOutcomes => {
  const findStates = `SELECT json_group_array(json_array(j.id, j.seq, j.status, j.lease_token, j.leased_until, j.failure_reason,
      j.sequence_id, j.open_blockers, j.sequence_index > 0 OR j.deduplication_key IS NOT NULL,
      EXISTS (SELECT 1 FROM ${blocker} AS b WHERE b.sequence_id = j.sequence_id)))
    FROM json_each(?) AS given CROSS JOIN ${job} AS j ON j.id = given.value`;
  const set = (changes: string): string =>
    `UPDATE ${job} SET ${changes}, lease_token = ?, leased_by = NULL, leased_until = NULL WHERE seq = ?`;
  const complete = set(
    "status = 'completed', output = ?, completed_at = ?, completed_by = ?, continued_to_id = ?",
  );
  const retry = set("status = ?, scheduled_at = ?, expired_leases = 0, last_error = ?, last_failed_at = ?");
  // Only a running job has an attempt to give back.
  const giveBack = set(
    "attempt = attempt - (status = 'running'), status = ?, scheduled_at = coalesce(?, scheduled_at), last_error = coalesce(?, last_error)",
  );
  const fail = set(
    "status = 'failed', failed_at = ?, failure_reason = ?, expired_leases = 0, last_error = ?, last_failed_at = ?",
  );

  const loadStates = (db: SqliteConnection, jobIds: readonly string[]): Map<string, JobState> => {
    const states = new Map<string, JobState>();
    const [text] = db.first(findStates, [JSON.stringify(jobIds)]) ?? [];
    for (const values of JSON.parse(text as string) as unknown[][]) {
      states.set(values[0] as string, {
        seq: values[1] as number,
        status: values[2] as JobStatus,
        leaseToken: values[3] as string | null,
        leasedUntil: values[4] as number | null,
        failureReason: values[5] as JobState["failureReason"],
        sequenceId: values[6] as string,
        openBlockers: values[7] as number,
        mayBeKeyed: values[8] === 1,
        hasDependants: values[9] === 1,
      });
    }
    return states;
  };

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
      case "giveBack": {
        const at = outcome.schedule === null ? null : resolveSchedule(outcome.schedule, now);
        db.run(giveBack, [waiting, at, outcome.error, leaseToken, seq]);
        return waiting;
      }
      case "fail":
        db.run(fail, [now, outcome.reason, outcome.error, now, leaseToken, seq]);
        return "failed";
    }
  };

  /** One by one, since any of them may touch other jobs, or be about a job that an earlier one was about. */
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
      const status = write(db, state, outcome, now);
      if (isTerminal(status) && state.mayBeKeyed) sequences.refreshLiveness(db, sequenceId);
      states.delete(outcome.jobId);
      if (!hasDependants) return appliedAlone(now);
      const unblocked = completesSequence(outcome)
        ? dependants.unblockDependants(db, sequenceId, now)
        : nothing;
      const cascaded = outcome.kind === "fail" ? dependants.failDependants(db, sequenceId, now) : nothing;
      // Any of the jobs this has touched may come later in the batch.
      states.clear();
      return { kind: "applied", at: now, unblocked, cascaded };
    };

    const results = outcomes.map((outcome): OutcomeResult => {
      const { jobId } = outcome;
      const state = states.get(jobId) ?? loadStates(db, [jobId]).get(jobId);
      return judgeOutcome(state, outcome, now) ?? apply(outcome, state!);
    });
    writePlainOnes();
    return results;
  };

  return (db, outcomes, now) => {
    const candidates = outcomes.filter((outcome) => plain.isCandidate(outcome));
    const areDifferentJobs = new Set(outcomes.map(({ jobId }) => jobId)).size === outcomes.length;
    if (!areDifferentJobs || !plain.tryAll(db, candidates, now)) return commitInOrder(db, outcomes, now);
    if (candidates.length === outcomes.length) return outcomes.map(() => appliedAlone(now));
    // Jobs that concern nobody else are not changed by what the others bring about.
    const others = commitInOrder(
      db,
      outcomes.filter((outcome) => !plain.isCandidate(outcome)),
      now,
    );
    let next = 0;
    return outcomes.map((outcome) => (plain.isCandidate(outcome) ? appliedAlone(now) : others[next++]!));
  };
};
