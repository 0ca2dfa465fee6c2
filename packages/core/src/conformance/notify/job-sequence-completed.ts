import assert from "node:assert/strict";
import type { NotifyAdapter } from "../../notify/contract.ts";
import type { NotifySuite } from "../notify-suite.ts";
import { until } from "../patience.ts";
import { createRecorder } from "../recorder.ts";

export const jobSequenceCompletedTests = ({ test }: NotifySuite): void => {
  test("every listener of the id hears, on both connections", async ({ adapter, peer, unique }) => {
    const recorders = [createRecorder(), createRecorder(), createRecorder()];
    for (const [index, { record }] of recorders.entries()) {
      await (index === 0 ? adapter : peer).listenJobSequenceCompleted([unique("a")], record);
    }
    await adapter.notifyJobSequenceCompleted([unique("a")]);
    for (const recorder of recorders) await recorder.waitFor(unique("a"));
  });

  test("a listener hears only the ids it named", async ({ adapter, peer, unique }) => {
    const recorder = createRecorder();
    await peer.listenJobSequenceCompleted([unique("a"), unique("marker")], recorder.record);
    await adapter.notifyJobSequenceCompleted([unique("b")]);
    await adapter.notifyJobSequenceCompleted([unique("a")]);
    await adapter.notifyJobSequenceCompleted([unique("marker")]);
    await recorder.waitFor(unique("marker"));
    assert.deepEqual(recorder.heard, [unique("a"), unique("marker")]);
  });

  test("a batch tells each listener of its ids, one call for each", async ({ adapter, peer, unique }) => {
    const first = createRecorder();
    const second = createRecorder();
    await peer.listenJobSequenceCompleted([unique("a"), unique("b")], first.record);
    await peer.listenJobSequenceCompleted([unique("b"), unique("marker")], second.record);
    await adapter.notifyJobSequenceCompleted([unique("a"), unique("b"), unique("c")]);
    await adapter.notifyJobSequenceCompleted([unique("marker")]);
    await second.waitFor(unique("marker"));
    await first.waitFor(unique("b"));
    assert.deepEqual(first.heard.toSorted(), [unique("a"), unique("b")].toSorted());
    assert.deepEqual(second.heard, [unique("b"), unique("marker")]);
  });

  test("a batch of a thousand ids arrives whole", async ({ adapter, peer, unique }) => {
    // More than fits into one message of transports with a small one.
    const ids = Array.from({ length: 1_000 }, (_, index) => unique(`id-${index}`));
    const recorder = createRecorder();
    await peer.listenJobSequenceCompleted(ids, recorder.record);
    await adapter.notifyJobSequenceCompleted(ids);
    for (const id of ids) await recorder.waitFor(id);
  });

  test("a sequence with a listener is known to be awaited, on both connections", async (context) => {
    const { adapter, peer, unique } = context;
    const isAwaited = (side: NotifyAdapter): boolean | undefined => side.isJobSequenceAwaited?.(unique("a"));
    // An adapter may leave the question open.
    if (isAwaited(adapter) === undefined) return;
    assert.equal(isAwaited(adapter), false);
    await peer.listenJobSequenceCompleted([unique("a")], () => {});
    assert.equal(isAwaited(peer), true);
    await until(() => isAwaited(adapter) === true, "the other connection knows of the listener");
    assert.equal(adapter.isJobSequenceAwaited?.(unique("b")), false);
  });

  test("an empty batch is nothing", async ({ adapter }) => {
    await adapter.notifyJobSequenceCompleted([]);
  });
};
