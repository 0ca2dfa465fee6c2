import assert from "node:assert/strict";
import type { NotifySuite } from "../notify-suite.ts";
import { createRecorder } from "../recorder.ts";

export const jobOwnershipLostTests = ({ test }: NotifySuite): void => {
  test("every listener hears of every job", async ({ adapter, peer, unique }) => {
    const recorders = [createRecorder(), createRecorder()];
    await adapter.listenJobOwnershipLost(recorders[0]!.record);
    await peer.listenJobOwnershipLost(recorders[1]!.record);
    await adapter.notifyJobOwnershipLost([unique("a"), unique("b")]);
    for (const recorder of recorders) {
      await recorder.waitFor(unique("a"));
      await recorder.waitFor(unique("b"));
    }
  });

  test("the channels do not mix", async ({ adapter, peer, unique }) => {
    const name = unique("same");
    const scheduled = createRecorder();
    const completed = createRecorder();
    const lost = createRecorder();
    await peer.listenJobScheduled(null, scheduled.record);
    await peer.listenJobSequenceCompleted([name], completed.record);
    await peer.listenJobOwnershipLost(lost.record);

    await adapter.notifyJobOwnershipLost([name]);
    await lost.waitFor(name);
    await adapter.notifyJobSequenceCompleted([name]);
    await completed.waitFor(name);
    await adapter.notifyJobScheduled(name, 1);
    await scheduled.waitFor(name);

    const times = [scheduled, completed, lost].map((recorder) => recorder.timesHeard(name));
    assert.deepEqual(times, [1, 1, 1]);
  });
};
