import type { CreatedStateJob, NewJob } from "../../store/contract/creation.ts";
import type { StateJob } from "../../store/contract/job.ts";
import { isWaiting } from "../../store/rules/edits.ts";
import type { StoreStep } from "../history.ts";
import { type Check, short, type Table } from "./check.ts";

export const onlyWaitingJobsChange: Check = {
  invariant: "only jobs that wait get another input, priority or time from outside",
  watch: ({ report }) => ({
    onStep: ({ method, changes }) => {
      for (const { before, after } of changes) {
        if (!before || !after || isWaiting(before.status)) continue;
        if (before.input !== after.input)
          report(`${method} rewrote the input of ${short(after.id)}, which was ${before.status}`);
        if (method === "updateWaitingJobs" || method === "createJobs")
          report(`${method} changed ${short(after.id)}, which was ${before.status}`);
      }
    },
  }),
};

/** Of each job that the call created or replaced, the last start that it was for. */
const lastStarts = ({ call, result }: StoreStep): Map<string, NewJob> => {
  const starts = new Map<string, NewJob>();
  for (const [index, job] of (call["jobs"] as readonly NewJob[]).entries()) {
    const { job: stored, deduplicated, replaced } = (result as CreatedStateJob[])[index]!;
    if (!deduplicated || replaced === true) starts.set(stored.id, job);
  }
  return starts;
};

const checkStart = (
  start: NewJob,
  { at, changes }: StoreStep,
  table: Table,
  jobId: string,
): string | undefined => {
  const row = table.rows.get(jobId);
  // A start that is repeated because its answer was lost changes nothing.
  if (!row || !changes.some(({ after }) => after?.id === jobId)) return undefined;
  if (row.input !== start.input)
    return `${short(jobId)} does not have the input of the start accepted last, ${short(start.id)}`;
  const onDuplicate = start.deduplication?.onDuplicate;
  const wasCreated = row.id === start.id;
  if (wasCreated || typeof onDuplicate !== "object") return undefined;
  const latest = Math.max(at, row.createdAt + onDuplicate.debounce.maxDelayMs);
  return row.scheduledAt > latest
    ? `${short(jobId)} was put off ${row.scheduledAt - latest} ms too far`
    : undefined;
};

export const replacementsTakeEffect: Check = {
  invariant: "10 a job has the last accepted input, and debounce keeps to its bound",
  watch: ({ table, report }) => ({
    onStep: (step) => {
      if (step.method !== "createJobs") return;
      for (const [jobId, start] of lastStarts(step)) {
        const problem = checkStart(start, step, table, jobId);
        if (problem !== undefined) report(problem);
      }
    },
  }),
};

export const waitingJobsExpire: Check = {
  invariant: "a job expires only before its first attempt, and not too early",
  watch: ({ report }) => {
    /**
     * The jobs as each was first claimed with its token. A claim that was given up can still arrive after it was repeated, with
     * the same token: the worker that holds the job knows nothing of it, and has decided by the first.
     */
    const firstClaims = new Map<string, StateJob>();

    const asItsHolderHasIt = (row: StateJob): StateJob => {
      const first = firstClaims.get(row.id);
      return first?.leaseToken === row.leaseToken ? first : row;
    };

    const checkExpiry = (row: StateJob, method: string, at: number): void => {
      // A worker that has claimed it counts from the moment of the claim.
      const isClaimed = row.status === "running";
      const { id, attempt, expireAfterMs, scheduledAt, lastAttemptAt } = isClaimed
        ? asItsHolderHasIt(row)
        : row;
      if (attempt !== (isClaimed ? 1 : 0))
        report(`${method} let ${short(id)} expire although it had begun (attempt ${attempt})`);
      if (expireAfterMs === null || scheduledAt + expireAfterMs > (isClaimed ? lastAttemptAt! : at))
        report(`${method} let ${short(id)} expire too early`);
    };

    return {
      onStep: ({ at, method, changes }) => {
        for (const { before, after } of changes) {
          if (before && after?.failureReason === "expired" && before.status !== "failed")
            checkExpiry(before, method, at);
          if (method !== "claimJobs" || after?.status !== "running") continue;
          if (before?.status !== "running" || before.leaseToken !== after.leaseToken)
            firstClaims.set(after.id, after);
        }
      },
    };
  },
};
