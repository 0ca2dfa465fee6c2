// BullMQ on Redis. Finished jobs are removed: its guide advises that for production, and it makes it faster here. Job
// types are names within one queue, which is faster than a queue for each.
import { Queue, Worker } from "bullmq";
import { Redis } from "ioredis";
import pg from "pg";
import { userWrite } from "./user-write.mjs";

const queueName = "jobs";
const prefix = `bull:${queueName}:`;

const connectionTo = (port) => ({ host: "127.0.0.1", port, maxRetriesPerRequest: null });

const toJob = ({ type, input }) => ({ name: type, data: input });

export const install = async () => {};

export const openProducer = async ({ redisPort }) => {
  const queue = new Queue(queueName, { connection: connectionTo(redisPort) });
  await queue.waitUntilReady();
  return {
    start: ({ type, input }) => queue.add(type, input),
    startMany: (jobs) => queue.addBulk(jobs.map(toJob)),
  };
};

export const openWorker = async ({ redisPort, postgresUrl }, { concurrency, transactional, handle }) => {
  // Two servers share no transaction: the write commits in PostgreSQL, then Redis is told.
  const pool = transactional ? new pg.Pool({ connectionString: postgresUrl, max: concurrency }) : undefined;
  const handler = pool
    ? async ({ data }) => {
        await handle(data);
        await pool.query(userWrite(data.n));
      }
    : async ({ data }) => handle(data);
  const worker = new Worker(queueName, handler, {
    connection: connectionTo(redisPort),
    concurrency,
    removeOnComplete: { count: 0 },
    autorun: false,
  });
  worker.on("error", (error) => console.error(error));
  await worker.waitUntilReady();
  const observer = new Redis(connectionTo(redisPort));
  return {
    start: async () => void worker.run(),
    unfinished: async () => {
      const counts = await Promise.all([observer.llen(`${prefix}wait`), observer.llen(`${prefix}active`)]);
      return counts.some((count) => count > 0);
    },
  };
};

// Copies the hash of a job and files the copies in the set that holds the template.
const cloneScript = `
local fields = redis.call("HGETALL", KEYS[1] .. ARGV[1])
local set = KEYS[1] .. ARGV[2]
local score = redis.call("ZSCORE", set, ARGV[1])
for n = tonumber(ARGV[3]), tonumber(ARGV[4]) do
  local id = "copy-" .. n
  redis.call("HSET", KEYS[1] .. id, unpack(fields))
  redis.call("ZADD", set, score, id)
end`;

const completeOne = async (redisPort, queue) => {
  const job = await queue.add("no-op", { n: -1, email: "user@example.com" });
  const worker = new Worker(queueName, async () => {}, { connection: connectionTo(redisPort) });
  await new Promise((resolve) => worker.once("completed", resolve));
  await worker.close();
  return job.id;
};

export const prefill = async ({ redisPort }, kind, count) => {
  const queue = new Queue(queueName, { connection: connectionTo(redisPort) });
  const id =
    kind === "completed"
      ? await completeOne(redisPort, queue)
      : (await queue.add("no-op", { n: -1, email: "user@example.com" }, { delay: 30 * 86_400_000 })).id;
  const redis = new Redis(connectionTo(redisPort));
  const set = kind === "completed" ? "completed" : "delayed";
  const step = 10_000;
  for (let from = 1; from < count; from += step) {
    await redis.eval(cloneScript, 1, prefix, id, set, from, Math.min(from + step, count) - 1);
  }
  redis.disconnect();
  await queue.close();
};
