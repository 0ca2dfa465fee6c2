import {
  assertLeaseDuration,
  countedIn,
  expiredAttempt,
  remainingLimits,
  type StateJob,
} from "leasehold/adapter";
import type { SqliteConnection } from "../database/connection.ts";
import type { Operation } from "../database/operation.ts";
import { defineRow } from "../database/sql.ts";
import type { Tables } from "../database/tables.ts";
import type { Attempts } from "../history/attempts.ts";
import type { ClaimFairly, FairlyTaken } from "../limits/claim.ts";
import type { CountInGroup, NextClaimableAt } from "../limits/next-runnable.ts";
import type { LimitRuleRows } from "../limits/rule-rows.ts";
import {
  claimedJobsColumn,
  type ClaimTerms,
  jobColumns,
  keyFactor,
  parseClaimedJobs,
  queryJobs,
} from "../rows/job-table.ts";
import { createLongInputs } from "../rows/long-inputs.ts";
import type { Candidate, Runnable } from "../rows/runnable.ts";

// The text of all of them has to fit into a string, however large their inputs are.
const jobsPerText = 32;

export const prepareClaimJobs = (
  tables: Tables,
  runnable: Runnable,
  limitRules: LimitRuleRows,
  claimFairly: ClaimFairly,
  attempts: Attempts,
): Operation<"claimJobs"> => {
  const { job, runningIndex } = tables;
  const longInputs = createLongInputs(tables);
  const findClaimedByToken = `SELECT ${jobColumns(tables, "j")} FROM ${job} AS j INDEXED BY ${runningIndex}
    WHERE j.status = 'running' AND j.leased_until > ? AND j.lease_token = ? ORDER BY j.priority DESC, j.seq`;
  const findExpired = `SELECT ${jobColumns(tables, "j")} FROM ${job} AS j WHERE j.seq IN (SELECT value FROM json_each(?))`;
  const begin = `UPDATE ${job} SET status = 'running', attempt = attempt + 1, lease_token = ?,
      lease_version = lease_version + 1, leased_by = ?, deployment = ?, leased_until = ? + coalesce(lease_ms, ?),
      last_attempt_at = ?`;
  const take = `${begin}, expired_leases = expired_leases + (status = 'running'),
      last_failed_at = CASE WHEN status = 'running' THEN leased_until ELSE last_failed_at END,
      scheduled_at = CASE WHEN status = 'running' THEN leased_until ELSE scheduled_at END
    WHERE seq IN (SELECT value FROM json_each(?))`;
  const takePending = `${begin} WHERE seq IN (SELECT value FROM json_each(?))`;
  // In a queue with rules or groups, where all taken jobs are pending.
  const takeCounted = `${begin}, claim_key = NULL,
      counted_in = ? + CASE WHEN ? & ${countedIn.group} THEN ${keyFactor} * claim_key ELSE 0 END
    WHERE seq IN (SELECT value FROM json_each(?))`;
  // In the order of the list, which is the order of the claim.
  const load = `SELECT ${claimedJobsColumn("j")} FROM json_each(?) AS taken
    CROSS JOIN ${job} AS j ON j.seq = taken.value`;

  const loadAll = (db: SqliteConnection, seqs: readonly number[], terms: ClaimTerms): StateJob[] => {
    const jobs: StateJob[] = [];
    for (let from = 0; from < seqs.length; from += jobsPerText) {
      const [text] = db.first(load, [JSON.stringify(seqs.slice(from, from + jobsPerText))]) ?? [];
      for (const claimed of parseClaimedJobs(text, terms)) jobs.push(longInputs.load(db, claimed));
    }
    return jobs;
  };

  const takeAll = (db: SqliteConnection, candidates: readonly Candidate[], terms: ClaimTerms): StateJob[] => {
    const seqs = candidates.map(({ seq }) => seq);
    const { workerId, leaseToken, deployment, leaseMs, now } = terms;
    const expired = candidates.filter(({ isExpired }) => isExpired === true).map(({ seq }) => seq);
    if (expired.length > 0)
      for (const lost of queryJobs(db, findExpired, [JSON.stringify(expired)]))
        attempts.add(db, expiredAttempt(lost));
    const values = [leaseToken, workerId, deployment, now, leaseMs, now, JSON.stringify(seqs)];
    if (seqs.length > 0) db.run(expired.length === 0 ? takePending : take, values);
    return loadAll(db, seqs, terms);
  };

  const takeFairly = (
    db: SqliteConnection,
    { taken, settle }: FairlyTaken,
    terms: ClaimTerms,
  ): StateJob[] => {
    const { workerId, leaseToken, deployment, leaseMs, now } = terms;
    const begun = [leaseToken, workerId, deployment, now, leaseMs, now];
    for (const bits of new Set(taken.map((each) => each.countedIn))) {
      const seqs = taken.filter((each) => each.countedIn === bits).map(({ job }) => job);
      const counted = bits === 0 ? null : bits;
      db.run(takeCounted, [...begun, counted, counted, JSON.stringify(seqs)]);
    }
    settle();
    const seqs = taken.map(({ job }) => job);
    return loadAll(db, seqs, terms);
  };

  return (db, call, now) => {
    const { workerId, leaseToken, deployment = null, leaseMs, requests, maxAttempts } = call;
    assertLeaseDuration(leaseMs);
    const jobs = call.isRepeat === true ? queryJobs(db, findClaimedByToken, [now, leaseToken]) : [];
    const limits = remainingLimits(requests, jobs);
    for (const [index, { queue, typeNames }] of requests.entries()) {
      const limit = Math.min(limits[index]!, call.limit - jobs.length);
      const scope = { queue, typeNames, maxAttempts };
      const terms = { queue, workerId, leaseToken, deployment, leaseMs, now };
      const claimed =
        limitRules.read(db).get(queue) === undefined
          ? takeAll(db, runnable.first(db, scope, limit, now), terms)
          : takeFairly(db, claimFairly(db, scope, limit, now), terms);
      jobs.push(...claimed);
    }
    return jobs;
  };
};

const placeRow = defineRow((columns) => ({
  queue: columns.value<string>("queue"),
  typeName: columns.value<string>("type_name"),
  priority: columns.value<number>("coalesce(given_priority, priority)"),
  scheduledAt: columns.value<number>("scheduled_at"),
  seq: columns.value<number>("seq"),
  group: columns.value<string | null>("group_key", null),
  ordered: columns.value<string | null>("ordered", null),
  leaseVersion: columns.value<number>("lease_version"),
  claimKey: columns.value<number | null>("claim_key", null),
}));

export const prepareCountAhead = (
  { job }: Tables,
  runnable: Runnable,
  countInGroup: CountInGroup,
): Operation<"countAhead"> => {
  const findPlace = `SELECT ${placeRow.columns} FROM ${job} WHERE id = ? AND status = 'pending'`;
  return (db, call, now) => {
    const { jobId, cap } = call;
    const place = placeRow.first(db, findPlace, [jobId]);
    if (place === undefined) return null;
    const { claimKey } = place;
    return claimKey === null
      ? runnable.countBefore(db, { ...place, at: place.scheduledAt }, call, now)
      : countInGroup(db, { ...place, claimKey }, cap, now);
  };
};

export const prepareNextRunnableIn =
  (
    runnable: Runnable,
    limitRules: LimitRuleRows,
    nextClaimableAt: NextClaimableAt,
  ): Operation<"nextRunnableIn"> =>
  (db, { requests, maxAttempts }, now) => {
    let next = Number.POSITIVE_INFINITY;
    for (const { queue, typeNames } of requests) {
      const scope = { queue, typeNames, maxAttempts };
      const rules = limitRules.read(db).get(queue);
      const at = rules === undefined ? runnable.nextAt(db, scope) : nextClaimableAt(db, scope, rules, now);
      next = Math.min(next, at ?? next);
    }
    return next === Number.POSITIVE_INFINITY ? null : Math.max(0, next - now);
  };
