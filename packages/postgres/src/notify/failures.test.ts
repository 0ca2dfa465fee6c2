import pg from "pg";
import { afterEach, beforeEach, describe, expect, inject, it } from "vitest";
import { createPgPoolNotifyProvider } from "../providers/pg-notify.ts";
import { newSchemaName } from "../testing/fixtures.ts";
import { openKit } from "../testing/kit.ts";
import { startTcpProxy, type TcpProxy } from "../testing/tcp-proxy.ts";
import { claim } from "../testing/test-jobs.ts";
import { until } from "../testing/until.ts";
import { createPgNotifyAdapter } from "./notify-adapter.ts";
import type { PgNotifyProvider } from "./provider.ts";

const url = inject("postgres15Url");

describe("notifications", () => {
  it("go through while another listener sits in a transaction", async () => {
    const pool = new pg.Pool({ connectionString: url });
    const channelPrefix = newSchemaName();
    const idle = new pg.Client({ connectionString: url });
    await idle.connect();
    await idle.query(`LISTEN ${channelPrefix}_scheduled`);
    await idle.query("BEGIN");
    const adapter = await createPgNotifyAdapter({
      notifyProvider: createPgPoolNotifyProvider({ pool }),
      channelPrefix,
    });
    const kit = await openKit({ url, leasehold: { notifyAdapter: adapter } });
    let heard = 0;
    await adapter.listenJobScheduled(null, () => (heard += 1));
    await kit.leasehold.startJobSequence({ typeName: "work", input: { n: 1 } });
    await until(() => heard > 0, "the notification has arrived");
    await kit.close();
    await adapter.close();
    await idle.end();
    await pool.end();
  });

  const troubles: Record<string, PgNotifyProvider["publish"]> = {
    "that fail": () => Promise.reject(Object.assign(new Error("queue is full"), { code: "53400" })),
    "that are never answered": () => new Promise(() => {}),
  };
  it.each(Object.entries(troubles))("%s never fail or delay a start", async (_name, publish) => {
    const notifyAdapter = await createPgNotifyAdapter({
      notifyProvider: {
        publish,
        subscribe: async () => ({ ping: () => Promise.resolve(), close: () => Promise.resolve() }),
      },
    });
    const kit = await openKit({ url, leasehold: { notifyAdapter } });
    const before = performance.now();
    await kit.leasehold.startJobSequence({ typeName: "work", input: { n: 1 } });
    expect(performance.now() - before).toBeLessThan(1_000);
    expect(await kit.statuses()).toEqual({ pending: 1 });
    // And whoever looks finds the job.
    expect(await claim(kit.stateAdapter, { limit: 5 })).toHaveLength(1);
    await notifyAdapter.close();
    await kit.close();
  });

  it("hold a few bytes, however many jobs they speak of", async () => {
    const payloads: string[] = [];
    const notifyAdapter = await createPgNotifyAdapter({
      notifyProvider: {
        publish: async (channel, sent) => {
          if (channel === "leasehold_scheduled") payloads.push(...sent);
        },
        subscribe: async () => ({ ping: () => Promise.resolve(), close: () => Promise.resolve() }),
      },
    });
    const kit = await openKit({ url, leasehold: { notifyAdapter } });
    const sequences = Array.from({ length: 5_000 }, (_, n) => ({ typeName: "work" as const, input: { n } }));
    await kit.leasehold.startJobSequences({ sequences });
    await until(() => payloads.length > 0, "a notification was sent");
    expect(payloads).toHaveLength(1);
    expect(payloads[0]!.length).toBeLessThan(100);
    await notifyAdapter.close();
    await kit.close();
  });
});

describe("a listening connection", () => {
  let proxy: TcpProxy;
  let pool: pg.Pool;
  beforeEach(async () => {
    proxy = await startTcpProxy(url);
    pool = new pg.Pool({ connectionString: url });
  });
  afterEach(async () => {
    await pool.end();
    await proxy.close();
  });

  const heartbeatMs = 400;
  const open = async (settings: { channelPrefix?: string; heartbeatMs?: number } = {}) => {
    const heard: number[] = [];
    const lost: number[] = [];
    const adapter = await createPgNotifyAdapter({
      notifyProvider: createPgPoolNotifyProvider({
        pool,
        createClient: () => new pg.Client({ connectionString: proxy.url }),
      }),
      channelPrefix: newSchemaName(),
      heartbeatMs,
      ...settings,
      onError: () => lost.push(performance.now()),
    });
    await adapter.listenJobScheduled(["work"], () => heard.push(performance.now()));
    return { adapter, heard, lost };
  };

  it("whose other end is gone is found out within two heartbeats, and everyone looks once", async () => {
    const { adapter, heard, lost } = await open();
    proxy.blackHole();
    const since = performance.now();
    proxy.heal();
    await until(() => lost.length > 0, "the loss was noticed");
    expect(lost[0]! - since).toBeLessThan(2 * heartbeatMs + 300);
    await until(() => heard.length > 0, "the worker was told to look");
    expect(heard[0]! - since).toBeLessThan(2 * heartbeatMs + 2_000);
    // And it listens again.
    const before = heard.length;
    await adapter.notifyJobScheduled("work", 1);
    await until(() => heard.length > before, "the next notification has arrived");
    await adapter.close();
  });

  it("whose other end is gone keeps neither a notification from the others nor the adapter from closing", async () => {
    const channelPrefix = newSchemaName();
    // Nobody finds out while the test runs.
    const { adapter } = await open({ channelPrefix, heartbeatMs: 3_600_000 });
    const peer = await createPgNotifyAdapter({
      notifyProvider: createPgPoolNotifyProvider({ pool }),
      channelPrefix,
    });
    let heard = 0;
    await peer.listenJobScheduled(["work"], () => (heard += 1));
    proxy.blackHole();
    // The first goes out through the dead connection, the second past it.
    await Promise.all([adapter.notifyJobScheduled("work", 1), adapter.notifyJobScheduled("work", 1)]);
    await until(() => heard >= 2, "both have arrived");
    await Promise.all([adapter.close(), peer.close()]);
  });

  it("that is cut, or refused for a while, comes back on its own", async () => {
    const { adapter, heard, lost } = await open();
    proxy.refuse(true);
    proxy.cut();
    await until(() => lost.length >= 3, "it was tried in vain");
    proxy.refuse(false);
    await until(() => heard.length > 0, "the worker was told to look");
    const before = heard.length;
    await adapter.notifyJobScheduled("work", 1);
    await until(() => heard.length > before, "the next notification has arrived");
    await adapter.close();
  });
});
