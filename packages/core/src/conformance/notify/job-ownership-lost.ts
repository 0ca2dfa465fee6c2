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

  test("those hear of an open queue who serve it", async ({ adapter, peer, unique }) => {
    const recorders = [createRecorder(), createRecorder()];
    await adapter.listenQueueResumed([unique("a")], recorders[0]!.record);
    await peer.listenQueueResumed([unique("a"), unique("b")], recorders[1]!.record);
    await adapter.notifyQueueResumed([unique("b"), unique("a")]);
    await recorders[0]!.waitFor(unique("a"));
    await recorders[1]!.waitFor(unique("a"));
    await recorders[1]!.waitFor(unique("b"));
    assert.equal(recorders[0]!.timesHeard(unique("b")), 0);
  });

  test("the channels do not mix", async ({ adapter, peer, unique }) => {
    const name = unique("same");
    const scheduled = createRecorder();
    const completed = createRecorder();
    const lost = createRecorder();
    const opened = createRecorder();
    await peer.listenJobScheduled(null, scheduled.record);
    await peer.listenJobSequenceCompleted([name], completed.record);
    await peer.listenJobOwnershipLost(lost.record);
    await peer.listenQueueResumed([name], opened.record);

    await adapter.notifyJobOwnershipLost([name]);
    await lost.waitFor(name);
    await adapter.notifyJobSequenceCompleted([name]);
    await completed.waitFor(name);
    await adapter.notifyQueueResumed([name]);
    await opened.waitFor(name);
    await adapter.notifyJobScheduled(name, 1);
    await scheduled.waitFor(name);

    const times = [scheduled, completed, lost, opened].map((recorder) => recorder.timesHeard(name));
    assert.deepEqual(times, [1, 1, 1, 1]);
  });
};
