import { afterAll, describe, expect, it } from "vitest";
import type { HintCounting, NotifyTransport, NotifyTransportHandlers } from "../notify/contract.ts";
import { notifyTransportConformance } from "./notify-transport.ts";

interface Bus {
  open(): NotifyTransport;
}

/** The smallest transport there can be: a broker that is an object. */
const createBus = (counts: boolean): Bus => {
  const subscribers = new Set<{ channels: readonly string[]; handlers: NotifyTransportHandlers }>();
  const counters = new Map<string, number>();

  const publish = async (channel: string, messages: readonly string[]): Promise<void> => {
    await Promise.resolve();
    for (const message of messages) {
      for (const { channels, handlers } of Array.from(subscribers)) {
        if (channels.includes(channel)) handlers.onMessage(channel, message);
      }
    }
  };
  const counting: HintCounting = {
    publish: async (channel, count, encode) => {
      const hintId = crypto.randomUUID();
      counters.set(hintId, count);
      await publish(channel, [encode({ hintId })]);
    },
    take: async ({ hintId }, _count, wanted) => {
      const left = counters.get(hintId) ?? 0;
      const taken = Math.min(left, wanted);
      counters.set(hintId, left - taken);
      return taken;
    },
  };

  return {
    open: () => {
      let subscriber: { channels: readonly string[]; handlers: NotifyTransportHandlers } | undefined;
      return {
        name: "bus",
        channelFor: ({ short }) => `bus:${short}`,
        publish,
        subscribe: async (channels, handlers) => {
          subscriber = { channels, handlers };
          subscribers.add(subscriber);
        },
        close: async () => {
          if (subscriber) subscribers.delete(subscriber);
        },
        counting: counts ? counting : undefined,
      };
    },
  };
};

for (const countsHints of [false, true]) {
  describe(`a transport ${countsHints ? "with" : "without"} counters`, () => {
    notifyTransportConformance(
      { describe, it, afterAll },
      {
        countsHints,
        create: async () => {
          const bus = createBus(countsHints);
          return { transport: bus.open(), peer: bus.open(), destroy: async () => {} };
        },
      },
    );
  });
}

/** Runs the suite until its first failure. */
const firstFailure = async (
  spoil: (transport: NotifyTransport) => NotifyTransport,
): Promise<string | undefined> => {
  const tests: { name: string; run: () => Promise<void> | void }[] = [];
  const collect = {
    describe: (_name: string, define: () => void) => define(),
    it: (name: string, run: () => Promise<void> | void) => void tests.push({ name, run }),
    afterAll: () => {},
  };
  notifyTransportConformance(collect, {
    countsHints: true,
    create: async () => {
      const bus = createBus(true);
      return { transport: spoil(bus.open()), peer: spoil(bus.open()), destroy: async () => {} };
    },
  });
  for (const { name, run } of tests) {
    try {
      await run();
    } catch {
      return name;
    }
  }
  return undefined;
};

const never = (): Promise<never> => new Promise(() => {});

const mistakes: Record<string, (transport: NotifyTransport) => Partial<NotifyTransport>> = {
  "loses every tenth message": ({ publish }) => {
    let sent = 0;
    return {
      publish: (channel, messages) =>
        publish(
          channel,
          messages.filter(() => (sent += 1) % 10 !== 0),
        ),
    };
  },
  "sends only the first message of a call": ({ publish }) => ({
    publish: (channel, messages) => publish(channel, messages.slice(0, 1)),
  }),
  "sends every message twice": ({ publish }) => ({
    publish: (channel, messages) => publish(channel, [...messages, ...messages]),
  }),
  "has one channel for everything": () => ({ channelFor: () => "bus" }),
  "sends to another channel": ({ publish }) => ({
    publish: (channel, messages) => publish(`${channel}-2`, messages),
  }),
  "hears on the wrong channel": ({ subscribe }) => ({
    subscribe: (channels, handlers) =>
      subscribe(channels, {
        ...handlers,
        onMessage: (_channel, message) => handlers.onMessage(channels[0]!, message),
      }),
  }),
  "subscribes to the first channel only": ({ subscribe }) => ({
    subscribe: (channels, handlers) => subscribe(channels.slice(0, 1), handlers),
  }),
  "does not hear itself": ({ publish, subscribe }) => {
    let isOwn = false;
    return {
      publish: async (channel, messages) => {
        // The bus delivers after one tick.
        queueMicrotask(() => (isOwn = true));
        await publish(channel, messages);
        isOwn = false;
      },
      subscribe: (channels, handlers) =>
        subscribe(channels, {
          ...handlers,
          onMessage: (channel, message) => {
            if (!isOwn) handlers.onMessage(channel, message);
          },
        }),
    };
  },
  "trims messages": ({ publish }) => ({
    publish: (channel, messages) =>
      publish(
        channel,
        messages.map((message) => message.trim()),
      ),
  }),
  "cuts messages short": ({ publish }) => ({
    publish: (channel, messages) =>
      publish(
        channel,
        messages.map((message) => message.slice(0, 32_000)),
      ),
  }),
  "resolves before it has subscribed": ({ subscribe }) => ({
    subscribe: async (channels, handlers) => void setTimeout(() => void subscribe(channels, handlers), 20),
  }),
  "goes on hearing after close": () => ({ close: async () => {} }),
  "never answers publish": () => ({ publish: never }),
  "never answers subscribe": () => ({ subscribe: never }),
  "never answers close": () => ({ close: never }),
  "does not count": () => ({ counting: undefined }),
  "gives out as much as is wanted": ({ counting }) => ({
    counting: { ...counting!, take: async (_counter, _count, wanted) => wanted },
  }),
  "gives out nothing": ({ counting }) => ({ counting: { ...counting!, take: async () => 0 } }),
  "gives out one more when nothing is left": ({ counting }) => ({
    counting: {
      ...counting!,
      take: async (counter, count, wanted) => (await counting!.take(counter, count, wanted)) || 1,
    },
  }),
  "counts on one counter for all messages": ({ counting }) => ({
    counting: {
      publish: (channel, count, encode) =>
        counting!.publish(channel, count, (made) => encode(made && { hintId: "one" })),
      take: counting!.take,
    },
  }),
  "names a counter that does not exist": ({ counting, publish }) => ({
    counting: {
      ...counting!,
      publish: (channel, _count, encode) => publish(channel, [encode({ hintId: crypto.randomUUID() })]),
    },
  }),
};

describe("the suite for transports notices one that", () => {
  it.concurrent.each(Object.entries(mistakes))(
    "%s",
    async (_name, spoil) => {
      const failure = await firstFailure((transport) => ({ ...transport, ...spoil(transport) }));
      expect(failure).toBeDefined();
    },
    30_000,
  );
});
