import { AdapterClosedError } from "../store/errors.ts";
import {
  allNotificationKinds,
  type Dispose,
  type NotificationKind,
  kinds,
  type NotifyAdapter,
} from "./contract.ts";

interface Subscriber {
  readonly kind: NotificationKind;
  /** Null for every name. */
  readonly names: ReadonlySet<string> | null;
  readonly onName: (name: string) => void;
  readonly wantsHint: () => boolean;
  /** Raised by each call: the subscriber with the lowest was called longest ago, or never. */
  turn: number;
}

type Remove = () => void;

/** The subscribers of this process. One that throws is reported, and the others are still called. */
export interface Subscribers {
  add(
    kind: NotificationKind,
    names: readonly string[] | null,
    onName: (name: string) => void,
    wantsHint?: () => boolean,
  ): Remove;
  /** Whether the kind has a subscriber. Without one, its messages need not be decoded. */
  has(kind: NotificationKind): boolean;
  /** How many subscribers of the name would take a hint now. */
  wanting(kind: NotificationKind, name: string): number;
  /** Calls at most `limit` subscribers of the name that want a hint, the one called longest ago first. */
  notify(kind: NotificationKind, name: string, limit?: number): void;
  /** Calls subscribers that may have missed notifications, as `afterGap` of each kind says. */
  notifyAfterGap(): void;
  clear(): void;
}

const always = (): boolean => true;

/** The subscribers of one kind by name: thousands may each wait for one sequence. */
interface Register {
  readonly all: Set<Subscriber>;
  readonly byName: Map<string, Set<Subscriber>>;
  readonly ofEveryName: Set<Subscriber>;
}

const createRegister = (): Register => ({ all: new Set(), byName: new Map(), ofEveryName: new Set() });

export const createSubscribers = (onError: (error: unknown) => void): Subscribers => {
  const registers = Object.fromEntries(
    allNotificationKinds.map((kind) => [kind, createRegister()]),
  ) as Record<NotificationKind, Register>;
  let turns = 0;

  const wants = ({ wantsHint }: Subscriber): boolean => {
    try {
      return wantsHint();
    } catch (error) {
      onError(error);
      return false;
    }
  };

  const call = (subscriber: Subscriber, name: string): void => {
    subscriber.turn = turns += 1;
    try {
      subscriber.onName(name);
    } catch (error) {
      onError(error);
    }
  };

  /** A copy: callbacks add and remove subscribers. */
  const subscribersOf = (kind: NotificationKind, name: string): Subscriber[] => {
    const { byName, ofEveryName } = registers[kind];
    const named = byName.get(name);
    // Most names of finished sequences have no subscriber.
    if (named === undefined && ofEveryName.size === 0) return [];
    return [...(named ?? []), ...ofEveryName];
  };

  const remove = (subscriber: Subscriber): void => {
    const { all, byName, ofEveryName } = registers[subscriber.kind];
    all.delete(subscriber);
    ofEveryName.delete(subscriber);
    for (const name of subscriber.names ?? []) {
      const others = byName.get(name);
      others?.delete(subscriber);
      if (others?.size === 0) byName.delete(name);
    }
  };

  return {
    add: (kind, names, onName, wantsHint = always) => {
      const { all, byName, ofEveryName } = registers[kind];
      const subscriber: Subscriber = {
        kind,
        names: names && new Set(names),
        onName,
        wantsHint,
        turn: (turns += 1),
      };
      all.add(subscriber);
      if (!subscriber.names) ofEveryName.add(subscriber);
      for (const name of subscriber.names ?? []) {
        byName.set(name, (byName.get(name) ?? new Set()).add(subscriber));
      }
      return () => remove(subscriber);
    },
    has: (kind) => registers[kind].all.size > 0,
    wanting: (kind, name) => subscribersOf(kind, name).filter(wants).length,
    notify: (kind, name, limit = Infinity) => {
      const { all } = registers[kind];
      let remaining = limit;
      for (const subscriber of subscribersOf(kind, name).sort((a, b) => a.turn - b.turn)) {
        if (remaining <= 0) return;
        // An earlier callback may have ended this subscription.
        if (!all.has(subscriber) || !wants(subscriber)) continue;
        remaining -= 1;
        call(subscriber, name);
      }
    },
    notifyAfterGap: () => {
      for (const kind of allNotificationKinds) {
        const { afterGap } = kinds[kind];
        if (afterGap === "nothing") continue;
        const { all } = registers[kind];
        for (const subscriber of Array.from(all)) {
          // A subscriber of every name only needs the call.
          const names = subscriber.names ? [...subscriber.names] : [""];
          for (const name of afterGap === "one name" ? names.slice(0, 1) : names) {
            if (all.has(subscriber) && wants(subscriber)) call(subscriber, name);
          }
        }
      }
    },
    clear: () => {
      for (const kind of allNotificationKinds)
        for (const subscriber of registers[kind].all) remove(subscriber);
    },
  };
};

export interface AdapterMethodsOptions {
  /** For error messages. */
  readonly name: string;
  readonly subscribers: Subscribers;
  /** `count` only for kinds that are counted. */
  readonly send: (kind: NotificationKind, names: readonly string[], count?: number) => Promise<void>;
  /** Whether another process waits for the sequence. */
  readonly isAwaitedElsewhere?: (sequenceId: string) => boolean;
  readonly close?: () => Promise<void>;
}

/** The methods of a notify adapter that sends names by `send` and delivers them to `subscribers`. */
export const methodsFor = ({
  name,
  subscribers,
  send,
  isAwaitedElsewhere,
  close,
}: AdapterMethodsOptions): NotifyAdapter => {
  let closing: Promise<void> | undefined;

  const assertOpen = (): void => {
    if (closing) throw new AdapterClosedError(name);
  };
  const notify = async (kind: NotificationKind, names: readonly string[], count?: number): Promise<void> => {
    assertOpen();
    await send(kind, names, count);
  };
  const listen = async (...subscriber: Parameters<Subscribers["add"]>): Promise<Dispose> => {
    assertOpen();
    const remove = subscribers.add(...subscriber);
    return async () => remove();
  };

  return {
    notifyJobScheduled: (typeName, count) => notify("jobScheduled", [typeName], count),
    listenJobScheduled: (typeNames, onScheduled, wantsHint) =>
      listen("jobScheduled", typeNames, onScheduled, wantsHint),
    notifyJobSequenceCompleted: (sequenceIds) => notify("jobSequenceCompleted", sequenceIds),
    listenJobSequenceCompleted: (sequenceIds, onCompleted) =>
      listen("jobSequenceCompleted", sequenceIds, onCompleted),
    isJobSequenceAwaited: (sequenceId) =>
      subscribers.wanting("jobSequenceCompleted", sequenceId) > 0 ||
      isAwaitedElsewhere?.(sequenceId) === true,
    notifyJobOwnershipLost: (jobIds) => notify("jobOwnershipLost", jobIds),
    listenJobOwnershipLost: (onLost) => listen("jobOwnershipLost", null, onLost),
    notifyQueueResumed: (queues) => notify("queueResumed", queues),
    listenQueueResumed: (queues, onResumed) => listen("queueResumed", queues, onResumed),
    close: () => {
      subscribers.clear();
      closing ??= close?.() ?? Promise.resolve();
      return closing;
    },
  };
};

/** Sends nothing and receives nothing, not even within this process: workers find jobs by polling. */
export const createNoopNotifyAdapter = (): NotifyAdapter => ({
  coversInProcess: true,
  ...methodsFor({
    name: "noop notify adapter",
    subscribers: createSubscribers(() => {}),
    send: () => Promise.resolve(),
  }),
});

/** A notification reports failures by rejecting, after every subscriber was called. */
const reportFailures = (failures: readonly unknown[]): void => {
  if (failures.length === 1) throw failures[0];
  if (failures.length > 1) throw new AggregateError(failures, "Several subscribers failed");
};

/**
 * Carries notifications within this process, at once: when a `notify…` call returns its promise, the subscribers have
 * been called. When a subscriber throws, the others are still called; the notification then rejects.
 */
export const createInProcessNotifyAdapter = (): NotifyAdapter => {
  let failures: unknown[] = [];
  const subscribers = createSubscribers((error) => failures.push(error));

  return {
    coversInProcess: true,
    ...methodsFor({
      name: "in-process notify adapter",
      subscribers,
      send: async (kind, names, count) => {
        if (!subscribers.has(kind)) return;
        // A subscriber may notify in turn. Each notification reports its own failures.
        const outer = failures;
        failures = [];
        try {
          for (const name of names) subscribers.notify(kind, name, count);
          reportFailures(failures);
        } finally {
          failures = outer;
        }
      },
    }),
  };
};

/** Instances that share a state adapter notify each other in process. */
const inProcess = new WeakMap<object, NotifyAdapter>();

/**
 * The adapters that notifications go through. Within this process they always go at once: a slow broker must not delay
 * jobs that were started in the same process.
 */
export const withInProcess = (
  stateAdapter: object,
  notifyAdapter: NotifyAdapter | undefined,
): readonly NotifyAdapter[] => {
  if (notifyAdapter?.coversInProcess) return [notifyAdapter];
  const local = inProcess.get(stateAdapter) ?? createInProcessNotifyAdapter();
  inProcess.set(stateAdapter, local);
  return notifyAdapter ? [local, notifyAdapter] : [local];
};
