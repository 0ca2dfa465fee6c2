import { type NatsServer, startNats } from "@leasehold/test-servers";
import { Kvm } from "@nats-io/kv";
import { connect } from "@nats-io/transport-node";
import { notifyTransportConformance } from "leasehold/testing";
import { connect as connectOlder } from "nats";
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, it } from "vitest";
import type { NatsClient, NatsKv } from "./client.ts";
import { createNatsTransport } from "./notify-adapter.ts";
import { checkOptions } from "./options.ts";

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
  describe(`transport over ${name}`, () => {
    let connections: Promise<Connected[]> | undefined;

    afterAll(async () => {
      for (const { close } of (await connections) ?? []) await close();
    });

    notifyTransportConformance(
      { describe, it, afterAll },
      {
        countsHints: name.includes("bucket"),
        create: async () => {
          connections ??= Promise.all([connectOne(), connectOne()]);
          const subjectPrefix = `test-${randomUUID()}`;
          const [transport, peer] = (await connections).map(({ nc, kv }) =>
            createNatsTransport(checkOptions({ nc, kv, subjectPrefix })),
          );
          return { transport: transport!, peer: peer!, destroy: async () => {} };
        },
      },
    );
  });
}
