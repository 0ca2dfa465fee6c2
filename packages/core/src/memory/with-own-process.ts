import type { NotifyAdapter } from "../contracts/notify-adapter.ts";
import { createInProcessNotifyAdapter } from "./notify-adapter.ts";

/** Whoever shares a state adapter shares its jobs, and so hears of them. */
const ownProcess = new WeakMap<object, NotifyAdapter>();

/**
 * The adapters that notifications go through. Within this process they always go at once, whatever becomes of those
 * that travel: a slow broker must not delay jobs that were started in the same process.
 */
export const withOwnProcess = (
  stateAdapter: object,
  notifyAdapter: NotifyAdapter | undefined,
): readonly NotifyAdapter[] => {
  if (notifyAdapter?.coversOwnProcess) return [notifyAdapter];
  const local = ownProcess.get(stateAdapter) ?? createInProcessNotifyAdapter();
  ownProcess.set(stateAdapter, local);
  return notifyAdapter ? [local, notifyAdapter] : [local];
};
