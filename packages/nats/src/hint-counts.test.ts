import { type NatsServer, startNats } from "@leasehold/test-servers";
import { Kvm } from "@nats-io/kv";
import { connect } from "@nats-io/transport-node";
import { connect as connectOlder } from "nats";
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import type { NatsClient, NatsKv } from "./client.ts";
import { createHintCounts } from "./hint-counts.ts";
import { createNatsNotifyAdapter } from "./notify-adapter.ts";

let server: NatsServer;

beforeAll(async () => {
  server = await startNats();
}, 60_000);

afterAll(() => server.stop());

const clients: readonly (readonly [string, () => Promise<{ nc: NatsClient; kv: NatsKv }>])[] = [
  [
    "@nats-io",
    async () => {
      const nc = await connect({ servers: server.url, maxReconnectAttempts: -1 });
      onTestFinished(() => nc.close());
      return { nc, kv: await new Kvm(nc).create("hints", { ttl: 60_000 }) };
    },
  ],
  [
    "nats",
    async () => {
      const nc = await connectOlder({ servers: server.url, maxReconnectAttempts: -1 });
      onTestFinished(() => nc.close());
      return { nc, kv: await nc.jetstream().views.kv("hints", { ttl: 60_000 }) };
    },
  ],
];

for (const [name, open] of clients) {
  describe(`hint counts in a bucket of ${name}`, () => {
    it("30 who take at the same time share exactly the count", async () => {
      const { kv } = await open();
      const counts = createHintCounts(kv);
      const counter = await counts.create(10);
      const taken = await Promise.all(Array.from({ length: 30 }, () => counts.take(counter, 10, 1)));
      expect(taken.filter((one) => one === 1)).toHaveLength(10);
      expect(taken.filter((one) => one === 0)).toHaveLength(20);
      expect((await kv.get(counter.hintId))?.string()).toBe("0");
    });

    it("takes what is left", async () => {
      const { kv } = await open();
      const counts = createHintCounts(kv);
      const counter = await counts.create(3);
      expect(await counts.take(counter, 3, 2)).toBe(2);
      expect(await counts.take(counter, 3, 2)).toBe(1);
      expect(await counts.take(counter, 3, 2)).toBe(0);
    });

    it("a forged notification finds no counter, or one that makes no sense", async () => {
      const { kv } = await open();
      const counts = createHintCounts(kv);
      const counter = await counts.create(3);
      expect(await counts.take({ hintId: randomUUID(), revision: counter.revision! }, 3, 1)).toBe(0);
      expect(await counts.take({ hintId: randomUUID() }, 3, 1)).toBe(0);
      await kv.update(counter.hintId, "many", counter.revision!);
      expect(await counts.take(counter, 3, 1)).toBe(0);
    });

    it("any other failure is passed on", async () => {
      const { kv } = await open();
      const failure = new Error("no stream");
      const counts = createHintCounts({
        create: (...args) => kv.create(...args),
        get: (...args) => kv.get(...args),
        status: () => kv.status(),
        update: () => Promise.reject(failure),
      });
      await expect(counts.take(await counts.create(1), 1, 1)).rejects.toBe(failure);
    });

    it("a large notification is not counted across processes", async () => {
      const { nc, kv } = await open();
      const create = vi.spyOn(kv, "create");
      const adapter = await createNatsNotifyAdapter({ nc, kv, subjectPrefix: randomUUID() });
      const heard = vi.fn();
      for (let listeners = 0; listeners < 40; listeners += 1) {
        await adapter.listenJobScheduled(["type"], heard);
      }
      await adapter.notifyJobScheduled("type", 33);
      await vi.waitFor(() => expect(heard).toHaveBeenCalledTimes(33));
      expect(create).not.toHaveBeenCalled();
      await adapter.close();
    });

    it("without its bucket, a notification still goes out", async () => {
      const { nc, kv } = await open();
      const errors: unknown[] = [];
      const adapter = await createNatsNotifyAdapter({
        nc,
        kv,
        subjectPrefix: randomUUID(),
        onError: (error) => errors.push(error),
      });
      const failure = new Error("no bucket");
      vi.spyOn(kv, "create").mockRejectedValue(failure);
      const heard = vi.fn();
      for (let listeners = 0; listeners < 3; listeners += 1) {
        await adapter.listenJobScheduled(["type"], heard);
      }
      await adapter.notifyJobScheduled("type", 2);
      await vi.waitFor(() => expect(heard).toHaveBeenCalledTimes(2));
      expect(errors).toEqual([failure]);
      await adapter.close();
    });
  });
}
