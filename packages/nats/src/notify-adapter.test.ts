import { randomUUID } from "node:crypto";
import { type NatsServer, startNats } from "@leasehold/test-servers";
import { Kvm } from "@nats-io/kv";
import { connect } from "@nats-io/transport-node";
import { notifyAdapterConformance } from "leasehold/testing";
import { connect as connectOlder } from "nats";
import { afterAll, beforeAll, describe, it } from "vitest";
import type { NatsClient, NatsKv } from "./client.ts";
import { createNatsNotifyAdapter } from "./notify-adapter.ts";

interface Connected {
  readonly nc: NatsClient;
  readonly kv?: NatsKv;
  close(): Promise<void>;
}

let server: NatsServer;

beforeAll(async () => {
  server = await startNats();
}, 60_000);

afterAll(() => server.stop());

const connectors: readonly (readonly [string, () => Promise<Connected>])[] = [
  [
    "@nats-io",
    async () => {
      const nc = await connect({ servers: server.url, maxReconnectAttempts: -1 });
      return { nc, close: () => nc.close() };
    },
  ],
  [
    "@nats-io with a bucket",
    async () => {
      const nc = await connect({ servers: server.url, maxReconnectAttempts: -1 });
      const kv = await new Kvm(nc).create("hints", { ttl: 60_000 });
      return { nc, kv, close: () => nc.close() };
    },
  ],
  [
    "nats",
    async () => {
      const nc = await connectOlder({ servers: server.url, maxReconnectAttempts: -1 });
      return { nc, close: () => nc.close() };
    },
  ],
  [
    "nats with a bucket",
    async () => {
      const nc = await connectOlder({ servers: server.url, maxReconnectAttempts: -1 });
      const kv = await nc.jetstream().views.kv("hints_older", { ttl: 60_000 });
      return { nc, kv, close: () => nc.close() };
    },
  ],
];

for (const [name, connectOne] of connectors) {
  describe(`notify adapter over ${name}`, () => {
    let connections: Promise<Connected[]> | undefined;

    afterAll(async () => {
      for (const { close } of (await connections) ?? []) await close();
    });

    notifyAdapterConformance(
      { describe, it, afterAll },
      {
        countsHints: name.includes("bucket"),
        create: async () => {
          connections ??= Promise.all([connectOne(), connectOne()]);
          const subjectPrefix = `test-${randomUUID()}`;
          const adapters = (await connections).map(({ nc, kv }) =>
            createNatsNotifyAdapter({ nc, kv, subjectPrefix }),
          );
          const [adapter, peer] = await Promise.all(adapters);
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
