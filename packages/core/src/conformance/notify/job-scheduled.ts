import assert from "node:assert/strict";
import type { NotifySuite } from "../notify-suite.ts";
import { createRecorder } from "../recorder.ts";

export const jobScheduledTests = ({ test }: NotifySuite): void => {
  test("a notification reaches a listener on another connection", async ({ adapter, peer, unique }) => {
    const recorder = createRecorder();
    await peer.listenJobScheduled([unique("type")], recorder.record);
    await adapter.notifyJobScheduled(unique("type"), 1);
    await recorder.waitFor(unique("type"));
  });

  test("a notification reaches a listener on the same connection", async ({ adapter, unique }) => {
    const recorder = createRecorder();
    await adapter.listenJobScheduled([unique("type")], recorder.record);
    await adapter.notifyJobScheduled(unique("type"), 1);
    await recorder.waitFor(unique("type"));
  });

  test("a listener hears only the types it named", async ({ adapter, peer, unique }) => {
    const recorder = createRecorder();
    await peer.listenJobScheduled([unique("mine"), unique("marker")], recorder.record);
    await adapter.notifyJobScheduled(unique("other"), 1);
    await adapter.notifyJobScheduled(unique("mine"), 1);
    await adapter.notifyJobScheduled(unique("marker"), 1);
    await recorder.waitFor(unique("marker"));
    assert.deepEqual(recorder.heard.toSorted(), [unique("mine"), unique("marker")].toSorted());
  });

  test("null listens for every type", async ({ adapter, peer, unique }) => {
    const recorder = createRecorder();
    await peer.listenJobScheduled(null, recorder.record);
    await adapter.notifyJobScheduled(unique("one"), 1);
    await adapter.notifyJobScheduled(unique("two"), 1);
    await recorder.waitFor(unique("one"));
    await recorder.waitFor(unique("two"));
  });

  test("an empty list of types hears nothing", async ({ adapter, peer, unique }) => {
    const none = createRecorder();
    const marker = createRecorder();
    await peer.listenJobScheduled([], none.record);
    await peer.listenJobScheduled([unique("marker")], marker.record);
    await adapter.notifyJobScheduled(unique("type"), 5);
    await adapter.notifyJobScheduled(unique("marker"), 5);
    await marker.waitFor(unique("marker"));
    assert.deepEqual(none.heard, []);
  });

  test("two subscriptions of one connection both hear", async ({ adapter, peer, unique }) => {
    const recorders = [createRecorder(), createRecorder()];
    for (const { record } of recorders) await peer.listenJobScheduled([unique("type")], record);
    await adapter.notifyJobScheduled(unique("type"), 2);
    for (const recorder of recorders) await recorder.waitFor(unique("type"));
  });

  test("a notification without a listener is lost without harm", async ({ adapter, unique }) => {
    await adapter.notifyJobScheduled(unique("nobody"), 3);
  });
};
