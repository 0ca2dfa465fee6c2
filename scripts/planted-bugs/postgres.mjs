// Every entry takes one guard, lock, order or limit out of a statement of the PostgreSQL store, or reverses it. `find` must
// occur exactly once in the source file.

import { plantIn } from "./plant-in.mjs";

const { bugs, plant } = plantIn("packages/postgres/src");
export const postgresBugs = bugs;

plant("jobs/claim.ts", [
  [
    "a claim of one type waits for locked jobs",
    ["FROM allowance)\n    FOR NO KEY UPDATE SKIP LOCKED", "FROM allowance)\n    FOR NO KEY UPDATE"],
  ],
  [
    "a claim of many types waits for locked jobs",
    ["LIMIT share.quota FOR NO KEY UPDATE SKIP LOCKED", "LIMIT share.quota FOR NO KEY UPDATE"],
  ],
  ["a claim of one type ignores the request's limit", ["least(size, ($5::int[])[($3::int[])[1]])", "size"]],
  [
    "a claim of one type ignores the limit of the call",
    ["least(size, ($5::int[])[($3::int[])[1]])", "least(size + 100, ($5::int[])[($3::int[])[1]])"],
  ],
  [
    "a claim of many types ignores the limit of the call",
    ["LIMIT (SELECT size FROM allowance)`;", "LIMIT (SELECT size + 100 FROM allowance)`;"],
  ],
  ["a claim of many types ignores the requests' limits", ["LIMIT asked.most", "LIMIT asked.most + 100"]],
  [
    "what has just fallen due is passed over by what is ready",
    ["`$9::boolean AND (${someAreDueSql(tables, attemptsLeft)})`", '"$9::boolean AND false"'],
  ],
  ["a claim does not count as an attempt", ["attempt = j.attempt + 1,", "attempt = j.attempt,"]],
  [
    "a claim does not raise the version",
    ["lease_version = j.lease_version + 1,", "lease_version = j.lease_version,"],
  ],
  ["an expired lease is not counted", ["CASE WHEN j.status = 'running' THEN 1 ELSE 0 END", "0"]],
  ["a job's own lease time is ignored", ["coalesce(j.lease_ms, $6::bigint)", "$6::bigint"]],
  ["a claimed job stays ready", ["  ready = false,\n  due_at = ${now} +", "  due_at = ${now} +"]],
  ["a claim does not note its time", ["last_attempt_at = ${now}\n", "last_attempt_at = j.last_attempt_at\n"]],
  [
    "a repeated claim takes what others hold",
    ["AND lease_token = $2 AND due_at", "AND $2::text IS NOT NULL AND due_at"],
  ],
  [
    "a repeated claim returns jobs whose lease has run out",
    ["AND lease_token = $2 AND due_at > ${now}\n", "AND lease_token = $2 AND ${now} > 0\n"],
  ],
  ["what a repeated claim holds does not count", ["call.limit - held.length", "call.limit"]],
  [
    "a repeated claim does not look for what it holds",
    ["call.isRepeat === true ? await", "call.isRepeat === null ? await"],
  ],
]);

plant("jobs/claim.ts", [
  [
    "a claim does not notice that the rules have changed",
    [
      "WHEN (SELECT epoch FROM ${tables.limitEpoch}) <> $10::bigint",
      "WHEN (SELECT epoch FROM ${tables.limitEpoch}) * 0 <> $10::bigint * 0",
    ],
  ],
]);

plant("migrations/functions/claim.ts", [
  [
    "no lock keeps two claims of a queue apart",
    ["PERFORM pg_advisory_xact_lock(", "PERFORM abs(", "migrations/functions/shared.ts"],
  ],
  [
    "the claim counts what it asked for",
    ["THEN s.taken ELSE 0 END AS running", "THEN greatest(s.taken, 1) ELSE 0 END AS running"],
  ],
  [
    "a type does not count what it runs",
    ["CASE WHEN t.concurrency IS NULL THEN 0 ELSE v_count END,\n", "0,\n"],
  ],
  [
    "a queue does not count what it runs",
    ["qu.running + CASE WHEN q.concurrency IS NULL THEN 0 ELSE v_count END", "qu.running"],
  ],
  [
    "a group of which nothing could be locked is closed as empty",
    [
      "SELECT is_claimable AS claimable,",
      "SELECT is_claimable AND head_is_free AS claimable,",
      "migrations/functions/shared.ts",
    ],
    [
      "SELECT coalesce(${of}.waits, head.lease_version IS NOT NULL) AS waits,",
      "SELECT coalesce(${of}.waits, head.lease_version IS NOT NULL) AS waits, EXISTS (SELECT FROM (SELECT j.id FROM ${job} AS j WHERE j.ready AND j.claim_key = ${of}.claim_key LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED) AS free) AS head_is_free,",
      "migrations/functions/shared.ts",
    ],
  ],
  [
    "a full group stays claimable",
    [
      "has_room AND token_at = 0 AND retry_at = 0",
      "token_at = 0 AND retry_at = 0",
      "migrations/functions/shared.ts",
    ],
  ],
  [
    "an expired lease that a claim finds inserts no delta",
    [
      '${deltasOfSql("expired")};',
      '${deltasOfSql("(SELECT * FROM expired WHERE false)")};',
      "migrations/functions/reap.ts",
    ],
  ],
  [
    "a job that falls due inserts no delta",
    [
      'reported AS (INSERT INTO ${limitDelta} (${deltaColumns}) ${deltasOfSql("moved")})',
      "reported AS (SELECT)",
      "migrations/functions/promote-due.ts",
    ],
  ],
  [
    "a group back from idle keeps its old virtual time",
    [
      "AND NOT c.was_claimable THEN greatest(c.virtual_time, c.served_virtual_time)",
      "AND NOT c.was_claimable THEN c.virtual_time",
      "migrations/functions/apply-deltas.ts",
    ],
  ],
  [
    "a retry in an ordered group goes to the back",
    [
      "priority = CASE WHEN taken.ordered THEN ${highestPriority} ELSE j.priority END",
      "priority = j.priority",
    ],
  ],
  [
    "others do not wait for the retry of an ordered group",
    [
      "CASE WHEN ${of}.ordered AND head.lease_version = 0 THEN",
      "CASE WHEN false THEN",
      "migrations/functions/shared.ts",
    ],
  ],
  [
    "a stopped group goes on",
    [
      "waits AND NOT ${isHeldSql(of)} AND has_room AND",
      "waits AND has_room AND",
      "migrations/functions/shared.ts",
    ],
  ],
  [
    "a claim spends no tokens of its type",
    [
      'bucket_full_at = ${spendSql("u.bucket_full_at", "t.rate_interval", "v_count")}',
      "bucket_full_at = u.bucket_full_at",
    ],
  ],
  [
    "a weight does not count",
    [
      "(r.taken * ${virtualTimePerJob} / r.weight)::bigint),\n",
      "(r.taken * ${virtualTimePerJob})::bigint),\n",
    ],
  ],
  [
    "a paused type is served",
    ["WHERE NOT coalesce(${leftOut}, false)", "WHERE true", "migrations/functions/shared.ts"],
  ],
  [
    "an expired lease promises work though its limit stays reached",
    [
      "g.running - j.freed < ${groupLimit}",
      "g.running - j.freed >= 0",
      "migrations/functions/next-runnable.ts",
    ],
  ],
  [
    "an expired lease frees nothing of its queue",
    [
      "coalesce(qu.running, 0) - v_queue_freed <",
      "coalesce(qu.running, 0) <",
      "migrations/functions/next-runnable.ts",
    ],
  ],
  [
    "the lease of a paused type is overlooked",
    ["OR (q.concurrency IS NOT NULL AND", "OR (false AND", "migrations/functions/next-runnable.ts"],
  ],
]);

plant("recurring.ts", [
  ["a tick does not lock what is due", ["::int FOR UPDATE SKIP LOCKED", "::int"]],
  ["a tick waits for another", ["::int FOR UPDATE SKIP LOCKED", "::int FOR UPDATE"]],
  ["a tick finds what is paused", ["WHERE NOT paused AND (", "WHERE ("]],
  [
    "a tick comes early",
    ['"runs_at <= (SELECT now FROM clock)"', '"runs_at <= (SELECT now FROM clock) + 1"'],
  ],
  ["a tick ignores its limit", ["LIMIT ${limit}::int", "LIMIT ${limit}::int + 10"]],
  ["a tick begins with the latest", ["ORDER BY runs_at, id LIMIT", "ORDER BY runs_at DESC, id LIMIT"]],
  ["times by old zone data stay", ["AND (time_zone_version <> ''", "AND (false AND time_zone_version <> ''"]],
  ["a clock that was set back is not noticed", [" OR ${wasSetBack})", ")"]],
  ["when a time was computed is forgotten", ["computed_at = a.computed_at,", "computed_at = r.computed_at,"]],
  ["what has fired stays due", ["runs_at = a.runs_at,", "runs_at = r.runs_at,"]],
  [
    "the nominal time does not move on",
    ["next_nominal_at = a.next_nominal_at,", "next_nominal_at = r.next_nominal_at,"],
  ],
  [
    "the sequence that was started is forgotten",
    ["last_sequence_id = a.last_sequence_id,", "last_sequence_id = r.last_sequence_id,"],
  ],
  [
    "what became of a time is not recorded",
    ["tick_history = a.tick_history", "tick_history = r.tick_history"],
  ],
  [
    "new zone data is not noted",
    ["time_zone_version = a.time_zone_version,", "time_zone_version = r.time_zone_version,"],
  ],
  ["a tick moves on all recurring jobs", ["WHERE r.id = a.id`", "WHERE a.id IS NOT NULL`"]],
]);

plant("recurring.ts", [
  ["an id that is not there yet is not locked", ["pg_advisory_xact_lock(key)", "abs(key)"]],
  [
    "a change does not lock the row",
    ["WHERE id = ANY ($1::text[]) ORDER BY id FOR UPDATE`", "WHERE id = ANY ($1::text[]) ORDER BY id`"],
  ],
  ["a changed one keeps its old time", ["runs_at = excluded.runs_at,", "runs_at = r.runs_at,"]],
  ["a pause is not stored", ["paused = excluded.paused,", "paused = r.paused,"]],
  [
    "a change resets when it was created",
    [
      "updated_at = excluded.updated_at,",
      "updated_at = excluded.updated_at, created_at = excluded.created_at,",
    ],
  ],
  ["a change keeps the old definition", ["definition = excluded.definition", "definition = r.definition"]],
  [
    "what was not there is reported as deleted",
    ["ids.filter((id) => deleted.has(id))", "ids.filter((id) => deleted.has(id) || true)"],
  ],
]);

plant("recurring.ts", [
  ["a paused one is announced", ["WHERE NOT paused AND runs_at IS NOT NULL", "WHERE runs_at IS NOT NULL"]],
  [
    "the latest of the recurring jobs is announced",
    ["ORDER BY runs_at LIMIT 1", "ORDER BY runs_at DESC LIMIT 1"],
  ],
  ["those of all owners are listed", ["($2::text IS NULL OR owner = $2)", "($2::text IS NULL OR true)"]],
  ["a page begins with the last one of the page before", ["id > coalesce(", "id >= coalesce("]],
]);

plant("jobs/apply-outcomes.ts", [
  ["the plain statement ends jobs that are counted", ["AND j.counted_in IS NULL", "AND true"]],
  ["an outcome leaves its job counted", [', counted_in = NULL"}', '"}']],
  [
    "an outcome inserts no delta",
    [
      "WHERE counted_in IS NOT NULL OR (queue_type IS NOT NULL AND kind IN ('retry', 'release'))",
      "WHERE false",
    ],
  ],
  [
    "a failure does not stop its group",
    [
      "CASE WHEN kind = 'fail' AND ordered = 'stop' THEN id END AS stopped_by",
      "NULLIF(id, id) AS stopped_by",
    ],
  ],
]);

plant("jobs/leases.ts", [
  ["reaping inserts no delta", ["await insertDeltas(database, ctx, deltas);", ""]],
  ["a reaped job stays counted", ["  counted_in = NULL,\n", ""]],
  [
    "a last attempt that begins keeps the expired leases",
    [
      "CASE WHEN lease.last_attempt IS NULL THEN j.expired_leases ELSE -abs(j.expired_leases) END",
      "j.expired_leases",
    ],
  ],
]);

plant("providers/postgres-js.ts", [
  [
    "transactions begin behind other statements",
    ["takeTurn(true, () => sql.begin(begin, work))", "sql.begin(begin, work)"],
  ],
]);

plant("jobs/cancel.ts", [
  ["cancelling a running job inserts no delta", ["open.map((job) => ({ job }))", "[]"]],
]);

plant("jobs/create.ts", [
  [
    "an arrival skips its delta when the group looks claimable",
    [
      "FROM inserted WHERE ready AND queue_type IS NOT NULL",
      "FROM inserted WHERE ready AND queue_type IS NOT NULL AND NOT EXISTS (SELECT FROM ${tables.groupState} AS g WHERE g.claim_key = inserted.claim_key AND g.claimable)",
    ],
  ],
]);

plant("limits/set-rule.ts", [
  ["a rule changes without raising the epoch", ["SET epoch = epoch + 1`", "SET epoch = epoch`"]],
  [
    "an edited rate has all its tokens again",
    ["before === null || after === null ? 0 :", "before === null || after !== undefined ? 0 :"],
  ],
]);

plant("migrations/functions/claim.ts", [
  [
    "priority does not count between types of a queue with rules",
    ["ORDER BY c.priority, c.due_at, c.position", "ORDER BY c.due_at, c.position"],
  ],
  [
    "a job of a type overtakes the group that is in turn",
    ["OVER (ROWS UNBOUNDED PRECEDING)", "OVER (ROWS CURRENT ROW)"],
  ],
  [
    "a type of lower priority fills what a portion leaves",
    ["IF v_more.has_more THEN v_bound := least(v_bound, v_more.bound); END IF;", ""],
  ],
]);

plant("jobs/claim-cursors.ts", [
  ["a cursor never goes back", ["clock() < cursor.expiresAt", "clock() < Infinity"]],
  ["a cursor stays when jobs are put back", ["forgetAll: () => cursors.clear()", "forgetAll: () => {}"]],
  [
    "a range of which nothing was claimed begins behind its waiting jobs",
    [
      "=== request) places.set(range.number, placeOf(last));",
      "=== request) places.set(range.number, { ...placeOf(last), dueAt: jobs[0]!.lastAttemptAt! });",
    ],
  ],
]);

plant("jobs/claim.ts", [
  ["a claim behind a cursor overlooks a higher priority", ["? higherPrioritySql(tables)", '? "false"']],
]);

plant("limits/rules.ts", [
  [
    "rules of an open transaction are kept after its rollback",
    ['if (rows[0]?.["is_committed"] !== true)', "if (rows.length === 0)"],
  ],
  [
    "a type is registered over another connection",
    ["await atomically(given, async", "await atomically(undefined, async"],
  ],
]);

plant("limits/set-rule.ts", [
  [
    "a first limit does not count what runs",
    ["if (isCounted || begins(before, after) || begins(groupsBefore, groupsAfter)) await insert(true);", ""],
  ],
  [
    "a rule in a transaction holds up claims until it commits",
    [
      "  // Changes of rules wait for one another,",
      "  await lockQueue(database, call.ctx, queue);\n  // Changes of rules wait for one another,",
    ],
  ],
]);

plant("migrations/functions/apply-edits.ts", [
  [
    "a new limit does not count jobs that were locked",
    [
      "IF NOT ${schema}.limit_count_running(p_queue) AND p_at >= e.count_until",
      "IF ${schema}.limit_count_running(p_queue) IS NOT NULL",
    ],
  ],
  [
    "groups after the first thousand stay throttled after an edit",
    [
      "UPDATE ${limitEdit} AS m SET after_key = v_keys[${groupsPerEdit}] WHERE m.number = e.number;",
      "DELETE FROM ${limitEdit} AS m WHERE m.number = e.number;",
    ],
  ],
]);

plant("migrations/functions/delete-idle-groups.ts", [
  [
    "groups with one job each are never deleted",
    ["u.served_virtual_time + ${virtualTimePerJob}", "u.served_virtual_time"],
  ],
  ["groups are deleted while their tokens are spent", ["AND o.bucket_full_at <= v_us ", ""]],
]);

plant("migrations/functions/apply-deltas.ts", [
  [
    "redriving any failed job of a group resumes it",
    ["gone.resumed_by = stop.stopped_by", "gone.resumed_by IS NOT NULL"],
  ],
]);

plant("jobs/promote.ts", [
  [
    "jobs are claimed before their time",
    ['${deferredSql("number")} AND ${isDue}\n', '${deferredSql("number")} AND j.due_at <= ${now} + 1000\n'],
    [
      "ORDER BY j.due_at LIMIT 1) <= ${now}\n) OR CASE",
      "ORDER BY j.due_at LIMIT 1) <= ${now} + 1000\n) OR CASE",
    ],
    ["`${readySql(claimKey)} AND ${isDue}`", "readySql(claimKey)", "rows/runnable.ts"],
  ],
  [
    "claims wait for a job that falls due and is locked",
    ["FOR NO KEY UPDATE SKIP LOCKED\n  ) AS pending", "FOR NO KEY UPDATE\n  ) AS pending"],
  ],
  [
    "claims wait for a locked job whose lease has run out",
    ["FOR NO KEY UPDATE SKIP LOCKED\n),\ndue AS", "FOR NO KEY UPDATE\n),\ndue AS"],
  ],
]);

plant("rows/runnable.ts", [
  ["lower priorities are claimed first", ['runOrder = "priority DESC,', 'runOrder = "priority ASC,']],
  [
    "the scheduled time does not count in the order",
    ['"priority DESC, due_at, position"', '"priority DESC, position, due_at"'],
  ],
  [
    "of jobs due at the same time the youngest is claimed first",
    ['"priority DESC, due_at, position"', '"priority DESC, due_at, position DESC"'],
  ],
  [
    "exhausted jobs are claimed again",
    ["? `${job}.attempt < ${job}.max_attempts`", "? `${job}.attempt > 0`"],
  ],
  [
    "a handler's number of attempts is ignored for expired leases",
    [
      'attemptsLeftSql("j", `(${parameter}::int[])[array_position($2::bigint[], j.claim_key)]`)',
      'attemptsLeftSql("j", `greatest((${parameter}::int[])[1] * 0, j.max_attempts)`)',
    ],
  ],
  [
    "a handler's number of attempts overrides that of the start",
    ["CASE WHEN ${job}.max_attempts_explicit = false", "CASE WHEN ${job}.max_attempts > 0"],
  ],
]);

plant("jobs/next-runnable.ts", [
  [
    "the latest of the scheduled jobs is announced",
    ["ORDER BY j.due_at LIMIT 1) FROM queue_type", "ORDER BY j.due_at DESC LIMIT 1) FROM queue_type"],
  ],
  [
    "the end of the latest lease is announced",
    [
      "WHERE ${leasedSql(attemptsLeft)}\n    ORDER BY j.due_at LIMIT 1",
      "WHERE ${leasedSql(attemptsLeft)}\n    ORDER BY j.due_at DESC LIMIT 1",
    ],
  ],
]);

plant("jobs/next-runnable.ts", [
  ["jobs of other queues are counted as ahead", [" AND other.queue = j.queue", ""]],
  [
    "jobs of lower priority are counted as ahead",
    ["${job}.priority > ${other}.priority", "${job}.priority <> ${other}.priority", "rows/runnable.ts"],
  ],
  [
    "jobs behind are counted as ahead",
    ["< (${other}.due_at, ${other}.position)", "> (${other}.due_at, ${other}.position)", "rows/runnable.ts"],
  ],
]);

plant("jobs/leases.ts", [
  [
    "a renewal does not check the token",
    ["AND j.lease_token = lease.token AND j.due_at > ${now}", "AND j.due_at > ${now}"],
    ["WHERE j.id = held.id AND j.lease_token = lease.token", "WHERE j.id = held.id"],
  ],
  [
    "a renewal revives a lease that has run out",
    ["AND j.lease_token = lease.token AND j.due_at > ${now}", "AND j.lease_token = lease.token"],
  ],
  [
    "a renewal does not check the status",
    [
      "WHERE (j.status = 'running') IS TRUE AND j.lease_token = lease.token",
      "WHERE j.lease_token = lease.token",
    ],
  ],
  ["a renewal waits for locked jobs", ["FOR NO KEY UPDATE OF j SKIP LOCKED", "FOR NO KEY UPDATE OF j"]],
  ["a renewal forgets the progress", ["coalesce(lease.progress, j.progress)", "lease.progress"]],
]);

plant("jobs/leases.ts", [
  ["a job is looked at and not locked", ["WHERE j.id = $2 FOR NO KEY UPDATE`", "WHERE j.id = $2`"]],
  [
    "many jobs are looked at and not locked",
    ["ORDER BY j.id FOR NO KEY UPDATE\n),\nvalid", "ORDER BY j.id\n),\nvalid"],
  ],
  [
    "many jobs are locked in whatever order",
    ["ORDER BY j.id FOR NO KEY UPDATE\n),\nvalid", "ORDER BY j.id DESC FOR NO KEY UPDATE\n),\nvalid"],
  ],
  [
    "an ended job counts as locked among many",
    ["locked.is_plain AND locked.leased_until IS NOT NULL", "locked.is_plain"],
  ],
  [
    "a lost lease counts as locked among many",
    ["IS NOT NULL AND locked.lease_token = lease.token", "IS NOT NULL"],
  ],
  [
    "an expired lease counts as locked among many",
    ["(jobs = $4::int AND leased_until > now)", "(jobs = $4::int)"],
  ],
]);

plant("jobs/discard.ts", [
  ["an outcome does not check the token", ["AND j.lease_token = o.token AND (j.due_at", "AND (j.due_at"]],
  ["an outcome is taken after the lease has run out", ["AND (j.due_at > ${present} OR o.locked)", ""]],
  ["an outcome does not check the status", ["(j.status = 'running') IS TRUE AND j", "j"]],
  [
    "a deletion does not check the lease",
    ["AND ${leaseCheckSql(now)} AND ${isDiscardableSql", "AND ${isDiscardableSql"],
  ],
  [
    "a job is deleted that others wait for",
    ["j.root_sequence_id AND NOT j.has_dependants", "j.root_sequence_id"],
  ],
  ["a job with a deduplication key is deleted", ["AND j.deduplication_key IS NULL AND", "AND"]],
  ["a job with attempts in the history is deleted", ["AND j.lease_version = 1 AND", "AND"]],
  ["a job is deleted under the jobs that it has started", ["LIMIT 1) IS NULL", "LIMIT 0) IS NULL"]],
  [
    "a batch of deletions reports all as deleted",
    ["WHEN (SELECT count(*) FROM discarded) < $2::int", "WHEN $2::int < 0"],
  ],
]);

plant("jobs/apply-outcomes.ts", [
  [
    "a completion that changes no row is committed",
    ["1 / ((SELECT count(*) FROM applied) = $2::int)::int", "1"],
  ],
  [
    "a completion that deletes no row is committed",
    ["1 / ((SELECT count(*) FROM discarded) + (SELECT count(*) FROM applied) = $2::int)::int", "1"],
  ],
  ["the last statement deletes jobs that are to be kept", ["AND o.discard AND", "AND"]],
  [
    "the last statement completes nothing beside what it deletes",
    ["AND (SELECT count(*) FROM discarded) < $2::int AND", "AND (SELECT count(*) FROM discarded) < 0 AND"],
  ],
  [
    "the end of a sequence that others wait for is not passed on",
    ["AND (NOT j.has_dependants OR", "AND (true OR"],
  ],
  ["a released job has used an attempt", ["THEN j.attempt - 1 ELSE", "THEN j.attempt ELSE"]],
  [
    "a retry does not wait",
    ["least(${now} + o.run_after, 8640000000000000)", "least(${now} + o.run_after * 0, 8640000000000000)"],
  ],
  [
    "a completed sequence keeps its key",
    [
      "CASE WHEN j.deduplication_open AND o.continued_to_id IS NULL THEN false ELSE j.deduplication_open END",
      "j.deduplication_open",
    ],
  ],
  [
    "a completed job is not finished",
    [
      "  finished_at = ${now},\n  deduplication_open = CASE WHEN j.deduplication_open AND o.continued_to_id IS NULL THEN",
      "  deduplication_open = CASE WHEN j.deduplication_open AND o.continued_to_id IS NULL THEN",
    ],
  ],
  [
    "a job that waits for blockers becomes pending by a retry",
    ["WHEN j.open_blockers > 0 THEN 'blocked' ELSE 'pending'", "WHEN false THEN 'blocked' ELSE 'pending'"],
  ],
  ["outcomes are written in the order they come", ["[...outcomes].sort(byId)", "outcomes"]],
]);

plant("jobs/commit.ts", [
  [
    "two outcomes of one job are taken in one go",
    ["outcome.leaseToken === null || seen.has(outcome.jobId)", "outcome.leaseToken === null"],
  ],
  [
    "what follows from a completion is left out",
    [
      ".filter(({ outcome }) => completesSequence(outcome))",
      '.filter(({ outcome }) => completesSequence(outcome) && outcome.jobId === "")',
    ],
  ],
  [
    "what follows from a failure is left out",
    ['outcome.kind === "fail" ? [{ ...job', 'outcome.kind === "fail" && outcome.jobId === "" ? [{ ...job'],
  ],
]);

plant("rows/locks.ts", [
  [
    "jobs to be judged are not locked",
    ["ORDER BY j.id FOR NO KEY UPDATE OF j\n      )", "ORDER BY j.id\n      )"],
  ],
]);

plant("rows/locks.ts", [
  ["current jobs are not locked", ["ORDER BY j.id FOR NO KEY UPDATE OF j`", "ORDER BY j.id`"]],
  [
    "a sequence that has gone on meanwhile is locked at an earlier job",
    [
      "wanted = found.filter(({ continuedToId }) => continuedToId !== null).map(({ sequenceId }) => sequenceId);",
      "wanted = [];",
    ],
  ],
  [
    "the first job speaks for a sequence",
    ["ORDER BY sequence_index DESC LIMIT 1", "ORDER BY sequence_index LIMIT 1"],
  ],
]);

plant("jobs/leases.ts", [
  ["the reaper waits for locked jobs", ["FOR NO KEY UPDATE SKIP LOCKED", "FOR NO KEY UPDATE"]],
  ["the reaper ignores its limit", ["LIMIT $2::int", "LIMIT $2::int + 100"]],
  ["the reaper takes leases that hold", ["WHERE ${isExpired}\n", "WHERE j.status = 'running'\n"]],
  ["the holder of a reaped job can still report", ["  lease_token = NULL,\n", ""]],
  [
    "a reaped job loses its place",
    ["THEN j.due_at ELSE j.scheduled_at END", "THEN ${now} ELSE j.scheduled_at END"],
  ],
  [
    "a reaped job's failure is not passed on",
    ["{ completed: [], failed },", "{ completed: [], failed: [] },"],
  ],
  [
    "the reaper does not count the expired lease",
    ["expired_leases = j.expired_leases + 1,", "expired_leases = j.expired_leases,"],
  ],
]);

plant("jobs/cancel.ts", [
  ["the holder of a cancelled job can still report", ["  lease_token = NULL,\n", ""]],
  ["what has ended is cancelled too", ["filter(({ status }) => !isTerminal(status))", "filter(() => true)"]],
  [
    "a cancelled sequence keeps its key",
    ["CASE WHEN j.deduplication_open THEN false ELSE j.deduplication_open END", "j.deduplication_open"],
  ],
]);

plant("jobs/redrive.ts", [
  [
    "a job is revived beside a failed blocker",
    ["(job) => hasFailedBlocker(database, ctx, job)", "() => false"],
  ],
  [
    "a job is revived beside a live duplicate",
    ["(job) => hasLiveDuplicate(database, ctx, job)", "() => false"],
  ],
  ["a revived job waits for itself", ["(job) => wouldWaitForItself(database, ctx, job)", "() => false"]],
  ["a revived job has no attempts left", ["  attempt = 0,\n", ""]],
  [
    "a revived job runs before its time",
    ["  scheduled_at = greatest(j.scheduled_at, clock.earliest),", "  scheduled_at = clock.earliest,"],
    ["  due_at = greatest(j.scheduled_at, clock.earliest),", "  due_at = clock.earliest,"],
    ["AND greatest(j.scheduled_at, clock.earliest) <= clock.now", "AND clock.earliest <= clock.now"],
  ],
  [
    "jobs with blockers are revived without a look at them",
    ["!hasDependants && blockerCount === 0", "!hasDependants && blockerCount >= 0"],
  ],
  [
    "a revived job does not take its key back",
    ["CASE WHEN j.deduplication_key IS NOT NULL THEN true END", "j.deduplication_open"],
  ],
]);

plant("jobs/blockers.ts", [
  [
    "blockers are not marked as having dependants",
    ["SET has_dependants = true WHERE", "SET has_dependants = has_dependants WHERE"],
  ],
  ["jobs may wait for each other in a circle", ["if (cycle !== undefined) throw", "if (false) throw"]],
  ["completed blockers are waited for", ['status !== "completed"', 'status !== "blocked"']],
  [
    "a job with a failed blocker keeps waiting",
    ['if (failedBlocker !== undefined && job.onBlockerFailure === "fail")', "if (false)"],
  ],
  [
    "the order of blockers is lost",
    ["blocker_index - 1, sequence_id FROM blocker", "1000 - blocker_index, sequence_id FROM blocker"],
  ],
]);

plant("jobs/dependants.ts", [["jobs that no longer wait close a circle", ["AND j.status = 'blocked'", ""]]]);

plant("jobs/deduplication.ts", [
  ["keys are not locked", ["if (names.size === 0) return;", "return;"]],
  [
    "the window is ignored",
    ["const within = windowMs === null ||", "const within = true || windowMs === null ||"],
  ],
  ["finished sequences count as duplicates", ['row["deduplication_live"] === true && (scope', "(scope"]],
  ["a duplicate in the same call is not seen", ["position < index &&", "position < 0 &&"]],
]);

plant("jobs/create.ts", [
  [
    "a taken id in a transaction leaves the other jobs of the call",
    ["await removeInserted(database, ctx, insertions, new Set(taken));", ""],
  ],
  [
    "a taken id in a transaction is not reported",
    ["const taken = rows.filter((row)", "const taken = rows.slice(1).filter((row)"],
  ],
  ["a place in a sequence is given twice", [">= job.sequenceIndex,", "> job.sequenceIndex,"]],
  [
    "a continuation is not marked as having dependants",
    ["hasDependants: latest?.hasDependants ?? first?.deduplication != null", "hasDependants: false"],
  ],
  [
    "a job for later is ready at once",
    ["awaits_blockers IS NULL AND due_time <= created_at", "awaits_blockers IS NULL"],
  ],
  [
    "a job that awaits blockers is pending",
    ["CASE WHEN awaits_blockers THEN 'blocked' ELSE 'pending' END", "'pending'"],
  ],
  [
    "portions of a long list commit by themselves",
    [
      "const storing = database.query(ctx, statement);",
      "const storing = database.query(undefined, statement);",
    ],
  ],
]);

plant("jobs/delete.ts", [
  ["what others wait for is deleted", ["if (dependants.length > 0)", "if (dependants.length < 0)"]],
  ["a part of a tree is deleted", ["if (notRoots.length > 0) return", "if (notRoots.length < 0) return"]],
]);

plant("jobs/delete.ts", [
  ["pruning waits for locked jobs", ["FOR UPDATE SKIP LOCKED`", "FOR UPDATE`"]],
  ["pruning ignores its limit", ["prunable.slice(0, call.limit)", "prunable"]],
  [
    "pruning takes what others wait for",
    ["return trees.filter(({ root }) => going.has(root.id));", "return [...trees];"],
  ],
  [
    "pruning takes what has been revived meanwhile",
    ["return job !== undefined && isPastRetention(bounds, job);", "return job !== undefined;"],
  ],
  [
    "pruning looks at roots only",
    ["if (!isPastRetention(tree.bounds, member)) trees.delete(member.rootId);", ""],
  ],
]);

plant("jobs/blockers.ts", [
  [
    "the order of blockers is not kept in reading",
    ["ORDER BY job_id, blocker_index", "ORDER BY job_id, blocker_index DESC"],
  ],
]);

plant("jobs/reads.ts", [
  [
    "dependants are listed from the newest",
    ["ORDER BY j.created_at, j.id LIMIT $4::int", "ORDER BY j.created_at DESC, j.id DESC LIMIT $4::int"],
  ],
]);

plant("jobs/replace.ts", [
  [
    "a duplicate is replaced without a lock",
    [
      "const locked = await lockJobs(database, call, [...wanted]);",
      "const locked = { at: Date.now(), jobs: new Map() };",
    ],
    ["rows.length < wanted.size || !rows.every", "rows.length < 0 || !rows.every"],
  ],
  [
    "a duplicate that was claimed meanwhile is replaced",
    ["!rows.every(({ status }) => isWaiting(status))", "false"],
  ],
  [
    "a repeated replacement takes effect again",
    ["if (ids.length === 0) return new Map();", "return new Map();"],
  ],
  ["a pending duplicate that is kept is not locked", [' || deduplication.scope === "pending")', ")"]],
]);

plant("jobs/edits.ts", [
  [
    "a job that is brought forward stays deferred",
    [
      "ready = j.status = 'pending' AND n.scheduled_at <= $1::bigint",
      "ready = j.ready AND n.scheduled_at <= $1::bigint",
    ],
  ],
  ["a job that is put off stays ready", ["AND n.scheduled_at <= $1::bigint", "AND $1::bigint > 0"]],
  [
    "a changed job in a group inserts no delta",
    ['deltasOfSql("saved"', 'deltasOfSql("(SELECT * FROM saved WHERE false)"'],
  ],
  ["a job that is put off is due as before", ["due_at = n.scheduled_at,", "due_at = j.due_at,"]],
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
    ["AND j.status = 'pending' AND j.attempt = 0\";", "AND j.status = 'pending'\";"],
  ],
  [
    "a running job expires",
    [
      "AND j.status = 'pending' AND j.attempt = 0\";",
      "AND j.status IN ('pending', 'running') AND j.attempt <= 1\";",
    ],
  ],
  ["a job expires too early", ["<= ${now}\n  ORDER BY", "<= ${now} + 1\n  ORDER BY"]],
  ["expiry ignores its limit", ["LIMIT $2::int FOR", "LIMIT $2::int + 100 FOR"]],
  ["expiry begins with the latest", ["${expiresAt} LIMIT $2", "${expiresAt} DESC LIMIT $2"]],
  ["an expired job stays ready", ["  ready = false,\n", ""]],
  ["an expired job inserts no delta", ["failed.map((job) => ({ job })),", "[],"]],
  [
    "expiry waits for locked jobs",
    ["LIMIT $2::int FOR NO KEY UPDATE SKIP LOCKED", "LIMIT $2::int FOR NO KEY UPDATE"],
  ],
  ["an expired job is not passed on", ["{ completed: [], failed }", "{ completed: [], failed: [] }"]],
  [
    "the key of an expired job stays taken",
    [
      "deduplication_open = CASE WHEN j.deduplication_open THEN false ELSE j.deduplication_open END\nFROM late",
      "deduplication_open = j.deduplication_open\nFROM late",
    ],
  ],
]);

plant("limits/set-rule.ts", [
  [
    "a rate of one group that is edited keeps the bucket of the old one",
    ["(boundAfter(was.rate, is.rate, rules.now) ?? -1)", "-1"],
  ],
  [
    "an edit of the rate of all groups changes the buckets of named groups",
    ["arrayLiteral(namedKeys([...rules.types, before, after]))", "arrayLiteral([])"],
  ],
]);
plant("limits/read.ts", [
  [
    "a page of groups begins with the last group of the page before",
    ["g.group_key > $3::text", "g.group_key >= $3::text"],
  ],
]);
plant("limits/due-jobs.ts", [
  [
    "the backlog forgets that an expired lease of an ordered group goes first",
    ["const waits = busy > 0 || freedFirst ||", "const waits = busy > 0 ||"],
  ],
  [
    "the head of an ordered group is runnable although it has waited too long",
    ['row["head_overdue"] === true ? 0 : 1', "1"],
  ],
  [
    "jobs with expired leases hold slots in the backlog",
    ["count(*) FILTER (WHERE NOT free) AS busy", "count(*) AS busy"],
  ],
]);

plant("limits/explain.ts", [
  [
    "an explanation leaves out running jobs that a new limit has not counted",
    ["AND ${scope} AND NOT (${isFree})", "AND ${scope} AND j.counted_in IS NOT NULL AND NOT (${isFree})"],
  ],
]);

plant("migrations/functions/start-job.ts", [
  [
    "a start from SQL does not lock its deduplication key",
    ["PERFORM pg_advisory_xact_lock(hashtextextended(", "PERFORM (hashtextextended("],
  ],
  [
    "a start from SQL counts names as SQL does",
    ["`(2 * char_length(${text}) -", "`(0 * char_length(${text}) +"],
  ],
]);
