import { requireId } from "../base/options.ts";
import { parseStoredError, type StoredError } from "../base/stored-error.ts";
import type { Engine } from "../engine/engine.ts";
import { operation } from "../engine/operation.ts";
import { countWorkers } from "../history/processes.ts";
import { estimateStart, type JobsAhead, type StartEstimate } from "../history/statistics.ts";
import type { AnyJobSequence, JobFailure, JobSequenceStatus } from "../job-types/entities.ts";
import { readJob } from "../jobs/query.ts";
import { viewFailure, viewFields } from "../jobs/view.ts";
import type { JobThrottle } from "../limits/api.ts";
import type { StateJob } from "../store/contract/job.ts";
import type { Throttle, ThrottleReason } from "../store/contract/limits.ts";
import { JobNotFoundError } from "../store/errors.ts";
import { expiresAt } from "../store/rules/edits.ts";

/** An answer to "why is this job not running?" */
export type JobExplanation<TJobId extends string = string> = {
  /** The job that is explained: for the id of a sequence, its current job. */
  readonly jobId: TJobId;
  /** The answer as a sentence. */
  readonly summary: string;
} & (
  | {
      readonly state: "runnable";
      /** How many jobs of its queue come before it, counted up to 10,000. */
      readonly aheadInQueue: number;
      /** Whether there are more than that. */
      readonly aheadCapped: boolean;
      /** When it fails with `expired` unless it has begun by then; null without a limit. */
      readonly expiresAt: Date | null;
      /** How many live workers serve its queue and type; null where no process reports to the store. */
      readonly workers: number | null;
      /**
       * Estimated start at the pace of the last five minutes; null without an estimate, or if too many jobs are
       * ahead.
       */
      readonly estimatedStart: Date | null;
    }
  | ({
      /** Its time has come, but a limit, a pause, or the order of its group delays it. */
      readonly state: "throttled";
    } & JobThrottle<TJobId>)
  | {
      readonly state: "scheduled";
      readonly until: Date;
      readonly expiresAt: Date | null;
      readonly workers: number | null;
    }
  | {
      readonly state: "retrying";
      readonly until: Date;
      readonly workers: number | null;
      readonly attempt: number;
      readonly maxAttempts: number;
      readonly lastError: StoredError | null;
    }
  | {
      readonly state: "blocked";
      /** The sequences that it still waits for. */
      readonly by: readonly {
        readonly id: TJobId;
        readonly typeName: AnyJobSequence["typeName"];
        readonly status: Exclude<JobSequenceStatus, "completed">;
      }[];
    }
  | {
      readonly state: "running";
      readonly leasedBy: string;
      readonly leasedUntil: Date;
      readonly attempt: number;
    }
  | {
      /** Its worker has gone silent. Another worker will take the job over. */
      readonly state: "lease_expired";
      readonly leasedBy: string;
      readonly since: Date;
    }
  | { readonly state: "completed"; readonly at: Date; readonly by: string | null }
  | { readonly state: "failed"; readonly failure: JobFailure<TJobId> }
);

/** Cap for counting the jobs ahead of one: a queue may have millions. */
const mostAhead = 10_000;

/** Without the id of the job. */
type Answer = DistributiveOmit<JobExplanation, "jobId">;

type DistributiveOmit<T, TKey extends PropertyKey> = T extends unknown ? Omit<T, TKey> : never;

const when = (ms: number | null): string => (ms === null ? "an unknown time" : new Date(ms).toISOString());

/**
 * Answers "why is this job not running?" The id of a sequence is that of its first job. So when the first job has been
 * continued, the answer is about the current job of the sequence.
 */
export const explainJob = (engine: Engine, passed: unknown): Promise<JobExplanation> =>
  operation(engine, "jobs.explain", passed, { options: viewFields }, async ({ options, ctx }) => {
    const id = requireId(options["id"], "id");
    const asked = await readJob(engine, ctx, id);
    if (!asked) throw new JobNotFoundError(id);
    if (asked.continuedToId === null || asked.sequenceIndex > 0) return explain(engine, ctx, asked);
    const [sequence] = await engine.store.getSequences({ ctx, sequenceIds: [id] });
    const job = sequence?.current ?? asked;
    const explanation = await explain(engine, ctx, job);
    const summary = `The sequence has gone on to job ${job.id} (${job.typeName}). ${explanation.summary}`;
    return { ...explanation, summary };
  });

const explain = async (engine: Engine, ctx: object | undefined, job: StateJob): Promise<JobExplanation> => {
  const answer = await explainStatus(engine, ctx, job);
  return { jobId: job.id, ...answer, summary: answer.summary + explainInput(job) };
};

/** Explains why a job ran with another input than it was started with. */
const explainInput = ({ id, replacedBy }: StateJob): string => {
  if (replacedBy === null) return "";
  return replacedBy === id
    ? " Its input was changed while it waited."
    : ` Its input is that of a later start (${replacedBy}), which took its place.`;
};

const explainStatus = async (engine: Engine, ctx: object | undefined, job: StateJob): Promise<Answer> => {
  switch (job.status) {
    case "blocked":
      return explainBlocked(engine, ctx, job);
    case "pending":
      return explainPending(engine, ctx, job);
    case "running":
      return explainRunning(job, await engine.store.getTime({ ctx }));
    case "completed":
      return {
        state: "completed",
        at: new Date(job.completedAt!),
        by: job.completedBy,
        summary: `It was completed at ${when(job.completedAt)} by ${job.completedBy ?? "a call outside any worker"}.`,
      };
    case "failed": {
      const because =
        job.failureReason === "blocker_failed" ? ` because sequence ${job.failedBlockerId} failed` : "";
      return {
        state: "failed",
        failure: viewFailure(job),
        summary: `It failed at ${when(job.failedAt)} (${job.failureReason})${because}. Redrive it to run it again.`,
      };
    }
  }
};

const explainBlocked = async (engine: Engine, ctx: object | undefined, job: StateJob): Promise<Answer> => {
  const [blockers] = await engine.store.getBlockers({ ctx, jobIds: [job.id] });
  const open = blockers!.flatMap(({ first, current: { status } }) =>
    status === "completed" ? [] : [{ id: first.id, typeName: first.typeName, status }],
  );
  const named = open.map(({ id, typeName, status }) => `${typeName} ${id} (${status})`).join(", ");
  return {
    state: "blocked",
    by: open,
    summary: `It waits for ${open.length} of ${job.blockerCount} blockers: ${named}.`,
  };
};

const explainPending = async (engine: Engine, ctx: object | undefined, job: StateJob): Promise<Answer> => {
  const now = await engine.store.getTime({ ctx });
  const expiry = expiresAt(job);
  const limit = { expiresAt: expiry === null ? null : new Date(expiry) };
  const expires = expiry === null ? "" : ` It fails with "expired" unless it has begun by ${when(expiry)}.`;
  if (job.scheduledAt <= now) {
    if (engine.jobTypes.known.get(job.typeName)?.workerless) {
      const summary = `It waits to be completed from outside: type "${job.typeName}" is workerless.${expires}`;
      return {
        state: "runnable",
        aheadInQueue: 0,
        aheadCapped: false,
        ...limit,
        workers: null,
        estimatedStart: null,
        summary,
      };
    }
    const hold = await engine.store.limits?.explainThrottle({ ctx, jobId: job.id });
    if (hold) return explainThrottle(hold);
    const counted = (await engine.store.countAhead({ ctx, jobId: job.id, cap: mostAhead + 1 })) ?? 0;
    const ahead = { aheadInQueue: Math.min(counted, mostAhead), aheadCapped: counted > mostAhead };
    const prospect = await estimateStart(engine, ctx, job, ahead, now);
    const summary = explainRunnable(job, ahead, prospect) + expires;
    return { state: "runnable", ...ahead, ...limit, ...prospect, summary };
  }
  const until = new Date(job.scheduledAt);
  const { history } = engine.store;
  const workers = history ? await countWorkers(history, ctx, job, now) : null;
  if (job.attempt === 0) {
    const summary = `It is scheduled for ${when(job.scheduledAt)}.${expires}`;
    return { state: "scheduled", until, ...limit, workers, summary };
  }
  return {
    state: "retrying",
    until,
    workers,
    attempt: job.attempt,
    maxAttempts: job.maxAttempts,
    lastError: parseStoredError(job.lastError),
    summary: `Attempt ${job.attempt} of ${job.maxAttempts} failed; it is tried again at ${when(job.scheduledAt)}.`,
  };
};

const explainUnserved = ({ queue, typeName }: StateJob): string =>
  `No live worker is known that serves queue "${queue}" and type "${typeName}".`;

const explainRunnable = (
  job: StateJob,
  { aheadInQueue, aheadCapped }: JobsAhead,
  { workers, estimatedStart }: StartEstimate,
): string => {
  const queue = `queue "${job.queue}"`;
  const ahead = `It is runnable, with ${aheadCapped ? "more than 10,000" : aheadInQueue} jobs ahead of it in ${queue}.`;
  if (workers === 0) return `${aheadInQueue === 0 ? "It is runnable." : ahead} ${explainUnserved(job)}`;
  if (aheadInQueue > 0)
    return estimatedStart ? `${ahead} It may start at about ${when(estimatedStart.getTime())}.` : ahead;
  return workers === null
    ? `It is first in ${queue}. If it stays there, no running worker serves that queue and type "${job.typeName}", or those that do are busy.`
    : `It is first in ${queue}. If it stays there, the workers that serve it (${workers}) are busy.`;
};

const explainThrottle = ({
  by,
  queue,
  typeName,
  group,
  limit,
  inUse,
  claimableAt,
  jobIds,
}: Throttle): Answer => {
  const scope =
    group !== null
      ? `Group "${group}" of type "${typeName}"`
      : typeName === null
        ? `Queue "${queue}"`
        : `Type "${typeName}" in queue "${queue}"`;
  const summaries: Record<ThrottleReason, string> = {
    paused: `${scope} is paused. Resume it with limits.resume.`,
    concurrency: `${scope} may have ${limit} running at once, and ${inUse} are running.`,
    rate: `${scope} has had all the starts that its rate of ${limit} allows; the next is possible at ${when(claimableAt)}.`,
    stopped: `${scope} stopped when job ${jobIds[0]} failed. Redrive or delete that job, or resume the group with limits.resume.`,
    order: `${scope} runs one job at a time, in order, and job ${jobIds[0]} comes first.`,
  };
  return {
    state: "throttled",
    by,
    scope: { queue, typeName, group },
    limit,
    inUse,
    claimableAt: claimableAt === null ? null : new Date(claimableAt),
    jobIds,
    summary: `It is throttled. ${summaries[by]}`,
  };
};

const explainRunning = (job: StateJob, now: number): Answer =>
  job.leasedUntil! > now
    ? {
        state: "running",
        leasedBy: job.leasedBy!,
        leasedUntil: new Date(job.leasedUntil!),
        attempt: job.attempt,
        summary: `Attempt ${job.attempt} runs on worker ${job.leasedBy}, leased until ${when(job.leasedUntil)}.`,
      }
    : {
        state: "lease_expired",
        leasedBy: job.leasedBy!,
        since: new Date(job.leasedUntil!),
        summary: `The lease of worker ${job.leasedBy} ran out at ${when(job.leasedUntil)}; the next claim or the reaper takes it from there.`,
      };
