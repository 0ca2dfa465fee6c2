import { startNats } from "@leasehold/test-servers";
import { connect } from "@nats-io/transport-node";
import { expect, it, onTestFinished } from "vitest";
import { createNatsTestNotifyAdapter } from "./testing.ts";

it("two test adapters on one connection do not receive each other's notifications", async () => {
  const server = await startNats();
  onTestFinished(() => server.stop());
  const nc = await connect({ servers: server.url, maxReconnectAttempts: -1 });
  onTestFinished(() => nc.close());
  const [first, second] = await Promise.all([
    createNatsTestNotifyAdapter({ nc }),
    createNatsTestNotifyAdapter({ nc }),
  ]);
  const received: string[] = [];
  await first.listenJobOwnershipLost((id) => received.push(`first ${id}`));
  await second.listenJobOwnershipLost((id) => received.push(`second ${id}`));
  await first.notifyJobOwnershipLost(["a"]);
  await second.notifyJobOwnershipLost(["b"]);
  // The server answers after it has delivered both.
  await nc.flush();
  await expect.poll(() => received.toSorted()).toEqual(["first a", "second b"]);
});
