import { type MongoTestServer, startMongoTestServer } from "@leasehold/mongodb-test-server";
import { InvalidOptionError, type KeptSubscription } from "leasehold/adapter";
import { MongoClient } from "mongodb";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { type Hints, openHints } from "./hints.ts";
import { openHintStream } from "./listener.ts";
import { createMongoNotifyAdapter, type MongoNotifyAdapterOptions } from "./notify-adapter.ts";

let server: MongoTestServer;

let client: MongoClient;

let databases = 0;

let stream: KeptSubscription | undefined;

beforeAll(async () => {
  server = await startMongoTestServer();
  client = new MongoClient(server.uri);
});

afterEach(async () => {
  await stream?.close();
  server.faults.clear();
});

afterAll(async () => {
  await client.close();
  await server.stop();
});

interface Listening {
  readonly hints: Hints;
  readonly heard: readonly string[];
  readonly errors: readonly unknown[];
  /** How often messages may have been missed. */
  gaps(): number;
}

const listen = async (heartbeatMs: number): Promise<Listening> => {
  const hints = openHints(client.db(`stream_${++databases}`), "leasehold_");
  const heard: string[] = [];
  const errors: unknown[] = [];
  let gaps = 0;
  stream = openHintStream({
    hints,
    channels: ["sched"],
    heartbeatMs,
    onMessage: (channel, message) => void heard.push(`${channel} ${message}`),
    onGap: () => {
      gaps += 1;
    },
    onError: (error) => void errors.push(error),
  });
  await stream.started;
  return { hints, heard, errors, gaps: () => gaps };
};

describe("the stream of hints", () => {
  it("is opened anew after a silence, and says that messages may have been missed", async () => {
    const { hints, heard, errors, gaps } = await listen(200);
    await hints.publish("sched", ["before"]);
    await expect.poll(() => heard).toEqual(["sched before"]);
    // As if the other end were gone: the connection is open, and nothing comes.
    server.faults.add({ commands: ["getMore"], fault: { kind: "delayBefore", ms: 5_000 } });
    await expect.poll(gaps, { timeout: 10_000 }).toBe(1);
    expect(errors).toMatchObject([{ code: "NotifyTimeout" }]);
    await hints.publish("sched", ["after"]);
    await expect.poll(() => heard).toEqual(["sched before", "sched after"]);
  });

  it("stays open while nothing is published for several heartbeats", async () => {
    const { hints, heard, errors, gaps } = await listen(2_000);
    let answers = 0;
    server.faults.add({
      commands: ["getMore"],
      matches: () => {
        answers += 1;
        return false;
      },
      fault: { kind: "cutBefore" },
    });
    await expect.poll(() => answers, { timeout: 30_000 }).toBeGreaterThan(12);
    await hints.publish("sched", ["late"]);
    await expect.poll(() => heard).toEqual(["sched late"]);
    expect([gaps(), errors]).toEqual([0, []]);
  });

  it("is resumed by the driver through a cut connection, and misses nothing", async () => {
    const { hints, heard, errors, gaps } = await listen(10_000);
    server.cutConnections();
    await expect
      .poll(() =>
        hints.publish("sched", ["cut"]).then(
          () => true,
          () => false,
        ),
      )
      .toBe(true);
    await expect.poll(() => heard, { timeout: 10_000 }).toContain("sched cut");
    expect([gaps(), errors]).toEqual([0, []]);
  });

  it("survives that somebody drops the collection", async () => {
    const { hints, heard, gaps } = await listen(10_000);
    await hints.collection.drop();
    await expect.poll(gaps, { timeout: 10_000 }).toBe(1);
    await hints.publish("sched", ["again"]);
    await expect.poll(() => heard).toEqual(["sched again"]);
    expect((await hints.collection.indexes()).map(({ name }) => name)).toContain("expiry");
  });

  it("sends a burst in few commands, in order", async () => {
    const { hints, heard } = await listen(10_000);
    let inserts = 0;
    const matches = (): boolean => {
      inserts += 1;
      return false;
    };
    server.faults.add({ commands: ["insert"], matches, fault: { kind: "cutBefore" } });
    const texts = Array.from({ length: 100 }, (_, index) => String(index));
    await Promise.all(texts.map((text) => hints.publish("sched", [text])));
    await expect.poll(() => heard).toEqual(texts.map((text) => `sched ${text}`));
    expect(inserts).toBeLessThan(5);
  });

  it("a burst that could not be sent is no obstacle to the next", async () => {
    const { hints, heard } = await listen(10_000);
    server.faults.add({ commands: ["insert"], fault: { kind: "error", code: 13 } });
    const burst = await Promise.allSettled(["a", "b"].map((text) => hints.publish("sched", [text])));
    expect(burst.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    await hints.publish("sched", ["c"]);
    await expect.poll(() => heard).toEqual(["sched c"]);
  });

  it("leaves it to the server to remove old hints, by an index", async () => {
    const { hints } = await listen(10_000);
    expect(await hints.collection.indexes()).toContainEqual(
      expect.objectContaining({ key: { at: 1 }, expireAfterSeconds: 60 }),
    );
  });
});

describe("createMongoNotifyAdapter", () => {
  it.each<[string, object]>([
    ["client", { client: {} }],
    ["collectionPrefix", { collectionPrefix: "a b" }],
    ["heartbeatMs", { heartbeatMs: 99 }],
    ["heartbeatMs", { heartbeatMs: "1s" }],
    ["interval", { interval: 1 }],
  ])("refuses an invalid %s: %j", async (option, options) => {
    const created = createMongoNotifyAdapter({ client, ...options } as MongoNotifyAdapterOptions);
    await expect(created).rejects.toThrow(InvalidOptionError);
    await expect(created).rejects.toThrow(option);
  });
});
