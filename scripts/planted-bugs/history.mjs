// Mistakes in what the in-process store keeps of the past. `find` must occur exactly once in the source file.

import { plantIn } from "./plant-in.mjs";

const { bugs, plant } = plantIn("packages/core/src/memory");
export const historyBugs = bugs;

plant("operations/commit-outcomes.ts", [
  [
    "an attempt is written for a refused outcome",
    [
      "if (record === undefined || rejection !== undefined) return rejection!;",
      `if (record === undefined || rejection !== undefined) {
    const attempt = attemptOf(outcome, now);
    if (record !== undefined && attempt !== undefined && rejection?.kind === "refused") recordAttempt(store, record, attempt);
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
    if (record !== undefined && attempt !== undefined && rejection?.kind === "repeated") recordAttempt(store, record, attempt);
    return rejection!;
  }`,
    ],
  ],
  [
    "an attempt is written before the job has failed",
    [
      "  store.update(record, afterOutcome(record.row, outcome, now));\n  const attempt = attemptOf(outcome, now);\n  if (attempt !== undefined) recordAttempt(store, record, attempt);",
      "  const attempt = attemptOf(outcome, now);\n  if (attempt !== undefined) recordAttempt(store, record, attempt);\n  store.update(record, afterOutcome(record.row, outcome, now));",
    ],
  ],
]);

plant("operations/reap-expired-leases.ts", [
  ["reaping writes no attempt", ["    recordAttempt(store, record, attempt);\n", ""]],
  [
    "reaping writes the attempt of the job as it is afterwards",
    [
      "recordAttempt(store, record, attempt);",
      "recordAttempt(store, record, expiredAttempt(record.row, call));",
    ],
  ],
]);

plant("operations/claim-jobs.ts", [
  [
    "a claim of an expired lease writes no attempt",
    ['if (record.row.status === "running") recordAttempt', "if (false) recordAttempt"],
  ],
  [
    "a claim of a pending job writes an attempt",
    ['if (record.row.status === "running") recordAttempt', "if (record.row.attempt > 0) recordAttempt"],
  ],
]);

plant("take-in-turn.ts", [
  [
    "a claim under rules writes no attempt for an expired lease",
    ["    recordAttempt(store, record, expiredAttempt(record.row));\n", ""],
  ],
]);

plant("job-history.ts", [
  ["one attempt too many is kept", ["mostAttempts - 1", "mostAttempts"]],
  [
    "the earliest attempts are kept",
    [
      "[attempt, ...attempts.slice(0, mostAttempts - 1)]",
      "attempts.length < mostAttempts ? [attempt, ...attempts] : attempts",
    ],
  ],
  [
    "the earliest attempt comes first",
    ["[attempt, ...attempts.slice(0, mostAttempts - 1)]", "[...attempts.slice(1 - mostAttempts), attempt]"],
  ],
  [
    "a retry gives a fingerprint",
    ['record.row.status === "failed" ? attempt.fingerprint : null', "attempt.fingerprint"],
  ],
  [
    "a fingerprint survives a redrive",
    ["if (history !== null && history.fingerprint !== null)", "if (false)"],
  ],
  [
    "a redrive takes the attempts away",
    [
      "  const { history } = record;\n  if (history !== null && history.fingerprint !== null)\n    store.setHistory(record, { ...history, fingerprint: null });",
      "  store.setHistory(record, null);",
    ],
  ],
]);

plant("job-store.ts", [
  ["a rollback leaves the attempts", ["        record.history = history;\n", ""]],
  [
    "a change of attempts alone is not remembered for a rollback",
    ["    remember(record, record.row);\n    record.history = history;", "    record.history = history;"],
  ],
]);

plant("operations/reports.ts", [
  ["a report of old counts is stored", ["from >= now - maxAgeMs", "true"]],
  ["a report at the very bound is dropped", ["from >= now - maxAgeMs", "from > now - maxAgeMs"]],
  [
    "a report removes what it does not name",
    [
      "for (const rollup of recent) rows.set(keyOf(rollup), { ...rollup });",
      "for (const [key, row] of rows) if (row.reporterId === reporter.id) rows.delete(key);\n      for (const rollup of recent) rows.set(keyOf(rollup), { ...rollup });",
    ],
  ],
  [
    "a later report of a cause replaces the first",
    ["rows.get(cause.fingerprint) ?? { ...cause, firstSeenAt: now }", "{ ...cause, firstSeenAt: now }"],
  ],
  ["reporters of the same second are cut off", ["seenAt >= seenFrom", "seenAt > seenFrom"]],
  ["rollups are read up to the bound, inclusive", ["rollup.from < before)\n", "rollup.from <= before)\n"]],
  ["a fold ignores a row that has changed", ["?.counts === rollup.counts", " !== undefined"]],
  [
    "a fold ignores a row that is gone",
    [
      "rollups.get(keyOf(rollup))?.counts === rollup.counts",
      "(rollups.get(keyOf(rollup))?.counts ?? rollup.counts) === rollup.counts",
    ],
  ],
  [
    "a fold overwrites a row that exists",
    ["if (!areUnchanged || !areFree) return false;", "if (!areUnchanged) return false;"],
  ],
  [
    "a fold cannot put what it removes",
    ["removed.has(keyOf(rollup)) || !rollups.has(keyOf(rollup))", "!rollups.has(keyOf(rollup))"],
  ],
  [
    "two deployments share a row",
    [
      "JSON.stringify([width, from, queue, typeName, deployment, reporterId])",
      "JSON.stringify([width, from, queue, typeName, reporterId])",
    ],
  ],
  [
    "the limit of what is forgotten counts rollups alone",
    [".filter(isOld).slice(0, limit - silent.length)", ".filter(isOld).slice(0, limit)"],
  ],
  [
    "a cause that comes up again seems not to",
    ["{ ...known, lastSeenAt: now }", "{ lastSeenAt: now, ...known }"],
  ],
  ["the causes of failed jobs are forgotten", ["return job !== undefined;", "return false;"]],
]);

plant("operations/list-causes.ts", [
  ["the failed jobs with the smallest ids are looked at", [".slice(0, cap)", ".slice(-cap)"]],
  ["just as many as the cap seem more", ["matching.length > cap", "matching.length >= cap"]],
  ["the example is the one that failed first", ["      group.exampleId = id;\n", ""]],
]);

plant("transactions.ts", [["a rollback leaves reports", ["        tables.restore(rows);\n", ""]]]);

plant("job-filter.ts", [
  [
    "a filter by fingerprint is ignored",
    ["isOneOf(filter.fingerprints, history?.fingerprint ?? null)", "true"],
  ],
  ["a filter by worker is ignored", ["isOneOf(filter.leasedBy, row.leasedBy)", "true"]],
]);
