// Every entry takes one guard, order or limit out of a command of the MongoDB store, or reverses it. `find` must occur exactly
// once in the source file.

import { plantIn } from "./plant-in.mjs";

const { bugs, plant } = plantIn("packages/mongodb/src");
export const mongodbBugs = bugs;

plant("jobs/fenced-writes.ts", [
  ["an outcome or a renewal does not check the token", ["  leaseToken: { $eq: leaseToken },\n", ""]],
  [
    "an outcome or a renewal is taken after the lease has run out",
    ['$expr: { $gt: ["$dueAt", now] }', '$expr: { $gt: ["$dueAt", null] }'],
  ],
  ["an outcome or a renewal does not check the status", ['  status: "running",\n', ""]],
  ["what a call has done is not recognised", ["isApplied: job[markField] === mark", "isApplied: false"]],
  ["what others have done is taken for one's own", ["isApplied: job[markField] === mark", "isApplied: true"]],
  [
    "a short count is taken for the whole",
    ["isComplete: matchedCount === writes.length", "isComplete: matchedCount >= 0"],
  ],
  ["a command that ran out of time counts as done", ["isComplete: false, look", "isComplete: true, look"]],
]);

plant("jobs/commit.ts", [
  ["a released job has used an attempt", ['        attempt: { $subtract: ["$attempt", 1] },\n', ""]],
  [
    "a released job forgets when it is due",
    ['outcome.schedule === null ? "$scheduledAt"', "outcome.schedule === null ? now"],
  ],
  [
    "a failed attempt does not end a run of expired leases",
    [
      "...pendingAgain(scheduledExpression(outcome.schedule, now)),\n        expiredLeases: { $literal: 0 },",
      "...pendingAgain(scheduledExpression(outcome.schedule, now)),",
    ],
  ],
  [
    "a finished job stays in line",
    ["({ dueAt: null, live: false, finishedAt: now })", "({ finishedAt: now })"],
  ],
]);

plant("jobs/commit.ts", [
  ["the end of a sequence that others wait for is not passed on", ["? { hasWaiters: false } :", "? {} :"]],
  [
    "two outcomes of one job go out together",
    ["isRepeated ? [] : outcomes.filter(isPlain)", "outcomes.filter(isPlain)"],
  ],
]);

plant("jobs/dependants.ts", [
  ["whoever starts to wait does not lock what it waits for", ["await work.touchBlockers(", "void ("]],
  [
    "cycles of blockers are not found",
    ["if (cycle !== undefined) throw new BlockerCycleError(call.jobId, cycle);", ""],
  ],
]);

plant("jobs/create.ts", [
  ["nobody waits for a continuation", ["predecessors.get(job.sequenceId)?.hasWaiters ?? false", "false"]],
  ["a key is not locked", ["  await lockKeys(work, keyIds(jobs));\n", ""]],
  [
    "the window of a deduplication does not end",
    ["earlier.row.createdAt <= work.now - windowMs", "earlier.row.createdAt <= work.now - windowMs - 1e9"],
  ],
  [
    "an id that exists is not noticed",
    ["if (taken.size > 0) throw new JobAlreadyExistsError([...taken]);", ""],
  ],
]);

plant("jobs/create.ts", [
  [
    "a job that exists is created again",
    ["throw new JobAlreadyExistsError([job.id]);", "void JobAlreadyExistsError;"],
  ],
  [
    "a job in its place is replaced",
    ['$cond: [isNew, created, "$$ROOT"]', '$cond: [true, created, "$$ROOT"]'],
  ],
]);

plant("database/transactions.ts", [
  [
    "a touch changes nothing",
    [
      "await jobs.updateMany({ _id: { $in: [...ids].sort() } }, { $inc: { touched: 1 } }, options);",
      "await jobs.updateMany({ _id: { $in: [...ids].sort() } }, { $inc: { touched: 0 } }, options);",
    ],
  ],
]);

plant("jobs/dependants.ts", [
  [
    "a blocker that was named twice counts once",
    ["dependant.blockerIds.filter((id) => id === sequenceId).length", "1"],
  ],
  [
    "the search for cycles does not lock what it walks over",
    ["      await work.touch(waiting.map(({ row }) => row.id));\n", ""],
  ],
]);

plant("jobs/claim.ts", [
  ["a claim does not count as an attempt", ['attempt: { $add: ["$attempt", 1] }', 'attempt: "$attempt"']],
  [
    "a claim does not raise the version",
    ['leaseVersion: { $add: ["$leaseVersion", 1] }', 'leaseVersion: "$leaseVersion"'],
  ],
  ["a job's own lease time is ignored", ['{ $ifNull: ["$leaseMs", leaseMs] }', "{ $literal: leaseMs }"]],
  [
    "a job is taken without looking again",
    ["_id: { $in: [...wanted] },\n    live: true,\n    $expr: condition,", "_id: { $in: [...wanted] },"],
  ],
  [
    "a repeated claim takes what others hold",
    [
      '  leaseToken: { $eq: leaseToken },\n  status: "running",\n});',
      '  leaseToken: { $ne: `${leaseToken}-` },\n  status: "running",\n});',
    ],
  ],
  ["what a repeated claim holds does not count", ["call.limit - jobs.length", "call.limit"]],
  ["a held job is tried again and again", ["for (const id of held) store.setAside.add(id);", ""]],
  ["what is left after a timeout is not taken", ["ids.filter((id) => !taken.has(id)),", "[] as string[],"]],
]);

plant("jobs/claim.ts", [
  ["lower priorities are claimed first", ["b.priority - a.priority ||", "a.priority - b.priority ||"]],
  [
    "a claim ignores its limit",
    ["return someOf(ids.slice(0, lookedAt), limit);", "return someOf(ids, limit + 100);"],
  ],
  ["jobs held here are candidates", ["      ...skipLocked(store, call),\n", ""]],
]);

plant("jobs/leases.ts", [
  [
    "a renewal waits for transactions of this process",
    ["const locked = store.sessions.lockedIds();", "const locked = new Set<string>();"],
  ],
  ["a renewal forgets the progress", ["progress: { $literal: lease.progress }", "progress: null"]],
  [
    "a lease is renewed for the reader only",
    ["changes: { leasedUntil: until, dueAt: until,", "changes: { leasedUntil: until,"],
  ],
]);

plant("jobs/leases.ts", [
  [
    "leases that hold are reaped",
    ["> work.now) return undefined;", "> work.now + 1e9) return undefined;"],
    ["dueAt: { $lte: new Date(now) }", "dueAt: { $lte: new Date(now + 1e9) }"],
  ],
  ["the reaper finds the same held jobs again", ["            store.setAside.add(id);\n", ""]],
]);

plant("jobs/deduplication.ts", [
  [
    "keys stay for ever",
    ["if ((await collections.jobs.findOne(filter, options)) !== null) continue;", "continue;"],
  ],
]);

plant("database/contention.ts", [
  ["an error is taken for a held job", ["if (!isConflict(error)) throw error;", ""]],
]);

plant("database/errors.ts", [
  [
    "a conflict is no reason to run again",
    ["parts.code === writeConflict || parts.code === noSuchTransaction", "parts.code === 0"],
  ],
]);

plant("recurring.ts", [
  [
    "a paused recurring job is due",
    ["{ paused: false, runsAt: { $gt: epoch } }", "{ runsAt: { $gt: epoch } }"],
  ],
  ["a tick comes early", ["$lte: new Date(now) } };", "$lte: new Date(now + 1) } };"]],
  [
    "a tick begins with the latest",
    ["sort: { runsAt: 1, _id: 1 }, limit", "sort: { runsAt: -1, _id: 1 }, limit"],
  ],
  [
    "times by old zone data stay",
    ['{ timeZoneVersion: { $gt: "", $lt: timeZoneVersion } }', '{ timeZoneVersion: { $lt: "" } }'],
  ],
  [
    "a clock that was set back is not noticed",
    ["{ computedAt: { $gt: new Date(now + clockToleranceMs) } },", ""],
  ],
  ["an id without a recurring job is not locked", ["await lockMissing(store, session, missing);", ""]],
  [
    "a tick does not try the locks first",
    ["const unlocked = await findUnlocked(store, others);", "const unlocked = new Set(others);"],
  ],
  [
    "a tick skips what its own transaction has locked",
    [
      "const isOwn = ({ id }: StateRecurringJob): boolean => own.has(lockId(id));",
      "const isOwn = ({ id }: StateRecurringJob): boolean => own.has(id);",
    ],
  ],
  [
    "putting again changes when it was created",
    ["$setOnInsert: { createdAt: now },", "$setOnInsert: {},"],
    ["updatedAt: now },", "updatedAt: now, createdAt: now },"],
  ],
]);

plant("jobs/edits.ts", [
  ["an update changes jobs that run", ["if (checkUpdate(stored.row, change) !== undefined) continue;", ""]],
  [
    "a job expires early",
    ["$lte: new Date(now) }, ...skipLocked", "$lte: new Date(now + 1e9) }, ...skipLocked"],
    ["?? Infinity) <= work.now", "?? Infinity) <= work.now + 1e9"],
  ],
  ["jobs that expired last fail first", ["sort: { expiresAt: 1 }", "sort: { expiresAt: -1 }"]],
  ["an expired blocker leaves its dependants blocked", ["await failDependants(work, job)", "[]"]],
]);

plant("jobs/claim.ts", [["a job that has begun expires", ["        expiresAt: null,\n", ""]]]);

plant("jobs/commit.ts", [
  [
    "a released job never expires",
    [
      'expiresAt: { $cond: [{ $lte: ["$attempt", 1] }, expiryExpression(scheduledAt), null] },',
      "expiresAt: null,",
    ],
  ],
]);

plant("jobs/create.ts", [
  [
    "a repeated start replaces again",
    ["const replacedJob = earlier.get(job.id);", 'const replacedJob = earlier.get("");'],
  ],
  [
    "the scope pending counts running jobs",
    ["return isWaiting(row.status);", "return !isTerminal(row.status);"],
  ],
  ["a waiting duplicate is not locked", ["await work.touch([duplicate.row.id]);", ";"]],
]);
