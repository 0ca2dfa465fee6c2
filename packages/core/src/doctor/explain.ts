import { requireId } from "../base/options.ts";
import { parseStoredError, type StoredError } from "../base/stored-error.ts";
import type { Engine } from "../engine/engine.ts";
import { operation } from "../engine/operation.ts";
import { countServing, readServing, type Serving, serves } from "../history/processes.ts";
import { estimateStart } from "../history/statistics.ts";
import type { AnyJobSequence, JobFailure, JobSequenceStatus } from "../job-types/entities.ts";
import { readJob } from "../jobs/query.ts";
import { viewFailure, viewFields } from "../jobs/view.ts";
import type { JobThrottle } from "../limits/api.ts";
import type { CountAheadCall } from "../store/contract/claims.ts";
import type { StateJob } from "../store/contract/job.ts";
import type { Throttle } from "../store/contract/limits.ts";
import { JobNotFoundError } from "../store/errors.ts";
import { expiresAt } from "../store/rules/edits.ts";
import { describeChain, describeReason, describeRunnable, describeThrottle, when } from "./explain-words.ts";

/** A job that another one waits for, in the chain of an explanation. */
export interface ExplanationLink<TJobId extends string = string> {
  readonly jobId: TJobId;
  readonly typeName: AnyJobSequence["typeName"];
  readonly state: JobExplanation["state"];
  /** Why this job has not completed, such as `waits for queue "media": 6 of 6 slots in use, by web-a for 36m`. */
  readonly reason: string;
}

/** An answer to "why is this job not running?" */
export type JobExplanation<TJobId extends string = string> = {
  /** The job that is explained: for the id of a sequence, its current job. */
  readonly jobId: TJobId;
  /** The answer as a sentence. */
  readonly summary: string;
} & (
  | {
      readonly state: "runnable";
      /**
       * How many jobs come before it, counted up to 10,000: of its group or, without one, of its queue. Types that the
       * workers of this job do not run are left out, and so are workerless types.
       */
      readonly aheadInQueue: number;
      /** Whether there are more than that. */
      readonly aheadCapped: boolean;
      /** When it fails with `expired` unless it has begun by then; null without a limit. */
      readonly expiresAt: Date | null;
      /** How many live workers serve its queue and type; null where no process reports to the store. */
      readonly workers: number | null;
      /** How many jobs these workers run, and how many they can, as they last reported; null without such workers. */
      readonly slots: { readonly running: number; readonly concurrency: number } | null;
      /**
       * Estimated start at the pace of the last five minutes, or since the first run if that is less; null without an estimate, or if too many jobs are
       * ahead.
       */
      readonly estimatedStart: Date | null;
    }
  | {
      /** Its type is workerless: it waits to be completed from outside. */
      readonly state: "workerless";
      readonly expiresAt: Date | null;
    }
  | {
      /** It has waited longer than `expireAfterMs`. The next worker that runs maintenance fails it. */
      readonly state: "expired";
      readonly since: Date;
    }
  | ({
      /** Its time has come, but a limit, a pause, or the order of its group delays it. */
      readonly state: "throttled";
      /** How many jobs come before it, counted as for runnable jobs. */
      readonly aheadInQueue: number;
      readonly aheadCapped: boolean;
      readonly expiresAt: Date | null;
      /** The running jobs among `jobIds`, the longest first: they hold the slots, or run before it. */
      readonly holders: readonly {
        readonly jobId: TJobId;
        readonly typeName: AnyJobSequence["typeName"];
        readonly leasedBy: string;
        readonly since: Date;
      }[];
      /** The reasons of the job that comes first in its group, or that stopped it; as for blocked jobs. */
      readonly chain: readonly ExplanationLink<TJobId>[];
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
      /**
       * The reasons of its blockers, followed to the end: each link waits for the next. Where several blockers are open, one
       * that does not run is followed. Of at most 10 links.
       */
      readonly chain: readonly ExplanationLink<TJobId>[];
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

const explainStatus = async (
  engine: Engine,
  ctx: object | undefined,
  job: StateJob,
  above: readonly string[] = [],
): Promise<Answer> => {
  switch (job.status) {
    case "blocked":
      return explainBlocked(engine, ctx, job, above);
    case "pending":
      return explainPending(engine, ctx, job, above);
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
      const cause = await findFailedBlocker(engine, ctx, job);
      const advice =
        cause === undefined
          ? "Redrive it to run it again."
          : `Redrive job ${cause.id} (${cause.typeName}), which revives this one, too.`;
      return {
        state: "failed",
        failure: viewFailure(job),
        summary: `It failed at ${when(job.failedAt)} (${job.failureReason})${because}. ${advice}`,
      };
    }
  }
};

const mostLinks = 10;

/** The job whose failure this one failed with. It cannot be redriven before that job. */
const findFailedBlocker = async (
  engine: Engine,
  ctx: object | undefined,
  failed: StateJob,
): Promise<StateJob | undefined> => {
  let found: StateJob | undefined;
  let job: StateJob | undefined = failed;
  for (let depth = 0; depth < mostLinks && job?.failureReason === "blocker_failed"; depth += 1) {
    if (job.failedBlockerId === null) break;
    const [sequence] = await engine.store.getSequences({ ctx, sequenceIds: [job.failedBlockerId] });
    job = sequence?.current;
    if (job?.status === "failed") found = job;
  }
  return found;
};

const explainBlocked = async (
  engine: Engine,
  ctx: object | undefined,
  job: StateJob,
  above: readonly string[],
): Promise<Answer> => {
  const [blockers] = await engine.store.getBlockers({ ctx, jobIds: [job.id] });
  const unfinished = blockers!.filter(({ current }) => current.status !== "completed");
  const open = unfinished.flatMap(({ first, current: { status } }) =>
    status === "completed" ? [] : [{ id: first.id, typeName: first.typeName, status }],
  );
  const named = open.map(({ id, typeName, status }) => `${typeName} ${id} (${status})`).join(", ");
  const chain = await followBlocker(
    engine,
    ctx,
    unfinished.map(({ current }) => current),
    [...above, job.id],
  );
  const [first] = chain;
  const because = first === undefined ? "" : ` It waits for ${first.typeName}, ${describeChain(chain)}.`;
  return {
    state: "blocked",
    by: open,
    chain,
    summary: `It waits for ${open.length} of ${job.blockerCount} blockers: ${named}.${because}`,
  };
};

/** The reasons of one of these jobs, and of what it waits for. `above` has the jobs that wait for it. */
const followBlocker = async (
  engine: Engine,
  ctx: object | undefined,
  jobs: readonly StateJob[],
  above: readonly string[],
): Promise<ExplanationLink[]> => {
  const job = jobs.find(({ status }) => status !== "running") ?? jobs[0];
  // No job waits for itself. Should a store contain such a circle, the chain ends there.
  if (job === undefined || above.length > mostLinks || above.includes(job.id)) return [];
  const explanation = { jobId: job.id, ...(await explainStatus(engine, ctx, job, above)) } as JobExplanation;
  const now = await engine.store.getTime({ ctx });
  const link = {
    jobId: job.id,
    typeName: job.typeName,
    state: explanation.state,
    reason: describeReason(explanation, job, now),
  };
  return "chain" in explanation ? [link, ...explanation.chain] : [link];
};

type Throttled = Extract<JobExplanation, { state: "throttled" }>;

/** What a throttled job waits for: the jobs that hold the slots, or the job that comes first and its reasons. */
const followThrottle = async (
  engine: Engine,
  ctx: object | undefined,
  { by, jobIds }: Throttle,
  above: readonly string[],
): Promise<Pick<Throttled, "holders" | "chain">> => {
  if (jobIds.length === 0) return { holders: [], chain: [] };
  const jobs = (await engine.store.getJobs({ ctx, jobIds })).filter((job) => job !== undefined);
  const holders = jobs
    .filter(({ status }) => status === "running")
    .map((job) => ({
      jobId: job.id,
      typeName: job.typeName,
      leasedBy: job.leasedBy!,
      since: new Date(job.lastAttemptAt!),
    }))
    .sort((a, b) => a.since.getTime() - b.since.getTime());
  const first = by === "order" || by === "stopped" ? jobs.slice(0, 1) : [];
  return { holders, chain: await followBlocker(engine, ctx, first, above) };
};

/** By its declaration in this process or, where this process does not know the type, in another that has reported. */
const isWorkerless = ({ jobTypes }: Engine, job: StateJob, serving: Serving): boolean => {
  const known = jobTypes.known.get(job.typeName);
  if (known !== undefined) return known.workerless === true;
  return serving.workerless.has(job.typeName) && countServing(serving, job) === 0;
};

/** The types whose jobs compete with this one for a worker. */
const typesBeside = (
  { jobTypes }: Engine,
  job: StateJob,
  { workers, workerless }: Serving,
): Pick<CountAheadCall, "typeNames" | "exceptTypeNames"> => {
  const own = workers?.filter((worker) => serves(worker, job.queue, job.typeName)) ?? [];
  const claimsAll = own.some(({ queues }) =>
    queues.some(({ name, claimAllTypes }) => name === job.queue && claimAllTypes),
  );
  if (own.length > 0 && !claimsAll)
    return { typeNames: [...new Set(own.flatMap(({ typeNames }) => typeNames))] };
  const declared = [...jobTypes.known].filter(([, type]) => type.workerless).map(([name]) => name);
  const others = new Set([...declared, ...workerless]);
  others.delete(job.typeName);
  return { exceptTypeNames: [...others] };
};

const explainPending = async (
  engine: Engine,
  ctx: object | undefined,
  job: StateJob,
  above: readonly string[],
): Promise<Answer> => {
  const now = await engine.store.getTime({ ctx });
  const serving = await readServing(engine.store.history, now, ctx);
  const expiry = expiresAt(job);
  const limit = { expiresAt: expiry === null ? null : new Date(expiry) };
  const expires = expiry === null ? "" : ` It fails with "expired" unless it has begun by ${when(expiry)}.`;
  if (job.scheduledAt <= now) {
    if (expiry !== null && expiry <= now) {
      const summary = `It has waited too long for its first attempt since ${when(expiry)}. A worker of any type fails it with "expired".`;
      return { state: "expired", since: new Date(expiry), summary };
    }
    if (isWorkerless(engine, job, serving)) {
      const summary = `It waits to be completed from outside: type "${job.typeName}" is workerless. Complete it with completeJobSequence.${expires}`;
      return { state: "workerless", ...limit, summary };
    }
    const hold = await engine.store.limits?.explainThrottle({ ctx, jobId: job.id });
    const counted = await engine.store.countAhead({
      ctx,
      jobId: job.id,
      cap: mostAhead + 1,
      ...typesBeside(engine, job, serving),
    });
    const ahead = {
      aheadInQueue: Math.min(counted ?? 0, mostAhead),
      aheadCapped: (counted ?? 0) > mostAhead,
    };
    if (hold) {
      const { queue, typeName, group, claimableAt, ...throttle } = hold;
      const followed = await followThrottle(engine, ctx, hold, [...above, job.id]);
      return {
        state: "throttled",
        ...throttle,
        ...followed,
        scope: { queue, typeName, group },
        claimableAt: claimableAt === null ? null : new Date(claimableAt),
        ...ahead,
        ...limit,
        summary: describeThrottle(hold, job, ahead, followed, now) + expires,
      };
    }
    const prospect = await estimateStart(engine, ctx, job, ahead, serving, now);
    const summary = describeRunnable(job, ahead, prospect) + expires;
    return { state: "runnable", ...ahead, ...limit, ...prospect, summary };
  }
  const until = new Date(job.scheduledAt);
  const workers = countServing(serving, job);
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
