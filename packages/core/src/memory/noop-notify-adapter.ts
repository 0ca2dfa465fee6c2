import type { Dispose, NotifyAdapter } from "../contracts/notify-adapter.ts";

const done = (): Promise<void> => Promise.resolve();
const listen = (): Promise<Dispose> => Promise.resolve(done);

/** Sends nothing and hears nothing, not even within this process: workers find jobs by polling. */
export const createNoopNotifyAdapter = (): NotifyAdapter => ({
  coversOwnProcess: true,
  notifyJobScheduled: done,
  listenJobScheduled: listen,
  notifyJobSequenceCompleted: done,
  listenJobSequenceCompleted: listen,
  notifyJobOwnershipLost: done,
  listenJobOwnershipLost: listen,
  notifyQueueOpened: done,
  listenQueueOpened: listen,
  close: done,
});
