// Mistakes in what PostgreSQL keeps of the past. `find` must occur exactly once in the source file.

import { plantIn } from "./plant-in.mjs";

const { bugs, plant } = plantIn("packages/postgres/src");
export const postgresHistoryBugs = bugs;

plant("jobs/apply-outcomes.ts", [
  [
    "an outcome writes no attempt",
    ["FROM applied WHERE lease_version IS NOT NULL", "FROM applied WHERE false"],
  ],
  [
    "a failure leaves no fingerprint",
    ["CASE WHEN o.kind = 'fail' THEN o.fingerprint END", "nullif(o.fingerprint, o.fingerprint)"],
  ],
  ["an attempt ended when it began", ["${now} AS ended_at", "started_at AS ended_at"]],
]);

plant("jobs/apply-outcomes.ts", [
  ["a completion writes an attempt", ['kind === "complete" ? undefined : note', "note"]],
  [
    "all attempts of a batch have the deployment of the first",
    ['"deployment", type: "text",', '"deployment", type: "text", required: true,'],
  ],
]);

plant("jobs/commit.ts", [
  [
    "a job that is completed from outside loses its attempt",
    ["leaseToken === null ? [{ job, by: kind }] : []", "leaseToken === undefined ? [{ job, by: kind }] : []"],
  ],
]);

plant("history/attempts.ts", [
  ["one attempt too many is kept", ["OFFSET ${mostAttempts - 1}", "OFFSET ${mostAttempts}"]],
  ["one attempt too few is kept", ["OFFSET ${mostAttempts - 1}", "OFFSET ${mostAttempts - 2}"]],
  ["attempts are never removed", ["ended.lease_version > ${mostAttempts} AND", "false AND"]],
  ["an expired lease is due when it ran out", ["scheduled_at AS due_at", "due_at"]],
]);

plant("jobs/leases.ts", [
  [
    "a reaped job fails without its fingerprint",
    ["ELSE $6::text END", "ELSE nullif($6::text, $6::text) END"],
  ],
]);

plant("jobs/cancel.ts", [
  [
    "a job that is cancelled while it runs loses its attempt",
    ['open.map((job) => ({ job, by: "cancel" }))', "[]"],
  ],
]);

plant("jobs/promote.ts", [
  [
    "a claim takes over an expired lease and writes no attempt",
    ["WHERE ${areRulesKnown}`)}", "WHERE false`)}"],
  ],
]);

plant("migrations/functions/reap.ts", [
  [
    "under rules a claim takes over an expired lease and writes no attempt",
    ["FROM expired ON", "FROM expired WHERE false ON"],
  ],
  ["under rules attempts are never removed", ["expired.lease_version > ${mostAttempts} AND", "false AND"]],
]);

plant("jobs/delete.ts", [
  [
    "attempts outlive their job",
    [
      "DELETE FROM ${tables.jobAttempt} WHERE job_id",
      "DELETE FROM ${tables.jobAttempt} WHERE false AND job_id",
    ],
  ],
]);

plant("jobs/filter.ts", [
  ["the worker of a job does not count", ['oneOf(filter.leasedBy, "leased_by");', ""]],
  ["the fingerprint of a job does not count", ['oneOf(filter.fingerprints, "fingerprint");', ""]],
]);

plant("history/reports.ts", [
  ["old counts are taken", ["WHERE starts_at >= ${now} - $6::bigint", "WHERE starts_at >= -$6::bigint"]],
  ["a second report adds nothing", ["DO UPDATE SET counts = excluded.counts", "DO NOTHING"]],
  [
    "the last to see a cause describes it",
    ["(fingerprint) DO NOTHING", "(fingerprint) DO UPDATE SET message = excluded.message"],
    ["WHERE NOT EXISTS (SELECT FROM", "WHERE true OR EXISTS (SELECT FROM"],
  ],
  [
    "a cause that comes up again seems not to",
    [
      "UPDATE ${failureCause} SET last_seen_at = ${now}",
      "UPDATE ${failureCause} SET last_seen_at = last_seen_at",
    ],
  ],
  [
    "reports wait for each other's causes",
    ["WHERE pg_try_advisory_xact_lock(", "WHERE true OR pg_try_advisory_xact_lock("],
  ],
]);

plant("history/reports.ts", [
  ["a roll-up ignores that a row has changed", ["WHERE b.counts = f.counts ORDER", "ORDER"]],
  ["a roll-up ignores that a row is gone", ["return rows.length === buckets.length;", "return true;"]],
  [
    "a roll-up that comes too late leaves a part of its rows",
    ["const added = rows.map(toBucket);", "const added = rows.slice(rows.length).map(toBucket);"],
  ],
  ["a roll-up does not delete", ["${deleteSql(tables, 8)}`", "${deleteSql(tables, 8)} AND false`"]],
]);

plant("history/causes.ts", [
  [
    "a cap says that there are more when there are not",
    ["(SELECT count(*) FROM newest) > $2::int", "(SELECT count(*) FROM newest) >= $2::int"],
  ],
  ["the first job to fail is the example", ["ORDER BY finished_at DESC))[1]", "ORDER BY finished_at))[1]"]],
]);

plant("history/reports.ts", [
  ["the causes of failed jobs are deleted", ["j.fingerprint = c.fingerprint", "false"]],
  [
    "more is deleted than allowed",
    [") AS found LIMIT $4::int - (SELECT count(*) FROM silent)", ") AS found LIMIT $4::int"],
  ],
]);
