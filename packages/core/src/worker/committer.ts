import { createFifo } from "../base/async.ts";
import { delayOf } from "../base/backoff.ts";
import { sleep } from "../base/runtime.ts";
import { parseStoredError, shortenStoredError } from "../base/stored-error.ts";
import type { AfterCommit } from "../engine/engine.ts";
import { recogniseDiscarded } from "../engine/lost-replies.ts";
import { createAfterCommit } from "../engine/operation.ts";
import { kindOfError } from "../history/fingerprint.ts";
import { announceOutcome } from "../jobs/announce.ts";
import { isDiscarded } from "../jobs/complete.ts";
import { endLostSpan, endRecordedSpan } from "../observability/observe.ts";
import type { LeaseRefusal } from "../store/contract/claims.ts";
import type { AttemptNote } from "../store/contract/history.ts";
import type { JobOutcome, OutcomeResult } from "../store/contract/outcomes.ts";
import { attemptEventData, refusalAbortReason, reportFenced, reportLostLease } from "./attempt-events.ts";
import type { WorkerContext } from "./context.ts";
import { isSuspect } from "./crash-isolation.ts";
import { type HeldJob, isLeaseTrusted } from "./held-jobs.ts";
import type { LoopHealth } from "./loop.ts";
import { errorOutcome } from "./outcome.ts";

/**
 * Adds the note of the attempt for the history, if the store keeps one. Called for every job, so the usual case returns at
 * once. A job that is released before its handler began has no attempt.
 */
const withNote = (worker: WorkerContext, held: HeldJob, outcome: JobOutcome): JobOutcome => {
  if (outcome.kind === "complete" || (outcome.error === null && !held.began)) return outcome;
  if (!worker.engine.store.history) return outcome;
  return { ...outcome, note: noteOf(worker, held, outcome.error) };
};

const describeError = (
  { engine }: WorkerContext,
  error: string | null,
): Pick<AttemptNote, "fingerprint" | "error"> => {
  if (error === null) return { fingerprint: null, error: null };
  const stored = parseStoredError(error)!;
  const kind = kindOfError(stored);
  engine.reporter.addCause(kind);
  return { fingerprint: kind.fingerprint, error: shortenStoredError(error, stored) };
};

const noteOf = (worker: WorkerContext, { job, log }: HeldJob, error: string | null): AttemptNote => {
  const { engine, settings } = worker;
  return {
    attempt: job.attempt,
    leaseVersion: job.leaseVersion,
    workerId: settings.workerId,
    deployment: engine.deployment,
    dueAt: job.scheduledAt,
    startedAt: job.lastAttemptAt!,
    ...describeError(worker, error),
    log: log?.toText() ?? null,
  };
};

/** For a store that refused the text: all other fields come from core. */
const withoutText = (note: AttemptNote): AttemptNote => ({ ...note, error: null, log: null });

/**
 * Ends an attempt that the committer has not written:
 *
 * - `completed`: the transaction of `complete` has completed the job.
 * - `unwritten`: the committer has given up on the outcome.
 * - `lost`: the lease was gone before there was an outcome.
 */
export const endAttempt = (
  worker: WorkerContext,
  held: HeldJob,
  end: "completed" | "unwritten" | "lost",
): void => {
  if (end === "completed") {
    countAttempt(worker, held);
    if (held.span) endRecordedSpan(held.span, "completed");
  } else if (held.span) endLostSpan(held.span, end === "unwritten" ? "lease_expired" : null);
  letGo(worker, held);
};

const letGo = (worker: WorkerContext, held: HeldJob): void => {
  worker.held.remove(held);
  if (held.job.limited) worker.wakeUps.limitFreed.signal(held.job.typeName);
};

/** A job that was released or refused before its handler began has no attempt. */
const countAttempt = ({ engine }: WorkerContext, { job, ranMs }: HeldJob): void => {
  if (ranMs === undefined) return;
  engine.tally.addAttempt(job, job.lastAttemptAt! - job.scheduledAt, ranMs);
};

/** Ends an attempt with the answer of the store to its outcome: reports it and ends the span. */
const endWritten = (
  worker: WorkerContext,
  held: HeldJob,
  outcome: JobOutcome,
  answer: OutcomeResult,
  afterCommit: AfterCommit,
): void => {
  if (answer.kind === "refused") {
    if (held.span) endLostSpan(held.span, refusalAbortReason(answer));
    reportRefused(worker, held, answer, afterCommit);
  } else {
    if (answer.kind === "applied") reportApplied(worker, held, outcome, answer, afterCommit);
    if (held.span) endRecordedSpan(held.span, outcome);
  }
  letGo(worker, held);
};

const reportApplied = (
  worker: WorkerContext,
  held: HeldJob,
  outcome: JobOutcome,
  answer: OutcomeResult & { kind: "applied" },
  afterCommit: AfterCommit,
): void => {
  announceOutcome(afterCommit, held.job, outcome, answer, () => attemptEventData(worker, held));
  countAttempt(worker, held);
  if (outcome.kind === "complete") return;
  if (outcome.kind === "release") afterCommit.count(held.job, "released");
  if (outcome.kind === "retry") afterCommit.count(held.job, "retried");
  // A suspect needs an empty process. Notified, all workers would try to claim it and stop for it.
  if (outcome.kind === "release" && !outcome.schedule && !isSuspect(worker, held.job))
    afterCommit.notify("jobScheduled", held.job.typeName);
  const schedule = outcome.kind === "fail" ? undefined : outcome.schedule;
  if (schedule && "afterMs" in schedule) worker.wakeUps.runnableIn.signal(schedule.afterMs);
};

const reportRefused = (
  worker: WorkerContext,
  held: HeldJob,
  refusal: LeaseRefusal,
  afterCommit: AfterCommit,
): void => {
  reportFenced(afterCommit.observe, worker, held, refusal);
  // It may be our own completion whose reply was lost, together with the notification.
  if (refusal.status === "completed") afterCommit.notify("jobSequenceCompleted", held.job.sequenceId);
};

/** Writes outcomes in batches, each fenced by its own lease. */
export interface Committer {
  add(held: HeldJob, outcome: JobOutcome): void;
  /** Resolves when all outcomes added so far have been written or given up. */
  flushed(): Promise<void>;
  /** Gives up all outcomes that are not written. None is accepted any more. */
  abandon(): void;
  readonly pending: number;
  /** Outcomes that were given up, because time ran out or the store refused them. */
  readonly unwritten: number;
  health(): Pick<LoopHealth, "failures" | "lastError">;
}

interface Entry {
  readonly held: HeldJob;
  outcome: JobOutcome;
  /** It was sent, and the answer was an error. It may have been applied. */
  wasSent?: boolean;
}

/** Decided once, as late as possible: a process may have begun to wait for the sequence. */
const decideToKeep = ({ engine }: WorkerContext, entry: Entry): void => {
  const { held, outcome } = entry;
  if (outcome.kind !== "complete" || entry.wasSent || held.origin?.hasStarted) return;
  if (isDiscarded(engine, held.job)) entry.outcome = { ...outcome, keep: false };
};

// A result that waits holds its lease and its slot in a limit, so the first tries come sooner than those of the loops.
const mostFirstDelayMs = 50;

const byJobId = (a: Entry, b: Entry): number => (a.held.job.id < b.held.job.id ? -1 : 1);

export const createCommitter = (worker: WorkerContext): Committer => {
  const { engine, settings, held: heldJobs, wakeUps } = worker;
  const { store, observe, runtime } = engine;
  const { clock } = runtime;
  const { loopBackoff } = settings;
  const retryDelay = { ...loopBackoff, firstMs: Math.min(loopBackoff.firstMs, mostFirstDelayMs) };
  const queue = createFifo<Entry>();
  let writing: readonly Entry[] = [];
  let unwritten = 0;
  let abandoned = false;
  let flushing = false;
  let onFlushed: (() => void)[] = [];
  let failures = 0;
  let lastError: unknown;

  const giveUp = (entry: Entry): void => {
    unwritten += 1;
    endAttempt(worker, entry.held, "unwritten");
  };

  const writeOnce = async (batch: readonly Entry[]): Promise<void> => {
    for (const entry of batch) decideToKeep(worker, entry);
    const outcomes = batch.map(({ outcome }) => outcome);
    const askedAt = clock.monotonic();
    let results: readonly OutcomeResult[] = await store.commitOutcomes({ outcomes });
    if (batch.some(({ wasSent }) => wasSent)) results = recogniseDiscarded(results, outcomes);
    const answeredAt = clock.monotonic();
    failures = 0;
    const afterCommit = createAfterCommit(engine, { committed: true });
    for (let index = 0; index < batch.length; index++) {
      const { held, outcome } = batch[index]!;
      endWritten(worker, held, outcome, results[index]!, afterCommit);
    }
    observe("commitBatch", () => ({
      workerId: settings.workerId,
      size: batch.length,
      durationMs: answeredAt - askedAt,
    }));
    afterCommit.publish();
  };

  /** Gives up outcomes whose lease is over: another worker may have the job by now. */
  const withoutLost = (batch: readonly Entry[]): Entry[] =>
    batch.filter((entry) => {
      if (isLeaseTrusted(entry.held, clock)) return true;
      reportLostLease(observe, worker, entry.held, "lease_expired");
      giveUp(entry);
      return false;
    });

  /**
   * The store can be reached, but cannot take this outcome: it is recorded as a failure; if that fails too, without the
   * error text.
   */
  const degrade = (entry: Entry, error: unknown): boolean => {
    const { outcome } = entry;
    if (outcome.kind === "complete") {
      entry.outcome = withNote(worker, entry.held, errorOutcome(worker, entry.held, error));
      return true;
    }
    if (outcome.error === null) return false;
    entry.outcome = { ...outcome, error: null, note: outcome.note && withoutText(outcome.note) };
    return true;
  };

  const write = async (batch: readonly Entry[]): Promise<void> => {
    let entries: readonly Entry[] = batch;
    for (let attempt = 1; entries.length > 0; attempt++) {
      try {
        await writeOnce(entries);
        return;
      } catch (error) {
        failures += 1;
        lastError = error;
        for (const entry of entries) entry.wasSent = true;
        observe("workerError", () => ({ workerId: settings.workerId, loop: "committer", error }));
        if (!store.isTransientError(error)) {
          if (entries.length > 1) {
            // The store may refuse because of one outcome. Written one by one, that outcome does not block the rest.
            for (const entry of entries) await write([entry]);
            return;
          }
          if (!degrade(entries[0]!, error)) {
            // Nothing about it can be written. Its lease will expire, and the reaper reclaims the job.
            giveUp(entries[0]!);
            return;
          }
        }
        await sleep(clock, delayOf(retryDelay, attempt, runtime.random));
        if (abandoned) return;
        entries = withoutLost(entries);
      }
    }
  };

  const flush = async (): Promise<void> => {
    while (queue.size > 0) {
      // All workers write in the order of job ids, so that overlapping batches wait for each other instead of deadlocking.
      writing = queue.take(settings.commitBatchSize).sort(byJobId);
      await write(writing);
      writing = [];
      wakeUps.roomFreed.signal();
    }
    flushing = false;
    for (const resolve of onFlushed.splice(0)) resolve();
  };

  let lingering: (() => void) | undefined;
  const begin = (): void => {
    lingering?.();
    lingering = undefined;
    void flush();
  };

  return {
    add: (held, outcome) => {
      held.committing = true;
      if (abandoned) {
        giveUp({ held, outcome });
        return;
      }
      queue.push({ held, outcome: withNote(worker, held, outcome) });
      if (!flushing) {
        flushing = true;
        // Outcomes of the same event-loop turn share a write; nothing waits for a batch to fill.
        if (settings.commitLingerMs > 0) lingering = clock.setTimer(begin, settings.commitLingerMs);
        else clock.soon(begin);
      } else if (lingering && queue.size >= settings.commitBatchSize) begin();
    },
    flushed: () => {
      if (!flushing) return Promise.resolve();
      const done = new Promise<void>((resolve) => onFlushed.push(resolve));
      if (lingering) begin();
      return done;
    },
    abandon: () => {
      abandoned = true;
      // Some of a batch may be written already: one by one, after the store refused the batch as a whole.
      const open = writing.filter(({ held }) => heldJobs.get(held.job.id) === held);
      for (const entry of [...open, ...queue.take(queue.size)]) giveUp(entry);
    },
    get pending() {
      return queue.size + writing.length;
    },
    get unwritten() {
      return unwritten;
    },
    health: () => ({ failures, lastError }),
  };
};
