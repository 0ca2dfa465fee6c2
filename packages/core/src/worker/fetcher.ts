import type { StateJob } from "../model/job.ts";
import type { ClaimRequest } from "../contracts/state-adapter.ts";
import { isObserved } from "../engine/observe.ts";
import { attemptEventData } from "./attempt-events.ts";
import type { Consumer } from "./consumer.ts";
import type { HeldJob } from "./held-jobs.ts";
import { type Loop, startLoop } from "./loop.ts";
import type { CrashIsolation } from "./crash-isolation.ts";
import type { WorkerContext } from "./worker-context.ts";

export interface Fetcher extends Loop {
  /** A slot or buffer place has come free. */
  roomFreed(): void;
  /** Something may be runnable: a hint arrived. */
  hint(): void;
  /** Something will be runnable after this time. */
  runnableIn(ms: number): void;
  /** Whether a hint would make a difference: there is room, and no wake-up is due anyway. */
  wantsHint(): boolean;
}

// With every place taken there is nothing to wait for but a place.
const untilRoomMs = 60_000;

/** Claims what the consumer has room for; sleeps until a hint, the next job that is due, or the poll interval. */
export const startFetcher = (
  worker: WorkerContext,
  consumer: Consumer,
  crashIsolation: CrashIsolation,
): Fetcher => {
  const { engine, settings, held, maxAttempts } = worker;
  const { store, runtime } = engine;
  const { clock } = runtime;
  let queuesAsked = 0;
  let asking = false;
  let hinted = false;
  let nextDueAt = Infinity;
  /** How many claims in a row brought nothing although something was due. */
  let outOfReach = 0;

  const claim = async (requests: readonly ClaimRequest[], limit: number): Promise<StateJob[]> => {
    const { workerId, leaseMs } = settings;
    const leaseToken = runtime.createToken();
    const askedAt = clock.monotonic();
    const jobs = await store.claimJobs({ workerId, leaseToken, leaseMs, requests, limit, maxAttempts });
    const durationMs = clock.monotonic() - askedAt;
    engine.observe("claimBatch", () => ({ workerId, requested: limit, claimed: jobs.length, durationMs }));
    const claimed = jobs.map((job) => held.add(job, leaseToken, job.leaseMs ?? leaseMs, askedAt));
    if (isObserved(engine.observe)) claimed.forEach(reportTimeInQueue);
    consumer.accept(claimed);
    return jobs;
  };

  const reportTimeInQueue = (heldJob: HeldJob): void => {
    const { lastAttemptAt, scheduledAt } = heldJob.job;
    engine.observe("jobTimeInQueue", () => ({
      durationMs: (lastAttemptAt ?? scheduledAt) - scheduledAt,
      ...attemptEventData(worker, heldJob),
    }));
  };

  /** A queue that was full could not be asked; now that it has room there may be work for it. */
  const someCouldNotBeAsked = (): boolean => consumer.queuesWithRoom() > queuesAsked;

  const turn = async (): Promise<number> => {
    const { requests, limit } = consumer.claimRequests();
    queuesAsked = requests.length;
    if (queuesAsked === 0) return untilRoomMs;
    hinted = false;
    nextDueAt = Infinity;
    let dueIn: number;
    asking = true;
    // What a claim on its way is about to bring counts as held already.
    crashIsolation.hold();
    try {
      const jobs = await claim(requests, limit).finally(crashIsolation.drop);
      if (jobs.length > 0) outOfReach = 0;
      if (!crashIsolation.mayClaim(worker)) {
        queuesAsked = 0;
        return untilRoomMs;
      }
      if (hinted || someRequestWasFilled(requests, jobs)) return 0;
      dueIn = (await store.nextRunnableIn({ requests, maxAttempts })) ?? Infinity;
    } catch (error) {
      // Others must not wait for a worker whose store does not answer.
      crashIsolation.endTurn(worker);
      throw error;
    } finally {
      asking = false;
    }
    if (hinted || someCouldNotBeAsked()) return 0;
    // Nothing to be had, though something is due: it is locked by another transaction, for who knows how long.
    outOfReach = dueIn > 0 ? 0 : outOfReach + 1;
    const now = clock.monotonic();
    nextDueAt = Math.min(nextDueAt, now + dueIn);
    const idleMs = Math.max(nextDueAt - now, shortestIdleMs * 2 ** Math.min(outOfReach, 30));
    return Math.min(settings.pollIntervalMs, idleMs);
  };

  const loop = startLoop(worker, "fetcher", turn);

  return {
    ...loop,
    roomFreed: () => {
      // After asking the store, it looks anyway.
      if (!asking && someCouldNotBeAsked()) loop.wake();
    },
    hint: () => {
      hinted = true;
      loop.wake();
    },
    runnableIn: (ms) => {
      const dueAt = clock.monotonic() + ms;
      if (dueAt >= nextDueAt) return;
      nextDueAt = dueAt;
      loop.wake();
    },
    wantsHint: () => queuesAsked > 0 && !hinted,
  };
};

const shortestIdleMs = 1;

/** A queue that gave all it was asked for probably has more. */
const someRequestWasFilled = (requests: readonly ClaimRequest[], jobs: readonly StateJob[]): boolean => {
  const counts = new Map<string, number>();
  for (const { queue } of jobs) counts.set(queue, (counts.get(queue) ?? 0) + 1);
  return requests.some(({ queue, limit }) => counts.get(queue) === limit);
};
