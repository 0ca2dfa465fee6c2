import { completesSequence, type JobOutcome, judgeOutcome, type OutcomeResult } from "leasehold/adapter";
import type { Call, Context, Database } from "../database.ts";
import { applyOutcomes } from "./apply-outcomes.ts";
import { lockJobs } from "../lock-jobs.ts";
import { type Ends, spreadEnds } from "../dependants.ts";

const applied = (at: number, { unblocked, cascaded }: Ends): OutcomeResult => ({
  kind: "applied",
  at,
  unblocked,
  cascaded,
});

const nothing: Ends = { unblocked: [], cascaded: [] };

/** With every job locked: says of each outcome why it is refused, or applies it with all that follows from it. */
const commitLocked = async (
  database: Database,
  call: Call & { readonly ctx: Context },
  outcomes: readonly JobOutcome[],
): Promise<OutcomeResult[]> => {
  const { jobs, at } = await lockJobs(
    database,
    call,
    outcomes.map(({ jobId }) => jobId),
  );
  const verdicts = outcomes.map((outcome) => judgeOutcome(jobs.get(outcome.jobId), outcome, at));
  const accepted = outcomes.filter((_outcome, index) => verdicts[index] === undefined);
  if (accepted.length === 0) return verdicts.map((verdict) => verdict!);
  const timed = { ctx: call.ctx, now: at };
  await applyOutcomes(database, timed, accepted, "locked");
  const ends = await spreadEnds(database, timed, {
    completed: accepted.filter(completesSequence).map(({ jobId }) => jobs.get(jobId)!),
    failed: accepted
      .filter((outcome) => outcome.kind === "fail")
      .map(({ jobId, error }) => ({ ...jobs.get(jobId)!, lastError: error })),
  });
  return outcomes.map(
    (outcome, index) =>
      verdicts[index] ?? applied(at, ends.get(jobs.get(outcome.jobId)!.sequenceId) ?? nothing),
  );
};

/** Groups of outcomes that say nothing about each other's jobs; workerless ones, which may, stand alone. */
const inRounds = (outcomes: readonly JobOutcome[]): JobOutcome[][] => {
  const rounds: JobOutcome[][] = [];
  let seen = new Set<string>();
  let alone = true;
  for (const outcome of outcomes) {
    if (alone || outcome.leaseToken === null || seen.has(outcome.jobId)) {
      rounds.push([]);
      seen = new Set();
    }
    rounds.at(-1)!.push(outcome);
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

/**
 * Nearly every outcome is of a job that still holds its lease and that nobody waits for: one statement commits all of
 * those. What it leaves untouched is looked at with locks, and told why, or applied together with what follows.
 */
export const commitOutcomes = async (
  database: Database,
  call: Call & { readonly outcomes: readonly JobOutcome[] },
): Promise<OutcomeResult[]> => {
  const { outcomes } = call;
  if (outcomes.length === 0) return [];
  const isPlain = outcomes.every(({ leaseToken, jobId }) => leaseToken !== null && database.isId(jobId));
  if (!isPlain || !areOfDifferentJobs(outcomes)) return commitCarefully(database, call, outcomes);

  const { at, applied: done } = await applyOutcomes(database, call, outcomes, "fenced");
  const plain = applied(at, nothing);
  if (done === null) return outcomes.map(() => plain);
  const rest = outcomes.filter(({ jobId }) => !done.has(jobId));
  const careful = await commitCarefully(database, call, rest);
  let next = 0;
  return outcomes.map(({ jobId }) => (done.has(jobId) ? plain : careful[next++]!));
};

const areOfDifferentJobs = (outcomes: readonly JobOutcome[]): boolean =>
  outcomes.length === 1 || new Set(outcomes.map(({ jobId }) => jobId)).size === outcomes.length;
