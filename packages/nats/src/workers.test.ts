import { type NatsServer, startNats } from "@leasehold/test-servers";
import { type KV, Kvm } from "@nats-io/kv";
import { connect, type NatsConnection } from "@nats-io/transport-node";
import { brokerConformance } from "leasehold/testing";
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, it } from "vitest";
import { createNatsNotifyAdapter } from "./notify-adapter.ts";

let server: NatsServer;

beforeAll(async () => {
  server = await startNats();
}, 60_000);

afterAll(() => server.stop());

const connectForEver = (): Promise<NatsConnection> =>
  connect({ servers: server.url, maxReconnectAttempts: -1, reconnectTimeWait: 50, reconnectJitter: 10 });

/** A server that was killed may lose the first requests after its start; the client gives each five seconds. */
const createBucket = async (nc: NatsConnection, tries = 5): Promise<KV> => {
  try {
    return await new Kvm(nc).create("hints", { ttl: 60_000 });
  } catch (error) {
    if (tries === 1) throw error;
    return createBucket(nc, tries - 1);
  }
};

const nextStatus = async (nc: NatsConnection, type: string): Promise<void> => {
  for await (const status of nc.status()) if (status.type === type) return;
};

brokerConformance(
  { describe, it, afterAll },
  {
    kill: () => server.shutDown("kill"),
    startAgain: () => server.startAgain(),
    connect: async (count) => {
      const subjectPrefix = `test-${randomUUID()}`;
      const connections = await Promise.all(Array.from({ length: count }, connectForEver));
      const buckets = await Promise.all(connections.map((nc) => createBucket(nc)));
      return {
        createAdapters: () =>
          Promise.all(
            connections.map((nc, index) =>
              createNatsNotifyAdapter({ nc, kv: buckets[index], subjectPrefix }),
            ),
          ),
        publish: ({ short }, message) => connections[0]!.publish(`${subjectPrefix}.${short}`, message),
        lost: () => nextStatus(connections[0]!, "disconnect"),
        close: () => Promise.all(connections.map((nc) => nc.close())),
      };
    },
  },
);
