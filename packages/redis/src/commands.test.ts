import { type RedisServer, startRedis } from "@leasehold/test-servers";
import { Redis } from "ioredis";
import type { HintCounter, HintCounting } from "leasehold/adapter";
import { randomUUID } from "node:crypto";
import { createClient } from "redis";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { createRedisCommands } from "./commands.ts";
import { createRedisNotifyAdapter } from "./notify-adapter.ts";
import type { RedisNotifyProvider } from "./provider.ts";
import { createIoredisNotifyProvider } from "./providers/ioredis.ts";
import { createNodeRedisNotifyProvider } from "./providers/node-redis.ts";

let server: RedisServer;

let redis: Redis;

beforeAll(async () => {
  server = await startRedis();
  redis = new Redis(server.url);
}, 60_000);

afterAll(async () => {
  redis.disconnect();
  await server.stop();
});

/** A counter under a prefix of its own, as a listener would hear of it. */
const publishCounted = async (
  count: number,
): Promise<{ take: (wanted: number, counter?: HintCounter) => Promise<number>; key: string }> => {
  const prefix = `test-${randomUUID()}`;
  const subscriber = redis.duplicate();
  onTestFinished(() => subscriber.disconnect());
  await subscriber.subscribe(prefix);
  const heard = new Promise<string>((resolve) => void subscriber.once("message", (_, text) => resolve(text)));
  const counting: HintCounting = createRedisCommands(
    createIoredisNotifyProvider({ client: redis }),
    prefix,
  ).counting;
  await counting.publish(prefix, count, (counter) => counter!.hintId);
  const hintId = await heard;
  return {
    take: (wanted, counter = { hintId }) => counting.take(counter, count, wanted),
    key: `{${prefix}}:hint:${hintId}`,
  };
};

describe("counters in Redis", () => {
  it("a counter expires", async () => {
    const { key } = await publishCounted(3);
    expect(await redis.get(key)).toBe("3");
    const ttl = await redis.pttl(key);
    expect(ttl).toBeGreaterThan(5_000);
    expect(ttl).toBeLessThanOrEqual(10_000);
  });

  it("still expires when something was taken, and is gone when all was", async () => {
    const { take, key } = await publishCounted(3);
    expect(await take(2)).toBe(2);
    expect(await redis.get(key)).toBe("1");
    expect(await redis.pttl(key)).toBeGreaterThan(0);
    expect(await take(2)).toBe(1);
    expect(await redis.exists(key)).toBe(0);
    expect(await take(1)).toBe(0);
  });

  it("100 who take at the same time share exactly the count", async () => {
    const { take } = await publishCounted(30);
    const taken = await Promise.all(Array.from({ length: 100 }, () => take(1)));
    expect(taken.filter((one) => one === 1)).toHaveLength(30);
    expect(taken.filter((one) => one === 0)).toHaveLength(70);
  });

  it("a forged notification finds no counter, or one that makes no sense", async () => {
    const { take, key } = await publishCounted(1);
    expect(await take(5, { hintId: randomUUID() })).toBe(0);
    await redis.set(key, "many");
    expect(await take(5)).toBe(0);
    await redis.set(key, "-5");
    expect(await take(5)).toBe(0);
  });

  const prefixed: readonly (readonly [string, () => Promise<RedisNotifyProvider>])[] = [
    [
      "redis",
      async () => {
        const client = await createClient({ url: server.url, keyPrefix: "app:" }).connect();
        onTestFinished(() => client.destroy());
        return createNodeRedisNotifyProvider({ client });
      },
    ],
    [
      "ioredis",
      async () => {
        const client = new Redis(server.url, { keyPrefix: "app:" });
        onTestFinished(() => client.disconnect());
        return createIoredisNotifyProvider({ client });
      },
    ],
  ];

  it.each(prefixed)("work with a client of %s that prefixes its keys", async (_name, open) => {
    const channelPrefix = `test-${randomUUID()}`;
    const adapter = await createRedisNotifyAdapter({ notifyProvider: await open(), channelPrefix });
    onTestFinished(() => adapter.close());
    const heard = vi.fn();
    await adapter.listenJobScheduled(["type"], heard);
    await adapter.notifyJobScheduled("type", 2);
    await vi.waitFor(() => expect(heard).toHaveBeenCalledTimes(1));
    const [key] = await redis.keys(`app:{${channelPrefix}}:hint:*`);
    expect(await redis.get(key!)).toBe("1");
  });
});
