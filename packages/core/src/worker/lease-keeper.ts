import type { Dispose } from "../notify/contract.ts";
import { attemptEventData, refusalAbortReason, reportLostLease, reportRefusal } from "./attempt-events.ts";
import type { WorkerContext } from "./context.ts";
import { type HeldJob, loseLease, trustedLeaseEnd } from "./held-jobs.ts";
import { type Loop, startLoop } from "./loop.ts";

export interface LeaseKeeper extends Loop {
  /** Renews at once when a notification reports a lost lease. The renewal verifies it; a false one costs a renewal. */
  listen(): Promise<Dispose>;
}

const heartbeatsPerLease = 3;

/**
 * Renews the lease on everything this worker holds, in one call, three times per lease. The pace is that of the calls,
 * not of the answers: with a pause after each answer, a store that takes a third of a lease to reply would get one
 * renewal in where there is time for two, and the lease of a healthy worker would run out.
 */
export const startLeaseKeeper = (worker: WorkerContext): LeaseKeeper => {
  const { engine, held: heldJobs, wakeUps } = worker;
  const { store, observe, runtime } = engine;
  const { clock } = runtime;

  const renew = async (): Promise<void> => {
    const held = [...heldJobs.all()].filter(({ lost }) => lost === undefined);
    if (held.length === 0) return;
    const askedAt = clock.monotonic();
    const leases = held.map(({ job, leaseToken, leaseMs }) => ({ jobId: job.id, leaseToken, leaseMs }));
    const results = await store.renewLeases({ leases });
    for (const [index, result] of results.entries()) {
      const job = held[index]!;
      if (result.kind === "renewed") {
        job.leaseEndsAt = trustedLeaseEnd(askedAt, job.leaseMs);
        observe("jobAttemptLeaseRenewed", () => attemptEventData(worker, job));
      } else if (result.kind === "refused" && isStillHeld(job)) {
        reportRefusal(observe, worker, job, result);
        loseLease(job, refusalAbortReason(result));
      }
    }
  };

  /** The answer may be about a job whose outcome was written while the renewal was on its way. */
  const isStillHeld = (job: HeldJob): boolean => !job.committing && heldJobs.get(job.job.id) === job;

  let cancelExpiry: (() => void) | undefined;
  let storeFails = false;

  /** Leases that could not be renewed are given up when they end, not when the next renewal happens to be tried. */
  const giveUpExpired = (): void => {
    cancelExpiry?.();
    let earliestEnd = Infinity;
    for (const job of heldJobs.all()) {
      if (job.lost !== undefined || job.committing) continue;
      if (clock.monotonic() < job.leaseEndsAt) earliestEnd = Math.min(earliestEnd, job.leaseEndsAt);
      else {
        const reason = storeFails ? "error" : "lease_expired";
        reportLostLease(observe, worker, job, reason);
        loseLease(job, reason);
      }
    }
    cancelExpiry =
      earliestEnd === Infinity ? undefined : clock.setTimer(giveUpExpired, earliestEnd - clock.monotonic());
  };

  const paceMs = (): number => heldJobs.shortestLeaseMs / heartbeatsPerLease;

  const turn = async (): Promise<number> => {
    const startedAt = clock.monotonic();
    // Before too: a renewal that hangs must not keep leases from being given up in time.
    giveUpExpired();
    try {
      storeFails = true;
      await renew();
      storeFails = false;
    } finally {
      giveUpExpired();
    }
    return startedAt + paceMs() - clock.monotonic();
  };

  const loop = startLoop(worker, "lease-keeper", turn, paceMs);
  wakeUps.leaseShortened.subscribe(loop.wake);
  return {
    ...loop,
    listen: () =>
      worker.listening.listen("jobOwnershipLost", null, (jobId) => {
        if (heldJobs.get(jobId)?.committing === false) loop.wake();
      }),
    stop: async () => {
      await loop.stop();
      cancelExpiry?.();
    },
  };
};
