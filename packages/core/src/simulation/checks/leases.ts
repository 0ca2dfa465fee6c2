import type { HeldLease, LockResult } from "../../store/contract/claims.ts";
import type { JobOutcome, OutcomeResult } from "../../store/contract/outcomes.ts";
import type { StateJob } from "../../store/contract/job.ts";
import type { RowChange } from "../history.ts";
import { type Check, short } from "./check.ts";

const isClaim = ({ before, after }: RowChange): boolean =>
  before !== undefined && after !== undefined && after.leaseVersion !== before.leaseVersion;

/** What a job must be to be claimed. */
const isClaimable = (row: StateJob, at: number): boolean =>
  row.status === "pending" ? row.scheduledAt <= at : row.status === "running" && (row.leasedUntil ?? 0) <= at;

export const leasesNeverOverlap: Check = {
  invariant: "3 leases never overlap, versions rise by one",
  watch: ({ report }) => {
    /** The request each token came with. One whose reply was lost is made again with the same token, and may arrive twice. */
    const requestOf = new Map<unknown, unknown>();
    return {
      onStep: ({ at, method, changes, call, result }) => {
        for (const change of changes) {
          const { before, after } = change;
          if (before?.status !== "running" && after?.status === "running" && !isClaim(change)) {
            report(`job ${short(after.id)} runs, but its version did not rise`);
          }
          if (!isClaim(change)) continue;
          const id = short(after!.id);
          if (method !== "claimJobs") report(`${method} changed the lease version of ${id}`);
          if (after!.leaseVersion !== before!.leaseVersion + 1) {
            report(`the version of ${id} went from ${before!.leaseVersion} to ${after!.leaseVersion}`);
          }
          if (!isClaimable(before!, at))
            report(`${id} was claimed while ${before!.status} until ${before!.leasedUntil}`);
          if (!(after!.leasedUntil! > at)) report(`the lease on ${id} ends before it begins`);
          if (after!.leaseToken !== call["leaseToken"]) report(`${id} did not get the token of its claim`);
        }
        if (method === "reapExpiredLeases") {
          for (const { before } of changes) {
            if (before?.status === "running" && before.leasedUntil! > at)
              report(`the valid lease on ${short(before.id)} was reaped`);
          }
        }
        if (method !== "claimJobs") return;
        const token = call["leaseToken"];
        if ((requestOf.get(token) ?? call["requests"]) !== call["requests"])
          report(`a claim used the token of another`);
        requestOf.set(token, call["requests"]);
        const claimed = changes.filter(isClaim).length;
        const limit = call["limit"] as number;
        if (claimed > limit) report(`a claim of ${limit} took ${claimed} jobs`);
        if ((result as unknown[]).length < claimed) report(`a claim took ${claimed} jobs and returned fewer`);
      },
    };
  },
};

const statusAfter = { complete: "completed", retry: "pending", release: "pending", fail: "failed" } as const;

/** The job is as this outcome would leave it, and still carries its token. */
const isRepetition = (row: StateJob, { kind, leaseToken }: JobOutcome): boolean =>
  leaseToken !== null && row.leaseToken === leaseToken && row.status === statusAfter[kind];

/** Changes that the holder of a lease may make only while it is valid. */
const heldFields = [
  "status",
  "leasedUntil",
  "progress",
  "attempt",
  "output",
  "completedAt",
  "failedAt",
] as const;

export const staleLeasesChangeNothing: Check = {
  invariant: "4 a stale lease changes nothing",
  watch: ({ table, report }) => {
    /** Tokens that the open transaction has locked its jobs by. */
    let locked = new Set<string>();

    const isValid = (row: StateJob, token: string | null, at: number): boolean =>
      row.status === "running" &&
      row.leaseToken === token &&
      ((row.leasedUntil ?? 0) > at || locked.has(`${row.id} ${token}`));

    const checkHolder = (change: RowChange, token: string | null, at: number, method: string): void => {
      const { before, after } = change;
      if (!before || !after || heldFields.every((field) => before[field] === after[field])) return;
      if (!isValid(before, token, at)) report(`${method} with a stale lease changed ${short(before.id)}`);
    };

    return {
      onStep: ({ at, method, call, result, changes }) => {
        const changeOf = new Map(changes.map((change) => [change.before?.id ?? change.after?.id, change]));
        if (method === "lockHeldJobs") {
          for (const [index, { kind }] of (result as LockResult[]).entries()) {
            const { jobId, leaseToken } = (call["leases"] as HeldLease[])[index]!;
            if (kind === "locked") locked.add(`${jobId} ${leaseToken}`);
          }
        }
        if (method === "renewLeases") {
          for (const { jobId, leaseToken } of call["leases"] as { jobId: string; leaseToken: string }[]) {
            const change = changeOf.get(jobId);
            if (change) checkHolder(change, leaseToken, at, method);
          }
        }
        if (method === "commitOutcomes") {
          const written = new Set<string>();
          for (const [index, { kind }] of (result as OutcomeResult[]).entries()) {
            if (kind === "applied") written.add((call["outcomes"] as JobOutcome[])[index]!.jobId);
          }
          for (const [index, outcome] of (call["outcomes"] as JobOutcome[]).entries()) {
            const change = changeOf.get(outcome.jobId);
            const { kind } = (result as OutcomeResult[])[index]!;
            const row = table.rows.get(outcome.jobId);
            if (kind === "refused" && row && !change && isRepetition(row, outcome)) {
              report(
                `an outcome of ${short(outcome.jobId)} that was written before was refused when it was repeated`,
              );
            }
            if (!change) {
              if (kind === "applied")
                report(`an outcome of ${short(outcome.jobId)} was reported as written and was not`);
              continue;
            }
            if (kind !== "applied") {
              if (!written.has(outcome.jobId) && change.before?.status === "running")
                report(`an outcome of ${short(outcome.jobId)} was ${kind} and yet changed it`);
            } else if (outcome.leaseToken !== null) checkHolder(change, outcome.leaseToken, at, method);
          }
        }
      },
      onEvent: (event) => {
        if (event.kind === "applied" && locked.size > 0) locked = new Set();
      },
    };
  },
};
