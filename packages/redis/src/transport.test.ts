import { type RedisServer, startRedis } from "@leasehold/test-servers";
import { Redis } from "ioredis";
import { notifyTransportConformance } from "leasehold/testing";
import { randomUUID } from "node:crypto";
import { createClient } from "redis";
import { afterAll, beforeAll, describe, it } from "vitest";
import { createRedisTransport } from "./notify-adapter.ts";
import { checkOptions } from "./options.ts";
import type { RedisNotifyProvider } from "./provider.ts";
import { createIoredisNotifyProvider } from "./providers/ioredis.ts";
import { createNodeRedisNotifyProvider } from "./providers/node-redis.ts";

interface Connected {
  readonly provider: RedisNotifyProvider;
  close(): unknown;
}

let server: RedisServer;

beforeAll(async () => {
  server = await startRedis();
}, 60_000);

afterAll(() => server.stop());

const connectors: readonly (readonly [string, () => Promise<Connected>])[] = [
  [
    "redis",
    async () => {
      const client = await createClient({ url: server.url }).connect();
      return { provider: createNodeRedisNotifyProvider({ client }), close: () => client.destroy() };
    },
  ],
  [
    "ioredis",
    async () => {
      const client = new Redis(server.url);
      return { provider: createIoredisNotifyProvider({ client }), close: () => client.disconnect() };
    },
  ],
];

for (const [name, connect] of connectors) {
  describe(`transport over ${name}`, () => {
    let connections: Promise<[Connected, Connected]> | undefined;
    const connectOnce = (): Promise<[Connected, Connected]> => Promise.all([connect(), connect()]);

    afterAll(async () => {
      for (const { close } of (await connections) ?? []) close();
    });

    notifyTransportConformance(
      { describe, it, afterAll },
      {
        countsHints: true,
        create: async () => {
          connections ??= connectOnce();
          const channelPrefix = `test-${randomUUID()}`;
          const [transport, peer] = (await connections).map(({ provider }) =>
            createRedisTransport(checkOptions({ notifyProvider: provider, channelPrefix })),
          );
          return { transport: transport!, peer: peer!, destroy: async () => {} };
        },
      },
    );
  });
}
