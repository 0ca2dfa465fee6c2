import { createDeferred } from "../base/async.ts";
import { delayOf } from "../base/backoff.ts";
import type { Dispose } from "../notify/contract.ts";
import { createNotificationBatch } from "../notify/notifier.ts";
import { isObserved } from "../observability/observe.ts";
import type { ClaimRequest } from "../store/contract/claims.ts";
import type { StateJob } from "../store/contract/job.ts";
import { remainingLimits } from "../store/rules/checks.ts";
import { attemptEventData } from "./attempt-events.ts";
import type { Consumer } from "./consumer.ts";
import type { WorkerContext } from "./context.ts";
import type { HeldJob } from "./held-jobs.ts";
import { type Loop, startLoop } from "./loop.ts";

export interface Fetcher extends Loop {
  /** Claims at once when a notification of new jobs arrives. */
  listen(): Promise<Dispose>;
  /**
   * Resolves after a turn that began after the call with no job held, and that found nothing to claim. Returns how many
   * milliseconds later the next job is due.
   */
  idle(): Promise<number>;
}

// A due job that cannot be claimed after this many tries is locked or throttled for longer.
const mostEmptyClaims = 5;

// While all slots are in use, only a free slot ends the wait.
const untilRoomMs = 60_000;

/** Claims jobs for the free slots; sleeps until a notification, the next due job, or the poll interval. */
export const startFetcher = (worker: WorkerContext, consumer: Consumer): Fetcher => {
  const { engine, listening, settings, handlers, held, crashIsolation, wakeUps, sleep, maxAttempts } = worker;
  const { store, runtime, deployment } = engine;
  const { clock } = runtime;
  let queuesAsked = 0;
  let asking = false;
  let notified = false;
  let endAsking: (() => void) | undefined;
  /** A query of an earlier turn, whose answer is not needed any more, is still under way. */
  let isAnswerLeft = false;
  let nextDueAt = Infinity;
  /**
   * The last turn found nothing that will be due before the next poll, or a due job that another transaction has locked, and no
   * notification has arrived since.
   */
  let expectsNothing = false;
  /** Claims in a row that found nothing although the store reported a job as due. */
  let emptyClaims = 0;
  let idleWaiters: ((dueIn: number) => void)[] = [];

  const claim = async (requests: readonly ClaimRequest[], limit: number): Promise<StateJob[]> => {
    const { workerId, leaseMs } = settings;
    const leaseToken = runtime.createToken();
    const askedAt = clock.monotonic();
    const jobs = await store.claimJobs({
      workerId,
      leaseToken,
      leaseMs,
      deployment,
      requests,
      limit,
      maxAttempts,
    });
    const durationMs = clock.monotonic() - askedAt;
    engine.observe("claimBatch", () => ({ workerId, requested: limit, claimed: jobs.length, durationMs }));
    const claimed = jobs.map((job) => held.add(job, leaseToken, job.leaseMs ?? leaseMs, askedAt));
    if (isObserved(engine.observe)) for (const job of claimed) reportTimeInQueue(worker, job);
    consumer.accept(claimed);
    return jobs;
  };

  /** A queue that was full was left out of the last claim; now that it has room there may be jobs for it. */
  const someCouldNotBeAsked = (): boolean => consumer.queuesWithRoom() > queuesAsked;

  /** Claims as much as there is room for. Returns the delay before the next turn if that needs no query. */
  const claimAll = async (requests: readonly ClaimRequest[], limit: number): Promise<number | undefined> => {
    // Jobs of a claim that is under way count as held already.
    crashIsolation.hold();
    const jobs = await claim(requests, limit).finally(crashIsolation.drop);
    if (jobs.length > 0) emptyClaims = 0;
    if (!crashIsolation.mayClaim(worker)) {
      queuesAsked = 0;
      return untilRoomMs;
    }
    return notified || someRequestWasFilled(requests, jobs) ? 0 : undefined;
  };

  const askStore = async (requests: readonly ClaimRequest[]): Promise<number> =>
    (await store.nextRunnableIn({ requests, maxAttempts })) ?? Infinity;

  /**
   * When the next job is due. A notification ends the wait, because a claim follows in any case. At most one answer is left
   * unread at a time, so that a slow store does not get more and more queries.
   */
  const askWhenDue = async (requests: readonly ClaimRequest[]): Promise<number> => {
    const answer = askStore(requests);
    if (isAnswerLeft) return answer;
    const notification = createDeferred<number>();
    endAsking = () => {
      endAsking = undefined;
      isAnswerLeft = true;
      notification.resolve(0);
    };
    const answered = (): void => {
      endAsking = undefined;
      isAnswerLeft = false;
    };
    answer.then(answered, answered);
    return Promise.race([answer, notification.promise]);
  };

  /**
   * A claim can find nothing although the store reports a due job: another transaction has locked the row, usually another
   * worker that has just claimed it, or a limit throttles the job. The pause doubles, to spare the store.
   */
  const pauseAfterEmptyClaim = (): number => {
    emptyClaims += 1;
    const backoff = { firstMs: 5, longestMs: settings.pollIntervalMs, jitter: "none" } as const;
    return delayOf(backoff, emptyClaims, runtime.random);
  };

  const turn = async (): Promise<number> => {
    const { requests, limit, places } = consumer.claim();
    queuesAsked = places;
    endSleep();
    if (queuesAsked === 0) return untilRoomMs;
    const waiters = held.size === 0 ? [...idleWaiters] : [];
    // A worker that has requested a turn has to claim: other workers wait for its turn to end.
    const asksFirst = expectsNothing && !crashIsolation.isReserved;
    expectsNothing = false;
    notified = false;
    nextDueAt = Infinity;
    let dueIn = 0;
    asking = true;
    try {
      // Most polls of an idle worker find nothing, and locked jobs are mostly claimed by now. One cheap query is enough.
      if (asksFirst) dueIn = await askWhenDue(requests);
      if (dueIn <= 0) {
        const again = await claimAll(requests, limit);
        if (again !== undefined) return again;
        dueIn = await askWhenDue(requests);
      }
    } catch (error) {
      // Other workers must not wait for one whose store does not answer.
      crashIsolation.endTurn(worker);
      throw error;
    } finally {
      asking = false;
    }
    if (notified || someCouldNotBeAsked()) return 0;
    const now = clock.monotonic();
    nextDueAt = Math.min(nextDueAt, now + dueIn);
    expectsNothing = dueIn <= 0 || nextDueAt - now >= settings.pollIntervalMs;
    if (dueIn > settings.pollIntervalMs) emptyClaims = 0;
    const idleMs = nextDueAt - now;
    if (held.size === 0 && (idleMs > 0 || emptyClaims >= mostEmptyClaims)) endIdleWaits(waiters, idleMs);
    if (idleMs >= settings.pollIntervalMs)
      return held.size === 0 ? fallAsleep(idleMs) : settings.pollIntervalMs;
    return Math.max(idleMs, pauseAfterEmptyClaim());
  };

  const endIdleWaits = (waiters: readonly ((dueIn: number) => void)[], idleMs: number): void => {
    idleWaiters = idleWaiters.filter((waiter) => !waiters.includes(waiter));
    for (const resolve of waiters) resolve(idleMs);
  };

  /** Without `idleSleepMs`, a worker polls instead. */
  const fallAsleep = (idleMs: number): number => {
    const { idleSleepMs, pollIntervalMs } = settings;
    if (idleSleepMs === undefined) return pollIntervalMs;
    sleep.isAsleep = true;
    return Math.max(pollIntervalMs, Math.min(idleMs, idleSleepMs));
  };

  const endSleep = (): void => {
    if (!sleep.isAsleep) return;
    sleep.isAsleep = false;
    wakeUps.awake.signal();
  };

  const loop = startLoop(worker, "fetcher", turn);
  const wake = (): void => {
    expectsNothing = false;
    loop.wake();
  };

  wakeUps.roomFreed.subscribe(() => {
    // A turn checks this at its end anyway.
    if (!asking && someCouldNotBeAsked()) wake();
    else if (idleWaiters.length > 0 && held.size === 0) loop.wake();
  });

  wakeUps.runnableIn.subscribe((ms) => {
    const dueAt = clock.monotonic() + ms;
    if (dueAt >= nextDueAt) return;
    nextDueAt = dueAt;
    wake();
  });

  wakeUps.limitFreed.subscribe((typeName) => {
    // With room, this worker claims the next job itself: waking all other workers for one job would be wasteful.
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
    emptyClaims = 0;
    endAsking?.();
    wake();
  };
  /** Whether a notification makes a difference: there is room, and no wake-up is due anyway. */
  const wantsNotification = (): boolean => queuesAsked > 0 && !notified;
  const anyType = settings.queues.some(({ claimAllTypes }) => claimAllTypes);

  const queueNames = settings.queues.map(({ name }) => name);

  return {
    ...loop,
    idle: () =>
      new Promise((resolve) => {
        idleWaiters.push(resolve);
        loop.wake();
      }),
    listen: async () => {
      const subscriptions = await Promise.all([
        listening.listen(
          "jobScheduled",
          anyType ? null : [...handlers.keys()],
          onNotification,
          wantsNotification,
        ),
        listening.listen("queueResumed", queueNames, onNotification),
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

/** A request that was filled could probably have got more. */
const someRequestWasFilled = (requests: readonly ClaimRequest[], jobs: readonly StateJob[]): boolean =>
  requests.length === 1
    ? jobs.length >= requests[0]!.limit
    : remainingLimits(requests, jobs).some((left) => left === 0);
