import { assertLeaseDuration, findRefusal, refuse } from "../store/rules/checks.ts";
import { checkUpdate, expiresAt, updated } from "../store/rules/edits.ts";
import { expired, expiredAttempt, reaped, renewed } from "../store/rules/transitions.ts";
import type { ExpiredJob } from "../store/contract/edits.ts";
import type { ReapedJob } from "../store/contract/claims.ts";
import { failDependants } from "./dependants.ts";
import { stopGroup } from "./groups.ts";
import { recordAttempt } from "./history.ts";
import { deleteIdleGroups } from "./limits.ts";
import { type Operation, sequenceOf, update } from "./rows.ts";

export const renewLeases: Operation<"renewLeases"> = (rows, { leases }, now) => {
  for (const { leaseMs } of leases) assertLeaseDuration(leaseMs);
  return leases.map((lease) => {
    const record = rows.jobs.get(lease.jobId);
    if (record === undefined) return refuse("not_found", undefined);
    const refusal = findRefusal(record.row, lease.leaseToken, now);
    if (refusal !== undefined) return refusal;
    update(rows, record, renewed(record.row, lease, now));
    return { kind: "renewed", leasedUntil: now + lease.leaseMs };
  });
};

// The open transaction is the only writer, so every row is locked already.

export const lockHeldJobs: Operation<"lockHeldJobs"> = (rows, { leases }, now) =>
  leases.map(({ jobId, leaseToken }) => {
    const row = rows.jobs.get(jobId)?.row;
    if (row === undefined) return refuse("not_found", undefined);
    return findRefusal(row, leaseToken, now) ?? { kind: "locked" };
  });

export const lockSequence: Operation<"lockSequence"> = (rows, { sequenceId }) => sequenceOf(rows, sequenceId);

export const reapExpiredLeases: Operation<"reapExpiredLeases"> = (rows, call, now) => {
  deleteIdleGroups(rows, now);
  const jobs: ReapedJob[] = [];
  while (jobs.length < call.limit) {
    const record = rows.leases.first();
    if (record === undefined || (record.row.leasedUntil ?? 0) > now) break;
    const previouslyLeasedBy = record.row.leasedBy;
    const attempt = expiredAttempt(record.row);
    update(rows, record, reaped(record.row, call, now));
    recordAttempt(rows, record, attempt, call.fingerprint ?? null);
    const { row } = record;
    if (row.status === "failed") stopGroup(rows, row);
    const cascaded = row.status === "failed" ? failDependants(rows, row.sequenceId, now) : [];
    jobs.push({ job: row, previouslyLeasedBy, cascaded });
  }
  return jobs;
};

export const expireWaitingJobs: Operation<"expireWaitingJobs"> = (rows, { limit, error }, now) => {
  const jobs: ExpiredJob[] = [];
  while (jobs.length < limit) {
    const record = rows.expiring.first();
    if (record === undefined || expiresAt(record.row)! > now) break;
    update(rows, record, expired(record.row, error, now));
    jobs.push({ job: record.row, cascaded: failDependants(rows, record.row.sequenceId, now) });
  }
  return jobs;
};

export const updateWaitingJobs: Operation<"updateWaitingJobs"> = (rows, { jobIds, change }, now) => {
  const changed = new Set<string>();
  return jobIds.map((jobId) => {
    const record = rows.jobs.get(jobId);
    const refusal = checkUpdate(record?.row, change);
    if (record === undefined || refusal !== undefined)
      return { jobId, kind: refusal!, job: record?.row ?? null };
    if (!changed.has(jobId)) update(rows, record, updated(record.row, change, now));
    changed.add(jobId);
    return { jobId, kind: "changed", job: record.row };
  });
};
