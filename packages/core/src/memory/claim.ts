import type { ClaimCall } from "../store/contract/claims.ts";
import type { StateJob } from "../store/contract/job.ts";
import { assertLeaseDuration, remainingLimits, runnableFrom } from "../store/rules/checks.ts";
import { claimed, expiredAttempt } from "../store/rules/transitions.ts";
import { byClaimOrder, byPriority, dueIn, type JobRecord, type QueueType } from "./groups.ts";
import { typesOf, usesLimits } from "./groups.ts";
import { recordAttempt } from "./history.ts";
import { chooseFairly, nextClaimableAt } from "./limits.ts";
import { type Operation, type Rows, update } from "./rows.ts";

/** The jobs that this token holds already. */
const findClaimedByToken = ({ leases }: Rows, leaseToken: string, now: number): StateJob[] =>
  [...leases]
    .filter(({ row }) => row.leaseToken === leaseToken && (row.leasedUntil ?? 0) > now)
    .sort((a, b) => b.row.priority - a.row.priority || a.order - b.order)
    .map(({ row }) => row);

/** The job of a type without groups that a claim takes first. */
const headOf = ({ groups, leased }: QueueType, call: ClaimCall, now: number): JobRecord | undefined => {
  const ungrouped = groups.get(null)?.pending;
  const [pending] = ungrouped === undefined ? [] : dueIn(ungrouped, now);
  for (const expired of dueIn(leased, now)) {
    if (runnableFrom(expired.row, call.maxAttempts) === undefined) continue;
    return pending === undefined || byPriority(expired, pending) < 0 ? expired : pending;
  }
  return pending;
};

export const claimJobs: Operation<"claimJobs"> = (rows, call, now) => {
  assertLeaseDuration(call.leaseMs);
  const jobs = call.isRepeat === true ? findClaimedByToken(rows, call.leaseToken, now) : [];
  const limits = remainingLimits(call.requests, jobs);
  const take = (record: JobRecord, limited = false): void => {
    if (record.row.status === "running") recordAttempt(rows, record, expiredAttempt(record.row));
    const row = claimed(record.row, call, now);
    update(rows, record, limited ? { ...row, limited } : row);
    jobs.push(record.row);
  };
  const takeInOrder = (types: readonly QueueType[], limit: number): void => {
    const heads = types.map((type) => headOf(type, call, now));
    for (let taken = 0; taken < limit; taken += 1) {
      let first = -1;
      for (const [index, head] of heads.entries())
        if (head !== undefined && (first < 0 || byPriority(head, heads[first]!) < 0)) first = index;
      if (first < 0) return;
      take(heads[first]!);
      heads[first] = headOf(types[first]!, call, now);
    }
  };
  for (const [index, { queue: name, typeNames }] of call.requests.entries()) {
    const limit = Math.min(limits[index]!, call.limit - jobs.length);
    const queue = rows.queues.get(name);
    if (queue === undefined || limit <= 0) continue;
    const types = typesOf(queue, typeNames);
    if (!usesLimits(queue)) takeInOrder(types, limit);
    else
      for (const { job, countedIn } of chooseFairly(rows, queue, types, limit, call, now))
        take(job, countedIn !== 0);
  }
  return jobs;
};

export const nextRunnableIn: Operation<"nextRunnableIn"> = ({ queues }, { requests, maxAttempts }, now) => {
  const times = requests.map(({ queue, typeNames }) =>
    nextClaimableAt(queues.get(queue), typesOf(queues.get(queue), typeNames), maxAttempts, now),
  );
  const next = Math.min(...times);
  return next === Infinity ? null : Math.max(0, next - now);
};

/** Counts the jobs that run before this one when it is due, as far as that is known now. */
export const countAhead: Operation<"countAhead"> = (
  { jobs, queues },
  { jobId, cap, typeNames, exceptTypeNames = [] },
  now,
) => {
  const job = jobs.get(jobId);
  if (job?.row.status !== "pending") return null;
  const { queue, typeName, group, scheduledAt } = job.row;
  let ahead = 0;
  const wanted = typesOf(queues.get(queue), group === null ? (typeNames ?? null) : [typeName]);
  for (const { groups, leased, typeName: other } of wanted) {
    if (exceptTypeNames.includes(other)) continue;
    const place = groups.get(group);
    for (const other of place === undefined ? [] : dueIn(place.pending, Math.max(now, scheduledAt))) {
      if (ahead === cap || byClaimOrder(other, job) >= 0) break;
      ahead += 1;
    }
    // A lease that has not expired will probably end with its job, not in another claim.
    for (const other of dueIn(leased, now))
      if (other.place === place && byClaimOrder(other, job) < 0 && runnableFrom(other.row) !== undefined)
        ahead += 1;
  }
  return Math.min(ahead, cap);
};
