import assert from "node:assert/strict";
import type { Dispose, NotifyAdapter } from "../../notify/contract.ts";
import type { NotifySuite } from "../notify-suite.ts";
import { createRecorder } from "../recorder.ts";

interface Channel {
  readonly name: string;
  readonly listen: (
    adapter: NotifyAdapter,
    names: string[],
    record: (name: string) => void,
  ) => Promise<Dispose>;
  readonly notify: (adapter: NotifyAdapter, name: string) => Promise<void>;
}

const channels: readonly Channel[] = [
  {
    name: "job scheduled",
    listen: (adapter, names, record) => adapter.listenJobScheduled(names, record),
    // Enough for every listener of these tests.
    notify: (adapter, name) => adapter.notifyJobScheduled(name, 10),
  },
  {
    name: "job sequence completed",
    listen: (adapter, names, record) => adapter.listenJobSequenceCompleted(names, record),
    notify: (adapter, name) => adapter.notifyJobSequenceCompleted([name]),
  },
  {
    name: "job ownership lost",
    listen: (adapter, _names, record) => adapter.listenJobOwnershipLost(record),
    notify: (adapter, name) => adapter.notifyJobOwnershipLost([name]),
  },
];

export const subscriptionTests = ({ test }: NotifySuite): void => {
  for (const { name: channel, listen, notify } of channels) {
    test(`${channel}: a disposed listener hears nothing more; others do`, async ({
      adapter,
      peer,
      unique,
    }) => {
      const ended = createRecorder();
      const going = createRecorder();
      const dispose = await listen(peer, [unique("a")], ended.record);
      await listen(peer, [unique("a")], going.record);
      await notify(adapter, unique("a"));
      await ended.waitFor(unique("a"));
      await going.waitFor(unique("a"));

      await dispose();
      await notify(adapter, unique("a"));
      await going.waitFor(unique("a"), 2);
      assert.equal(ended.timesHeard(unique("a")), 1);
    });

    test(`${channel}: disposing twice, or a neighbour's like, is harmless`, async ({
      adapter,
      peer,
      unique,
    }) => {
      const recorder = createRecorder();
      const dispose = await listen(peer, [unique("a")], recorder.record);
      // The same callback once more: each subscription ends by itself.
      await listen(peer, [unique("a")], recorder.record);
      await Promise.all([dispose(), dispose()]);
      await dispose();
      await notify(adapter, unique("a"));
      await recorder.waitFor(unique("a"));
    });

    test(`${channel}: a listener may dispose itself while it is called`, async ({
      adapter,
      peer,
      unique,
    }) => {
      const recorder = createRecorder();
      const after = createRecorder();
      let disposed: Promise<void> | undefined;
      const dispose = await listen(peer, [unique("a")], (name) => {
        recorder.record(name);
        disposed ??= dispose();
      });
      await listen(peer, [unique("a")], after.record);
      await notify(adapter, unique("a"));
      await recorder.waitFor(unique("a"));
      await disposed;
      await notify(adapter, unique("a"));
      await after.waitFor(unique("a"), 2);
      assert.equal(recorder.timesHeard(unique("a")), 1);
    });

    test(`${channel}: a listener that throws keeps nobody else from hearing`, async ({
      adapter,
      peer,
      unique,
    }) => {
      const recorder = createRecorder();
      await listen(peer, [unique("a")], () => {
        throw new Error("a listener's bug");
      });
      await listen(peer, [unique("a")], recorder.record);
      // Within one process the notification may report the failure.
      await notify(adapter, unique("a")).catch(() => undefined);
      await recorder.waitFor(unique("a"));
      await notify(adapter, unique("a")).catch(() => undefined);
      await recorder.waitFor(unique("a"), 2);
    });

    test(`${channel}: close ends it, twice is once, and then nothing subscribes`, async ({
      adapter,
      peer,
      unique,
    }) => {
      const ended = createRecorder();
      const dispose = await listen(peer, [unique("a")], ended.record);
      await peer.close();
      await peer.close();
      await dispose();
      await assert.rejects(listen(peer, [unique("a")], ended.record));
      if (adapter === peer) {
        await notify(adapter, unique("a")).catch(() => undefined);
      } else {
        const going = createRecorder();
        await listen(adapter, [unique("a")], going.record);
        await notify(adapter, unique("a"));
        await going.waitFor(unique("a"));
      }
      assert.deepEqual(ended.heard, []);
    });
  }
};
