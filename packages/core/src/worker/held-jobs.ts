import type { Clock } from "../clock.ts";
import type { AttemptEventData } from "../contracts/events.ts";
import type { AttemptSpan } from "../engine/trace.ts";
import type { JobAbortReason } from "../model/entities.ts";
import type { StateJob } from "../model/job.ts";
import type { AttemptLog } from "./attempt-log.ts";
import type { CrashIsolation } from "./crash-isolation.ts";
import type { WakeUps } from "./wake-ups.ts";

/** A job this worker holds a lease on: buffered, running, or waiting for its outcome to be written. */
export interface HeldJob {
  readonly job: StateJob;
  readonly leaseToken: string;
  readonly leaseMs: number;
  /** Monotonic time until which the lease is certainly ours, counted from before the store was asked. */
  leaseEndsAt: number;
  /** Set once the lease is known to be lost. */
  lost: JobAbortReason | undefined;
  /** The attempt that is running, if one is. */
  attempt: RunningAttempt | undefined;
  /** The outcome is with the committer; losing the lease no longer concerns the handler. */
  committing: boolean;
  /** Of the attempt, while it is traced; ended by whoever learns what became of the attempt. */
  span: AttemptSpan | undefined;
  eventData: AttemptEventData | undefined;
  /** How long the handler ran, once it has ended; for the statistics. */
  ranMs: number | undefined;
  /** What the handler has logged, if it has. */
  log: AttemptLog | undefined;
}

export interface RunningAttempt {
  /** Tells the handler why it is no longer wanted. */
  abort(reason: JobAbortReason): void;
}

export interface HeldJobs {
  /** `askedAt` is the monotonic time at which the claim was sent. */
  add(job: StateJob, leaseToken: string, leaseMs: number, askedAt: number): HeldJob;
  remove(held: HeldJob): void;
  get(jobId: string): HeldJob | undefined;
  all(): IterableIterator<HeldJob>;
  readonly size: number;
  /** The shortest lease seen, which sets the pace of the heartbeat. */
  readonly shortestLeaseMs: number;
}

// Clocks of two machines run at slightly different rates; stop trusting a lease a little before it ends.
const trustedShare = 0.95;

export const trustedLeaseEnd = (askedAt: number, leaseMs: number): number => askedAt + leaseMs * trustedShare;

export const isLeaseTrusted = (held: HeldJob, clock: Clock): boolean =>
  held.lost === undefined && clock.monotonic() < held.leaseEndsAt;

/** Marks a lease as lost and tells the handler why. */
export const loseLease = (held: HeldJob, reason: JobAbortReason): void => {
  if (held.lost !== undefined) return;
  held.lost = reason;
  held.attempt?.abort(reason);
};

export const createHeldJobs = (
  workerLeaseMs: number,
  crashIsolation: CrashIsolation,
  { leaseShortened }: WakeUps,
): HeldJobs => {
  const byId = new Map<string, HeldJob>();
  let shortestLeaseMs = workerLeaseMs;
  return {
    add: (job, leaseToken, leaseMs, askedAt) => {
      const held: HeldJob = {
        job,
        leaseToken,
        leaseMs,
        leaseEndsAt: trustedLeaseEnd(askedAt, leaseMs),
        lost: undefined,
        attempt: undefined,
        committing: false,
        span: undefined,
        eventData: undefined,
        ranMs: undefined,
        log: undefined,
      };
      // Our own expired lease on the same job: the store has just proved that it is over.
      const earlier = byId.get(job.id);
      if (earlier) loseLease(earlier, "taken_by_another_worker");
      else crashIsolation.hold();
      byId.set(job.id, held);
      if (leaseMs < shortestLeaseMs) {
        shortestLeaseMs = leaseMs;
        leaseShortened.signal();
      }
      return held;
    },
    remove: (held) => {
      if (byId.get(held.job.id) !== held) return;
      byId.delete(held.job.id);
      crashIsolation.drop();
    },
    get: (jobId) => byId.get(jobId),
    all: () => byId.values(),
    get size() {
      return byId.size;
    },
    get shortestLeaseMs() {
      return shortestLeaseMs;
    },
  };
};
