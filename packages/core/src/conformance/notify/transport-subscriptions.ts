import assert from "node:assert/strict";
import type { TransportTest } from "../notify-transport-suite.ts";

export const transportSubscriptionTests = (test: TransportTest): void => {
  test("what is published right after subscribe has resolved is heard", async ({
    transport,
    peer,
    scheduled,
    listen,
  }) => {
    // The other side is connected already, so its message is not delayed by that.
    await listen(peer);
    const recorder = await listen(transport);
    await peer.publish(scheduled, ["at once"]);
    await recorder.waitFor(`${scheduled} at once`);
  });

  test("a message that nobody hears is no error", async ({ transport, peer, scheduled, listen, close }) => {
    await listen(transport);
    await close(peer);
    await transport.publish(scheduled, ["to nobody else"]);
  });

  test("a closed transport hears nothing more, and the other goes on", async ({
    transport,
    peer,
    scheduled,
    listen,
    close,
  }) => {
    const ended = await listen(peer);
    const going = await listen(transport);
    await transport.publish(scheduled, ["before"]);
    await ended.waitFor(`${scheduled} before`);
    await close(peer);
    await transport.publish(scheduled, ["after"]);
    await going.waitFor(`${scheduled} after`);
    assert.deepEqual(ended.heard, [`${scheduled} before`]);
  });

  test("one that never subscribed can be closed", async ({ transport, close }) => {
    await close(transport);
  });
};
