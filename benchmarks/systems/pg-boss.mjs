// pg-boss, tuned as its documentation advises: batches, several workers per queue, fetching again at once while batches
// are full, and LISTEN/NOTIFY where a job has to be seen at once. A job type is a queue.
import { PgBoss } from "pg-boss";
import pg from "pg";
import { batchSize } from "../settings.mjs";
import { cloneRow } from "./clone-row.mjs";
import { userWrite, userWrites } from "./user-write.mjs";

const workersPerQueue = 4;

const openBoss = async (postgresUrl, options) => {
  const boss = new PgBoss({ connectionString: postgresUrl, schedule: false, ...options });
  boss.on("error", (error) => console.error(error));
  await boss.start();
  return boss;
};

export const install = async ({ postgresUrl, types, wakeAtOnce = false }) => {
  const boss = await openBoss(postgresUrl);
  for (const type of types) await boss.createQueue(type, { notify: wakeAtOnce });
  await boss.stop({ graceful: false });
};

export const openProducer = async ({ postgresUrl }) => {
  const boss = await openBoss(postgresUrl);
  return {
    start: ({ type, input }) => boss.send(type, input),
    startMany: async (jobs) => {
      const byType = Map.groupBy(jobs, ({ type }) => type);
      for (const [type, group] of byType) {
        await boss.insert(
          type,
          group.map(({ input }) => ({ data: input })),
        );
      }
    },
  };
};

/** At most `limit` of a batch at a time. */
const eachLimited = async (jobs, limit, run) => {
  const rest = jobs.values();
  const runFromRest = async () => {
    for (const job of rest) await run(job);
  };
  await Promise.all(Array.from({ length: Math.min(limit, jobs.length) }, runFromRest));
};

/** The user's write and the completion of one job in one transaction, fenced by the attempt that was fetched. */
const completeWithWrite = (boss, pool, handle) => async (job) => {
  const client = await pool.connect();
  try {
    await client.query("begin");
    await handle(job.data);
    await client.query(userWrite(job.data.n));
    const { affected } = await boss.complete(job.name, job, undefined, {
      db: { executeSql: (text, values) => client.query(text, values) },
    });
    if (affected !== 1) throw new Error(`Job ${job.id} is no longer ours.`);
    await client.query("commit");
  } finally {
    client.release();
  }
};

/** The same for all jobs that one worker has fetched. */
const completeAllWithWrites = (boss, pool, handle) => async (jobs) => {
  const client = await pool.connect();
  try {
    await client.query("begin");
    for (const { data } of jobs) await handle(data);
    await client.query(userWrites(jobs.map(({ data }) => data.n)));
    const { affected } = await boss.complete(jobs[0].name, jobs, undefined, {
      db: { executeSql: (text, values) => client.query(text, values) },
    });
    if (affected !== jobs.length) throw new Error("Some of the jobs are no longer ours.");
    await client.query("commit");
  } finally {
    client.release();
  }
};

export const openWorker = async (
  { postgresUrl, types, observer },
  { concurrency, transactional, callSize, wakeAtOnce, handle },
) => {
  const boss = await openBoss(postgresUrl, { useListenNotify: wakeAtOnce === true });
  const pool = transactional ? new pg.Pool({ connectionString: postgresUrl, max: concurrency }) : undefined;
  const runOne = pool ? completeWithWrite(boss, pool, handle) : ({ data }) => handle(data);
  const oneWorker = types.length > 1 || (transactional && callSize === undefined);
  const workers = oneWorker ? 1 : workersPerQueue;
  const runAll =
    pool && callSize !== undefined
      ? completeAllWithWrites(boss, pool, handle)
      : (jobs) => eachLimited(jobs, Math.max(1, Math.floor(concurrency / workers)), runOne);
  const options = {
    batchSize: callSize ?? batchSize,
    localConcurrency: workers,
    pollingIntervalSeconds: 0.5,
    burstWhenBatchFull: true,
  };
  return {
    start: async () => {
      for (const type of types) {
        await boss.work(type, options, runAll);
      }
    },
    unfinished: async () => {
      const { rowCount } = await observer.query(
        `select 1 from pgboss.job where state < 'active' and start_after <= now()
         union all select 1 from pgboss.job where state = 'active' limit 1`,
      );
      return rowCount > 0;
    },
  };
};

export const prefill = async ({ postgresUrl, observer }, kind, count) => {
  const boss = await openBoss(postgresUrl);
  const data = { n: -1, email: "user@example.com" };
  if (kind === "completed") {
    const id = await boss.send("no-op", data);
    await boss.fetch("no-op");
    await boss.complete("no-op", id);
  } else await boss.send("no-op", data, { startAfter: 30 * 86_400 });
  await boss.stop({ graceful: false });
  await cloneRow(observer, { table: "pgboss.job", count, replace: { id: "copy.fresh_id" } });
};
