// Every entry takes one guard, order or limit out of a statement of the SQLite store, or reverses it. `find` must occur
// exactly once in the source file.

import { plantIn } from "./plant-in.mjs";

const { bugs, plant } = plantIn("packages/sqlite/src");
export const sqliteBugs = bugs;

plant("rows/runnable.ts", [
  ["lower priorities are claimed first", ["b.priority - a.priority ||", "a.priority - b.priority ||"]],
  ["the scheduled time does not count in the order", ["a.at - b.at || a.seq - b.seq", "a.seq - b.seq"]],
  [
    "of jobs due at the same time the youngest is claimed first",
    ["a.at - b.at || a.seq - b.seq", "a.at - b.at || b.seq - a.seq"],
  ],
  [
    "jobs are claimed before their time",
    ["AND scheduled_at <= ? ORDER BY", "AND scheduled_at <= ? + 1000 ORDER BY"],
  ],
  [
    "the latest of a stretch are claimed",
    ["ORDER BY scheduled_at, seq LIMIT ?)", "ORDER BY scheduled_at DESC, seq DESC LIMIT ?)"],
  ],
  [
    "a claim ignores its limit",
    [".sort(inClaimOrder).slice(0, limit)", ".sort(inClaimOrder)"],
    ["now, limit - above]", "now, limit - above + 100]"],
  ],
  [
    "exhausted jobs are claimed again",
    ["AND attempt < ${maxAttempts}\n", "AND (attempt < ${maxAttempts} OR 1)\n"],
  ],
  [
    "leases that hold are taken",
    [
      "${running(maxAttempts)} AND leased_until <= ?`",
      "${running(maxAttempts)} AND leased_until <= ? + 1000`",
    ],
  ],
  [
    "expired leases of other queues are taken",
    ["AND queue = ? AND (? IS NULL", "AND (queue = ? OR 1) AND (? IS NULL"],
  ],
  [
    "expired leases of other types are taken",
    ["type_name IN (SELECT value FROM json_each(?)))`", "? IS NOT NULL)`"],
  ],
  [
    "only the highest priority is claimed",
    [
      "if (found.length < limit - above) descend(type, level);\n        else levels.delete(type);",
      "levels.delete(type);",
    ],
  ],
  [
    "the latest of the scheduled jobs is announced",
    ["ORDER BY scheduled_at LIMIT 1`", "ORDER BY scheduled_at DESC LIMIT 1`"],
  ],
  [
    "the end of the latest lease is announced",
    ["ORDER BY leased_until LIMIT 1`", "ORDER BY leased_until DESC LIMIT 1`"],
  ],
  [
    "only the highest priority is announced",
    [
      "if (at !== undefined && (next === null || at < next)) next = at;\n    }",
      "if (at !== undefined && (next === null || at < next)) next = at;\n      break;\n    }",
    ],
  ],
]);

plant("jobs/claim.ts", [
  ["a claim does not count as an attempt", ["attempt = attempt + 1", "attempt = attempt"]],
  [
    "a claim does not raise the version",
    ["lease_version = lease_version + 1", "lease_version = lease_version"],
  ],
  [
    "an expired lease is not counted",
    ["expired_leases = expired_leases + (status = 'running')", "expired_leases = expired_leases"],
  ],
  ["a job's own lease time is ignored", ["leased_until = ? + coalesce(lease_ms, ?)", "leased_until = ? + ?"]],
  [
    "a repeated claim takes what others hold",
    ["j.leased_until > ? AND j.lease_token = ?", "j.leased_until > ? AND ? IS NOT NULL"],
  ],
  [
    "a repeated claim returns jobs whose lease has run out",
    ["j.leased_until > ? AND j.lease_token = ?", "? IS NOT NULL AND j.lease_token = ?"],
  ],
  ["what a repeated claim holds does not count", ["call.limit - jobs.length", "call.limit"]],
  [
    "a repeated claim does not look for what it holds",
    ["call.isRepeat === true ?", "call.isRepeat === null ?"],
  ],
  [
    "a claim ignores the requests' limits",
    ["Math.min(limits[index]!, call.limit", "Math.min(limits[index]! + 100, call.limit"],
  ],
]);

plant("jobs/leases.ts", [
  ["a renewal forgets the progress", ["progress = coalesce(?, progress)", "progress = ?"]],
  ["a renewal is not checked", ["if (refusal !== undefined) return refusal;", ""]],
]);

plant("jobs/leases.ts", [
  [
    "a lock is not checked",
    ['findRefusal(state, leases[index]!.leaseToken, now) ?? { kind: "locked" }', '{ kind: "locked" }'],
  ],
]);

plant("jobs/commit.ts", [
  [
    "a deletion does not check the token",
    ["AND j.lease_token = ? AND (j.leased_until > ? OR ?)", "AND ? <> '' AND (j.leased_until > ? OR ?)"],
  ],
  ["a deletion ignores the end of the lease", ["AND (j.leased_until > ? OR ?)", "AND (? > 0 OR ?)"]],
  [
    "a job is deleted that others wait for",
    ["AND NOT EXISTS (SELECT 1 FROM ${blocker} AS b WHERE b.sequence_id = j.id)", ""],
  ],
  [
    "a job is deleted under the jobs that it has started",
    [
      "c.root_sequence_id = j.id AND c.id <> c.root_sequence_id",
      "c.root_sequence_id = j.id AND c.id = j.input",
    ],
  ],
  ["a job with attempts in the history is deleted", ["AND j.lease_version = 1", ""]],
]);

plant("jobs/commit.ts", [
  // That it checks the status as well is for the index: only a running job has a `leased_until`.
  [
    "a completion does not check the token",
    ["AND j.lease_token = ? AND j.leased_until", "AND ? IS NOT NULL AND j.leased_until"],
  ],
  ["a completion is taken after the lease has run out", ["AND j.leased_until > ? AND", "AND ? > 0 AND"]],
  [
    "the completion of a sequence that others wait for is not passed on",
    ["AND NOT EXISTS (SELECT 1 FROM ${blocker} AS b WHERE b.sequence_id = j.sequence_id)", ""],
  ],
  [
    "a completed sequence keeps its key",
    ["j.sequence_index = 0 AND j.deduplication_key IS NULL OR", "j.sequence_index = 0 OR"],
  ],
  [
    "the key of a continued sequence stays",
    ["AND f.deduplication_open IS NOT NULL))", "AND f.deduplication_open IS NOT NULL AND 0))"],
  ],
  ["a batch that fits in part is written in part", ['db.run("ROLLBACK TO leasehold_complete", []);', ""]],
]);

plant("jobs/commit.ts", [
  ["a released job has used an attempt", ["attempt = attempt - (status = 'running'), status", "status"]],
  [
    "a released job forgets when it is due",
    ["scheduled_at = coalesce(?, scheduled_at), last_error", "scheduled_at = coalesce(?, 0), last_error"],
  ],
  [
    "a failed attempt does not end a run of expired leases",
    ["scheduled_at = ?, expired_leases = 0, last_error = ?", "scheduled_at = ?, last_error = ?"],
  ],
  [
    "a job that waits for blockers becomes pending by a retry",
    ['state.openBlockers > 0 ? "blocked" : "pending"', '"pending"'],
  ],
  [
    "what follows from a completion is left out",
    ["const unblocked = completesSequence(outcome)\n", "const unblocked = false\n"],
  ],
  ["what follows from a failure is left out", ['outcome.kind === "fail" ? dependants', "false ? dependants"]],
  [
    "the key of a sequence that has ended stays",
    ["if (isTerminal(status) && state.mayBeKeyed) deduplication", "if (false) deduplication"],
  ],
  ["a batch does not see what it has changed itself", ["      states.clear();\n", ""]],
]);

plant("jobs/blockers.ts", [
  ["the order of blockers is lost", ["ORDER BY position`", "ORDER BY position DESC`"]],
  ["jobs that no longer wait close a circle", ["AND j.status = 'blocked'`", "`"]],
]);

plant("jobs/blockers.ts", [
  ["jobs may wait for each other in a circle", ["if (cycle !== undefined) throw", "if (false) throw"]],
  [
    "completed blockers are waited for",
    ['if (current.status !== "completed") openBlockers += 1;', "openBlockers += 1;"],
  ],
  [
    "a job with a failed blocker waits for ever",
    [
      'if (failedBlocker !== undefined && found.onBlockerFailure === "fail")',
      "if (failedBlocker !== undefined && found.id === '')",
    ],
  ],
]);

plant("jobs/dependants.ts", [
  ["a blocker given twice counts once", ["blocked.openBlockers - times)", "blocked.openBlockers - 1)"]],
  [
    "jobs that no longer wait are unblocked",
    ['status === "blocked" && openBlockers === 0', "openBlockers === 0"],
  ],
  [
    "jobs are unblocked one blocker early",
    ['status === "blocked" && openBlockers === 0', 'status === "blocked" && openBlockers <= 1'],
  ],
  ["a job failed by its blocker keeps its key", ["deduplication.refresh(db, sequenceId);", ""]],
]);

plant("rows/runnable.ts", [
  [
    "the reaper takes leases that hold",
    ["AND j.leased_until <= ? ORDER BY", "AND j.leased_until <= ? + 1000 ORDER BY"],
  ],
  [
    "the reaper ignores its limit",
    ["ORDER BY j.leased_until LIMIT ?`", "ORDER BY j.leased_until LIMIT ? + 100`"],
  ],
  ["jobs of other queues are counted as ahead", ["`j.queue = p.queue AND ${at}", "`${at}"]],
]);

plant("rows/runnable.ts", [
  [
    "a reaped job loses its place",
    [
      "status = 'pending', scheduled_at = leased_until, ${endExpiredLease}",
      "status = 'pending', ${endExpiredLease}",
    ],
  ],
  [
    "the holder of a reaped job can still report",
    ["last_failed_at = leased_until, lease_token = NULL,", "last_failed_at = leased_until,"],
  ],
]);

plant("jobs/leases.ts", [
  ["exhausted jobs are put back", ["if (mayRunAgain(expired, call.maxAttempts))", "if (true)"]],
  [
    "a last attempt that begins is not recorded",
    ["if (lastAttempt !== undefined) db.run", "if (false) db.run"],
  ],
]);

plant("jobs/cancel.ts", [
  [
    "the holder of a cancelled job can still report",
    ["lease_token = NULL, leased_by = NULL", "leased_by = NULL"],
  ],
  [
    "a cancellation is not passed on",
    ["cascaded: dependants.failDependants(db, result.sequenceId, now)", "cascaded: none"],
  ],
]);

plant("jobs/redrive.ts", [
  [
    "a revived job has no attempts left",
    ["attempt = 0, expired_leases = 0, failed_at", "expired_leases = 0, failed_at"],
  ],
  ["a revived job runs before its time", ["scheduled_at = max(scheduled_at, ?)", "scheduled_at = ?"]],
]);

plant("jobs/delete.ts", [
  ["what others wait for is deleted", ["if (dependants.size > 0)", "if (dependants.size < 0)"]],
  ["a part of a tree is deleted", ["if (notRoots.length > 0) return", "if (notRoots.length < 0) return"]],
]);

plant("jobs/list.ts", [
  [
    "pages begin again at their first job",
    ["(${createdAt}, ${id}) ${comparison} (?, ?)`", "(${createdAt}, ${id}) ${comparison}= (?, ?)`"],
  ],
]);

plant("jobs/deduplication.ts", [
  ["a running job counts as waiting", [`= 1 AND j.status IN ('pending', 'blocked')`, "= 1"]],
]);

plant("jobs/edits.ts", [
  [
    "a replacement keeps the old input",
    ["SET input = ?, replaced_by", "SET input = coalesce(input, ?), replaced_by"],
  ],
  [
    "debounce does not move the job",
    ["scheduled_at = ?, attempt = ?", "scheduled_at = coalesce(scheduled_at, ?), attempt = ?"],
  ],
  [
    "a replaced retry goes on counting",
    ["attempt = ?,\n      expired_leases", "attempt = max(attempt, ?),\n      expired_leases"],
  ],
]);

plant("jobs/create.ts", [
  [
    "a repeated replacement takes effect again",
    ["wanted.deduplication?.onDuplicate && waiting.findReplacedBy(db, wanted.id)", "undefined"],
  ],
  ["a replacement is not stored", ["waiting.save(db, replacement, now);", ""]],
]);

plant("jobs/edits.ts", [
  [
    "an update does not look at the status",
    ["checkUpdate(before, change)", "(before ? undefined : 'not_found')"],
  ],
]);

plant("jobs/edits.ts", [
  [
    "a job that has begun expires",
    ["AND j.status = 'pending' AND j.attempt = 0\n", "AND j.status = 'pending' AND j.attempt >= 0\n"],
  ],
  [
    "an expired job is not passed on",
    ["const cascaded = dependants.failDependants(db, row.sequenceId, now);", "const cascaded = [];"],
  ],
  ["the key of an expired job stays taken", ["deduplication.refresh(db, row.sequenceId);", ""]],
  ["a job expires too early", ["queryJobs(db, find, [now, limit])", "queryJobs(db, find, [now + 1, limit])"]],
  [
    "expiry ignores its limit",
    ["queryJobs(db, find, [now, limit])", "queryJobs(db, find, [now, limit + 100])"],
  ],
  ["expiry begins with the latest", ["j.expire_after_ms LIMIT ?", "j.expire_after_ms DESC LIMIT ?"]],
  [
    "an expired job stays in its group queue",
    ["if (groupQueues.areUsed(db)) groupQueues.leave(db, [row.id]);", ""],
  ],
]);

plant("recurring.ts", [
  [
    "a tick finds what is paused",
    ["WHERE paused = 0 AND runs_at <= ? ORDER BY", "WHERE paused >= 0 AND runs_at <= ? ORDER BY"],
    [" INDEXED BY ${recurringDueIndex}\n    WHERE", "\n    WHERE"],
  ],
  [
    "a tick comes early",
    ["recurringRow.all(db, due, [now, limit])", "recurringRow.all(db, due, [now + 1, limit])"],
  ],
  [
    "a tick ignores its limit",
    ["recurringRow.all(db, due, [now, limit])", "recurringRow.all(db, due, [now, limit + 10])"],
  ],
  [
    "a tick begins with the latest",
    ["AND runs_at <= ? ORDER BY runs_at, id", "AND runs_at <= ? ORDER BY runs_at DESC, id"],
  ],
  ["times by old zone data stay", ["(time_zone_version <> '' AND", "(0 AND time_zone_version <> '' AND"]],
  [
    "what has fired stays due",
    [
      "[nextNominalAt, runsAt, lastSequenceId",
      "[nextNominalAt, nextNominalAt === null ? null : 0, lastSequenceId",
    ],
  ],
  [
    "the sequence that was started is forgotten",
    ["runsAt, lastSequenceId, ...rest]", "runsAt, null, ...rest]"],
  ],
  ["a clock that was set back is not noticed", ["OR computed_at > ?", "OR computed_at > ? + 1e12"]],
  ["when a time was computed is forgotten", ["[timeZoneVersion, job.computedAt,", "[timeZoneVersion, 0,"]],
  [
    "a tick moves on all recurring jobs",
    ["tick_history = ? WHERE id = ?`", "tick_history = ? WHERE id <= ? OR true`"],
  ],
  ["a paused one is announced", ["INDEXED BY ${recurringDueIndex} WHERE paused = 0`", "`"]],
  ["a changed one keeps its old time", ["runs_at = excluded.runs_at,", "runs_at = runs_at,"]],
  ["a pause is not stored", ["paused = excluded.paused,", "paused = paused,"]],
  [
    "a change resets when it was created",
    [
      "updated_at = excluded.updated_at,",
      "updated_at = excluded.updated_at, created_at = excluded.created_at,",
    ],
  ],
  [
    "those of all owners are listed",
    ["coalesce(owner = ?, ? IS NULL)", "coalesce(owner = ?, ? IS NULL) >= 0"],
  ],
  [
    "what was not there is reported as deleted",
    ["ids.filter((id) => deleted.has(id))", "ids.filter((id) => deleted.has(id) || true)"],
  ],
]);

plant("limits/set-rule.ts", [
  [
    "an edit of the rate of all groups changes the buckets of named groups",
    ["JSON.stringify([...named])", "JSON.stringify([])"],
  ],
]);
plant("limits/read.ts", [
  [
    "a page of groups begins with the last group of the page before",
    ["limit_rule_id = ? AND group_key > ?", "limit_rule_id = ? AND group_key >= ?"],
  ],
]);
plant("limits/claim.ts", [
  [
    "groups with one job each are never deleted",
    ["AND virtual_time <= 1 + (SELECT", "AND virtual_time <= (SELECT"],
  ],
  ["groups are deleted while their tokens are spent", ["AND bucket_full_at <= ?", "AND ? > 0"]],
]);

plant("limits/group-queues.ts", [
  [
    "redriving any failed job of a group resumes it",
    ["AND stopped_by = coalesce(?, stopped_by)", "AND coalesce(?, stopped_by) IS NOT NULL"],
  ],
]);

plant("limits/group-queues.ts", [
  ["a group never gets its slots back", ["running = running - (given.value ->> 1),", "running = running,"]],
  ["a queue never gets its slots back", ['if (counted & countedIn.queue) addToRule(queue, "");', ""]],
  ["a type never gets its slots back", ["if (counted & countedIn.type) addToRule(queue, typeName);", ""]],
  [
    "a group stays closed when a slot comes free",
    ["claimable = claimable OR EXISTS", "claimable = claimable AND EXISTS"],
  ],
  [
    "a group stays closed when a job comes",
    ["claimable = max(claimable, excluded.claimable)", "claimable = claimable"],
  ],
  [
    "a group that was idle keeps its old virtual time",
    ["ELSE max(virtual_time, excluded.virtual_time) END", "ELSE virtual_time END"],
  ],
  [
    "a group does not open for a job that was for later",
    [
      "claimable_at = min(coalesce(claimable_at, excluded.claimable_at), coalesce(excluded.claimable_at, claimable_at))",
      "claimable_at = claimable_at",
    ],
  ],
  ["a failure stops no group", ['if (ordered !== "stop" || group === null) return;', "return;"]],
  [
    "any redriven job resumes a stopped group",
    ["AND stopped_by = coalesce(?, stopped_by)", "AND (stopped_by IS NOT NULL OR ? IS NULL)"],
  ],
]);

plant("rows/job-table.ts", [
  [
    "a retry in an ordered group goes to the back",
    ["job.leaseVersion > 0) return begunOrder;", "job.leaseVersion > 1e9) return begunOrder;"],
  ],
]);

plant("limits/rule-rows.ts", [
  [
    "a change of a rule does not change the epoch",
    [
      "db.run(setRule, [JSON.stringify(rule), id]);\n      changeEpoch(db);",
      "db.run(setRule, [JSON.stringify(rule), id]);",
    ],
  ],
  [
    "after a rollback another rule has the same epoch",
    ["[1 + Math.floor(Math.random() * 2 ** 48)]", "[1 + (firstNumber(db, readEpoch, []) ?? 0)]"],
  ],
]);

plant("limits/claim.ts", [
  [
    "a full group stays claimable",
    [
      "virtual_time = given.value ->> 3, claimable = given.value ->> 4",
      "virtual_time = given.value ->> 3, claimable = 1",
    ],
  ],
  ["expired leases keep their slots", ["groupQueues.leave(db, ids);\n    requeueExpired", "requeueExpired"]],
  ["jobs for later never get their order", ["db.run(order, [groups, now]);", ""]],
  [
    "states of groups are deleted with their virtual times",
    ["AND virtual_time <= 1 + (SELECT served", "AND 0 <= (SELECT served"],
  ],
  ["states of stopped groups are deleted", ["AND stopped_by IS NULL AND claimable_at", "AND claimable_at"]],
]);

plant("limits/next-runnable.ts", [
  [
    "groups without room are announced",
    ["const limits = limitsOf(rules, state);", "const limits = { concurrency: null, rate: null };"],
  ],
]);

plant("limits/set-rule.ts", [
  [
    "a bucket is full after an edit",
    ["[isNew ? 0 : keepSpent(rule.rate, bucketFullAt, now), id]", "[0, id]"],
  ],
  [
    "a first limit does not count what runs",
    ["countRunning(db, queue, limitRules.read(db).get(queue)!);", ""],
  ],
  ["a changed rule opens all groups for one claim", ["AS g SET claimable_at = 0", "AS g SET claimable = 1"]],
  [
    "a raised limit does not open groups",
    [
      "if (rule.perGroup !== before.perGroup || rule.groups !== before.groups) db.run(checkAgain, [type.id]);",
      "",
    ],
  ],
]);

plant("jobs/commit.ts", [
  ["a completion keeps its slots", ["groupQueues.release(db, counted);", ""]],
  [
    "a completion that is repeated frees a slot again",
    ["= done.key AND j.status = 'running' AND", "= done.key AND"],
    ["AND j.leased_until > ? AND", "AND ? > 0 AND"],
    [", counted_in = NULL FROM", " FROM"],
  ],
]);

plant("jobs/commit.ts", [
  ["an outcome keeps the slots of its job", ["groupQueues.leave(db, [state.id]);", ""]],
  ["a retry is in no group queue", ['if (status === "pending") groupQueues.enter(db, [state.id], now);', ""]],
]);

plant("jobs/cancel.ts", [
  ["a cancelled job keeps its slots", ["if (groupQueues.areUsed(db)) groupQueues.leave(db, [id]);", ""]],
]);
plant("jobs/delete.ts", [["a deleted job keeps its slots", ["groupQueues.leave(db, deletedIds);", ""]]]);
plant("jobs/leases.ts", [
  ["a reaped job keeps its slots", ["if (areGroupsUsed) groupQueues.leave(db, [id]);", ""]],
]);
plant("jobs/dependants.ts", [
  ["an unblocked job is in no group queue", ["groupQueues.enter(db, ids, now);", ""]],
]);

plant("rows/long-inputs.ts", [
  ["long inputs are in the row that every change writes", ["= 2_000;", "= 2_000_000_000;"]],
  [
    "a job keeps the long input that another start has replaced",
    [" WHERE input <> excluded.input", " WHERE 0"],
  ],
]);

plant("migrations/0001-initial.ts", [
  ["a long input outlives its job", ["WHEN OLD.input IS NULL BEGIN", "WHEN OLD.input IS NOT NULL BEGIN"]],
]);

plant("jobs/filter.ts", [
  ["a search does not find long inputs", ['instr(${inputOf(tables, "j")}, ?)', "instr(j.input, ?)"]],
]);

plant("database/transactions.ts", [
  [
    "the user's statements on the lent connection run without the write lock",
    ["await beginImmediate();\n        holder = createFrame(null);", "holder = createFrame(null);"],
    ["commit(0);\n          onCommit();", "onCommit();"],
  ],
]);

plant("database/runner.ts", [
  [
    "a read whose commit fails leaves its transaction open",
    ['const result = action();\n    db.exec("COMMIT");\n    return result;', "result = action();"],
    ['db.exec("BEGIN");\n  try {', 'db.exec("BEGIN");\n  let result: T;\n  try {'],
    [
      "rollBackAfter(db);\n    throw error;\n  }",
      'rollBackAfter(db);\n    throw error;\n  }\n  db.exec("COMMIT");\n  return result;',
    ],
  ],
]);

plant("limits/due-jobs.ts", [
  [
    "the backlog calls throttled groups runnable",
    ["if (findThrottle({ seq: null, typeName, group }) !== null)", "if (typeName === null)"],
  ],
  [
    "the head of an ordered group is runnable although it has waited too long",
    ["head !== undefined && !head.isOverdue", "head !== undefined"],
  ],
]);
