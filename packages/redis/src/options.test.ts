import { InvalidOptionError } from "leasehold/adapter";
import { describe, expect, it, vi } from "vitest";
import { createRedisNotifyAdapter } from "./notify-adapter.ts";
import type { RedisNotifyAdapterOptions } from "./options.ts";
import type { RedisNotifyProvider } from "./provider.ts";
import { createIoredisNotifyProvider } from "./providers/ioredis.ts";
import { createNodeRedisNotifyProvider } from "./providers/node-redis.ts";

const createProvider = () => ({
  evaluate: vi.fn<RedisNotifyProvider["evaluate"]>(async () => 0),
  openSubscription: vi.fn<RedisNotifyProvider["openSubscription"]>(),
  onError: vi.fn<RedisNotifyProvider["onError"]>(),
});

const hostilePrefixes = [
  "",
  " ",
  "a b",
  "a*",
  "a?",
  "[a]",
  "{a}",
  "a\n",
  "a\0",
  "é",
  "-a",
  ":a",
  ".a",
  "a/b",
  "a'b",
  'a"b',
  "a\\b",
  "x".repeat(65),
  null,
  7,
  {},
  ["a"],
];

const cases: readonly (readonly [string, object | null | undefined])[] = [
  ["options", undefined],
  ["options", null],
  ["notifyProvider", {}],
  ["notifyProvider", { notifyProvider: null }],
  ["notifyProvider", { notifyProvider: { evaluate: () => undefined } }],
  ...hostilePrefixes.map((channelPrefix) => ["channelPrefix", { channelPrefix }] as const),
  ...[0, 9, -1, 1.5, Number.NaN, Infinity, 3_600_001, "100", null].map(
    (heartbeatMs) => ["heartbeatMs", { heartbeatMs }] as const,
  ),
  ...[null, "log", {}].map((onError) => ["onError", { onError }] as const),
  ["prefix", { prefix: "a" }],
];

describe.each([
  ["createNodeRedisNotifyProvider", createNodeRedisNotifyProvider],
  ["createIoredisNotifyProvider", createIoredisNotifyProvider],
] as const)("%s", (name, create) => {
  const client = { on: () => {}, off: () => {}, eval: async () => 0, duplicate: () => ({}) };

  it.each([undefined, null, client, {}, { client: undefined }, { client: {} }, "redis://localhost"])(
    "refuses what is no client: %s",
    (wrong) => {
      const creating = () => create(wrong as never);
      expect(creating).toThrow(InvalidOptionError);
      expect(creating).toThrow(expect.objectContaining({ option: "client" }));
      expect(creating).toThrow(`${name}({ client })`);
    },
  );

  it("refuses other options", () => {
    const creating = () => create({ client, prefix: "a" } as never);
    expect(creating).toThrow(expect.objectContaining({ code: "InvalidOption", option: "prefix" }));
    expect(() => create({ client } as never)).not.toThrow();
  });
});

describe("options of the Redis notify adapter", () => {
  it.each(cases)("refuses a bad %s: %j", async (option, part) => {
    const provider = createProvider();
    const options = part && (option === "notifyProvider" ? part : { notifyProvider: provider, ...part });
    const creating = createRedisNotifyAdapter(options as unknown as RedisNotifyAdapterOptions);
    await expect(creating).rejects.toThrow(InvalidOptionError);
    await expect(creating).rejects.toMatchObject({ option });
    expect(provider.onError).not.toHaveBeenCalled();
    expect(provider.openSubscription).not.toHaveBeenCalled();
  });

  it.each(["a", "leasehold", "my_app:jobs", "eu-1.prod", "_x", "x".repeat(64)])(
    "takes the prefix %s",
    async (channelPrefix) => {
      const provider = createProvider();
      provider.onError.mockReturnValue(() => undefined);
      provider.openSubscription.mockImplementation(({ channels, onActive }) => {
        expect(channels.slice(0, 5)).toEqual(
          ["sched", "seqc", "owls", "qopn", "seqw"].map((name) => `${channelPrefix}:${name}`),
        );
        queueMicrotask(onActive);
        return { close: async () => undefined };
      });
      const adapter = await createRedisNotifyAdapter({ notifyProvider: provider, channelPrefix });
      await adapter.close();
    },
  );

  it("an onError that throws harms nobody", async () => {
    const provider = createProvider();
    const heard = vi.fn();
    provider.onError.mockReturnValue(() => undefined);
    provider.openSubscription.mockImplementation(({ channels, onActive, onMessage, onError }) => {
      queueMicrotask(() => {
        onError(new Error("lost"));
        onActive();
        setImmediate(() => onMessage(channels[1]!, '{"ids":["a"]}'));
      });
      return { close: async () => undefined };
    });
    const onError = vi.fn(() => {
      throw new Error("a bug");
    });
    const adapter = await createRedisNotifyAdapter({ notifyProvider: provider, onError });
    await adapter.listenJobSequenceCompleted(["a"], heard);
    await vi.waitFor(() => expect(heard).toHaveBeenCalledTimes(1));
    expect(onError).toHaveBeenCalledTimes(1);
    await adapter.close();
  });

  it("close gives back what it took, once", async () => {
    const provider = createProvider();
    const stopHearing = vi.fn();
    const closeSubscription = vi.fn(async () => undefined);
    provider.onError.mockReturnValue(stopHearing);
    provider.openSubscription.mockImplementation(({ onActive }) => {
      queueMicrotask(onActive);
      return { close: closeSubscription };
    });
    vi.useFakeTimers();
    try {
      const adapter = await createRedisNotifyAdapter({ notifyProvider: provider });
      await adapter.close();
      await adapter.close();
      expect(vi.getTimerCount()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
    expect(stopHearing).toHaveBeenCalledTimes(1);
    expect(closeSubscription).toHaveBeenCalledTimes(1);
  });
});
