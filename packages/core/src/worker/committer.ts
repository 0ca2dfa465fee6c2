import { sleep } from "../clock.ts";
import type { JobOutcome } from "../contracts/state-adapter.ts";
import { createAfterCommit } from "../engine/after-commit.ts";
import { reportLostLease } from "./attempt-events.ts";
import { withNote, withoutText } from "./attempt-note.ts";
import { errorOutcome } from "./decide-outcome.ts";
import { endAttempt } from "./end-attempt.ts";
import { createFifo } from "./fifo.ts";
import { type HeldJob, isLeaseTrusted } from "./held-jobs.ts";
import type { WorkerContext } from "./worker-context.ts";

/** Writes outcomes in batches, each fenced by its own lease. */
export interface Committer {
  add(held: HeldJob, outcome: JobOutcome): void;
  /** Resolves when everything added so far has been written or given up on. */
  flushed(): Promise<void>;
  /** Gives up on everything not written yet. Nothing is accepted any more. */
  abandon(): void;
  readonly pending: number;
  /** How many outcomes were given up on, because time ran out or the store could not take them. */
  readonly unwritten: number;
}

interface Entry {
  readonly held: HeldJob;
  outcome: JobOutcome;
}

const retryDelayMs = 50;
const longestRetryDelayMs = 1_000;

const byJobId = (a: Entry, b: Entry): number => (a.held.job.id < b.held.job.id ? -1 : 1);

export const createCommitter = (worker: WorkerContext): Committer => {
  const { engine, settings, held: heldJobs, wakeUps } = worker;
  const { store, observe, runtime } = engine;
  const { clock } = runtime;
  const queue = createFifo<Entry>();
  let writing: readonly Entry[] = [];
  let unwritten = 0;
  let abandoned = false;
  let flushing = false;
  let onFlushed: (() => void)[] = [];

  const giveUp = (entry: Entry): void => {
    unwritten += 1;
    endAttempt(worker, entry.held, { kind: "unwritten" });
  };

  const writeOnce = async (batch: readonly Entry[]): Promise<void> => {
    const askedAt = clock.monotonic();
    const results = await store.commitOutcomes({ outcomes: batch.map(({ outcome }) => outcome) });
    const answeredAt = clock.monotonic();
    const afterCommit = createAfterCommit(engine, { committed: true });
    for (let index = 0; index < batch.length; index++) {
      const { held, outcome } = batch[index]!;
      endAttempt(worker, held, { kind: "written", outcome, answer: results[index]!, afterCommit });
    }
    observe("commitBatch", () => ({
      workerId: settings.workerId,
      size: batch.length,
      durationMs: answeredAt - askedAt,
    }));
    afterCommit.publish();
  };

  /** Those whose lease is certainly over cannot be written any more; somebody else may have the job by now. */
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
    for (let attempt = 0; entries.length > 0; attempt++) {
      try {
        await writeOnce(entries);
        return;
      } catch (error) {
        observe("workerError", () => ({ workerId: settings.workerId, loop: "committer", error }));
        if (!store.isTransientError(error)) {
          if (entries.length > 1) {
            // One of them may be what the store cannot take. Written one by one, it cannot keep the others from being written.
            for (const entry of entries) await write([entry]);
            return;
          }
          if (!degrade(entries[0]!, error)) {
            // Nothing about it can be written. Its lease will run out, and the reaper takes it from there.
            giveUp(entries[0]!);
            return;
          }
        }
        await sleep(clock, Math.min(retryDelayMs * 2 ** attempt, longestRetryDelayMs));
        if (abandoned) return;
        entries = withoutLost(entries);
      }
    }
  };

  const flush = async (): Promise<void> => {
    while (queue.size > 0) {
      // One order for every batch of every worker: overlapping ones wait for each other instead of deadlocking.
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
        // What settles in the same moment travels together; nothing waits for a batch to fill.
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
  };
};
