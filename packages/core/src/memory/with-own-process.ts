import type { NotifyAdapter } from "../contracts/notify-adapter.ts";
import { createInProcessNotifyAdapter } from "./notify-adapter.ts";

/** Whoever shares a state adapter shares its jobs, and so is within earshot. */
const ownProcess = new WeakMap<object, NotifyAdapter>();

/**
 * The ways that hints go. Within this process they always go at once, whatever becomes of those that travel: a slow
 * broker is no reason to wait for jobs that were started next door.
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
