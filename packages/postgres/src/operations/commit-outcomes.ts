import {
  type CommitOutcomesCall,
  completesSequence,
  type JobOutcome,
  judgeOutcome,
  type OutcomeResult,
} from "leasehold/adapter";
import type { Call, CallInTransaction, Database } from "../database.ts";
import { type Consequences, settleDependants, type TimedTransaction } from "../dependants.ts";
import { type LockedJob, lockJobs } from "../lock-jobs.ts";
import { leaveNotes } from "../flow/notes.ts";
import { type Application, applyOutcomes } from "./apply-outcomes.ts";

const nothing: Consequences = { unblocked: [], cascaded: [] };

const applied = (at: number, consequences: Consequences): OutcomeResult => ({
  kind: "applied",
  at,
  ...consequences,
});

/** Applies outcomes that may be applied, to jobs that are locked, and does what follows from them. */
const applyAccepted = async (
  database: Database,
  transaction: TimedTransaction,
  outcomes: readonly JobOutcome[],
  jobs: ReadonlyMap<string, LockedJob>,
): Promise<Map<string, Consequences>> => {
  if (outcomes.length === 0) return new Map();
  await applyOutcomes(database, transaction, outcomes, "caller");
  const notes = outcomes.flatMap((outcome) => {
    const job = jobs.get(outcome.jobId);
    if (job === undefined) return [];
    return [{ job, stops: outcome.kind === "fail" && job.ordered === "stop" }];
  });
  await leaveNotes(database, transaction.ctx, notes);
  const jobOf = ({ jobId }: JobOutcome): LockedJob[] => {
    const job = jobs.get(jobId);
    return job === undefined ? [] : [job];
  };
  return settleDependants(database, transaction, {
    completed: outcomes.filter(completesSequence).flatMap(jobOf),
    failed: outcomes
      .filter((outcome) => outcome.kind === "fail")
      .flatMap((outcome) => jobOf(outcome).map((job) => ({ ...job, lastError: outcome.error }))),
  });
};

/** Locks every job, then says of each outcome why it is refused, or applies it. */
const commitLocked = async (
  database: Database,
  call: CallInTransaction,
  outcomes: readonly JobOutcome[],
): Promise<OutcomeResult[]> => {
  const jobIds = outcomes.map(({ jobId }) => jobId);
  const { jobs, at } = await lockJobs(database, call, jobIds);
  const rejections = outcomes.map((outcome) => judgeOutcome(jobs.get(outcome.jobId), outcome, at));
  const accepted = outcomes.filter((_outcome, index) => rejections[index] === undefined);
  const consequences = await applyAccepted(database, { ctx: call.ctx, now: at }, accepted, jobs);
  return outcomes.map(({ jobId }, index) => {
    const sequenceId = jobs.get(jobId)?.sequenceId ?? "";
    return rejections[index] ?? applied(at, consequences.get(sequenceId) ?? nothing);
  });
};

/**
 * Splits outcomes into groups whose members do not affect each other. Two outcomes of one job do, and so may an outcome
 * without a worker, which is therefore alone in its group.
 */
const inRounds = (outcomes: readonly JobOutcome[]): JobOutcome[][] => {
  const rounds: JobOutcome[][] = [];
  let round: JobOutcome[] = [];
  let seen = new Set<string>();
  let alone = true;
  for (const outcome of outcomes) {
    if (alone || outcome.leaseToken === null || seen.has(outcome.jobId)) {
      round = [];
      rounds.push(round);
      seen = new Set();
    }
    round.push(outcome);
    seen.add(outcome.jobId);
    alone = outcome.leaseToken === null;
  }
  return rounds;
};

const commitCarefully = (
  database: Database,
  call: Call,
  outcomes: readonly JobOutcome[],
): Promise<OutcomeResult[]> =>
  database.atomically(call.ctx, async (ctx) => {
    const results: OutcomeResult[] = [];
    for (const round of inRounds(outcomes))
      results.push(...(await commitLocked(database, { ...call, ctx }, round)));
    return results;
  });

const areOfDifferentJobs = (outcomes: readonly JobOutcome[]): boolean =>
  outcomes.length === 1 || new Set(outcomes.map(({ jobId }) => jobId)).size === outcomes.length;

/** Commits what one statement can. Jobs that were claimed under a limit need one that leaves notes. */
const commitAtOnce = async (
  database: Database,
  call: Call,
  outcomes: readonly JobOutcome[],
): Promise<Application> => {
  const isCounted = ({ leaseToken }: JobOutcome): boolean => database.flow.countedBy(leaseToken!);
  const counted = outcomes.filter(isCounted);
  if (counted.length === 0) return applyOutcomes(database, call, outcomes, "statement");
  if (counted.length === outcomes.length)
    return applyOutcomes(database, call, outcomes, "statement with notes");
  const others = outcomes.filter((outcome) => !isCounted(outcome));
  const first = await applyOutcomes(database, call, others, "statement");
  const second = await applyOutcomes(database, call, counted, "statement with notes");
  const idsOf = ({ applied }: Application, all: readonly JobOutcome[]): Iterable<string> =>
    applied ?? all.map(({ jobId }) => jobId);
  if (first.applied === null && second.applied === null) return second;
  return { at: second.at, applied: new Set([...idsOf(first, others), ...idsOf(second, counted)]) };
};

/**
 * Nearly every outcome is of a job that still holds its lease and that nobody waits for. One statement commits all of
 * those, and leaves the others alone. Those are then locked, and are refused with the reason, or applied together with what
 * follows from them.
 */
export const commitOutcomes = async (
  database: Database,
  call: Call & CommitOutcomesCall,
): Promise<OutcomeResult[]> => {
  const { outcomes } = call;
  if (outcomes.length === 0) return [];
  const isPlain = outcomes.every(({ leaseToken, jobId }) => leaseToken !== null && database.isId(jobId));
  if (!isPlain || !areOfDifferentJobs(outcomes)) return commitCarefully(database, call, outcomes);

  const { at, applied: done } = await commitAtOnce(database, call, outcomes);
  const plain = applied(at, nothing);
  if (done === null) return outcomes.map(() => plain);
  const rest = outcomes.filter(({ jobId }) => !done.has(jobId));
  const results = await commitCarefully(database, call, rest);
  const resultOf = new Map(rest.map(({ jobId }, index) => [jobId, results[index]]));
  return outcomes.map(({ jobId }) => resultOf.get(jobId) ?? plain);
};
