import type { NotifyAdapter } from "../notify/contract.ts";
import type { ManualClock } from "../testing/manual-clock.ts";
import type { SeededRandom } from "../testing/seeded-random.ts";
import type { Chaos } from "./chaos.ts";
import type { VirtualProcess } from "./virtual-process.ts";

export interface ProcessNotifyOptions {
  readonly adapter: NotifyAdapter;
  readonly process: VirtualProcess;
  readonly clock: ManualClock;
  readonly random: SeededRandom;
  readonly chaos: Chaos;
  readonly leaseMs: number;
  /** Ids that a forged notification may name. */
  readonly someJobIds: () => readonly string[];
}

/** Notifications as one process sends and hears them: some get lost, double, come late, lie or fail. */
export const createProcessNotify = (options: ProcessNotifyOptions): NotifyAdapter => {
  const { adapter, process, clock, random, chaos, leaseMs, someJobIds } = options;

  const forge = async (): Promise<void> => {
    const ids = someJobIds();
    await adapter.notifyJobScheduled("no-such-type", 3);
    await adapter.notifyQueueResumed(["no-such-queue"]);
    if (ids.length === 0) return;
    await adapter.notifyJobOwnershipLost([random.pick(ids)]);
    await adapter.notifyJobSequenceCompleted([random.pick(ids)]);
  };

  const send = async (deliver: () => Promise<void>): Promise<void> => {
    await process.awake();
    const strength = chaos.strengthOf("hints");
    if (strength === 0 || !random.chance(strength)) return deliver();
    switch (random.integer(0, 4)) {
      case 0:
        return;
      case 1:
        await deliver();
        return deliver();
      case 2:
        clock.setTimer(() => void deliver(), random.next() * 2 * leaseMs);
        return;
      case 3:
        await forge();
        return deliver();
      default:
        throw new Error("The transport is gone.");
    }
  };

  return {
    notifyJobScheduled: (typeName, count) => send(() => adapter.notifyJobScheduled(typeName, count)),
    notifyJobSequenceCompleted: (ids) => send(() => adapter.notifyJobSequenceCompleted(ids)),
    notifyJobOwnershipLost: (ids) => send(() => adapter.notifyJobOwnershipLost(ids)),
    notifyQueueResumed: (queues) => send(() => adapter.notifyQueueResumed(queues)),
    listenJobScheduled: (typeNames, onScheduled, wantsHint = () => true) =>
      adapter.listenJobScheduled(
        typeNames,
        (typeName) => process.run(() => onScheduled(typeName)),
        // A dead listener is soon forgotten by a real transport; it must not use up notifications.
        () => !process.isDead && wantsHint(),
      ),
    listenJobSequenceCompleted: (ids, onCompleted) =>
      adapter.listenJobSequenceCompleted(ids, (id) => process.run(() => onCompleted(id))),
    listenJobOwnershipLost: (onLost) => adapter.listenJobOwnershipLost((id) => process.run(() => onLost(id))),
    listenQueueResumed: (queues, onOpened) =>
      adapter.listenQueueResumed(queues, (queue) => process.run(() => onOpened(queue))),
    close: () => Promise.resolve(),
  };
};
