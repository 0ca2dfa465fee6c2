import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findDebianProgram } from "./debian-package.ts";
import { findFreePort } from "./free-port.ts";
import { startRedis } from "./redis.ts";
import type { RedisServer } from "./redis.ts";
import { type RestartableServer, startRestartable } from "./restartable-server.ts";
import { startServerProcess } from "./server-process.ts";

export interface RedisWithSentinels {
  /** A primary and a replica, to begin with. */
  readonly nodes: readonly RedisServer[];
  readonly sentinelPorts: readonly number[];
  /** What the sentinels call the primary. */
  readonly name: string;
  /** Ends all of them. Idempotent. */
  stop(): Promise<void>;
}

const name = "leasehold";
const sentinels = 3;

/** Starts a Redis with a replica, and three sentinels that replace the one by the other. */
export const startRedisWithSentinels = async (): Promise<RedisWithSentinels> => {
  const command = await findDebianProgram("/usr/bin/redis-server", "redis-server");
  const primary = await startRedis();
  const replica = await startRedis({ settings: { replicaof: `127.0.0.1 ${primary.port}` } });

  const startSentinel = async (port: number): Promise<RestartableServer> => {
    const folder = await mkdtemp(join(tmpdir(), "leasehold-sentinel-"));
    const file = join(folder, "sentinel.conf");
    const lines = [
      `port ${port}`,
      "bind 127.0.0.1",
      `dir ${folder}`,
      `sentinel monitor ${name} 127.0.0.1 ${primary.port} 2`,
      `sentinel down-after-milliseconds ${name} 2000`,
      `sentinel failover-timeout ${name} 10000`,
      "",
    ];
    await writeFile(file, lines.join("\n"));
    return startRestartable(folder, () =>
      startServerProcess({ command, args: [file, "--sentinel"], port, cwd: folder }),
    );
  };

  const sentinelPorts = await Promise.all(Array.from({ length: sentinels }, findFreePort));
  const watchers = await Promise.all(sentinelPorts.map(startSentinel));
  return {
    nodes: [primary, replica],
    sentinelPorts,
    name,
    stop: async () => {
      await Promise.all(watchers.map((watcher) => watcher.remove("SIGKILL")));
      await Promise.all([primary.stop(), replica.stop()]);
    },
  };
};
