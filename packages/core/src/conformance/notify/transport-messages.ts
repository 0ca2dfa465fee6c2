import assert from "node:assert/strict";
import { largestMessageBytes } from "../../notify/messages.ts";
import type { TransportTest } from "../notify-transport-suite.ts";

const unusualTexts = [
  "",
  " ",
  '{"ids":["a"]}',
  'it\'s "quoted" \\ \n\r\t',
  "*.>?[a]",
  "заказ注文🧾",
  "'; --",
];

export const transportMessageTests = (test: TransportTest): void => {
  test("a message reaches both sides once, as it was sent", async (scenario) => {
    const { transport, peer, scheduled, listen } = scenario;
    const recorders = [await listen(transport), await listen(peer)];
    await transport.publish(scheduled, unusualTexts);
    await peer.publish(scheduled, ["from the peer"]);
    // Sent the same way as the first, and so heard after it.
    await transport.publish(scheduled, ["last"]);
    for (const recorder of recorders) {
      await recorder.waitFor(`${scheduled} last`);
      await recorder.waitFor(`${scheduled} from the peer`);
      const expected = [...unusualTexts, "from the peer", "last"].map((text) => `${scheduled} ${text}`);
      assert.deepEqual(recorder.heard.toSorted(), expected.toSorted());
    }
  });

  test("each channel has a name of its own, the same on both sides, and its messages stay in it", async ({
    transport,
    peer,
    scheduled,
    completed,
    lost,
    listen,
  }) => {
    const channels = [scheduled, completed, lost];
    assert.equal(new Set(channels).size, channels.length);
    assert.equal(peer.channelFor({ short: "sched", long: "scheduled" }), scheduled);
    await listen(transport);
    const recorder = await listen(peer);
    for (const channel of channels) await transport.publish(channel, [`to ${channel}`]);
    for (const channel of channels) await recorder.waitFor(`${channel} to ${channel}`);
    assert.deepEqual(
      recorder.heard.toSorted(),
      channels.map((channel) => `${channel} to ${channel}`).toSorted(),
    );
  });

  test("the largest message arrives whole", async ({ transport, peer, lost, listen }) => {
    await listen(transport);
    const recorder = await listen(peer);
    const bytes = Math.min(transport.largestMessageBytes ?? largestMessageBytes, largestMessageBytes);
    const wide = "語".repeat(Math.floor(bytes / 3));
    await transport.publish(lost, ["x".repeat(bytes), wide]);
    await recorder.waitFor(`${lost} ${"x".repeat(bytes)}`);
    await recorder.waitFor(`${lost} ${wide}`);
  });

  test("many messages from both sides at the same time all arrive", async ({
    transport,
    peer,
    completed,
    listen,
  }) => {
    await listen(peer);
    const recorder = await listen(transport);
    const texts = Array.from({ length: 200 }, (_, index) => String(index));
    await Promise.all(
      texts.map((text, index) => (index % 2 === 0 ? transport : peer).publish(completed, [text])),
    );
    for (const text of texts) await recorder.waitFor(`${completed} ${text}`);
    assert.equal(recorder.heard.length, texts.length);
  });
};
