import { formatDuration, plural } from "../base/format.ts";
import type { StartEstimate, JobsAhead } from "../history/statistics.ts";
import type { StateJob } from "../store/contract/job.ts";
import type { Throttle, ThrottleReason } from "../store/contract/limits.ts";
import type { ExplanationLink, JobExplanation } from "./explain.ts";

type Throttled = Extract<JobExplanation, { state: "throttled" }>;

// The sentences of an explanation. An advice names only what changes the state of the job; tests follow each of them.

export const when = (ms: number | null): string =>
  ms === null ? "an unknown time" : new Date(ms).toISOString();

const scopeOf = ({ queue, typeName, group }: Pick<Throttle, "queue" | "typeName" | "group">): string => {
  if (group !== null) return `group "${group}" of type "${typeName}"`;
  return typeName === null ? `queue "${queue}"` : `type "${typeName}" in queue "${queue}"`;
};

const capitalized = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

/** Where the jobs ahead of this one wait. */
const placeOf = ({ queue, group }: StateJob): string =>
  group === null ? `queue "${queue}"` : `group "${group}"`;

const countAhead = ({ aheadInQueue, aheadCapped }: JobsAhead, job: StateJob): string => {
  const count = aheadCapped ? "more than 10,000" : String(aheadInQueue);
  return `${count} ${aheadInQueue === 1 ? "job" : "jobs"} ahead of it in ${placeOf(job)}`;
};

/** Which workers run the jobs that hold the slots, and for how long. */
const describeHolders = (holders: Throttled["holders"], now: number): string => {
  const [longest] = holders;
  if (longest === undefined) return "";
  const others = new Set(holders.map(({ leasedBy }) => leasedBy)).size - 1;
  const workers =
    others === 0 ? longest.leasedBy : `${longest.leasedBy} and ${plural(others, "other worker")}`;
  return `${workers} for ${holders.length === 1 ? "" : "up to "}${formatDuration(now - longest.since.getTime())}`;
};

/** The reasons of what it waits for, one after the other. */
export const describeChain = (chain: readonly ExplanationLink[]): string =>
  chain.map(({ reason }) => `which ${reason}`).join(", ");

export const describeThrottle = (
  throttle: Throttle,
  job: StateJob,
  ahead: JobsAhead,
  { holders, chain }: Pick<Throttled, "holders" | "chain">,
  now: number,
): string => {
  const { by, limit, inUse, claimableAt, jobIds } = throttle;
  const on = holders.length === 0 ? "" : `, on ${describeHolders(holders, now)}`;
  const first = chain.length === 0 ? "" : `, ${describeChain(chain)}`;
  const scope = capitalized(scopeOf(throttle));
  const summaries: Record<ThrottleReason, string> = {
    paused: `${scope} is paused${claimableAt === null ? "" : ` until ${when(claimableAt)}`}. Resume it with limits.resume.`,
    concurrency: `${scope} may have ${limit} running at once, and ${inUse} are running${on}. Raise the limit with limits.set, or cancel one of the running jobs.`,
    rate: `${scope} has had all the starts that its rate of ${limit} allows; the next is possible at ${when(claimableAt)}.`,
    stopped: `${scope} stopped when job ${jobIds[0]} failed. Redrive or delete that job, or resume the group with limits.resume.`,
    order: `${scope} runs one job at a time, in order, and job ${jobIds[0]} comes first${first}.`,
  };
  const others = ahead.aheadInQueue === 0 ? "" : ` It has ${countAhead(ahead, job)}.`;
  return `It is throttled. ${summaries[by]}${others}`;
};

const describeUnserved = ({ queue, typeName }: StateJob): string =>
  `No live worker is known that serves queue "${queue}" and type "${typeName}".`;

export const describeRunnable = (
  job: StateJob,
  jobsAhead: JobsAhead,
  { workers, slots, estimatedStart }: StartEstimate,
): string => {
  const { aheadInQueue } = jobsAhead;
  const place = placeOf(job);
  const ahead = `It is runnable, with ${countAhead(jobsAhead, job)}.`;
  if (workers === 0)
    return `${aheadInQueue === 0 ? "It is runnable." : ahead} ${describeUnserved(job)} Start one.`;
  if (aheadInQueue > 0)
    return estimatedStart ? `${ahead} It may start at about ${when(estimatedStart.getTime())}.` : ahead;
  if (slots !== null && slots.running >= slots.concurrency)
    return `It is first in ${place}. The workers that serve it (${workers}) run ${slots.running} of ${slots.concurrency} jobs. It starts when one of them ends.`;
  return workers === null
    ? `It is first in ${place}. If it stays there, no running worker serves that queue and type "${job.typeName}", or those that do are busy.`
    : `It is first in ${place}. If it stays there, the workers that serve it (${workers}) are busy.`;
};

const throttleReasons: Record<ThrottleReason, (throttle: Throttled, now: number) => string> = {
  paused: ({ scope, claimableAt }) =>
    `waits for ${scopeOf(scope)}, which is paused${claimableAt === null ? "" : ` until ${when(claimableAt.getTime())}`}`,
  concurrency: ({ scope, limit, inUse, holders }, now) => {
    const held = holders.length === 0 ? "in use" : `held by ${describeHolders(holders, now)}`;
    return `waits for ${scopeOf(scope)}: ${inUse} of ${limit} slots ${held}`;
  },
  rate: ({ scope, claimableAt }) =>
    `waits for the rate of ${scopeOf(scope)} until ${when(claimableAt?.getTime() ?? null)}`,
  stopped: ({ scope, jobIds }) => `waits for ${scopeOf(scope)}, which stopped when job ${jobIds[0]} failed`,
  order: ({ scope, jobIds }) => `waits for job ${jobIds[0]}, which comes first in ${scopeOf(scope)}`,
};

/** Why a job has not completed, as the end of "It waits for …, which". */
export const describeReason = (explanation: JobExplanation, job: StateJob, now: number): string => {
  switch (explanation.state) {
    case "runnable": {
      if (explanation.workers === 0)
        return `waits for a worker: none is live that serves queue "${job.queue}" and type "${job.typeName}"`;
      return explanation.aheadInQueue === 0
        ? `is next in ${placeOf(job)}`
        : `waits with ${countAhead(explanation, job)}`;
    }
    case "throttled":
      return throttleReasons[explanation.by](explanation, now);
    case "workerless":
      return "waits to be completed from outside";
    case "expired":
      return "has waited too long and is about to fail";
    case "scheduled":
      return `is scheduled for ${when(explanation.until.getTime())}`;
    case "retrying":
      return `is tried again at ${when(explanation.until.getTime())}, after attempt ${explanation.attempt} of ${explanation.maxAttempts} failed`;
    case "blocked":
      return explanation.chain[0] === undefined
        ? "waits for its blockers"
        : `waits for ${explanation.chain[0].typeName}`;
    case "running":
      return `runs on worker ${explanation.leasedBy}`;
    case "lease_expired":
      return `waits for another worker, since the lease of ${explanation.leasedBy} ran out`;
    case "completed":
      return "has completed";
    case "failed":
      return `has failed (${explanation.failure.reason})`;
  }
};
