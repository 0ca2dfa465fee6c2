import { type RedisCluster, startRedisCluster } from "@leasehold/test-servers";
import { Cluster } from "ioredis";
import type { NotifyAdapter } from "leasehold/adapter";
import { notifyAdapterConformance } from "leasehold/testing";
import { randomUUID } from "node:crypto";
import { createCluster } from "redis";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { createRedisNotifyAdapter } from "./notify-adapter.ts";
import type { RedisNotifyProvider } from "./provider.ts";
import { createIoredisNotifyProvider } from "./providers/ioredis.ts";
import { createNodeRedisNotifyProvider } from "./providers/node-redis.ts";

let cluster: RedisCluster;

beforeAll(async () => {
  cluster = await startRedisCluster();
}, 60_000);

afterAll(() => cluster.stop());

interface Connected {
  readonly provider: RedisNotifyProvider;
  close(): void;
}

const clients: readonly (readonly [string, () => Promise<Connected>])[] = [
  [
    "redis",
    async () => {
      const client = createCluster({ rootNodes: cluster.nodes.map(({ url }) => ({ url })) });
      await client.connect();
      return { provider: createNodeRedisNotifyProvider({ client }), close: () => client.destroy() };
    },
  ],
  [
    "ioredis",
    async () => {
      const client = new Cluster(cluster.nodes.map(({ port }) => ({ host: "127.0.0.1", port })));
      return { provider: createIoredisNotifyProvider({ client }), close: () => client.disconnect() };
    },
  ],
];

for (const [name, connect] of clients) {
  describe(`notify adapter over a cluster through ${name}`, () => {
    let connections: Promise<Connected[]> | undefined;

    afterAll(async () => {
      for (const { close } of (await connections) ?? []) close();
    });

    notifyAdapterConformance(
      { describe, it, afterAll },
      {
        countsHints: true,
        create: async () => {
          connections ??= Promise.all([connect(), connect()]);
          // What an earlier test sent may still be on its way between the nodes.
          const channelPrefix = `test-${randomUUID()}`;
          const [adapter, peer] = await Promise.all(
            (await connections).map(({ provider }) =>
              createRedisNotifyAdapter({ notifyProvider: provider, channelPrefix }),
            ),
          );
          return {
            adapter: adapter!,
            peer: peer!,
            destroy: async () => {
              await Promise.all([adapter!.close(), peer!.close()]);
            },
          };
        },
      },
    );
  });
}

describe("a cluster that fails", () => {
  const openAdapter = async (connect: () => Promise<Connected>) => {
    const { provider, close } = await connect();
    onTestFinished(close);
    const errors: unknown[] = [];
    const adapter = await createRedisNotifyAdapter({
      notifyProvider: provider,
      channelPrefix: `test-${randomUUID()}`,
      heartbeatMs: 200,
      onError: (error) => errors.push(error),
    });
    onTestFinished(() => adapter.close());
    const looked = vi.fn();
    await adapter.listenJobScheduled(["missed"], looked);
    return { adapter, errors, looked };
  };

  const expectHint = async (adapter: NotifyAdapter): Promise<void> => {
    const typeName = randomUUID();
    const heard = vi.fn();
    await adapter.listenJobScheduled([typeName], heard);
    await vi.waitFor(
      async () => {
        await adapter.notifyJobScheduled(typeName, 1);
        expect(heard).toHaveBeenCalled();
      },
      { timeout: 10_000, interval: 20 },
    );
  };

  it("notifications resume after every node was killed and came back", { timeout: 60_000 }, async () => {
    const adapters = await Promise.all(clients.map(([, connect]) => openAdapter(connect)));
    await Promise.all(cluster.nodes.map((node) => node.shutDown("kill")));
    for (const { adapter, errors } of adapters) {
      const unsendable = () => expect(adapter.notifyJobOwnershipLost(["job"])).rejects.toBeInstanceOf(Error);
      await vi.waitFor(unsendable, { timeout: 10_000 });
      await vi.waitFor(() => expect(errors).not.toEqual([]), { timeout: 10_000 });
    }
    await Promise.all(cluster.nodes.map((node) => node.startAgain()));
    await cluster.settled();
    for (const { adapter, looked } of adapters) {
      await vi.waitFor(() => expect(looked).toHaveBeenCalled(), { timeout: 10_000 });
      // Counters of every node can be made and taken again.
      for (let round = 0; round < 20; round += 1) await expectHint(adapter);
    }
  });
});
