import type { NotifyAdapter } from "../contracts/notify-adapter.ts";
import { AdapterClosedError } from "../errors.ts";
import { createHintListeners } from "../notifications/listeners.ts";

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
  let failures: unknown[] = [];
  const listeners = createHintListeners((error) => failures.push(error));
  let closed = false;

  const assertUsable = (): void => {
    if (closed) throw new AdapterClosedError("in-process notify adapter");
  };

  const notify = (tell: () => void): void => {
    assertUsable();
    // A listener may notify in turn; each notification reports its own failures.
    const outer = failures;
    failures = [];
    try {
      tell();
      reportFailures(failures);
    } finally {
      failures = outer;
    }
  };

  const subscribe = (add: () => () => void): (() => Promise<void>) => {
    assertUsable();
    const remove = add();
    return async () => remove();
  };

  return {
    coversOwnProcess: true,
    notifyJobScheduled: async (typeName, count) => notify(() => listeners.tellScheduled(typeName, count)),
    listenJobScheduled: async (typeNames, onScheduled, wantsHint) =>
      subscribe(() => listeners.addScheduled(typeNames, onScheduled, wantsHint)),
    notifyJobSequenceCompleted: async (sequenceIds) =>
      notify(() => {
        for (const id of sequenceIds) listeners.tellCompleted(id);
      }),
    listenJobSequenceCompleted: async (sequenceIds, onCompleted) =>
      subscribe(() => listeners.addCompleted(sequenceIds, onCompleted)),
    notifyJobOwnershipLost: async (jobIds) =>
      notify(() => {
        for (const id of jobIds) listeners.tellLost(id);
      }),
    listenJobOwnershipLost: async (onLost) => subscribe(() => listeners.addLost(onLost)),
    close: async () => {
      closed = true;
      listeners.clear();
    },
  };
};
