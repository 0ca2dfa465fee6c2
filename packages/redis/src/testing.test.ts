import { startRedis } from "@leasehold/test-servers";
import { Redis } from "ioredis";
import { expect, it, onTestFinished } from "vitest";
import { createIoredisNotifyProvider } from "./providers/ioredis.ts";
import { createRedisTestNotifyAdapter } from "./testing.ts";

it("two test adapters on one server do not receive each other's notifications", async () => {
  const server = await startRedis();
  onTestFinished(() => server.stop());
  const client = new Redis(server.url);
  onTestFinished(() => client.disconnect());
  const notifyProvider = createIoredisNotifyProvider({ client });
  const [first, second] = await Promise.all([
    createRedisTestNotifyAdapter({ notifyProvider }),
    createRedisTestNotifyAdapter({ notifyProvider }),
  ]);
  onTestFinished(async () => {
    await Promise.all([first.close(), second.close()]);
  });
  const received: string[] = [];
  await first.listenJobOwnershipLost((id) => received.push(`first ${id}`));
  const arrived = new Promise<void>((resolve) => {
    void second.listenJobOwnershipLost((id) => {
      received.push(`second ${id}`);
      resolve();
    });
  });
  await first.notifyJobOwnershipLost(["a"]);
  await second.notifyJobOwnershipLost(["b"]);
  await arrived;
  await expect.poll(() => received.toSorted()).toEqual(["first a", "second b"]);
});
