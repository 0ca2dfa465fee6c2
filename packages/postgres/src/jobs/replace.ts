import { type CreatedStateJob, isWaiting, type NewJob, replaced, type StateJob } from "leasehold/adapter";
import type { Call, CallInTransaction, Context, Database } from "../database/database.ts";
import { arrayLiteral } from "../database/sql.ts";
import { jobColumns, toStateJob } from "../rows/job-table.ts";
import { asStateJob, lockJobs } from "../rows/locks.ts";
import { findDuplicates } from "./deduplication.ts";
import type { TimedTransaction } from "./dependants.ts";
import { saveWaitingJobs } from "./edits.ts";

// Starts that replace a waiting duplicate. The keys are locked, so that no other start interferes. Against workers the duplicate
// is locked as well, and replaced only if it still waits then. Later claims skip it until the transaction ends, and then read
// the new input.

/**
 * Whether the duplicate of this job has to be locked: it may be replaced, or it must run after this transaction, to read what
 * this transaction has written.
 */
export const mayReplace = ({ deduplication }: NewJob): boolean =>
  deduplication !== null && (deduplication.onDuplicate !== undefined || deduplication.scope === "pending");

/** The jobs that these starts have replaced before, by the ids of the starts: the replies were lost. */
export const findReplacedBy = async (
  { query, tables }: Database,
  ctx: Context,
  jobs: readonly NewJob[],
): Promise<ReadonlyMap<string, StateJob>> => {
  const ids = jobs.filter(({ deduplication }) => deduplication?.onDuplicate).map(({ id }) => id);
  if (ids.length === 0) return new Map();
  const rows = await query(ctx, {
    name: "find_replaced",
    sql: () =>
      `SELECT ${jobColumns("j")} FROM ${tables.job} AS j WHERE j.replaced_by = ANY ($1::${tables.idType}[])`,
    params: [arrayLiteral(ids)],
  });
  return new Map(rows.map(toStateJob).map((job) => [job.replacedBy!, job]));
};

interface LockedDuplicates {
  readonly duplicates: Map<NewJob, StateJob | NewJob>;
  /** The time after the last lock. */
  readonly at: number;
}

/** Finds the duplicates of the jobs and locks the waiting ones. */
export const lockDuplicates = async (
  database: Database,
  call: Call & CallInTransaction,
  jobs: readonly NewJob[],
): Promise<LockedDuplicates> => {
  for (;;) {
    const duplicates = await findDuplicates(database, call, jobs);
    const wanted = new Set<string>();
    for (const [job, duplicate] of duplicates)
      if (mayReplace(job) && "status" in duplicate && isWaiting(duplicate.status)) wanted.add(duplicate.id);
    const locked = await lockJobs(database, call, [...wanted]);
    const rows = [...locked.jobs.values()];
    // A duplicate was claimed or deleted in the meantime: search again.
    if (rows.length < wanted.size || !rows.every(({ status }) => isWaiting(status))) continue;
    for (const [job, { id }] of duplicates) {
      const row = locked.jobs.get(id);
      if (row !== undefined) duplicates.set(job, asStateJob(row));
    }
    return { duplicates, at: locked.at };
  }
};

/** Replaces the locked duplicates in `found`, one start after the other, and returns the results of the starts. */
export const replaceDuplicates = async (
  database: Database,
  transaction: TimedTransaction,
  starts: readonly NewJob[],
  found: readonly CreatedStateJob[],
): Promise<CreatedStateJob[]> => {
  const changed = new Map<string, StateJob>();
  const answers = starts.map((start, index): CreatedStateJob => {
    const answer = found[index]!;
    if (!answer.deduplicated) return answer;
    const row = changed.get(answer.job.id) ?? answer.job;
    const replacement = replaced(row, start, transaction.now);
    if (replacement === undefined) return { job: row, deduplicated: true };
    changed.set(row.id, replacement);
    return { job: replacement, deduplicated: true, replaced: true };
  });
  await saveWaitingJobs(database, transaction, [...changed.values()]);
  return answers;
};
