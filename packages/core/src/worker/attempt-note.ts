import type { AttemptNote, JobOutcome } from "../contracts/state-adapter.ts";
import { kindOfError } from "../model/fingerprint.ts";
import { parseStoredError, shortenStoredError } from "../model/stored-error.ts";
import type { HeldJob } from "./held-jobs.ts";
import type { WorkerContext } from "./worker-context.ts";

/**
 * The outcome with what the history is to know of the attempt, if it ended with an error and the store keeps a history. Called
 * for every job, so the usual case returns at once.
 */
export const withNote = (worker: WorkerContext, held: HeldJob, outcome: JobOutcome): JobOutcome => {
  if (outcome.kind === "complete" || outcome.error === null) return outcome;
  if (!worker.engine.store.history) return outcome;
  return { ...outcome, note: noteOf(worker, held, outcome.error) };
};

const noteOf = ({ engine, settings }: WorkerContext, { job, log }: HeldJob, error: string): AttemptNote => {
  const stored = parseStoredError(error)!;
  const kind = kindOfError(stored);
  engine.reporter.addCause(kind);
  return {
    attempt: job.attempt,
    leaseVersion: job.leaseVersion,
    workerId: settings.workerId,
    deployment: engine.deployment,
    dueAt: job.scheduledAt,
    startedAt: job.lastAttemptAt!,
    fingerprint: kind.fingerprint,
    error: shortenStoredError(error, stored),
    log: log?.toText() ?? null,
  };
};

/** For a store that could not take it: the rest is made by us. */
export const withoutText = (note: AttemptNote): AttemptNote => ({ ...note, error: null, log: null });
