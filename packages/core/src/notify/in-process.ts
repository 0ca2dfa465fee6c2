import { AdapterClosedError } from "../store/errors.ts";
import {
  allNotificationKinds,
  type Dispose,
  type NotificationKind,
  notificationKinds,
  type NotifyAdapter,
} from "./contract.ts";

const done = (): Promise<void> => Promise.resolve();

const listen = (): Promise<Dispose> => Promise.resolve(done);

/** Sends nothing and hears nothing, not even within this process: workers find jobs by polling. */
export const createNoopNotifyAdapter = (): NotifyAdapter => ({
  coversInProcess: true,
  notifyJobScheduled: done,
  listenJobScheduled: listen,
  notifyJobSequenceCompleted: done,
  listenJobSequenceCompleted: listen,
  notifyJobOwnershipLost: done,
  listenJobOwnershipLost: listen,
  notifyQueueResumed: done,
  listenQueueResumed: listen,
  close: done,
});

interface Listener {
  readonly kind: NotificationKind;
  /** Null for every name. */
  readonly names: ReadonlySet<string> | null;
  readonly onName: (name: string) => void;
  readonly wantsHint: () => boolean;
  /** Whoever was called longest ago, or never, has the lowest. */
  turn: number;
}

type Remove = () => void;

/** Who listens within this process. A listener that throws is reported, and the others still hear. */
export interface NotificationListeners {
  add(
    kind: NotificationKind,
    names: readonly string[] | null,
    onName: (name: string) => void,
    wantsHint?: () => boolean,
  ): Remove;
  /** Whether anybody listens for this kind. If not, its messages need not be read. */
  has(kind: NotificationKind): boolean;
  /** How many listeners of the name would take a hint now. */
  wanting(kind: NotificationKind, name: string): number;
  /** Calls at most `limit` listeners of the name that want a hint. Those who have waited longest come first. */
  tell(kind: NotificationKind, name: string, limit?: number): void;
  /** Notifications may have been missed: everyone who waits looks, as the table of kinds says. */
  tellEveryone(): void;
  clear(): void;
}

const always = (): boolean => true;

/** The listeners of one kind, found by name: there may be thousands that each wait for one sequence. */
interface Register {
  readonly all: Set<Listener>;
  readonly byName: Map<string, Set<Listener>>;
  readonly ofEveryName: Set<Listener>;
}

const createRegister = (): Register => ({ all: new Set(), byName: new Map(), ofEveryName: new Set() });

export const createNotificationListeners = (onError: (error: unknown) => void): NotificationListeners => {
  const registers = Object.fromEntries(
    allNotificationKinds.map((kind) => [kind, createRegister()]),
  ) as Record<NotificationKind, Register>;
  let turns = 0;

  const wants = ({ wantsHint }: Listener): boolean => {
    try {
      return wantsHint();
    } catch (error) {
      onError(error);
      return false;
    }
  };

  const call = (listener: Listener, name: string): void => {
    listener.turn = turns += 1;
    try {
      listener.onName(name);
    } catch (error) {
      onError(error);
    }
  };

  /** A copy: callbacks add and remove listeners. */
  const listenersOf = (kind: NotificationKind, name: string): Listener[] => {
    const { byName, ofEveryName } = registers[kind];
    return [...(byName.get(name) ?? []), ...ofEveryName];
  };

  const remove = (listener: Listener): void => {
    const { all, byName, ofEveryName } = registers[listener.kind];
    all.delete(listener);
    ofEveryName.delete(listener);
    for (const name of listener.names ?? []) {
      const others = byName.get(name);
      others?.delete(listener);
      if (others?.size === 0) byName.delete(name);
    }
  };

  return {
    add: (kind, names, onName, wantsHint = always) => {
      const { all, byName, ofEveryName } = registers[kind];
      const listener: Listener = {
        kind,
        names: names && new Set(names),
        onName,
        wantsHint,
        turn: (turns += 1),
      };
      all.add(listener);
      if (!listener.names) ofEveryName.add(listener);
      for (const name of listener.names ?? []) {
        byName.set(name, (byName.get(name) ?? new Set()).add(listener));
      }
      return () => remove(listener);
    },
    has: (kind) => registers[kind].all.size > 0,
    wanting: (kind, name) => listenersOf(kind, name).filter(wants).length,
    tell: (kind, name, limit = Infinity) => {
      const { all } = registers[kind];
      let remaining = limit;
      for (const listener of listenersOf(kind, name).sort((a, b) => a.turn - b.turn)) {
        if (remaining <= 0) return;
        // An earlier callback may have ended this subscription.
        if (!all.has(listener) || !wants(listener)) continue;
        remaining -= 1;
        call(listener, name);
      }
    },
    tellEveryone: () => {
      for (const kind of allNotificationKinds) {
        const { afterGap } = notificationKinds[kind];
        if (afterGap === "nothing") continue;
        const { all } = registers[kind];
        for (const listener of Array.from(all)) {
          // To a listener of every name, any name says as much.
          const names = listener.names ? [...listener.names] : [""];
          for (const name of afterGap === "one name" ? names.slice(0, 1) : names) {
            if (all.has(listener) && wants(listener)) call(listener, name);
          }
        }
      }
    },
    clear: () => {
      for (const kind of allNotificationKinds) for (const listener of registers[kind].all) remove(listener);
    },
  };
};

export interface AdapterMethodsOptions {
  /** For error messages. */
  readonly name: string;
  readonly listeners: NotificationListeners;
  /** `count` only for kinds that are counted. */
  readonly send: (kind: NotificationKind, names: readonly string[], count?: number) => Promise<void>;
  readonly close?: () => Promise<void>;
}

/** The methods of a notify adapter, for whoever can send names and has listeners. */
export const createAdapterMethods = ({
  name,
  listeners,
  send,
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
  const listen = async (...listener: Parameters<NotificationListeners["add"]>): Promise<Dispose> => {
    assertOpen();
    const remove = listeners.add(...listener);
    return async () => remove();
  };

  return {
    notifyJobScheduled: (typeName, count) => notify("jobScheduled", [typeName], count),
    listenJobScheduled: (typeNames, onScheduled, wantsHint) =>
      listen("jobScheduled", typeNames, onScheduled, wantsHint),
    notifyJobSequenceCompleted: (sequenceIds) => notify("sequenceFinished", sequenceIds),
    listenJobSequenceCompleted: (sequenceIds, onCompleted) =>
      listen("sequenceFinished", sequenceIds, onCompleted),
    notifyJobOwnershipLost: (jobIds) => notify("jobOwnershipLost", jobIds),
    listenJobOwnershipLost: (onLost) => listen("jobOwnershipLost", null, onLost),
    notifyQueueResumed: (queues) => notify("queueOpened", queues),
    listenQueueResumed: (queues, onOpened) => listen("queueOpened", queues, onOpened),
    close: () => {
      listeners.clear();
      closing ??= close?.() ?? Promise.resolve();
      return closing;
    },
  };
};

/** Rejecting is how a notification reports. By then every listener has had its turn. */
const reportFailures = (failures: readonly unknown[]): void => {
  if (failures.length === 1) throw failures[0];
  if (failures.length > 1) throw new AggregateError(failures, "Several listeners failed");
};

/**
 * Carries notifications within this process, at once: when a `notify…` call returns its promise, the listeners have
 * been called. When a listener throws, the others still hear; the notification then rejects.
 */
export const createInProcessNotifyAdapter = (): NotifyAdapter => {
  let failures: unknown[] = [];
  const listeners = createNotificationListeners((error) => failures.push(error));

  return {
    coversInProcess: true,
    ...createAdapterMethods({
      name: "in-process notify adapter",
      listeners,
      send: async (kind, names, count) => {
        // A listener may notify in turn. Each notification reports its own failures.
        const outer = failures;
        failures = [];
        try {
          for (const name of names) listeners.tell(kind, name, count);
          reportFailures(failures);
        } finally {
          failures = outer;
        }
      },
    }),
  };
};

/** Whoever shares a state adapter shares its jobs, and so hears of them. */
const ownProcess = new WeakMap<object, NotifyAdapter>();

/**
 * The adapters that notifications go through. Within this process they always go at once, whatever becomes of those
 * that travel: a slow broker must not delay jobs that were started in the same process.
 */
export const withInProcess = (
  stateAdapter: object,
  notifyAdapter: NotifyAdapter | undefined,
): readonly NotifyAdapter[] => {
  if (notifyAdapter?.coversInProcess) return [notifyAdapter];
  const local = ownProcess.get(stateAdapter) ?? createInProcessNotifyAdapter();
  ownProcess.set(stateAdapter, local);
  return notifyAdapter ? [local, notifyAdapter] : [local];
};
