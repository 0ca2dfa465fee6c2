import type { Dispose, NotifyAdapter } from "../contracts/notify-adapter.ts";
import { AdapterClosedError } from "../errors.ts";

interface ScheduledListener {
  readonly typeNames: ReadonlySet<string> | null;
  readonly onScheduled: (typeName: string) => void;
  readonly wantsHint: () => boolean;
}

/** Wrapped, so that the same function may subscribe twice and each subscription ends by itself. */
interface IdListener {
  readonly call: (id: string) => void;
}

const always = (): boolean => true;

/** Rejecting is how a notification reports; by now every listener has had its turn. */
const reportFailures = (failures: readonly unknown[]): void => {
  if (failures.length === 1) throw failures[0];
  if (failures.length > 1) throw new AggregateError(failures, "Several listeners failed");
};

/**
 * Carries hints within this process, at once: when a `notify…` call returns its promise, the listeners have been
 * called. A listener that throws does not keep the others from hearing; the notification then rejects.
 */
export const createInProcessNotifyAdapter = (): NotifyAdapter => {
  // In the order in which they are due for a hint: whoever gets one goes to the end.
  const scheduledListeners = new Set<ScheduledListener>();
  const completedListeners = new Map<string, Set<IdListener>>();
  const lostListeners = new Set<IdListener>();
  let closed = false;

  const assertUsable = (): void => {
    if (closed) throw new AdapterClosedError("in-process notify adapter");
  };

  const tell = (listeners: Set<IdListener> | undefined, id: string, failures: unknown[]): void => {
    for (const listener of Array.from(listeners ?? [])) {
      // An earlier callback may have ended this subscription.
      if (!listeners?.has(listener)) continue;
      try {
        listener.call(id);
      } catch (error) {
        failures.push(error);
      }
    }
  };

  /** Whether the hint was taken; a listener that throws has taken it. */
  const offer = (listener: ScheduledListener, typeName: string, failures: unknown[]): boolean => {
    try {
      if (!listener.wantsHint()) return false;
      scheduledListeners.delete(listener);
      scheduledListeners.add(listener);
      listener.onScheduled(typeName);
    } catch (error) {
      failures.push(error);
    }
    return true;
  };

  const removeCompleted = (id: string, listener: IdListener): void => {
    const listeners = completedListeners.get(id);
    listeners?.delete(listener);
    if (listeners?.size === 0) completedListeners.delete(id);
  };

  return {
    notifyJobScheduled: async (typeName, count) => {
      assertUsable();
      const failures: unknown[] = [];
      let remaining = count;
      // A copy, because a hinted listener is moved to the end, where it would be met again.
      for (const listener of Array.from(scheduledListeners)) {
        if (!(remaining > 0)) break;
        const matches = listener.typeNames === null || listener.typeNames.has(typeName);
        if (matches && scheduledListeners.has(listener) && offer(listener, typeName, failures))
          remaining -= 1;
      }
      reportFailures(failures);
    },

    listenJobScheduled: async (typeNames, onScheduled, wantsHint = always): Promise<Dispose> => {
      assertUsable();
      const listener = { typeNames: typeNames && new Set(typeNames), onScheduled, wantsHint };
      scheduledListeners.add(listener);
      return async () => {
        scheduledListeners.delete(listener);
      };
    },

    notifyJobSequenceCompleted: async (sequenceIds) => {
      assertUsable();
      const failures: unknown[] = [];
      for (const id of sequenceIds) tell(completedListeners.get(id), id, failures);
      reportFailures(failures);
    },

    listenJobSequenceCompleted: async (sequenceIds, onCompleted): Promise<Dispose> => {
      assertUsable();
      const ids = new Set(sequenceIds);
      const listener: IdListener = { call: onCompleted };
      for (const id of ids) {
        const listeners = completedListeners.get(id) ?? new Set();
        completedListeners.set(id, listeners.add(listener));
      }
      return async () => {
        for (const id of ids) removeCompleted(id, listener);
      };
    },

    notifyJobOwnershipLost: async (jobIds) => {
      assertUsable();
      const failures: unknown[] = [];
      for (const id of jobIds) tell(lostListeners, id, failures);
      reportFailures(failures);
    },

    listenJobOwnershipLost: async (onLost): Promise<Dispose> => {
      assertUsable();
      const listener: IdListener = { call: onLost };
      lostListeners.add(listener);
      return async () => {
        lostListeners.delete(listener);
      };
    },

    close: async () => {
      closed = true;
      scheduledListeners.clear();
      for (const listeners of completedListeners.values()) listeners.clear();
      completedListeners.clear();
      lostListeners.clear();
    },
  };
};
