// How long it takes from starting a job in one process until its handler is called in another, which is idle, by notify
// adapter. Jobs are in PostgreSQL for all of them. Run: npm run bench:notify
import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { setTimeout as sleep } from "node:timers/promises";
import { connect } from "@nats-io/transport-node";
import { Kvm } from "@nats-io/kv";
import { Redis } from "ioredis";
import pg from "pg";
import { createLeasehold, defineUnionJobTypes } from "../packages/core/dist/index.js";
import { createNatsNotifyAdapter } from "../packages/nats/dist/index.js";
import {
  createPgNotifyAdapter,
  createPgPoolNotifyProvider,
  createPgPoolStateProvider,
  createPgStateAdapter,
} from "../packages/postgres/dist/index.js";
import { createIoredisNotifyProvider, createRedisNotifyAdapter } from "../packages/redis/dist/index.js";
import { startNats, startPostgres, startRedis } from "../packages/test-servers/dist/index.js";

const warmUps = 20;
// Without hints each start waits for the next poll.
const startsOf = (transport) => (transport === "none" ? 20 : 200);

const openNats = async (url, counted) => {
  const nc = await connect({ servers: url, maxReconnectAttempts: -1 });
  const kv = counted ? await new Kvm(nc).create("hints", { ttl: 60_000 }) : undefined;
  return createNatsNotifyAdapter(kv ? { nc, kv } : { nc });
};

const transports = {
  none: () => undefined,
  postgres: ({ pool }) => createPgNotifyAdapter({ notifyProvider: createPgPoolNotifyProvider({ pool }) }),
  redis: ({ redisUrl }) =>
    createRedisNotifyAdapter({
      notifyProvider: createIoredisNotifyProvider({ client: new Redis(redisUrl) }),
    }),
  nats: ({ natsUrl }) => openNats(natsUrl, false),
  "nats, counted": ({ natsUrl }) => openNats(natsUrl, true),
};

const open = async (transport, urls) => {
  const pool = new pg.Pool({ connectionString: urls.postgresUrl });
  const stateAdapter = await createPgStateAdapter({ stateProvider: createPgPoolStateProvider({ pool }) });
  const notifyAdapter = await transports[transport]({ pool, ...urls });
  return createLeasehold({
    stateAdapter,
    jobTypes: defineUnionJobTypes(),
    ...(notifyAdapter ? { notifyAdapter } : {}),
  });
};

const runWorker = async (transport, urls) => {
  const leasehold = await open(transport, urls);
  await leasehold
    .createWorker()
    .implementJobType({
      typeName: "ping",
      // Both processes are on one machine, so their clocks are one.
      process: async ({ job }) => {
        process.send({ n: job.input.n, at: performance.timeOrigin + performance.now() });
        return null;
      },
    })
    .start();
  process.send({ ready: true });
};

const percentile = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];

const measure = async (transport, urls) => {
  const worker = fork(fileURLToPath(import.meta.url), [transport, JSON.stringify(urls)]);
  await once(worker, "message");
  const leasehold = await open(transport, urls);
  const latencies = [];
  for (let n = 0; n < warmUps + startsOf(transport); n += 1) {
    const handled = once(worker, "message");
    const startedAt = performance.timeOrigin + performance.now();
    await leasehold.startJobSequence({ typeName: "ping", input: { n } });
    const [{ at }] = await handled;
    if (n >= warmUps) latencies.push(at - startedAt);
    await sleep(15 + (n % 30));
  }
  worker.kill("SIGKILL");
  await once(worker, "exit");
  latencies.sort((a, b) => a - b);
  const show = (share) => percentile(latencies, share).toFixed(2).padStart(8);
  console.log(`${transport.padEnd(14)} p50 ${show(0.5)} ms   p95 ${show(0.95)} ms   p99 ${show(0.99)} ms`);
};

if (process.send) await runWorker(process.argv[2], JSON.parse(process.argv[3]));
else {
  const [postgres, redis, nats] = await Promise.all([
    startPostgres({ durable: true }),
    startRedis(),
    startNats(),
  ]);
  const urls = { postgresUrl: postgres.url, redisUrl: redis.url, natsUrl: nats.url };
  for (const transport of Object.keys(transports)) await measure(transport, urls);
  await Promise.all([postgres.stop(), redis.stop(), nats.stop()]);
  process.exit(0);
}
