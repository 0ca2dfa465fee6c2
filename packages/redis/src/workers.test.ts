import { type RedisServer, startRedis } from "@leasehold/test-servers";
import { Redis } from "ioredis";
import { brokerConformance } from "leasehold/testing";
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, it } from "vitest";
import { createRedisNotifyAdapter } from "./notify-adapter.ts";
import { createIoredisNotifyProvider } from "./providers/ioredis.ts";

let server: RedisServer;

beforeAll(async () => {
  server = await startRedis();
}, 60_000);

afterAll(() => server.stop());

brokerConformance(
  { describe, it, afterAll },
  {
    kill: () => server.shutDown("kill"),
    startAgain: () => server.startAgain(),
    connect: async (count) => {
      const channelPrefix = `test-${randomUUID()}`;
      // One client sends everybody's commands. Each adapter opens a connection of its own for its subscription.
      const client = new Redis(server.url, { retryStrategy: () => 50 });
      client.setMaxListeners(0);
      client.on("error", () => undefined);
      const notifyProvider = createIoredisNotifyProvider({ client });
      // On a busy machine an echo can take longer than a short heartbeat, and then workers look once more.
      const createAdapter = () =>
        createRedisNotifyAdapter({ notifyProvider, channelPrefix, heartbeatMs: 10_000 });
      return {
        createAdapters: () => Promise.all(Array.from({ length: count }, createAdapter)),
        publish: ({ short }, message) => client.publish(`${channelPrefix}:${short}`, Buffer.from(message)),
        lost: () => new Promise((resolve) => void client.once("close", resolve)),
        close: async () => client.disconnect(),
      };
    },
  },
);
