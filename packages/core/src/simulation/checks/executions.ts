import type { LeaseRenewal } from "../../store/contract/claims.ts";
import type { WaitingJobChange } from "../../store/contract/edits.ts";
import type { JobOutcome, OutcomeResult } from "../../store/contract/outcomes.ts";
import type { StateJob } from "../../store/contract/job.ts";
import type { StoreStep } from "../history.ts";
import { type Check, type EventOf, isLasting, processOf, short } from "./check.ts";

interface Claim {
  readonly at: number;
  readonly jobId: string;
  readonly version: number;
  readonly workerId: string;
  attempt: number;
  readonly life: number;
  executed: boolean;
  /** Its own worker has recorded how it ended. */
  ended: boolean;
}

/** What was recorded about this job by the call, if the call was one that records outcomes. */
const outcomeKind = ({ method, call, result }: StoreStep, jobId: string): JobOutcome["kind"] | undefined => {
  if (method !== "commitOutcomes") return undefined;
  const outcomes = call["outcomes"] as readonly JobOutcome[];
  return outcomes.find(
    (outcome, index) => outcome.jobId === jobId && (result as OutcomeResult[])[index]!.kind === "applied",
  )?.kind;
};

/** The last attempt of this job, if the call has recorded that it begins. */
const begunIn = ({ call }: StoreStep, jobId: string): number | undefined =>
  (call["leases"] as readonly LeaseRenewal[]).find((lease) => lease.jobId === jobId)?.lastAttempt;

/** Whether the call has redriven the job, or given it another input: it then begins anew. */
const beginsAnew = (before: StateJob, { method, call }: StoreStep): boolean => {
  if (method === "redriveJobs") return before.status === "failed";
  if (method === "updateWaitingJobs") return (call["change"] as WaitingJobChange).input !== undefined;
  return method === "createJobs";
};

/** Follows each job's claims and the executions they led to. A life of a job lasts until it begins anew or is deleted. */
export const executionsAreBounded: Check = {
  invariant: "6 executions are bounded and every repetition is explained",
  watch: ({ plan, table, faultsOf, report }) => {
    const claims = new Map<string, Claim[]>();
    const lives = new Map<string, number>();
    /** Executions since the latest start or redrive, without released ones. */
    const counted = new Map<string, number>();

    const claimsOf = (jobId: string): Claim[] => {
      const list = claims.get(jobId) ?? [];
      claims.set(jobId, list);
      return list;
    };

    const beginLife = (jobId: string): void => {
      lives.set(jobId, (lives.get(jobId) ?? 0) + 1);
      counted.set(jobId, 0);
    };

    const onClaimed = (row: StateJob, at: number): void => {
      const life = lives.get(row.id) ?? 0;
      if (row.attempt > row.maxAttempts && row.expiredLeases <= row.attempt - row.maxAttempts)
        report(`attempt ${row.attempt} of ${row.maxAttempts} of ${short(row.id)}`);
      claimsOf(row.id).push({
        at,
        jobId: row.id,
        version: row.leaseVersion,
        workerId: row.leasedBy!,
        attempt: row.attempt,
        life,
        executed: false,
        ended: false,
      });
    };

    /**
     * A lease that runs out although its holder lives was not kept, unless something lasting went wrong, or the very
     * calls that keep leases failed again and again. Fewer errors than that are made up for by repeating the call.
     */
    const onExpired = (row: StateJob): void => {
      const claim = claimsOf(row.id).at(-1);
      if (!claim || row.leasedBy === null) return;
      const leaseMs = Math.max(plan.leaseMs, row.leaseMs ?? 0);
      const process = processOf(row.leasedBy);
      if (faultsOf(process, claim.at - leaseMs, row.leasedUntil! + leaseMs).some(isLasting)) return;
      const failures = (method: string, from: number, to: number): number =>
        faultsOf(process, from, to).filter(({ description }) => description.startsWith(method)).length;
      // Two leases back: a worker that has given up on a lease does not take back a renewal that succeeds too late.
      if (failures("renewLeases", row.leasedUntil! - 2 * leaseMs, row.leasedUntil!) >= 2) return;
      // The worker has given up on a claim that was applied, and knows nothing of the jobs it got.
      if (failures("claimJobs", claim.at - leaseMs, claim.at + leaseMs) >= 3) return;
      report(`the lease of ${row.leasedBy} on ${short(row.id)} ran out without any cause`);
    };

    /** By how much each call may change `attempt`. */
    const expectedDelta = (before: StateJob, after: StateJob, step: StoreStep): number => {
      if (after.leaseVersion !== before.leaseVersion) return 1;
      if (beginsAnew(before, step)) return -before.attempt;
      if (step.method === "renewLeases") return (begunIn(step, after.id) ?? before.attempt) - before.attempt;
      return before.status === "running" && outcomeKind(step, after.id) === "release" ? -1 : 0;
    };

    const onChanged = (before: StateJob, after: StateJob, step: StoreStep): void => {
      const claim = claimsOf(after.id).at(-1);
      if (claim && outcomeKind(step, after.id) !== undefined && after.leaseToken !== null) claim.ended = true;
      const delta = after.attempt - before.attempt;
      const expected = expectedDelta(before, after, step);
      if (delta !== expected)
        report(`${step.method} changed the attempt of ${short(after.id)} by ${delta}, not ${expected}`);
      if (claim && step.method === "renewLeases") claim.attempt = after.attempt;
      const isReleased = outcomeKind(step, after.id) === "release";
      // Given back: the execution, if there was one, does not count.
      if (isReleased && claim?.executed) counted.set(after.id, (counted.get(after.id) ?? 0) - 1);
    };

    const onStarted = (start: EventOf<"execution_started">): void => {
      const { jobId, workerId, attempt } = start;
      const matching = claimsOf(jobId).filter(
        (claim) => claim.workerId === workerId && claim.attempt === attempt,
      );
      const claim = matching.findLast(({ executed }) => !executed);
      if (!claim) {
        report(
          `${workerId} runs attempt ${attempt} of ${short(jobId)} ${matching.length === 0 ? "without a claim" : "twice"}`,
        );
        return;
      }
      claim.executed = true;
      if (claim.ended)
        report(`${workerId} begins attempt ${attempt} of ${short(jobId)} after it has recorded its end`);
      const row = table.rows.get(jobId);
      const limit = Math.min(row?.maxAttempts ?? Infinity, plan.maxAttempts ?? Infinity);
      if (claim.life !== (lives.get(jobId) ?? 0)) return;
      const count = (counted.get(jobId) ?? 0) + 1;
      counted.set(jobId, count);
      if (count > limit) report(`execution ${count} of at most ${limit} of ${short(jobId)}`);
    };

    return {
      onStep: (step) => {
        const { at, method, changes } = step;
        for (const { before, after } of changes) {
          // The id may be that of a job that was deleted.
          if (!before && after) beginLife(after.id);
          if (!before || !after) continue;
          if (before.status === "running" && (method === "claimJobs" || method === "reapExpiredLeases"))
            onExpired(before);
          if (beginsAnew(before, step) && after.status !== "failed") beginLife(after.id);
          onChanged(before, after, step);
          if (after.leaseVersion !== before.leaseVersion) onClaimed(after, at);
        }
      },
      onEvent: (event) => {
        if (event.kind === "execution_started") onStarted(event);
      },
    };
  },
};
