// Every entry breaks Leasehold in one way that has bitten a real job queue. `find` must occur exactly once in the built
// file, so that a refactoring that moves the code makes the entry fail instead of testing nothing.

import { flowBugs } from "./flow.mjs";

/** @typedef {{ file: string, find: string, replace: string }} Patch */

/** @type {{ name: string, patches: Patch[] }[]} */
export const plantedBugs = [...flowBugs];

const plant = (name, ...patches) => {
  plantedBugs.push({ name, patches: patches.map(([file, find, replace]) => ({ file, find, replace })) });
};

// The adapter.

plant("token check dropped", ["store/rules/checks.js", "if (state.leaseToken !== leaseToken)", "if (false)"]);
plant("expiry ignored", [
  "store/rules/checks.js",
  "if (state.leasedUntil === null || state.leasedUntil <= now)",
  "if (false)",
]);
plant("status not checked: outcomes of jobs that do not run are taken", [
  "store/rules/checks.js",
  'if (state.status !== "running")',
  "if (false)",
]);
plant("completion deletes a job whose tree goes on", [
  "store/rules/checks.js",
  "ties?.hasDescendants !== true",
  "true",
]);
plant("completion deletes a job that another one waits for", [
  "store/rules/checks.js",
  "ties?.hasDependants !== true",
  "true",
]);
plant("version not raised", [
  "store/rules/transitions.js",
  "leaseVersion: row.leaseVersion + 1",
  "leaseVersion: row.leaseVersion",
]);
plant("claim exceeds its limit", ["memory/claim.js", "taken < limit", "taken <= limit"]);
plant("claim takes jobs before their time", [
  "memory/groups.js",
  "claimableAt(record) <= now ||",
  "claimableAt(record) <= now + 100 ||",
]);
plant("claim whose reply was lost does not find its jobs again", [
  "memory/claim.js",
  "call.isRepeat === true ? findClaimedByToken",
  "call.isRepeat === null ? findClaimedByToken",
]);
plant("exhausted job claimed again", [
  "memory/claim.js",
  "if (runnableFrom(expired.row, call.maxAttempts) === undefined)",
  "if (false)",
]);
plant("unblocked job overtakes all that came after its start", [
  "store/rules/transitions.js",
  'status: "pending", scheduledAt: Math.max(row.scheduledAt, now) }',
  'status: "pending" }',
]);
plant("completion not idempotent", [
  "store/rules/checks.js",
  "if (state.leaseToken === leaseToken && state.status === statusAfter[outcome.kind])",
  "if (false)",
]);
plant("unblock lost when two blockers finish together", [
  "memory/outcomes.js",
  "unblocked: completesSequence(outcome) ?",
  "unblocked: completesSequence(outcome) && rows.lastUnblockAt !== now && (rows.lastUnblockAt = now) ?",
]);
plant("blocker that runs does not count as open", [
  "memory/create.js",
  '({ status }) => status !== "completed"',
  '({ status }) => status === "pending" || status === "blocked"',
]);
plant("failure does not reach the jobs that wait", [
  "memory/outcomes.js",
  'cascaded: outcome.kind === "fail" ?',
  'cascaded: outcome.kind === "never" ?',
]);
plant("reaped failure does not reach the jobs that wait", [
  "memory/leases.js",
  'row.status === "failed" ?',
  'row.status === "never" ?',
]);
plant("released job costs an attempt", [
  "store/rules/transitions.js",
  'attempt: row.status === "running" ? row.attempt - 1 : row.attempt',
  "attempt: row.attempt",
]);
plant("retry not counted", [
  "store/rules/transitions.js",
  "expiredLeases: 0,\n    lastError: outcome.error,\n    lastFailedAt: now,\n    limited: false,\n});\nconst released",
  "expiredLeases: 0,\n    attempt: row.attempt - 1,\n    lastError: outcome.error,\n    lastFailedAt: now,\n    limited: false,\n});\nconst released",
]);
plant("deduplication race within one call", [
  "memory/create.js",
  "const earlier = findEarlier(rows, job, now);",
  "const earlier = (jobs.found ??= jobs.map((wanted) => findEarlier(rows, wanted, now)))[jobs.indexOf(job)];",
]);
plant("deduplication forgets sequences that went on", [
  "memory/rows.js",
  "!isTerminal(currentOf(rows, row.sequenceId).row.status)",
  "!isTerminal(row.status)",
]);
plant("replacement rewrites the input of a running job", [
  "store/rules/edits.js",
  "if (onDuplicate === undefined || !isWaiting(row.status))",
  "if (onDuplicate === undefined)",
]);
plant("replacement keeps the old input", [
  "store/rules/edits.js",
  "...withInput(row, start.input, start.id),",
  "...withInput(row, row.input, start.id),",
]);
plant("debounce has no bound", [
  "store/rules/edits.js",
  "Math.min(resolveSchedule(schedule, now), latest)",
  "resolveSchedule(schedule, now)",
]);
plant("a start with a pending key adds a second job that waits", [
  "memory/create.js",
  "return isWaiting(first.row.status);",
  "return false;",
]);
plant("a job that has begun expires", [
  "store/rules/edits.js",
  'status === "pending" && attempt === 0 && expireAfterMs !== null',
  'status === "pending" && expireAfterMs !== null',
]);
plant("a job expires before it can run", [
  "store/rules/edits.js",
  "? scheduledAt + expireAfterMs : null",
  "? scheduledAt : null",
]);
plant("an update does not look at the status", [
  "store/rules/edits.js",
  'if (!isWaiting(row.status))\n        return "not_waiting";',
  "",
]);
plant("redrive beside a live duplicate", [
  "store/rules/redrive.js",
  "if (yield* answer(port.hasLiveDuplicate(job)))",
  "if (false)",
]);
plant("redrive forgets the cascade", [
  "store/rules/redrive.js",
  "yield* reviveDependants(port, job.sequenceId)",
  "[]",
]);
plant("redrive starts the version again", [
  "store/rules/transitions.js",
  "attempt: 0,\n    expiredLeases: 0,\n    failedAt: null,",
  "attempt: 0,\n    leaseVersion: 0,\n    expiredLeases: 0,\n    failedAt: null,",
]);
plant("rollback leaves a job", [
  "memory/rows.js",
  "remember(rows.journal, () => replace(rows, record, after, before));",
  "if (before !== null) remember(rows.journal, () => replace(rows, record, after, before));",
]);
plant("rollback leaves a claim", [
  "memory/rows.js",
  "remember(rows.journal, () => replace(rows, record, after, before));",
  'if (before === null || after?.status !== "running") remember(rows.journal, () => replace(rows, record, after, before));',
]);
plant("priority ignored", [
  "memory/groups.js",
  "b.row.priority - a.row.priority || byTime(a, b)",
  "byTime(a, b)",
]);
plant("heartbeat of a lost lease revives it", [
  "memory/leases.js",
  "if (refusal !== undefined)\n            return refusal;\n        update(rows, record, renewed",
  'if (refusal !== undefined && refusal.reason !== "lease_expired")\n            return refusal;\n        update(rows, record, renewed',
]);
plant("leases reaped too early", [
  "memory/leases.js",
  "(record.row.leasedUntil ?? 0) > now",
  "(record.row.leasedUntil ?? 0) > now + 200",
]);
plant("cancel lost on a running job", [
  "memory/outcomes.js",
  "update(rows, record, cancelled(record.row, error, now));",
  "if (!wasRunning) update(rows, record, cancelled(record.row, error, now));",
]);
plant("deletion of a tree leaves its continuations", [
  "memory/create.js",
  "const deleted = trees.flat().map((record) => {",
  "const deleted = trees.flat().filter((record) => record.row.sequenceIndex === 0).map((record) => {",
]);

// The engine.

plant("start confirmed before the commit", [
  "engine/dispatch.js",
  "return await callback(ctx);",
  "const value = await callback(ctx);\n            resolve(value);\n            return value;",
]);
plant(
  "continuation twice",
  [
    "jobs/complete.js",
    "const created = await engine.store.createJobs({ ctx, jobs: traced });",
    "const twice = traced.map((next) => ({ ...next, id: engine.runtime.createId() }));\n        const created = (await engine.store.createJobs({ ctx, jobs: [...traced, ...twice] })).slice(0, traced.length);",
  ],
  ["memory/create.js", "if (positions.has(position) ||", "if ("],
);
plant(
  "lock of a lost lease ignored",
  [
    "worker/transactions.js",
    "const wanted = members.filter(({ isWanted }) => isWanted);",
    "const wanted = [...members];",
  ],
  ["worker/transactions.js", "const result = results[index];", 'const result = { kind: "locked" };'],
);
plant("lookup of a lost start has no deadline", [
  "engine/dispatch.js",
  "{ getJobs: calls.getJobs,",
  "{ getJobs: (given) => adapter.getJobs(given),",
]);
plant("store calls have no deadline", [
  "engine/dispatch.js",
  "return withDeadline(run(args), deadlineMs, tooLate, clock);",
  "return run(args);",
]);
plant("repeated start taken for a duplicate id", ["engine/dispatch.js", "if (recover)", "if (false)"]);

// The worker.

plant("hint as the only wake-up", [
  "worker/fetcher.js",
  "if (idleMs >= settings.pollIntervalMs)",
  "if (true)\n            return 3_600_000;\n        if (false)",
]);
plant("a fetcher dies of a store error", [
  "worker/loop.js",
  "health = { ...health, failures: health.failures + 1, lastError: error };",
  'health = { ...health, failures: health.failures + 1, lastError: error };\n                if (name === "fetcher") return;',
]);
plant("buffered lease not renewed", [
  "worker/lease-keeper.js",
  "filter(({ lost }) => lost === undefined)",
  "filter(({ lost, attempt }) => lost === undefined && attempt !== undefined)",
]);
plant("heartbeat too slow for short leases", [
  "worker/lease-keeper.js",
  "heldJobs.shortestLeaseMs / heartbeatsPerLease;",
  "worker.settings.leaseMs * 1.2;",
]);
plant(
  "lost lease does not abort",
  ...["worker/attempt.js", "worker/call.js"].map((file) => [
    file,
    "this.controller?.abort(reason);",
    'if (reason === "timeout" || reason === "shutdown") this.controller?.abort(reason);',
  ]),
);
plant("lease trusted by the wall clock", [
  "worker/held-jobs.js",
  "clock.monotonic() < held.leaseEndsAt",
  "clock.now() < (held.job.lastAttemptAt ?? 0) + 600_000",
]);
plant("concurrency limit ignored", ["worker/slots.js", "if (calls >= concurrency)", "if (false)"]);
plant("queue limit ignored", [
  "worker/slots.js",
  "if (slots.running >= slots.queue.concurrency)",
  "if (false)",
]);
plant("operator's cap on attempts ignored", [
  "worker/outcome.js",
  "settings.maxAttempts ?? Infinity)",
  "Infinity)",
]);
plant("late result of a timed-out handler accepted", [
  "worker/outcome.js",
  'if (abortReason === "timeout") {',
  'if (abortReason === "timeout" && ending.kind !== "returned") {',
]);
plant(
  "result of an abandoned handler counted again",
  ["worker/attempt.js", "if (this.over) {", "if (false) {"],
  [
    "worker/call.js",
    "if (this.open === 0)\n            this.owner",
    "if (this.open <= 0)\n            this.owner",
  ],
);
plant("timeout never fires", ["worker/attempt.js", 'this.abort("timeout");', ""]);
plant("committer drops outcomes on a store error", [
  "worker/committer.js",
  "await sleep(clock, delayOf(retryDelay, attempt, runtime.random));",
  "for (const { held } of entries) heldJobs.remove(held);\n                return;",
]);
plant("committer waits for a full batch", [
  "worker/committer.js",
  "clock.soon(begin);",
  "(queue.size >= Math.min(2, settings.commitBatchSize) ? clock.soon(begin) : (flushing = false));",
]);
plant("batches in any order deadlock", [
  "worker/committer.js",
  "queue.take(settings.commitBatchSize).sort(byJobId)",
  "queue.take(settings.commitBatchSize)",
]);
plant("poison job takes its neighbours along", [
  "worker/crash-isolation.js",
  "job.expiredLeases > 0 && job.attempt >= attemptLimit(worker, job)",
  "false",
]);
plant("a suspect that was claimed and never began is charged", [
  "store/rules/checks.js",
  "expiredLeases > attempt - limit && attempt - limit <= mostFreeExpiries",
  "attempt < limit || expiredLeases < 0",
]);
plant("a suspect that has begun is not charged", [
  "store/rules/transitions.js",
  "lastAttempt === undefined ? row.expiredLeases : 0 - Math.abs(row.expiredLeases)",
  "row.expiredLeases",
]);
plant("a suspect that was released is none any more", [
  "store/rules/transitions.js",
  "expiredLeases: Math.abs(row.expiredLeases)",
  "expiredLeases: Math.max(0, row.expiredLeases)",
]);
plant("stop leaks the buffered leases", [
  "worker/consumer.js",
  "stopListening();\n            releaseBuffered();",
  "stopListening();",
]);
plant("stop does not wait for the committer", [
  "worker/worker.js",
  "loopsEnded.then(() => committer.flushed())",
  "loopsEnded",
]);
plant("reaper stops after its first turn", [
  "worker/maintenance.js",
  "return reaped === batchSizeReaper || mayBeMore\n                ? 0\n                : settings.reapIntervalMs * (0.75 + runtime.random() / 2);",
  "return 36_000_000;",
]);
plant("claims of one worker share a token", [
  "worker/fetcher.js",
  "const leaseToken = runtime.createToken();",
  "const leaseToken = `00000000-0000-4000-8000-${workerId}`;",
]);
plant("attempt shutdown counted as a failure", [
  "worker/outcome.js",
  'if (abortReason === "shutdown")\n                return releaseOutcome(held);',
  "",
]);

// Batches.

plant("a job of a batch gets the output of its neighbour", [
  "worker/call.js",
  "endingOfResult(member, results[index])",
  "endingOfResult(member, results[(index + 1) % results.length])",
]);
plant("an error that says never again fails every job of a batch for good", [
  "worker/outcome.js",
  "if (shared)",
  "if (false)",
]);
plant("a job that failed in a batch is put into a batch again", [
  "worker/batches/buffer.js",
  "job.attempt - 1 > job.expiredLeases || job.attempt >= attemptLimit(worker, job)",
  "false",
]);
plant("a job that failed in the transaction of its batch counts as completed", [
  "worker/session.js",
  "if (committed.failures.has(member.held.job.id))",
  "if (false)",
]);
plant("a batch takes no slot", ["worker/slots.js", "calls += 1;", "if (!batchOf(jobs[0])) calls += 1;"]);
plant("stop leaks the leases of jobs that wait for a fuller batch", [
  "worker/slots.js",
  "...slots.batches.flatMap(takeBatches),",
  "",
]);
plant("a batch that has lost all of its jobs keeps its slot for ever", [
  "worker/call.js",
  "if (this.wanted > 0)",
  "if (true)",
]);

// What the simulation has found in Leasehold itself, put back in. Those that it meets too rarely to count on have a test
// of their own in `found-bugs.test.ts`.

plant("bulk start with a duplicate does not recognise itself", [
  "engine/lost-replies.js",
  "found === undefined ? job.deduplication === null && !store.mayVanish(job) : !isSameJob(job, found)",
  "found === undefined || !isSameJob(job, found)",
]);

// Recurring jobs.

plant(
  "a recurring job moves on in a transaction of its own",
  [
    "recurring/tick.js",
    "await engine.store.recurring.advanceRecurring({\n        ctx,",
    "engine.later = ({\n        ctx,",
  ],
  [
    "recurring/tick.js",
    "return jobs.length;\n});",
    "return jobs.length;\n}).then(async (looked) => {\n    const { later } = engine;\n    engine.later = undefined;\n    if (later) await engine.store.runInTransaction((ctx) => engine.store.recurring.advanceRecurring({ ...later, ctx }));\n    return looked;\n});",
  ],
);
plant("a recurring job stays where it is after its tick", [
  "recurring/tick.js",
  "nextNominalAt: decision.nextNominalAt,",
  "nextNominalAt: row.nextNominalAt,",
]);
