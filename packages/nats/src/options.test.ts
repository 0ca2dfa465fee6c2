import { type NatsServer, startNats } from "@leasehold/test-servers";
import { Kvm } from "@nats-io/kv";
import { connect, type NatsConnection } from "@nats-io/transport-node";
import { InvalidOptionError } from "leasehold/adapter";
import { connect as connectOlder } from "nats";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { createNatsNotifyAdapter } from "./notify-adapter.ts";
import type { NatsNotifyAdapterOptions } from "./options.ts";

let server: NatsServer;

let nc: NatsConnection;

beforeAll(async () => {
  server = await startNats();
  nc = await connect({ servers: server.url, maxReconnectAttempts: -1 });
}, 60_000);

afterAll(async () => {
  await nc.close();
  await server.stop();
});

const refuses = async (option: string, options: unknown): Promise<InvalidOptionError> => {
  const error: unknown = await createNatsNotifyAdapter(options as NatsNotifyAdapterOptions).catch(
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(InvalidOptionError);
  expect(error).toMatchObject({ option });
  return error as InvalidOptionError;
};

const hostilePrefixes = [
  "",
  " ",
  "a b",
  "a.*",
  "a.>",
  ">",
  ".a",
  "a.",
  "a..b",
  "$JS.API",
  "a\r\nPUB x 0",
  "a\0",
  "é",
  "x".repeat(65),
  null,
  7,
  {},
];

describe("options of the NATS notify adapter", () => {
  it.each(hostilePrefixes)("refuses the prefix %j", async (subjectPrefix) => {
    await refuses("subjectPrefix", { nc, subjectPrefix });
  });

  it.each(["a", "my-app.jobs", "eu_1.prod.leasehold", "x".repeat(64)])(
    "takes the prefix %s",
    async (subjectPrefix) => {
      await (await createNatsNotifyAdapter({ nc, subjectPrefix })).close();
    },
  );

  it("refuses what is no object, no connection, no bucket, no function, or unknown", async () => {
    await refuses("options", undefined);
    await refuses("options", null);
    await refuses("nc", {});
    await refuses("nc", { nc: { publish: () => undefined } });
    await refuses("kv", { nc, kv: {} });
    await refuses("kv", { nc, kv: null });
    await refuses("onError", { nc, onError: "log" });
    await refuses("prefix", { nc, prefix: "a" });
  });

  it("refuses a closed connection", async () => {
    const closed = await connect({ servers: server.url, maxReconnectAttempts: -1 });
    await closed.close();
    await refuses("nc", { nc: closed });
  });

  it.each([
    ["@nats-io", connect],
    ["nats", connectOlder],
  ])("refuses a connection of %s that would give up reconnecting", async (_name, open) => {
    for (const options of [
      {},
      { maxReconnectAttempts: 100 },
      { maxReconnectAttempts: -1, reconnect: false },
    ]) {
      const mortal = await open({ servers: server.url, ...options });
      onTestFinished(() => mortal.close());
      expect((await refuses("nc", { nc: mortal })).message).toContain("maxReconnectAttempts: -1");
    }
  });

  it("refuses a connection that does not hear itself", async () => {
    const deaf = await connect({ servers: server.url, maxReconnectAttempts: -1, noEcho: true });
    onTestFinished(() => deaf.close());
    expect((await refuses("nc", { nc: deaf })).message).toContain("noEcho");
  });

  it("refuses a bucket whose entries never expire", async () => {
    const kv = await new Kvm(nc).create("for-ever");
    expect((await refuses("kv", { nc, kv })).message).toContain("ttl");
  });
});
