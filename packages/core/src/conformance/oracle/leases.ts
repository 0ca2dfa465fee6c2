import type { ClaimCall, ClaimRequest, LeaseRefusal, MaxAttempts } from "../../store/contract/claims.ts";
import { allJobs, type ModelJob, type ModelStore } from "./store.ts";

export const hasRunOut = (job: ModelJob, now: number): boolean =>
  job.status === "running" && (job.leasedUntil ?? 0) <= now;

/** How many attempts a job has in the eyes of a caller who overrides defaults like this. */
export const attemptsOf = (job: ModelJob, overrides: MaxAttempts | undefined): number =>
  job.maxAttemptsGiven ? job.maxAttempts : (overrides?.[job.typeName] ?? job.maxAttempts);

/** From when on a job can be claimed; undefined for one that cannot. */
const claimableFrom = (job: ModelJob, overrides: MaxAttempts | undefined): number | undefined => {
  if (job.status === "pending") return job.scheduledAt;
  if (job.status === "running" && job.attempt < attemptsOf(job, overrides)) return job.leasedUntil ?? 0;
  return undefined;
};

const isAskedFor = (job: ModelJob, { queue, typeNames }: Omit<ClaimRequest, "limit">): boolean =>
  job.queue === queue && (typeNames === null || typeNames.includes(job.typeName));

/** What could be claimed now, in the order in which it has to be. */
export const runnable = (
  store: ModelStore,
  request: Omit<ClaimRequest, "limit">,
  now: number,
  overrides?: MaxAttempts,
): ModelJob[] => {
  const from = (job: ModelJob): number => claimableFrom(job, overrides) ?? Number.POSITIVE_INFINITY;
  return (
    allJobs(store)
      .filter((job) => isAskedFor(job, request) && from(job) <= now)
      // The sort is stable, so that creation order decides last.
      .sort((a, b) => b.priority - a.priority || from(a) - from(b))
  );
};

export const runnableIn = (
  store: ModelStore,
  requests: readonly Omit<ClaimRequest, "limit">[],
  now: number,
  overrides?: MaxAttempts,
): number | null => {
  const moments = allJobs(store)
    .filter((job) => requests.some((request) => isAskedFor(job, request)))
    .map((job) => claimableFrom(job, overrides))
    .filter((moment) => moment !== undefined);
  return moments.length === 0 ? null : Math.max(0, Math.min(...moments) - now);
};

export const throttledBy = (
  store: ModelStore,
  leaseToken: string,
  request: ClaimRequest,
  now: number,
): ModelJob[] =>
  allJobs(store).filter(
    (job) =>
      job.status === "running" &&
      job.leaseToken === leaseToken &&
      !hasRunOut(job, now) &&
      isAskedFor(job, request),
  );

export const claim = (
  job: ModelJob,
  lease: Pick<ClaimCall, "workerId" | "leaseToken" | "leaseMs" | "deployment">,
  now: number,
): void => {
  if (job.status === "running") {
    job.expiredLeases += 1;
    job.lastFailedAt = job.leasedUntil;
    job.scheduledAt = job.leasedUntil ?? job.scheduledAt;
  }
  job.status = "running";
  job.attempt += 1;
  job.leaseVersion += 1;
  job.leaseToken = lease.leaseToken;
  job.leasedBy = lease.workerId;
  job.deployment = lease.deployment ?? null;
  job.leasedUntil = now + (job.leaseMs ?? lease.leaseMs);
  job.lastAttemptAt = now;
};

export const endLease = (job: ModelJob, leaseToken: string | null): void => {
  job.leaseToken = leaseToken;
  job.leasedBy = null;
  job.leasedUntil = null;
  job.limited = false;
};

const refusal = (reason: LeaseRefusal["reason"], job: ModelJob | undefined): LeaseRefusal => ({
  kind: "refused",
  reason,
  status: job?.status ?? null,
  failureReason: job?.failureReason ?? null,
});

/** Why the holder of this token may not touch the job; undefined when it may. */
export const refusalOf = (
  job: ModelJob | undefined,
  leaseToken: string,
  now: number,
): LeaseRefusal | undefined => {
  if (job === undefined) return refusal("not_found", job);
  if (job.status !== "running") return refusal("not_running", job);
  if (job.leaseToken !== leaseToken) return refusal("lease_mismatch", job);
  if (hasRunOut(job, now)) return refusal("lease_expired", job);
  return undefined;
};

export const notRunning = (job: ModelJob): LeaseRefusal => refusal("not_running", job);
