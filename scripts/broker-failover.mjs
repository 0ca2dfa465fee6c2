// Kills the node of a NATS cluster, or the Redis primary under its sentinels, that a worker's notifications come from. Measures
// how soon they come again, without a restart. Part of `npm run test:cluster`.
//
//   npm run build && node scripts/broker-failover.mjs [--rounds 3] [--only nats,redis]
//
// Exits with 1 when notifications do not come back.
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { createNatsNotifyAdapter } from "@leasehold/nats";
import { createIoredisNotifyProvider, createRedisNotifyAdapter } from "@leasehold/redis";
import { startNatsCluster, startRedisWithSentinels } from "@leasehold/test-servers";
import { Kvm } from "@nats-io/kv";
import { connect } from "@nats-io/transport-node";
import { Redis } from "ioredis";
import { createInProcessStateAdapter, createLeasehold, defineUnionJobTypes } from "leasehold";

const { values: options } = parseArgs({
  options: {
    rounds: { type: "string", default: "3" },
    only: { type: "string", default: "nats,redis" },
  },
});
const rounds = Number(options.rounds);

const host = "127.0.0.1";
// A job that needs longer than this was found by a poll, or because of a later notification.
const longestMs = 500;
const patienceMs = 60_000;

/** A broker for two processes: the one that starts, and the one that works. `kill` ends the node that matters to the latter. */
const openNats = async () => {
  const cluster = await startNatsCluster();
  const servers = cluster.nodes.map(({ url }) => url);
  const open = async () => {
    const nc = await connect({ servers, maxReconnectAttempts: -1, reconnectTimeWait: 100 });
    // A bucket of one replica is gone for as long as its node is.
    const kv = await new Kvm(nc).create("hints", { ttl: 60_000, replicas: 3 });
    return { nc, adapter: await createNatsNotifyAdapter({ nc, kv }) };
  };
  // Until the cluster has elected who keeps the buckets, it refuses them.
  const openWhenReady = async () => {
    for (let tries = 1; ; tries += 1) {
      try {
        return await open();
      } catch (error) {
        if (tries === 30) throw error;
        await sleep(500);
      }
    }
  };
  const starting = await openWhenReady();
  const working = await openWhenReady();
  let dead;
  return {
    adapters: [starting.adapter, working.adapter],
    kill: async () => {
      const address = working.nc.getServer();
      dead = cluster.nodes.find(({ port }) => address.endsWith(`:${port}`));
      await dead.shutDown("kill");
    },
    mend: () => dead.startAgain(),
    close: async () => {
      await Promise.all([starting.nc.close(), working.nc.close()]);
      await cluster.stop();
    },
  };
};

const openRedis = async () => {
  const servers = await startRedisWithSentinels();
  const sentinels = servers.sentinelPorts.map((port) => ({ host, port }));
  const open = async () => {
    const client = new Redis({ sentinels, name: servers.name, sentinelRetryStrategy: () => 200 });
    client.on("error", () => {});
    const adapter = await createRedisNotifyAdapter({
      notifyProvider: createIoredisNotifyProvider({ client }),
    });
    return { client, adapter };
  };
  const [starting, working] = await Promise.all([open(), open()]);
  let dead;
  return {
    adapters: [starting.adapter, working.adapter],
    kill: async () => {
      const [, port] = await askSentinel(sentinels[0], servers.name);
      dead = servers.nodes.find((node) => node.port === Number(port));
      await dead.shutDown("kill");
    },
    // A dead primary comes back as one, until a sentinel makes it a replica.
    mend: () => dead.startAgain(),
    close: async () => {
      for (const { client } of [starting, working]) client.disconnect();
      await servers.stop();
    },
  };
};

const askSentinel = async (sentinel, name) => {
  const client = new Redis(sentinel);
  try {
    return await client.call("SENTINEL", "get-master-addr-by-name", name);
  } finally {
    client.disconnect();
  }
};

const brokers = { nats: openNats, redis: openRedis };

const play = async (name) => {
  const broker = await brokers[name]();
  const stateAdapter = createInProcessStateAdapter();
  const jobTypes = defineUnionJobTypes();
  const [starter, runner] = await Promise.all(
    // Instances with the same adapter would notify each other without a broker. Copies of it stand for processes.
    broker.adapters.map((notifyAdapter) =>
      createLeasehold({ stateAdapter: { ...stateAdapter }, notifyAdapter, jobTypes }),
    ),
  );
  let isDone = () => {};
  await runner
    .createWorker()
    .implementJobType({ typeName: "work", process: async ({ job }) => isDone(job.input) })
    .start({ pollIntervalMs: 10 * patienceMs });

  /** Whether a job that is started now runs soon. */
  const isHeard = async (id) => {
    const done = new Promise((resolve) => {
      isDone = (input) => {
        if (input === id) resolve(true);
      };
    });
    await starter.startJobSequence({ typeName: "work", input: id });
    return Promise.race([done, sleep(longestMs, false)]);
  };

  let asked = 0;
  const heardAfter = async () => {
    const began = performance.now();
    while (!(await isHeard((asked += 1)))) {
      if (performance.now() - began > patienceMs) throw new Error(`No notifications from ${name}.`);
    }
    return Math.round(performance.now() - began) / 1_000;
  };

  try {
    await heardAfter();
    for (let round = 1; round <= rounds; round += 1) {
      await broker.kill();
      process.stdout.write(`${name}: notifications are back ${await heardAfter()} s after its node died\n`);
      await broker.mend();
      process.stdout.write(`${name}: and ${await heardAfter()} s after it came back\n`);
      // The others have to know it again before the next one may die.
      await sleep(5_000);
    }
  } finally {
    await Promise.all([starter.close(), runner.close()]);
    await Promise.all(broker.adapters.map((adapter) => adapter.close()));
    await broker.close();
  }
};

for (const name of options.only.split(",")) await play(name);
process.exit(0);
