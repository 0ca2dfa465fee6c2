import assert from "node:assert/strict";
import type { NotifyScenario, NotifySuite } from "../notify-suite.ts";
import { createRecorder, type Recorder } from "../recorder.ts";

interface Contention {
  readonly members: readonly Recorder[];
  /** Hears what any member hears. */
  readonly all: Recorder;
  /** Resolves when every member has handled what was sent before. */
  settle(): Promise<void>;
}

/** Idle listeners of "type", spread over both connections. */
const gatherCrowd = async ({ adapter, peer, unique }: NotifyScenario, size: number): Promise<Contention> => {
  const all = createRecorder();
  const members = Array.from({ length: size }, createRecorder);
  for (const [index, member] of members.entries()) {
    const connection = index % 2 === 0 ? adapter : peer;
    await connection.listenJobScheduled([unique("type"), unique("marker")], (typeName) => {
      member.record(typeName);
      all.record(typeName);
    });
  }
  let rounds = 0;
  const settle = async (): Promise<void> => {
    rounds += 1;
    await adapter.notifyJobScheduled(unique("marker"), size);
    await Promise.all(members.map((member) => member.waitFor(unique("marker"), rounds)));
  };
  return { members, all, settle };
};

export const hintCountTests = ({ test, countsHints }: NotifySuite): void => {
  test("a listener whose wantsHint is false leaves the notification to another", async ({
    adapter,
    peer,
    unique,
  }) => {
    const busy = createRecorder();
    const idle = createRecorder();
    let isBusy = true;
    await adapter.listenJobScheduled([unique("type")], busy.record, () => !isBusy);
    await peer.listenJobScheduled([unique("type")], idle.record, () => true);
    const marker = createRecorder();
    await adapter.listenJobScheduled([unique("marker")], marker.record);
    for (let times = 1; times <= 5; times += 1) {
      await adapter.notifyJobScheduled(unique("type"), 1);
      await idle.waitFor(unique("type"), times);
    }
    // A transport that broadcasts may bring the last one to this connection later than to the other.
    await adapter.notifyJobScheduled(unique("marker"), 1);
    await marker.waitFor(unique("marker"));
    isBusy = false;
    await adapter.notifyJobScheduled(unique("type"), 2);
    await busy.waitFor(unique("type"));
    assert.equal(busy.timesHeard(unique("type")), 1);
  });

  test("more notifications than listeners wake each listener once", async (scenario) => {
    const crowd = await gatherCrowd(scenario, 3);
    await scenario.adapter.notifyJobScheduled(scenario.unique("type"), 100);
    await Promise.all(crowd.members.map((member) => member.waitFor(scenario.unique("type"))));
    await crowd.settle();
    assert.equal(crowd.all.timesHeard(scenario.unique("type")), 3);
  });

  if (!countsHints) {
    // There is no counting test here: the transport broadcasts, and the worst that comes of it is an idle look.
    test("every connection wakes somebody where the transport cannot count", async ({
      adapter,
      peer,
      unique,
    }) => {
      const heard = await Promise.all(
        [adapter, peer].map(async (connection) => {
          const recorder = createRecorder();
          for (let index = 0; index < 3; index += 1)
            await connection.listenJobScheduled([unique("type")], recorder.record);
          return recorder;
        }),
      );
      await adapter.notifyJobScheduled(unique("type"), 1);
      await Promise.all(heard.map((recorder) => recorder.waitFor(unique("type"))));
    });
    return;
  }

  for (const count of [1, 2, 5]) {
    test(`a hint of ${count} wakes ${count} of 6 idle listeners`, async (scenario) => {
      const crowd = await gatherCrowd(scenario, 6);
      await scenario.adapter.notifyJobScheduled(scenario.unique("type"), count);
      await crowd.all.waitFor(scenario.unique("type"), count);
      await crowd.settle();
      assert.equal(crowd.all.timesHeard(scenario.unique("type")), count);
    });
  }

  test("each of several notifications wakes one listener", async (scenario) => {
    const crowd = await gatherCrowd(scenario, 4);
    for (let times = 1; times <= 12; times += 1) {
      await scenario.adapter.notifyJobScheduled(scenario.unique("type"), 1);
      await crowd.all.waitFor(scenario.unique("type"), times);
    }
    await crowd.settle();
    assert.equal(crowd.all.timesHeard(scenario.unique("type")), 12);
  });

  test("a notification of none wakes nobody", async (scenario) => {
    const crowd = await gatherCrowd(scenario, 2);
    await scenario.adapter.notifyJobScheduled(scenario.unique("type"), 0);
    await crowd.settle();
    assert.equal(crowd.all.timesHeard(scenario.unique("type")), 0);
  });
};
