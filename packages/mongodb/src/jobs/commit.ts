import {
  afterOutcome,
  type CommitOutcomesCall,
  completesSequence,
  type HeldLease,
  type JobOutcome,
  checkOutcome,
  type OutcomeResult,
} from "leasehold/adapter";
import type { Document } from "mongodb";
import { divide } from "../database/contention.ts";
import type { Store, StoreCall } from "../database/database.ts";
import type { Work } from "../database/transactions.ts";
import { failDependants, unblockDependants } from "./dependants.ts";
import { writeFenced } from "./fenced-writes.ts";
import { expiryExpression, nowExpression, scheduledExpression } from "./runnable.ts";

// The rules of the transitions once more, for the server: what an outcome makes of a running job that it knows nothing else of.

const pendingAgain = (scheduledAt: unknown): Document => ({
  status: "pending",
  scheduledAt,
  dueAt: scheduledAt,
});

const ended = (now: unknown): Document => ({ dueAt: null, live: false, finishedAt: now });

const changesBy = (outcome: JobOutcome, now: unknown): Document => {
  switch (outcome.kind) {
    case "complete":
      return {
        ...ended(now),
        status: "completed",
        output: { $literal: outcome.output },
        completedAt: now,
        completedBy: { $literal: outcome.completedBy },
      };
    case "retry":
      return {
        ...pendingAgain(scheduledExpression(outcome.schedule, now)),
        expiredLeases: { $literal: 0 },
        lastError: { $literal: outcome.error },
        lastFailedAt: now,
      };
    case "release": {
      const scheduledAt =
        outcome.schedule === null ? "$scheduledAt" : scheduledExpression(outcome.schedule, now);
      return {
        ...pendingAgain(scheduledAt),
        expiresAt: { $cond: [{ $lte: ["$attempt", 1] }, expiryExpression(scheduledAt), null] },
        attempt: { $subtract: ["$attempt", 1] },
        expiredLeases: { $abs: "$expiredLeases" },
        ...(outcome.error === null ? {} : { lastError: { $literal: outcome.error } }),
      };
    }
    case "fail":
      return {
        ...ended(now),
        status: "failed",
        failedAt: now,
        failureReason: { $literal: outcome.reason },
        expiredLeases: { $literal: 0 },
        lastError: { $literal: outcome.error },
        lastFailedAt: now,
      };
  }
};

/** The job keeps its token, so that the same outcome again is recognised. */
const outcomeChanges = (outcome: JobOutcome, now: unknown): Document => ({
  ...changesBy(outcome, now),
  leasedBy: null,
  leasedUntil: null,
});

const commitOutcome = async (
  work: Work,
  outcome: JobOutcome,
  blockers: ReadonlySet<string>,
): Promise<OutcomeResult> => {
  const stored = await work.find(outcome.jobId);
  const rejection = checkOutcome(stored?.row, outcome, work.now);
  if (stored === undefined || rejection !== undefined) return rejection!;
  const { row } = work.save(stored, afterOutcome(stored.row, outcome, work.now));
  return {
    kind: "applied",
    at: work.now,
    unblocked:
      completesSequence(outcome) && blockers.has(row.sequenceId)
        ? await unblockDependants(work, row.sequenceId)
        : [],
    cascaded: outcome.kind === "fail" && blockers.has(row.sequenceId) ? await failDependants(work, row) : [],
  };
};

/** In a transaction: judges each outcome, unblocks and cascades. */
const commitInTransaction = async (work: Work, outcomes: readonly JobOutcome[]): Promise<OutcomeResult[]> => {
  const jobs = await work.findMany(outcomes.map(({ jobId }) => jobId));
  const sequenceIds = new Set([...jobs.values()].map(({ row }) => row.sequenceId));
  // Sequences that a job waits for. A job that begins to wait for one locks its current job.
  const blockers = new Set((await work.dependants([...sequenceIds])).flatMap(({ blockerIds }) => blockerIds));
  const results: OutcomeResult[] = [];
  for (const outcome of outcomes) results.push(await commitOutcome(work, outcome, blockers));
  return results;
};

/** In batches; jobs locked by another transaction are committed alone at the end, so that they delay no others. */
const commitInTransactions = async (
  store: Store,
  call: StoreCall,
  outcomes: readonly JobOutcome[],
): Promise<OutcomeResult[]> => {
  if (outcomes.length === 0) return [];
  const now = call.now ?? (await store.clock.ask());
  const results = await divide<JobOutcome, OutcomeResult | undefined>(
    outcomes,
    (some) => store.attemptWork(now, (work) => commitInTransaction(work, some)),
    () => undefined,
  );
  return Promise.all(
    results.map(async (result, index) => {
      if (result !== undefined) return result;
      const [late] = await store.work(call, (work) => commitInTransaction(work, [outcomes[index]!]));
      return late!;
    }),
  );
};

type HeldOutcome = JobOutcome & HeldLease;

const textOf = (outcome: JobOutcome): string =>
  (outcome.kind === "complete" ? outcome.output : outcome.error) ?? "";

/** With more than this, the whole document is looked at first. */
const mostPlainText = 2 * 1024 * 1024;

/**
 * What a single write can do: the end of an attempt under a lease, as far as the outcome alone shows. Only a
 * transaction can have locked the job.
 */
const isPlain = (outcome: JobOutcome): outcome is HeldOutcome =>
  outcome.leaseToken !== null &&
  textOf(outcome).length < mostPlainText &&
  (outcome.kind !== "complete" || outcome.continuedToId === null);

/** No job waits for the ended sequence, and nothing blocks the continuation. */
const isAlone = ({ kind }: JobOutcome) =>
  kind === "complete" || kind === "fail" ? { hasWaiters: false } : { openBlockers: 0 };

const plainPatienceMs = 500;

/** Writes as many as possible without a transaction. Returns the applied ones. */
const commitPlain = async (
  store: Store,
  call: StoreCall,
  outcomes: readonly HeldOutcome[],
): Promise<ReadonlySet<JobOutcome>> => {
  if (outcomes.length === 0) return new Set();
  const now = nowExpression(call.now);
  const writes = outcomes.map((outcome) => ({
    lease: outcome,
    filter: isAlone(outcome),
    changes: outcomeChanges(outcome, now),
  }));
  const result = await writeFenced(store, writes, { now, maxTimeMS: plainPatienceMs, markField: "mark" });
  if (result.isComplete) return new Set(outcomes);
  const seen = await result.look();
  return new Set(outcomes.filter(({ jobId }) => seen.get(jobId)?.isApplied === true));
};

/**
 * Most outcomes are one write each, and all of them one command. The rest, and what that command left undone, goes through
 * transactions. So a batch is atomic job by job, not as a whole, which is what the contract asks for.
 */
export const commitOutcomes = async (
  store: Store,
  call: StoreCall & CommitOutcomesCall,
): Promise<OutcomeResult[]> => {
  const { outcomes } = call;
  if (call.session !== undefined) return store.work(call, (work) => commitInTransaction(work, outcomes));
  const isRepeated = new Set(outcomes.map(({ jobId }) => jobId)).size < outcomes.length;
  // Two outcomes of one job are judged one after the other.
  const applied = await commitPlain(store, call, isRepeated ? [] : outcomes.filter(isPlain));
  const rest = outcomes.filter((outcome) => !applied.has(outcome));
  const others = await commitInTransactions(store, call, rest);
  const at = applied.size === 0 ? 0 : (call.now ?? (await store.clock.estimate()));
  const results = new Map(rest.map((outcome, index) => [outcome, others[index]!]));
  return outcomes.map(
    (outcome) => results.get(outcome) ?? { kind: "applied", at, unblocked: [], cascaded: [] },
  );
};
