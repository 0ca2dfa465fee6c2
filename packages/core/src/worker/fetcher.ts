import type { Dispose } from "../contracts/notify-adapter.ts";
import type { StateJob } from "../model/job.ts";
import type { ClaimRequest } from "../contracts/state-adapter.ts";
import { isObserved } from "../engine/observe.ts";
import { createNotificationBatch } from "../notifications/batch.ts";
import { attemptEventData } from "./attempt-events.ts";
import type { Consumer } from "./consumer.ts";
import { createGrowingPause } from "./growing-pause.ts";
import type { HeldJob } from "./held-jobs.ts";
import { type Loop, startLoop } from "./loop.ts";
import type { WorkerContext } from "./worker-context.ts";

export interface Fetcher extends Loop {
  /** Looks for jobs at once when others say that there are new ones. */
  listen(): Promise<Dispose>;
}

// With every place taken there is nothing to wait for but a place.
const untilRoomMs = 60_000;

/** Claims what the consumer has room for; sleeps until a notification, the next job that is due, or the poll interval. */
export const startFetcher = (worker: WorkerContext, consumer: Consumer): Fetcher => {
  const { engine, settings, handlers, held, crashIsolation, wakeUps, maxAttempts } = worker;
  const { store, runtime } = engine;
  const { clock } = runtime;
  let queuesAsked = 0;
  let asking = false;
  let notified = false;
  let nextDueAt = Infinity;
  const pause = createGrowingPause(settings.pollIntervalMs);

  const claim = async (requests: readonly ClaimRequest[], limit: number): Promise<StateJob[]> => {
    const { workerId, leaseMs } = settings;
    const leaseToken = runtime.createToken();
    const askedAt = clock.monotonic();
    const jobs = await store.claimJobs({ workerId, leaseToken, leaseMs, requests, limit, maxAttempts });
    const durationMs = clock.monotonic() - askedAt;
    engine.observe("claimBatch", () => ({ workerId, requested: limit, claimed: jobs.length, durationMs }));
    const claimed = jobs.map((job) => held.add(job, leaseToken, job.leaseMs ?? leaseMs, askedAt));
    if (isObserved(engine.observe)) for (const job of claimed) reportTimeInQueue(worker, job);
    consumer.accept(claimed);
    return jobs;
  };

  /** A queue that was full could not be asked; now that it has room there may be work for it. */
  const someCouldNotBeAsked = (): boolean => consumer.queuesWithRoom() > queuesAsked;

  const turn = async (): Promise<number> => {
    const { requests, limit } = consumer.claimRequests();
    queuesAsked = requests.length;
    if (queuesAsked === 0) return untilRoomMs;
    notified = false;
    nextDueAt = Infinity;
    let dueIn: number;
    asking = true;
    // What a claim on its way is about to bring counts as held already.
    crashIsolation.hold();
    try {
      const jobs = await claim(requests, limit).finally(crashIsolation.drop);
      if (jobs.length > 0) pause.reset();
      if (!crashIsolation.mayClaim(worker)) {
        queuesAsked = 0;
        return untilRoomMs;
      }
      if (notified || someRequestWasFilled(requests, jobs)) return 0;
      dueIn = (await store.nextRunnableIn({ requests, maxAttempts })) ?? Infinity;
    } catch (error) {
      // Others must not wait for a worker whose store does not answer.
      crashIsolation.endTurn(worker);
      throw error;
    } finally {
      asking = false;
    }
    if (notified || someCouldNotBeAsked()) return 0;
    const now = clock.monotonic();
    nextDueAt = Math.min(nextDueAt, now + dueIn);
    const idleMs = Math.max(nextDueAt - now, pause.next(dueIn));
    return Math.min(settings.pollIntervalMs, idleMs);
  };

  const loop = startLoop(worker, "fetcher", turn);

  wakeUps.roomFreed.subscribe(() => {
    // After asking the store, it looks anyway.
    if (!asking && someCouldNotBeAsked()) loop.wake();
  });

  wakeUps.runnableIn.subscribe((ms) => {
    const dueAt = clock.monotonic() + ms;
    if (dueAt >= nextDueAt) return;
    nextDueAt = dueAt;
    loop.wake();
  });

  wakeUps.limitFreed.subscribe((typeName) => {
    // Whoever can take the next job does so itself: to wake all others for one free place would be a waste.
    if (consumer.queuesWithRoom() > 0) {
      onNotification();
      return;
    }
    const notifications = createNotificationBatch();
    notifications.add("jobScheduled", typeName);
    engine.notifier.send(notifications);
  });

  const onNotification = (): void => {
    notified = true;
    pause.reset();
    loop.wake();
  };
  /** Whether a notification would make a difference: there is room, and no wake-up is due anyway. */
  const wantsNotification = (): boolean => queuesAsked > 0 && !notified;
  const anyType = settings.queues.some(({ claimAllTypes }) => claimAllTypes);

  const queueNames = settings.queues.map(({ name }) => name);

  return {
    ...loop,
    listen: async () => {
      const subscriptions = await Promise.all([
        engine.listening.listen(
          "jobScheduled",
          anyType ? null : [...handlers.keys()],
          onNotification,
          wantsNotification,
        ),
        engine.listening.listen("queueOpened", queueNames, onNotification),
      ]);
      return async () => {
        await Promise.all(subscriptions.map((dispose) => dispose()));
      };
    },
  };
};

const reportTimeInQueue = (worker: WorkerContext, held: HeldJob): void => {
  const { lastAttemptAt, scheduledAt } = held.job;
  worker.engine.observe("jobTimeInQueue", () => ({
    durationMs: (lastAttemptAt ?? scheduledAt) - scheduledAt,
    ...attemptEventData(worker, held),
  }));
};

/** A queue that gave all it was asked for probably has more. */
const someRequestWasFilled = (requests: readonly ClaimRequest[], jobs: readonly StateJob[]): boolean => {
  const counts = new Map<string, number>();
  for (const { queue } of jobs) counts.set(queue, (counts.get(queue) ?? 0) + 1);
  return requests.some(({ queue, limit }) => counts.get(queue) === limit);
};
