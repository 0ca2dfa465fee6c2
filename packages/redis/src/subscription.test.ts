import { type RedisServer, startRedis } from "@leasehold/test-servers";
import { Redis } from "ioredis";
import type { NotifyAdapter } from "leasehold/adapter";
import { randomUUID } from "node:crypto";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { createClient } from "redis";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { createRedisNotifyAdapter } from "./notify-adapter.ts";
import { type RedisNotifyProvider, RedisUnavailableError } from "./provider.ts";
import { createIoredisNotifyProvider } from "./providers/ioredis.ts";
import { createNodeRedisNotifyProvider } from "./providers/node-redis.ts";

/** Passes connections on to Redis; `freeze` lets those that exist go quiet without an end, as a lost route would. */
const startProxy = async (port: number) => {
  const pairs = new Set<readonly [Socket, Socket]>();
  const proxy = createServer((near) => {
    const far = connect({ port, host: "127.0.0.1" });
    const pair = [near, far] as const;
    pairs.add(pair);
    near.pipe(far).pipe(near);
    for (const socket of pair) socket.on("error", () => socket.destroy());
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => {
    for (const pair of pairs) for (const socket of pair) socket.destroy();
    proxy.close();
  });
  return {
    url: `redis://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    connections: () => pairs.size,
    /** Freezes the connections made after the first `kept`. */
    freezeAfter: (kept: number) => {
      for (const [near, far] of Array.from(pairs).slice(kept)) {
        near.unpipe(far);
        far.unpipe(near);
        near.pause();
        far.pause();
      }
    },
  };
};

interface Client {
  readonly provider: RedisNotifyProvider;
  connect(): unknown;
}

// None has an `error` listener but the adapter's: without it, a lost connection would end the process.
const clients: readonly (readonly [string, (url: string) => Client])[] = [
  [
    "redis",
    (url) => {
      const client = createClient({ url });
      onTestFinished(() => client.destroy());
      return {
        provider: createNodeRedisNotifyProvider({ client }),
        connect: () => client.connect().catch(() => undefined),
      };
    },
  ],
  [
    "ioredis",
    (url) => {
      const client = new Redis(url, { lazyConnect: true });
      onTestFinished(() => client.disconnect());
      return {
        provider: createIoredisNotifyProvider({ client }),
        connect: () => client.connect().catch(() => undefined),
      };
    },
  ],
];

const openAdapter = async ({ provider, connect }: Client, heartbeatMs?: number) => {
  const errors: unknown[] = [];
  const creating = createRedisNotifyAdapter({
    notifyProvider: provider,
    channelPrefix: `test-${randomUUID()}`,
    heartbeatMs,
    onError: (error) => errors.push(error),
  });
  await connect();
  const adapter = await creating;
  onTestFinished(() => adapter.close());
  return { adapter, errors };
};

/** Sends until it is heard: hints are flowing. */
const expectHints = async (adapter: NotifyAdapter): Promise<void> => {
  const typeName = randomUUID();
  let heard = 0;
  const dispose = await adapter.listenJobScheduled([typeName], () => (heard += 1));
  await vi.waitFor(
    async () => {
      await adapter.notifyJobScheduled(typeName, 1);
      expect(heard).toBeGreaterThan(0);
    },
    { timeout: 10_000, interval: 50 },
  );
  await dispose();
};

let server: RedisServer;

let admin: Redis;

beforeAll(async () => {
  server = await startRedis();
  admin = new Redis(server.url);
}, 60_000);

afterAll(async () => {
  admin.disconnect();
  await server.stop();
});

for (const [name, open] of clients) {
  describe(`subscription of ${name}`, () => {
    it("comes back when the server ends it, and tells everyone to look", async () => {
      const { adapter } = await openAdapter(open(server.url));
      const looks: string[] = [];
      const busy = vi.fn();
      await adapter.listenJobScheduled(["idle"], (typeName) => looks.push(typeName));
      await adapter.listenJobScheduled(null, (typeName) => looks.push(typeName || "any"));
      await adapter.listenJobScheduled(["busy"], busy, () => false);
      await adapter.listenJobScheduled([], () => looks.push("never"));
      await adapter.listenJobSequenceCompleted(["a", "b"], (id) => looks.push(id));
      // What Redis does to a subscriber whose output buffer is full.
      expect(await admin.call("client", "kill", "type", "pubsub")).toBeGreaterThan(0);
      await vi.waitFor(() => expect(looks.toSorted()).toEqual(["a", "any", "b", "idle"]), { timeout: 5_000 });
      expect(busy).not.toHaveBeenCalled();
      await expectHints(adapter);
    });

    it("is replaced when it goes quiet without an end", async () => {
      const proxy = await startProxy(server.port);
      const client = open(proxy.url);
      await client.connect();
      const commandConnections = proxy.connections();
      const { adapter, errors } = await openAdapter({ ...client, connect: () => undefined }, 100);
      await expectHints(adapter);
      proxy.freezeAfter(commandConnections);
      await expectHints(adapter);
      expect(errors).toEqual([]);
    });

    it("is left alone while it is healthy", async () => {
      const proxy = await startProxy(server.port);
      const { adapter } = await openAdapter(open(proxy.url), 50);
      const connections = proxy.connections();
      const looked = vi.fn();
      await adapter.listenJobScheduled(["type"], looked);
      const commands = async (): Promise<number> =>
        Number(/cmdstat_publish:calls=(\d+)/.exec(await admin.info("commandstats"))?.[1] ?? 0);
      const before = await commands();
      await vi.waitFor(async () => expect((await commands()) - before).toBeGreaterThan(10), {
        timeout: 5_000,
      });
      expect(proxy.connections()).toBe(connections);
      expect(looked).not.toHaveBeenCalled();
    });

    it("rejects a notification at once while there is no broker", async () => {
      const own = await startRedis();
      onTestFinished(() => own.stop());
      const { adapter, errors } = await openAdapter(open(own.url));
      await expectHints(adapter);
      await own.shutDown("kill");
      await vi.waitFor(() => expect(errors.length).toBeGreaterThanOrEqual(2));
      await expect(adapter.notifyJobScheduled("type", 1)).rejects.toThrow(RedisUnavailableError);
      await expect(adapter.notifyJobOwnershipLost(["a"])).rejects.toThrow(RedisUnavailableError);
      await adapter.close();
    });

    it("leaves nothing behind when it is closed", async () => {
      const { adapter } = await openAdapter(open(server.url));
      const subscribers = async (): Promise<number> =>
        String(await admin.call("client", "list", "type", "pubsub"))
          .split("\n")
          .filter(Boolean).length;
      expect(await subscribers()).toBe(1);
      await adapter.close();
      await vi.waitFor(async () => expect(await subscribers()).toBe(0));
    });
  });
}

describe("a broker that is not there yet", () => {
  it("an adapter made without it works once it is there", async () => {
    const own = await startRedis();
    onTestFinished(() => own.stop());
    await own.shutDown("kill");
    const adapters = await Promise.all(
      clients.map(([, open]) => {
        const client = open(own.url);
        // The connection that cannot be made must not be waited for.
        return openAdapter({ ...client, connect: () => void client.connect() }, 200);
      }),
    );
    const looked = adapters.map(() => vi.fn());
    for (const [index, { adapter, errors }] of adapters.entries()) {
      expect(errors.length).toBeGreaterThan(0);
      await adapter.listenJobScheduled(["type"], looked[index]!);
    }
    await own.startAgain();
    for (const [index, { adapter }] of adapters.entries()) {
      await vi.waitFor(() => expect(looked[index]).toHaveBeenCalled(), { timeout: 10_000 });
      await expectHints(adapter);
    }
  });
});
