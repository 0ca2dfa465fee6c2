import type { JobReference, StateJob } from "../store/contract/job.ts";
import type { CancelResult, JobOutcome, OutcomeResult } from "../store/contract/outcomes.ts";
import {
  asksToDiscard,
  checkCancellation,
  checkOutcome,
  completesSequence,
  isDiscardable,
  type JobTies,
} from "../store/rules/checks.ts";
import { redriveJobs as redrive } from "../store/rules/redrive.ts";
import {
  afterOutcome,
  attemptOf,
  cancelled,
  interruptedAttempt,
  revived,
} from "../store/rules/transitions.ts";
import { immediately, resolveSchedule } from "../store/rules/transitions.ts";
import { runSync } from "../store/rules/walk.ts";
import { failDependants, findBlockerCycle, isFailedSequence, unblockDependants } from "./dependants.ts";
import { assign, type JobRecord, resume, stopGroup } from "./groups.ts";
import { recordAttempt } from "./history.ts";
import { currentOf, dependantsOf, findDuplicate, isUnfinished } from "./rows.ts";
import { type Operation, remove, type Rows, update } from "./rows.ts";

const nothing: readonly JobReference[] = [];

const tiesOf = ({ descendants, dependants }: Rows, sequenceId: string): JobTies => ({
  hasDescendants: descendants.has(sequenceId),
  hasDependants: dependants.has(sequenceId),
});

const commitOutcome = (rows: Rows, outcome: JobOutcome, now: number): OutcomeResult => {
  const record = rows.jobs.get(outcome.jobId);
  const rejection = checkOutcome(record?.row, outcome, now);
  if (record === undefined || rejection !== undefined) return rejection!;
  const { sequenceId } = record.row;
  const attempt =
    outcome.leaseToken === null ? interruptedAttempt(record.row, outcome.kind, now) : attemptOf(outcome, now);
  if (asksToDiscard(outcome) && isDiscardable(record.row, tiesOf(rows, sequenceId))) {
    remove(rows, record);
    return { kind: "applied", at: now, unblocked: nothing, cascaded: nothing };
  }
  update(rows, record, afterOutcome(record.row, outcome, now));
  if (attempt !== undefined) recordAttempt(rows, record, attempt);
  if (outcome.kind === "fail") stopGroup(rows, record.row);
  return {
    kind: "applied",
    at: now,
    unblocked: completesSequence(outcome) ? unblockDependants(rows, sequenceId, now) : nothing,
    cascaded: outcome.kind === "fail" ? failDependants(rows, sequenceId, now) : nothing,
  };
};

export const commitOutcomes: Operation<"commitOutcomes"> = (rows, { outcomes }, now) =>
  outcomes.map((outcome) => commitOutcome(rows, outcome, now));

const cancelSequence = (rows: Rows, sequenceId: string, error: string, now: number): CancelResult => {
  const record = currentOf(rows, sequenceId);
  const unchanged = checkCancellation(sequenceId, record?.row);
  if (record === undefined || unchanged !== undefined) return unchanged!;
  const wasRunning = record.row.status === "running";
  const attempt = interruptedAttempt(record.row, "cancel", now);
  update(rows, record, cancelled(record.row, error, now));
  if (attempt !== undefined) recordAttempt(rows, record, attempt);
  return { sequenceId, kind: "cancelled", job: record.row, changed: true, wasRunning, cascaded: [] };
};

// Cancels every sequence before it fails dependants: a job named together with its blocker is `cancelled` in any order.
export const cancelSequences: Operation<"cancelSequences"> = (rows, { sequenceIds, error }, now) =>
  sequenceIds
    .map((sequenceId) => cancelSequence(rows, sequenceId, error, now))
    .map((result) =>
      result.changed ? { ...result, cascaded: failDependants(rows, result.sequenceId, now) } : result,
    );

export const redriveJobs: Operation<"redriveJobs"> = (rows, { jobIds, schedule }, now) => {
  const earliest = resolveSchedule(schedule ?? immediately, now);
  const recordOf = ({ id }: StateJob): JobRecord => rows.jobs.get(id)!;
  const decisions = runSync(
    redrive(
      {
        find: (ids) => new Map(ids.flatMap((id) => rows.jobs.get(id)?.row ?? []).map((row) => [row.id, row])),
        isAlone: () => false,
        hasFailedBlocker: (job) => recordOf(job).blockerIds.some((id) => isFailedSequence(rows, id)),
        hasLiveDuplicate: ({ sequenceId }) => {
          const first = rows.jobs.get(sequenceId)!;
          const isOther = (other: JobRecord): boolean => other !== first && isUnfinished(rows, other);
          return findDuplicate(rows, first.row, isOther) !== undefined;
        },
        waitsForItself: (job) =>
          findBlockerCycle(rows, job.sequenceId, recordOf(job).blockerIds) !== undefined,
        dependants: (sequenceId) => dependantsOf(rows, sequenceId).map(({ row }) => row),
        revive: (jobs) => {
          for (const job of jobs) {
            update(rows, recordOf(job), revived(job, earliest));
            assign(rows.journal, recordOf(job), { fingerprint: null });
            resume(rows, job, job.id);
          }
        },
      },
      jobIds,
    ),
  );
  const jobOf = (jobId: string): StateJob | null => rows.jobs.get(jobId)?.row ?? null;
  return jobIds.map((jobId) => ({ jobId, ...decisions.get(jobId)!, job: jobOf(jobId) }));
};
