import { startRedis } from "@leasehold/test-servers";
import { Redis } from "ioredis";
import { createClient } from "redis";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { createRedisNotifyAdapter } from "./notify-adapter.ts";
import { createIoredisNotifyProvider } from "./providers/ioredis.ts";
import { createNodeRedisNotifyProvider } from "./providers/node-redis.ts";

// As docs/notify.md says; `info` is for ioredis, which asks for it when it connects.
const rights =
  "resetkeys ~{leasehold}:* resetchannels &leasehold:* -@all " +
  "+eval +publish +subscribe +set +get +decrby +del +info";

describe("access rights", () => {
  it("those in the documentation are enough", async () => {
    const server = await startRedis();
    onTestFinished(() => server.stop());
    const admin = new Redis(server.url);
    onTestFinished(() => admin.disconnect());
    await admin.acl("SETUSER", "worker", "on", ">secret", ...rights.split(" "));
    const url = server.url.replace("//", "//worker:secret@");

    const nodeRedis = await createClient({ url }).connect();
    onTestFinished(() => nodeRedis.destroy());
    const ioredis = new Redis(url);
    onTestFinished(() => ioredis.disconnect());

    const errors: unknown[] = [];
    for (const notifyProvider of [
      createNodeRedisNotifyProvider({ client: nodeRedis }),
      createIoredisNotifyProvider({ client: ioredis }),
    ]) {
      const adapter = await createRedisNotifyAdapter({
        notifyProvider,
        heartbeatMs: 50,
        onError: (error) => errors.push(error),
      });
      onTestFinished(() => adapter.close());
      const heard = vi.fn();
      await adapter.listenJobScheduled(["type"], heard);
      await adapter.listenJobSequenceCompleted(["id"], heard);
      await adapter.notifyJobScheduled("type", 2);
      await adapter.notifyJobScheduled("type", 1);
      await adapter.notifyJobSequenceCompleted(["id"]);
      await vi.waitFor(() => expect(heard).toHaveBeenCalledTimes(3));
    }
    expect(errors).toEqual([]);
  });
});
