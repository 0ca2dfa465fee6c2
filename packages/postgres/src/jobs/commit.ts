import {
  asksToDiscard,
  type CommitOutcomesCall,
  completesSequence,
  type JobOutcome,
  checkOutcome,
  type OutcomeResult,
} from "leasehold/adapter";
import { type Call, type CallInTransaction, type Database, repeatAlone } from "../database/database.ts";
import { insertInterrupted } from "../history/attempts.ts";
import { insertDeltas } from "../limits/deltas.ts";
import { type LockedJob, lockJobs } from "../rows/locks.ts";
import { type Application, applyOutcomes, completeLast, inOrder } from "./apply-outcomes.ts";
import { type Consequences, settleDependants, type TimedTransaction } from "./dependants.ts";
import { discardCompleted } from "./discard.ts";

const nothing: Consequences = { unblocked: [], cascaded: [] };

const applied = (at: number, consequences: Consequences): OutcomeResult => ({
  kind: "applied",
  at,
  ...consequences,
});

/** Applies accepted outcomes to locked jobs, and settles their dependants. */
const applyAccepted = async (
  database: Database,
  transaction: TimedTransaction,
  outcomes: readonly JobOutcome[],
  jobs: ReadonlyMap<string, LockedJob>,
): Promise<Map<string, Consequences>> => {
  if (outcomes.length === 0) return new Map();
  await applyOutcomes(database, transaction, outcomes, "caller");
  const accepted = outcomes.flatMap((outcome) => {
    const job = jobs.get(outcome.jobId);
    return job === undefined ? [] : [{ job, outcome }];
  });
  const interrupted = accepted.flatMap(({ job, outcome: { leaseToken, kind } }) =>
    leaseToken === null ? [{ job, by: kind }] : [],
  );
  await insertInterrupted(database, transaction, interrupted);
  const stops = (job: LockedJob, { kind }: JobOutcome): boolean => kind === "fail" && job.ordered === "stop";
  const deltas = accepted.map(({ job, outcome }) => ({ job, stops: stops(job, outcome) }));
  await insertDeltas(database, transaction.ctx, deltas);
  return settleDependants(database, transaction, {
    completed: accepted.filter(({ outcome }) => completesSequence(outcome)).map(({ job }) => job),
    failed: accepted.flatMap(({ job, outcome }) =>
      outcome.kind === "fail" ? [{ ...job, lastError: outcome.error }] : [],
    ),
  });
};

/** Locks every job, then refuses or applies each outcome. */
const commitLocked = async (
  database: Database,
  call: CallInTransaction,
  outcomes: readonly JobOutcome[],
): Promise<OutcomeResult[]> => {
  const jobIds = outcomes.map(({ jobId }) => jobId);
  const { jobs, at } = await lockJobs(database, call, jobIds);
  const rejections = outcomes.map((outcome) => checkOutcome(jobs.get(outcome.jobId), outcome, at));
  const accepted = outcomes.filter((_outcome, index) => rejections[index] === undefined);
  const consequences = await applyAccepted(database, { ctx: call.ctx, now: at }, accepted, jobs);
  return outcomes.map(({ jobId }, index) => {
    const sequenceId = jobs.get(jobId)?.sequenceId ?? "";
    return rejections[index] ?? applied(at, consequences.get(sequenceId) ?? nothing);
  });
};

/**
 * Splits outcomes into rounds whose members do not affect each other. Two outcomes of one job do. An outcome without a worker
 * may affect any other, and has a round of its own.
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
    // An unblocked job keeps its schedule.
    database.cursors.forgetAll();
    return results;
  });

const areOfDifferentJobs = (outcomes: readonly JobOutcome[]): boolean =>
  outcomes.length === 1 || new Set(outcomes.map(({ jobId }) => jobId)).size === outcomes.length;

/** Commits what one statement can. Jobs that were claimed under a limit need the one that inserts deltas. */
const commitAtOnce = async (
  database: Database,
  call: Call,
  outcomes: readonly JobOutcome[],
): Promise<Application> => {
  const isCounted = ({ leaseToken }: JobOutcome): boolean => database.limits.countedBy(leaseToken!);
  const counted = outcomes.filter(isCounted);
  if (counted.length === 0) return applyOutcomes(database, call, outcomes, "statement");
  if (counted.length === outcomes.length)
    return applyOutcomes(database, call, outcomes, "statement with deltas");
  const others = outcomes.filter((outcome) => !isCounted(outcome));
  const first = await applyOutcomes(database, call, others, "statement");
  const second = await repeatAlone(call.ctx, () =>
    applyOutcomes(database, call, counted, "statement with deltas"),
  );
  const idsOf = ({ applied }: Application, all: readonly JobOutcome[]): Iterable<string> =>
    applied ?? all.map(({ jobId }) => jobId);
  if (first.applied === null && second.applied === null) return second;
  return { at: second.at, applied: new Set([...idsOf(first, others), ...idsOf(second, counted)]) };
};

/** The same; first deletes the completed jobs that need not be kept. */
const discardAndCommit = async (
  database: Database,
  call: Call,
  outcomes: readonly JobOutcome[],
): Promise<Application> => {
  const discards = outcomes.filter(
    (outcome) => asksToDiscard(outcome) && !database.limits.countedBy(outcome.leaseToken!),
  );
  if (discards.length === 0) return commitAtOnce(database, call, outcomes);
  const first = await discardCompleted(database, call, inOrder(discards));
  const gone = first.applied ?? new Set(discards.map(({ jobId }) => jobId));
  const rest = outcomes.filter(({ jobId }) => !gone.has(jobId));
  if (rest.length === 0) return { at: first.at, applied: null };
  const second = await repeatAlone(call.ctx, () => commitAtOnce(database, call, rest));
  if (second.applied === null) return second;
  // Without an outcome that it applied, the second statement need not know the time.
  const { at } = second.applied.size === 0 ? first : second;
  return { at, applied: new Set([...gone, ...second.applied]) };
};

/** Completes plain jobs and commits the transaction; undefined if that takes more than one statement. */
const commitLast = async (
  database: Database,
  { ctx, now, isLast, outcomes }: Call & CommitOutcomesCall,
): Promise<OutcomeResult[] | undefined> => {
  if (isLast !== true || ctx === undefined || database.queryLast === undefined) return undefined;
  const jobIds = outcomes.map(({ jobId }) => jobId);
  const arePlain = database.plainLocks.hasAll(ctx, jobIds);
  if (!arePlain || outcomes.some(({ kind }) => kind !== "complete")) return undefined;
  const result = applied(
    await completeLast(database.queryLast, database.tables, { ctx, now }, outcomes),
    nothing,
  );
  return outcomes.map(() => result);
};

/**
 * Nearly every outcome is of a job with a valid lease and without dependants. One statement commits all of these and skips the
 * others. The others are then locked, and refused with a reason or applied together with their dependants.
 */
export const commitOutcomes = async (
  database: Database,
  call: Call & CommitOutcomesCall,
): Promise<OutcomeResult[]> => {
  const { outcomes } = call;
  if (outcomes.length === 0) return [];
  const isPlain = outcomes.every(({ leaseToken, jobId }) => leaseToken !== null && database.isId(jobId));
  if (!isPlain || !areOfDifferentJobs(outcomes)) return commitCarefully(database, call, outcomes);

  const last = await commitLast(database, call);
  if (last !== undefined) return last;
  const { at, applied: done } = await discardAndCommit(database, call, outcomes);
  // A released job keeps its schedule.
  if (outcomes.some(({ kind }) => kind === "release")) database.cursors.forgetAll();
  const plain = applied(at, nothing);
  if (done === null) return outcomes.map(() => plain);
  const rest = outcomes.filter(({ jobId }) => !done.has(jobId));
  const results = await repeatAlone(call.ctx, () => commitCarefully(database, call, rest));
  const resultOf = new Map(rest.map(({ jobId }, index) => [jobId, results[index]]));
  return outcomes.map(({ jobId }) => resultOf.get(jobId) ?? plain);
};
