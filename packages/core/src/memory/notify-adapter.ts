import type { NotifyAdapter } from "../contracts/notify-adapter.ts";
import { createAdapterMethods } from "../notifications/adapter-methods.ts";
import { createNotificationListeners } from "../notifications/listeners.ts";

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
    coversOwnProcess: true,
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
