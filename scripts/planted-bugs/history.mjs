// Mistakes in what the in-process store keeps of the past. `find` must occur exactly once in the source file.

import { plantIn } from "./plant-in.mjs";

const { bugs, plant } = plantIn("packages/core/src/memory");
export const historyBugs = bugs;

plant("outcomes.ts", [
  [
    "an attempt is written for a refused outcome",
    [
      "if (record === undefined || rejection !== undefined) return rejection!;",
      `if (record === undefined || rejection !== undefined) {
    const attempt = attemptOf(outcome, now);
    if (record !== undefined && attempt !== undefined && rejection?.kind === "refused") recordAttempt(rows, record, attempt);
    return rejection!;
  }`,
    ],
  ],
  [
    "an attempt is written again for a repeated outcome",
    [
      "if (record === undefined || rejection !== undefined) return rejection!;",
      `if (record === undefined || rejection !== undefined) {
    const attempt = attemptOf(outcome, now);
    if (record !== undefined && attempt !== undefined && rejection?.kind === "repeated") recordAttempt(rows, record, attempt);
    return rejection!;
  }`,
    ],
  ],
  [
    "an attempt is written before the job has failed",
    [
      "  update(rows, record, afterOutcome(record.row, outcome, now));\n  if (attempt !== undefined) recordAttempt(rows, record, attempt);",
      "  if (attempt !== undefined) recordAttempt(rows, record, attempt);\n  update(rows, record, afterOutcome(record.row, outcome, now));",
    ],
  ],
  [
    "a job that is cancelled while it runs loses its attempt",
    [
      "  if (attempt !== undefined) recordAttempt(rows, record, attempt);\n  return { sequenceId",
      "  return { sequenceId",
    ],
  ],
  [
    "a job that is completed from outside loses its attempt",
    ["interruptedAttempt(record.row, outcome.kind, now)", "undefined"],
  ],
  [
    "a fingerprint survives a redrive",
    ["            assign(rows.journal, recordOf(job), { fingerprint: null });\n", ""],
  ],
  [
    "a redrive takes the attempts away",
    [
      "assign(rows.journal, recordOf(job), { fingerprint: null });",
      "assign(rows.journal, recordOf(job), { fingerprint: null, attempts: [] });",
    ],
  ],
]);

plant("leases.ts", [
  [
    "reaping writes no attempt",
    ["    recordAttempt(rows, record, attempt, call.fingerprint ?? null);\n", ""],
  ],
  [
    "reaping writes the attempt of the job as it is afterwards",
    [
      "recordAttempt(rows, record, attempt, call.fingerprint ?? null);",
      "recordAttempt(rows, record, expiredAttempt(record.row), call.fingerprint ?? null);",
    ],
  ],
]);

plant("claim.ts", [
  [
    "a claim of an expired lease writes no attempt",
    ['if (record.row.status === "running") recordAttempt', "if (false) recordAttempt"],
  ],
  [
    "a claim of a pending job writes an attempt",
    ['if (record.row.status === "running") recordAttempt', "if (record.row.attempt > 0) recordAttempt"],
  ],
]);

plant("limits.ts", [
  [
    "a claim under rules writes no attempt for an expired lease",
    ["    recordAttempt(rows, record, expiredAttempt(record.row));\n", ""],
  ],
]);

plant("groups.ts", [
  [
    "a rollback leaves the attempts",
    [
      "remember(journal, () => assign(journal, target, before));",
      'if (!("attempts" in change)) remember(journal, () => assign(journal, target, before));',
    ],
  ],
  [
    "a rollback leaves the fingerprint",
    [
      "remember(journal, () => assign(journal, target, before));",
      'remember(journal, () => assign(journal, target, { ...before, ...("fingerprint" in change ? { fingerprint: change["fingerprint" as keyof T] } : {}) }));',
    ],
  ],
]);

plant("history.ts", [
  ["one attempt too many is kept", ["mostAttempts - 1", "mostAttempts"]],
  [
    "the earliest attempts are kept",
    [
      "[attempt, ...record.attempts.slice(0, mostAttempts - 1)]",
      "record.attempts.length < mostAttempts ? [attempt, ...record.attempts] : record.attempts",
    ],
  ],
  [
    "the earliest attempt comes first",
    [
      "[attempt, ...record.attempts.slice(0, mostAttempts - 1)]",
      "[...record.attempts.slice(1 - mostAttempts), attempt]",
    ],
  ],
  ["a retry gives a fingerprint", ['record.row.status === "failed" ? fingerprint : null', "fingerprint"]],
  ["a report of old counts is stored", ["from >= now - maxAgeMs", "true"]],
  ["a report at the very bound is dropped", ["from >= now - maxAgeMs", "from > now - maxAgeMs"]],
  [
    "a report removes what it does not name",
    [
      "  for (const bucket of buckets.filter(",
      "  for (const [key, row] of rows.buckets) if (row.processId === reporter.id) put(rows, rows.buckets, key, undefined);\n  for (const bucket of buckets.filter(",
    ],
  ],
  [
    "a later report of a cause replaces the first",
    [
      "rows.causes.get(cause.fingerprint) ?? { ...cause, firstSeenAt: now }",
      "{ ...cause, firstSeenAt: now }",
    ],
  ],
  ["processes of the same second are cut off", ["seenAt >= seenFrom", "seenAt > seenFrom"]],
  ["buckets are read up to the bound, inclusive", ["from < call.before)", "from <= call.before)"]],
  ["a roll-up ignores a row that has changed", ["?.counts === bucket.counts", " !== undefined"]],
  [
    "a roll-up ignores a row that is gone",
    [
      "buckets.get(keyOf(bucket))?.counts === bucket.counts",
      "(buckets.get(keyOf(bucket))?.counts ?? bucket.counts) === bucket.counts",
    ],
  ],
  [
    "a roll-up overwrites a row that exists",
    ["if (!areUnchanged || !areFree) return false;", "if (!areUnchanged) return false;"],
  ],
  [
    "a roll-up cannot put what it removes",
    ["removed.has(keyOf(bucket)) || !buckets.has(keyOf(bucket))", "!buckets.has(keyOf(bucket))"],
  ],
  [
    "two deployments share a row",
    [
      "JSON.stringify([bucketMs, from, queue, typeName, deployment, processId])",
      "JSON.stringify([bucketMs, from, queue, typeName, processId])",
    ],
  ],
  [
    "the limit of what is deleted counts each table alone",
    ["      if (left === 0) return;\n", "      if (left === 0) left = call.limit;\n"],
  ],
  [
    "a cause that comes up again seems not to",
    ["{ ...known, lastSeenAt: now }", "{ lastSeenAt: now, ...known }"],
  ],
  ["the causes of failed jobs are deleted", [" && !inUse.has(cause.fingerprint)", ""]],
  ["the failed jobs with the smallest ids are read", [".slice(0, cap)", ".slice(-cap)"]],
  ["just as many as the cap seem more", ["matching.length > cap", "matching.length >= cap"]],
  [
    "the example is the one that failed first",
    ["lastFailedAt: failedAt!, exampleId }", "lastFailedAt: failedAt!, exampleId: first.id }"],
  ],
]);

plant("rows.ts", [
  ["a rollback leaves reports", ["  remember(rows.journal, () => put(rows, table, key, before));\n", ""]],
]);

plant("reads.ts", [
  ["a filter by fingerprint is ignored", ["isOneOf(filter.fingerprints, fingerprint)", "true"]],
  ["a filter by worker is ignored", ["isOneOf(filter.leasedBy, row.leasedBy)", "true"]],
]);
