import { requireId } from "../base/options.ts";
import { parseStoredError, type StoredError } from "../base/stored-error.ts";
import type { Engine, ErrorKind } from "../engine/engine.ts";
import { operation } from "../engine/operation.ts";
import { readJob } from "../jobs/query.ts";
import { viewFields } from "../jobs/view.ts";
import type { AttemptOutcome, StateAttempt } from "../store/contract/history.ts";
import type { StateJob } from "../store/contract/job.ts";
import { JobNotFoundError } from "../store/errors.ts";
import type { JobAttempt, JobAttemptOutcome, JobLogLine } from "./api.ts";
import { kindOfError } from "./fingerprint.ts";

const outcomes: Readonly<Record<AttemptOutcome, JobAttemptOutcome>> = {
  retry: "retried",
  fail: "failed",
  release: "released",
  expired: "expired",
  cancelled: "cancelled",
  already_completed: "already_completed",
};

/** Without a stack: it would show where the reaper was started, and nothing about the job. */
export const leaseExpired: StoredError = {
  name: "LeaseExpiredError",
  message: "The lease ran out before the worker reported an outcome.",
};

export const leaseExpiredKind: ErrorKind = kindOfError(leaseExpired);

/** Text that another version has written in another form is no reason to hide the rest of the attempt. */
const parseLog = (text: string | null): JobLogLine[] => {
  if (text === null) return [];
  try {
    const lines = JSON.parse(text) as readonly [at: number, text: string, data?: unknown][];
    return lines.map(([at, line, ...data]) => ({
      at: new Date(at),
      text: line,
      ...(data.length > 0 && { data: data[0] }),
    }));
  } catch {
    return [];
  }
};

const viewAttempt = (attempt: StateAttempt): JobAttempt => ({
  attempt: attempt.attempt,
  outcome: outcomes[attempt.outcome],
  workerId: attempt.workerId,
  deployment: attempt.deployment,
  dueAt: new Date(attempt.dueAt),
  startedAt: new Date(attempt.startedAt),
  endedAt: new Date(attempt.endedAt),
  // Stores keep no error for an expired lease: it does not depend on which call found the lease.
  ...(attempt.outcome === "expired"
    ? { error: leaseExpired, fingerprint: leaseExpiredKind.fingerprint }
    : { error: parseStoredError(attempt.error), fingerprint: attempt.fingerprint }),
  log: parseLog(attempt.log),
});

/** Stores write no row for the attempt that completes a job: the job has all of its data. */
const viewCompletion = (job: StateJob): JobAttempt[] => {
  const { completedAt, completedBy, lastAttemptAt } = job;
  // A job that was completed from outside has no such attempt.
  if (job.status !== "completed" || completedBy === null || lastAttemptAt === null) return [];
  return [
    {
      attempt: job.attempt,
      outcome: "completed",
      workerId: completedBy,
      deployment: job.deployment,
      dueAt: new Date(job.scheduledAt),
      startedAt: new Date(lastAttemptAt),
      endedAt: new Date(completedAt!),
      error: null,
      fingerprint: null,
      log: [],
    },
  ];
};

export const listJobAttempts = (engine: Engine, passed: unknown): Promise<readonly JobAttempt[]> =>
  operation(
    engine,
    "history.listAttempts",
    passed,
    { options: viewFields, part: "history" },
    async ({ options, ctx, part: history }) => {
      const id = requireId(options["id"], "id");
      const job = await readJob(engine, ctx, id);
      if (!job) throw new JobNotFoundError(id);
      const [attempts] = await history.listAttempts({ ctx, jobIds: [id] });
      return [...viewCompletion(job), ...attempts!.map(viewAttempt)];
    },
  );
