import type { BucketKey, FailedJobs, StateAttempt } from "../store/contract/history.ts";
import { mostAttempts } from "../store/contract/history.ts";
import { byBytes } from "../store/rules/group-pages.ts";
import { filtered, groupBy, isOneOf } from "./reads.ts";
import { assign, type JobRecord } from "./groups.ts";
import { type Operation, put, type Rows } from "./rows.ts";

/** Adds an attempt. If the job has failed with it, the job gets the fingerprint. */
export const recordAttempt = (
  rows: Rows,
  record: JobRecord,
  attempt: StateAttempt,
  fingerprint: string | null = attempt.fingerprint,
): void => {
  assign(rows.journal, record, {
    attempts: [attempt, ...record.attempts.slice(0, mostAttempts - 1)],
    fingerprint: record.row.status === "failed" ? fingerprint : null,
  });
};

export const listAttempts: Operation<"listAttempts"> = ({ jobs }, { jobIds }) =>
  jobIds.map((id) => [...(jobs.get(id)?.attempts ?? [])]);

export const listCauses: Operation<"listCauses"> = (rows, { cap, everyMs, ...call }) => {
  const { queues, typeNames, groups, recurringJobIds } = call;
  const filter = { statuses: ["failed"], queues, typeNames, groups, recurringJobIds } as const;
  const matching = [...filtered(rows, filter)].sort((a, b) => byBytes(b.id, a.id));
  const failed = groupBy(matching.slice(0, cap), ({ row, fingerprint }) => {
    const bucket = everyMs === undefined ? null : Math.floor(row.failedAt! / everyMs);
    return [fingerprint, row.queue, row.typeName, row.failureReason, bucket];
  }).map((group): FailedJobs => {
    const byFailure = group.sort((a, b) => a.row.failedAt! - b.row.failedAt! || byBytes(a.id, b.id));
    const [first, { id: exampleId, row, fingerprint }] = [byFailure[0]!, byFailure.at(-1)!];
    const { queue, typeName, failureReason, failedAt } = row;
    const times = { firstFailedAt: first.row.failedAt!, lastFailedAt: failedAt!, exampleId };
    return { fingerprint, queue, typeName, reason: failureReason!, count: group.length, ...times };
  });
  const fingerprints = new Set(failed.flatMap(({ fingerprint }) => fingerprint ?? []));
  return {
    failed,
    causes: [...fingerprints].flatMap((fingerprint) => rows.causes.get(fingerprint) ?? []),
    capped: matching.length > cap,
  };
};

const keyOf = ({ bucketMs, from, queue, typeName, deployment, processId }: BucketKey): string =>
  JSON.stringify([bucketMs, from, queue, typeName, deployment, processId]);

export const writeReport: Operation<"writeReport"> = (rows, call, now) => {
  const { reporter, buckets, causes, maxAgeMs } = call;
  put(rows, rows.processes, reporter.id, { ...reporter, seenAt: now });
  for (const bucket of buckets.filter(({ from }) => from >= now - maxAgeMs))
    put(rows, rows.buckets, keyOf(bucket), { ...bucket });
  for (const cause of causes) {
    const known = rows.causes.get(cause.fingerprint) ?? { ...cause, firstSeenAt: now };
    put(rows, rows.causes, cause.fingerprint, { ...known, lastSeenAt: now });
  }
  return now;
};

export const listProcesses: Operation<"listProcesses"> = ({ processes }, { seenFrom, limit }) =>
  [...processes.values()]
    .filter(({ seenAt }) => seenAt >= seenFrom)
    .sort((a, b) => b.seenAt - a.seenAt || byBytes(a.id, b.id))
    .slice(0, limit);

const byKey = (a: BucketKey, b: BucketKey): number =>
  a.from - b.from ||
  byBytes(a.queue, b.queue) ||
  byBytes(a.typeName, b.typeName) ||
  byBytes(a.deployment, b.deployment) ||
  byBytes(a.processId, b.processId);

export const readBuckets: Operation<"readBuckets"> = ({ buckets }, call) =>
  [...buckets.values()]
    .filter(({ bucketMs, from }) => bucketMs === call.bucketMs && from >= call.from && from < call.before)
    .filter((bucket) => isOneOf(call.queues, bucket.queue) && isOneOf(call.typeNames, bucket.typeName))
    .sort(byKey)
    .slice(0, call.limit);

export const rollUpBuckets: Operation<"rollUpBuckets"> = (rows, call) => {
  const { buckets } = rows;
  const removed = new Set(call.remove.map(keyOf));
  const areUnchanged = call.remove.every((bucket) => buckets.get(keyOf(bucket))?.counts === bucket.counts);
  const areFree = call.put.every((bucket) => removed.has(keyOf(bucket)) || !buckets.has(keyOf(bucket)));
  if (!areUnchanged || !areFree) return false;
  for (const key of removed) put(rows, buckets, key, undefined);
  for (const bucket of call.put) put(rows, buckets, keyOf(bucket), { ...bucket });
  return true;
};

export const deleteOldReports: Operation<"deleteOldReports"> = (rows, call) => {
  const inUse = new Set([...filtered(rows, { statuses: ["failed"] })].map(({ fingerprint }) => fingerprint));
  let left = call.limit;
  const deleteFrom = <T>(table: Map<string, T>, isOld: (row: T) => boolean): void => {
    for (const [key, row] of table) {
      if (left === 0) return;
      if (!isOld(row)) continue;
      put(rows, table, key, undefined);
      left -= 1;
    }
  };
  deleteFrom(rows.processes, ({ seenAt }) => seenAt < call.processesBefore);
  deleteFrom(rows.buckets, ({ bucketMs, from }) =>
    call.buckets.some((bound) => bound.bucketMs === bucketMs && from < bound.before),
  );
  deleteFrom(rows.causes, (cause) => cause.lastSeenAt < call.causesBefore && !inUse.has(cause.fingerprint));
  return call.limit - left;
};
