import { type NatsServer, startNats } from "@leasehold/test-servers";
import { connect } from "@nats-io/transport-node";
import { connect as connectOlder } from "nats";
import { randomUUID } from "node:crypto";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type NatsClient, NatsUnavailableError } from "./client.ts";
import { createNatsNotifyAdapter } from "./notify-adapter.ts";

const reconnecting = { maxReconnectAttempts: -1, reconnectTimeWait: 50, reconnectJitter: 10 };

const clients: readonly (readonly [
  string,
  (servers: string) => Promise<NatsClient & { close(): Promise<void>; drain(): Promise<void> }>,
])[] = [
  ["@nats-io", (servers) => connect({ servers, ...reconnecting })],
  ["nats", (servers) => connectOlder({ servers, ...reconnecting })],
];

for (const [name, open] of clients) {
  describe(`a connection of ${name}`, () => {
    let server: NatsServer;
    let nc: Awaited<ReturnType<typeof open>>;

    beforeEach(async () => {
      server = await startNats();
      nc = await open(server.url);
    });

    afterEach(async () => {
      await nc.close();
      await server.stop();
    });

    const openAdapter = async () => {
      const errors: unknown[] = [];
      const adapter = await createNatsNotifyAdapter({
        nc,
        subjectPrefix: randomUUID(),
        onError: (error) => errors.push(error),
      });
      return { adapter, errors };
    };

    it("comes back after the broker was killed; everyone looks, and notifications go on", async () => {
      const { adapter, errors } = await openAdapter();
      const looks: string[] = [];
      await adapter.listenJobScheduled(["idle"], (typeName) => looks.push(typeName));
      await adapter.listenJobScheduled(
        ["busy"],
        (typeName) => looks.push(typeName),
        () => false,
      );
      await adapter.listenJobSequenceCompleted(["a"], (id) => looks.push(id));
      await server.shutDown("kill");
      await vi.waitFor(() => expect(errors).toEqual([expect.any(NatsUnavailableError)]));
      await expect(adapter.notifyJobScheduled("idle", 1)).rejects.toThrow(NatsUnavailableError);
      await expect(adapter.notifyJobOwnershipLost(["job"])).rejects.toThrow(NatsUnavailableError);
      expect(looks).toEqual([]);

      await server.startAgain();
      await vi.waitFor(() => expect(looks).toEqual(["idle", "a"]), { timeout: 5_000 });
      await adapter.notifyJobSequenceCompleted(["a"]);
      await vi.waitFor(() => expect(looks).toEqual(["idle", "a", "a"]));
      await adapter.close();
    });

    it("can be closed under the adapter: that is reported, notifications reject, and close works", async () => {
      const { adapter, errors } = await openAdapter();
      await nc.close();
      await vi.waitFor(() => expect(errors).toEqual([expect.any(NatsUnavailableError)]));
      await expect(adapter.notifyJobScheduled("type", 1)).rejects.toThrow(NatsUnavailableError);
      await adapter.close();
      await adapter.close();
    });

    it("may be draining when the adapter is closed", async () => {
      const { adapter, errors } = await openAdapter();
      const drained = nc.drain();
      await adapter.close();
      await drained;
      expect(errors).toEqual([]);
    });

    it("stays open when the adapter is closed, which then reports nothing more", async () => {
      const { adapter, errors } = await openAdapter();
      const heard = vi.fn();
      await adapter.listenJobOwnershipLost(heard);
      await adapter.close();
      expect(nc.isClosed()).toBe(false);
      await server.shutDown("kill");
      await nc.close();
      expect(errors).toEqual([]);
    });
  });
}

describe("a connection that is refused something", () => {
  const refusal = new Error("Permissions Violation");

  it.each([
    ["@nats-io", { type: "error", error: refusal }, refusal],
    [
      "nats",
      { type: "error", data: "PERMISSIONS_VIOLATION" },
      { type: "error", data: "PERMISSIONS_VIOLATION" },
    ],
  ])("says so, as %s tells it", async (_name, status, reported) => {
    const errors: unknown[] = [];
    const nc: NatsClient = {
      publish: () => undefined,
      subscribe: () => ({ unsubscribe: () => undefined }),
      flush: async () => undefined,
      status: async function* statuses() {
        yield status;
      },
      closed: () => new Promise(() => undefined),
      isClosed: () => false,
    };
    const adapter = await createNatsNotifyAdapter({ nc, onError: (error) => errors.push(error) });
    await vi.waitFor(() => expect(errors).toEqual([reported]));
    await adapter.close();
  });
});
