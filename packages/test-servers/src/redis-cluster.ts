import { execFile } from "node:child_process";
import { setTimeout as sleep } from "node:timers/promises";
import { promisify } from "node:util";
import { findDebianProgram } from "./debian-package.ts";
import { findFreePort } from "./free-port.ts";
import { startRedis } from "./redis.ts";
import type { RedisServer } from "./redis.ts";

export interface RedisCluster {
  /** Three masters without replicas. */
  readonly nodes: readonly RedisServer[];
  /** Resolves when every node that runs has a place for every slot. */
  settled(): Promise<void>;
  /** Ends every node. Idempotent. */
  stop(): Promise<void>;
}

const run = promisify(execFile);
const slots = 16_384;
const size = 3;
const deadlineMs = 20_000;

/** Starts three Redis nodes on the loopback address and joins them into one cluster. */
export const startRedisCluster = async (): Promise<RedisCluster> => {
  const cli = await findDebianProgram("/usr/bin/redis-cli", "redis-tools");
  const busPorts = await Promise.all(Array.from({ length: size }, findFreePort));
  const nodes = await Promise.all(
    busPorts.map((busPort) =>
      startRedis({
        settings: {
          "cluster-enabled": "yes",
          "cluster-port": String(busPort),
          "cluster-node-timeout": "2000",
        },
      }),
    ),
  );
  const ask = async (node: RedisServer, ...args: (string | number)[]): Promise<string> => {
    const { stdout } = await run(cli, ["-p", String(node.port), "cluster", ...args.map(String)]);
    return stdout;
  };

  const isSettled = async (): Promise<boolean> => {
    const answers = await Promise.all(nodes.map((node) => ask(node, "info").catch(() => "")));
    return answers.every(
      (answer) =>
        answer.includes("cluster_state:ok") &&
        answer.includes(`cluster_slots_ok:${slots}`) &&
        answer.includes(`cluster_known_nodes:${size}`),
    );
  };
  const settled = async (): Promise<void> => {
    const deadline = Date.now() + deadlineMs;
    while (!(await isSettled())) {
      if (Date.now() > deadline) throw new Error(`The cluster has not settled after ${deadlineMs} ms.`);
      await sleep(50);
    }
  };

  for (const [index, node] of nodes.entries()) {
    const first = Math.floor((slots / size) * index);
    const last = Math.floor((slots / size) * (index + 1)) - 1;
    await ask(node, "addslotsrange", first, last);
    await ask(node, "set-config-epoch", index + 1);
  }
  const [head] = nodes;
  for (const [index, node] of nodes.entries()) {
    if (index > 0) await ask(head!, "meet", "127.0.0.1", node.port, busPorts[index]!);
  }
  await settled();

  return {
    nodes,
    settled,
    stop: async () => {
      await Promise.all(nodes.map((node) => node.stop()));
    },
  };
};
