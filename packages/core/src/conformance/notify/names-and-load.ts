import type { NotifySuite } from "../notify-suite.ts";
import { createRecorder } from "../recorder.ts";

// Each is padded or cut to a name a user may choose; brokers give many of these characters a meaning.
const unusualNames: readonly (readonly [string, string])[] = [
  ["spaces", "send the mail "],
  ["quotes", `it's "quoted" and \`ticked\``],
  ["backslashes and newlines", "a\\b\nc\r\nd\t"],
  ["wildcards", "*.>.?[a-z]"],
  ["separators", "a:b,c;d|e/f.g"],
  ["braces like a slot", "{user}:{1}"],
  ["other scripts", "заказ注文🧾"],
  ["combining characters", "e\u0301"],
  ["JSON", '{"type":"x"}'],
  ["SQL", "'; DROP TABLE jobs; --"],
  ["prototype names", "__proto__"],
  ["200 characters", "x".repeat(163)],
  ["200 wide characters", "語".repeat(163)],
];

export const nameTests = ({ test }: NotifySuite): void => {
  for (const [label, text] of unusualNames) {
    test(`names with ${label} arrive as they were sent`, async ({ adapter, peer, unique }) => {
      const name = unique(text).slice(0, 200);
      const scheduled = createRecorder();
      const anyType = createRecorder();
      const completed = createRecorder();
      const lost = createRecorder();
      await peer.listenJobScheduled([name], scheduled.record);
      await peer.listenJobScheduled(null, anyType.record);
      await peer.listenJobSequenceCompleted([name], completed.record);
      await peer.listenJobOwnershipLost(lost.record);
      await adapter.notifyJobScheduled(name, 2);
      await adapter.notifyJobSequenceCompleted([name]);
      await adapter.notifyJobOwnershipLost([name]);
      for (const recorder of [scheduled, anyType, completed, lost]) await recorder.waitFor(name);
    });
  }

  test("names that differ only in case are different", async ({ adapter, peer, unique }) => {
    const lower = createRecorder();
    const upper = createRecorder();
    await peer.listenJobScheduled([unique("name")], lower.record);
    await peer.listenJobScheduled([unique("NAME")], upper.record);
    await adapter.notifyJobScheduled(unique("NAME"), 1);
    await upper.waitFor(unique("NAME"));
    await adapter.notifyJobScheduled(unique("name"), 1);
    await lower.waitFor(unique("name"));
  });
};

export const loadTests = ({ test }: NotifySuite): void => {
  test("notifications sent at the same time from both connections all arrive", async ({
    adapter,
    peer,
    unique,
  }) => {
    const recorder = createRecorder();
    await adapter.listenJobScheduled([unique("type")], recorder.record);
    const sends = Array.from({ length: 200 }, (_, index) =>
      (index % 2 === 0 ? adapter : peer).notifyJobScheduled(unique("type"), 1),
    );
    await Promise.all(sends);
    await recorder.waitFor(unique("type"), 200);
  });

  test("subscriptions that come and go at the same time leave the others alone", async ({
    adapter,
    peer,
    unique,
  }) => {
    const steady = createRecorder();
    await peer.listenJobSequenceCompleted([unique("steady")], steady.record);
    const visits = Array.from({ length: 50 }, async (_, index) => {
      const recorder = createRecorder();
      const dispose = await peer.listenJobSequenceCompleted(
        [unique(`visit-${index}`), unique("steady")],
        recorder.record,
      );
      await adapter.notifyJobSequenceCompleted([unique(`visit-${index}`)]);
      await recorder.waitFor(unique(`visit-${index}`));
      await dispose();
    });
    await Promise.all(visits);
    await adapter.notifyJobSequenceCompleted([unique("steady")]);
    await steady.waitFor(unique("steady"));
  });
};
