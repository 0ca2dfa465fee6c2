import { type Backoff, delayOf } from "../base/backoff.ts";
import { type Clock, type Runtime, sleep, withDeadline } from "../base/runtime.ts";
import type { Observe } from "../observability/observe.ts";
import { NotifyTimeoutError } from "../store/errors.ts";
import { type Dispose, type NotificationKind, type NotifyAdapter } from "./contract.ts";

const methodOf = <TVerb extends "notify" | "listen", TKind extends NotificationKind>(
  verb: TVerb,
  kind: TKind,
): `${TVerb}${Capitalize<TKind>}` =>
  `${verb}${kind.charAt(0).toUpperCase()}${kind.slice(1)}` as `${TVerb}${Capitalize<TKind>}`;

type UncountedKind = Exclude<NotificationKind, "jobScheduled">;

const listenBy = (
  adapter: NotifyAdapter,
  kind: NotificationKind,
  names: readonly string[] | null,
  onName: (name: string) => void,
  wantsHint?: () => boolean,
): Promise<Dispose> => {
  if (kind === "jobScheduled") return adapter.listenJobScheduled(names, onName, wantsHint);
  if (kind === "jobOwnershipLost") return adapter.listenJobOwnershipLost(onName);
  return adapter[methodOf("listen", kind)](names ?? [], onName);
};

/** Notifications that wait to be sent. */
export interface NotificationBatch {
  isEmpty(): boolean;
  /** Job types, and how many jobs of each were added. */
  readonly scheduled: ReadonlyMap<string, number>;
  /** The names of each other kind. Lists, because most are of sequences, of which each ends once and no process awaits most. */
  readonly names: ReadonlyMap<UncountedKind, readonly string[]>;
  add(kind: NotificationKind, name: string, count?: number): void;
  merge(other: NotificationBatch): void;
}

const noTypes: ReadonlyMap<string, number> = new Map();
const noNames: NotificationBatch["names"] = new Map();

/** A class, and maps only where they are needed: every start and every transaction has a batch. */
class Batch implements NotificationBatch {
  scheduled: ReadonlyMap<string, number> = noTypes;
  names: NotificationBatch["names"] = noNames;

  isEmpty(): boolean {
    return this.scheduled.size === 0 && this.names.size === 0;
  }

  add(kind: NotificationKind, name: string, count = 1): void {
    if (kind !== "jobScheduled") {
      this.#listOf(kind).push(name);
      return;
    }
    if (this.scheduled === noTypes) this.scheduled = new Map();
    (this.scheduled as Map<string, number>).set(name, (this.scheduled.get(name) ?? 0) + count);
  }

  merge(other: NotificationBatch): void {
    for (const [typeName, count] of other.scheduled) this.add("jobScheduled", typeName, count);
    for (const [kind, names] of other.names) {
      const list = this.#listOf(kind);
      for (const name of names) list.push(name);
    }
  }

  #listOf(kind: UncountedKind): string[] {
    if (this.names === noNames) this.names = new Map();
    const names = this.names as Map<UncountedKind, string[]>;
    let list = names.get(kind);
    if (!list) names.set(kind, (list = []));
    return list;
  }
}

export const createNotificationBatch = (): NotificationBatch => new Batch();

/** The given ones as one. A single one, as usual, is not copied. */
const mergeAll = (batches: readonly NotificationBatch[]): NotificationBatch => {
  if (batches.length === 1) return batches[0]!;
  const merged = createNotificationBatch();
  for (const batch of batches) merged.merge(batch);
  return merged;
};

/** Sends notifications in the background. A caller never waits for an adapter and never fails because of one. */
export interface Notifier {
  send(notifications: NotificationBatch): void;
  /** Resolves when everything has been sent, or has failed. */
  settled(): Promise<void>;
}

/** Bounds the wait for an adapter that hangs. */
const notifyDeadlineMs = 5_000;

/** Calls an adapter. A failure is reported and not thrown. */
const createAttempt =
  (observe: Observe, clock: Clock) =>
  async <T>(operation: string, call: () => Promise<T>): Promise<T | undefined> => {
    try {
      const tooLate = () => new NotifyTimeoutError(operation, notifyDeadlineMs);
      return await withDeadline(call(), notifyDeadlineMs, tooLate, clock);
    } catch (error) {
      observe("notifyAdapterError", () => ({ operation, error }));
      return undefined;
    }
  };

// What comes within this time of the last send is merged. The first notification of a burst goes out at once.
const mergeMs = 5;

/** Each adapter sends at its own pace: none waits for another. */
export const createNotifier = (
  adapters: readonly NotifyAdapter[],
  observe: Observe,
  clock: Clock,
): Notifier => {
  const notifiers = adapters.map((adapter) => createAdapterNotifier(adapter, observe, clock));
  return {
    send: (notifications) => {
      if (!notifications.isEmpty()) for (const notifier of notifiers) notifier.send(notifications);
    },
    settled: async () => {
      await Promise.all(notifiers.map((notifier) => notifier.settled()));
    },
  };
};

/**
 * One send is under way at a time, and a short pause follows it. What arrives meanwhile is merged into the next send:
 * a burst of starts costs a handful of messages, and a slow adapter cannot pile up work.
 */
const createAdapterNotifier = (adapter: NotifyAdapter, observe: Observe, clock: Clock): Notifier => {
  let waiting: NotificationBatch[] = [];
  let sending: Promise<void> | undefined;
  const attempt = createAttempt(observe, clock);

  /** Each call may fail on its own. */
  const sendWaiting = async (): Promise<void> => {
    const batch = mergeAll(waiting);
    waiting = [];
    const attempts: Promise<unknown>[] = [];
    for (const [typeName, count] of batch.scheduled)
      attempts.push(attempt("notifyJobScheduled", () => adapter.notifyJobScheduled(typeName, count)));
    for (const [kind, names] of batch.names) {
      const method = methodOf("notify", kind);
      attempts.push(attempt(method, () => adapter[method](names)));
    }
    await Promise.all(attempts);
  };

  const sendAll = async (): Promise<void> => {
    while (waiting.length > 0) {
      await sendWaiting();
      await sleep(clock, mergeMs);
    }
    sending = undefined;
  };

  return {
    send: (notifications) => {
      waiting.push(notifications);
      sending ??= sendAll();
    },
    settled: () => sending ?? Promise.resolve(),
  };
};

/**
 * Subscriptions to the notifications of every adapter. They do not reject and resolve within a deadline: a failed
 * subscription is reported and repeated in the background; polling finds jobs meanwhile.
 */
export interface Listening {
  /** Notifications of other processes do not arrive. */
  readonly isInProcess: boolean;
  /** Whether a process is known to wait for the end of the sequence. */
  isAwaited(sequenceId: string): boolean;
  /** Calls back with every name of this kind, or with those given; `wantsHint` as in the contract. */
  listen(
    kind: NotificationKind,
    names: readonly string[] | null,
    onName: (name: string) => void,
    wantsHint?: () => boolean,
  ): Promise<Dispose>;
}

const retryDelay: Backoff = { firstMs: 1_000, longestMs: 30_000, jitter: "half" };

export const createListening = (
  adapters: readonly NotifyAdapter[],
  observe: Observe,
  { clock, random }: Runtime,
): Listening => {
  const attempt = createAttempt(observe, clock);

  const keepListening = async (operation: string, listen: () => Promise<Dispose>): Promise<Dispose> => {
    let ended = false;
    let end: Dispose | undefined;
    let cancelRetry: (() => void) | undefined;

    const begin = async (run: number): Promise<void> => {
      let subscribed: Promise<Dispose> | undefined;
      const dispose = await attempt(operation, () => (subscribed = listen()));
      if (dispose && !ended) end = dispose;
      // Too late: the subscription has ended, or is being repeated.
      else void subscribed?.then((late) => attempt("dispose", late)).catch(() => {});
      if (end || ended) return;
      cancelRetry = clock.setTimer(() => void begin(run + 1), delayOf(retryDelay, run, random));
    };

    await begin(1);
    return async () => {
      ended = true;
      cancelRetry?.();
      if (end) await attempt("dispose", end);
    };
  };

  return {
    isInProcess: adapters.every(({ coversInProcess }) => coversInProcess === true),
    isAwaited: (sequenceId) =>
      adapters.some((adapter) => adapter.isJobSequenceAwaited?.(sequenceId) === true),
    listen: async (kind, names, onName, wantsHint) => {
      const subscriptions = await Promise.all(
        adapters.map((adapter) =>
          keepListening(methodOf("listen", kind), () => listenBy(adapter, kind, names, onName, wantsHint)),
        ),
      );
      return async () => {
        await Promise.all(subscriptions.map((dispose) => dispose()));
      };
    },
  };
};
