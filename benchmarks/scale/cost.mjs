// What one job costs PostgreSQL: bytes of the write-ahead log, CPU of the server and of the process, disk while it is
// kept. For the table in docs/production.md.
//
//   npm run build && node benchmarks/scale/cost.mjs [--jobs 20000]
import { parseArgs } from "node:util";
import pg from "pg";
import { createLeasehold, defineUnionJobTypes } from "../../packages/core/dist/index.js";
import { createPgPoolStateProvider, createPgStateAdapter } from "../../packages/postgres/dist/index.js";
import { startPostgres } from "../../packages/test-servers/dist/index.js";
import { readServerCpu } from "../process-cpu.mjs";
import { bulkChunk, postgresSettings } from "../settings.mjs";

const { values } = parseArgs({ options: { jobs: { type: "string", default: "20000" } } });
const jobs = Number(values.jobs);

const server = await startPostgres({ durable: true, settings: postgresSettings });
const observer = new pg.Client({ connectionString: server.url });
await observer.connect();
const ask = async (sql) => (await observer.query(sql)).rows[0];

const read = async () => {
  const { wal } = await ask("SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 AS wal");
  const { user, system } = process.cpuUsage();
  return { wal, server: await readServerCpu(server.pid), own: (user + system) / 1e6 };
};

const lines = [];
const measure = async (what, count, work) => {
  // Pages that change for the first time after a checkpoint are written whole. There is none while this measures.
  const before = await read();
  await work();
  const after = await read();
  const each = (name) => (after[name] - before[name]) / count;
  lines.push({
    what,
    "WAL, bytes": Math.round(each("wal")),
    "server CPU, µs": Math.round(each("server") * 1e6),
    "own CPU, µs": Math.round(each("own") * 1e6),
  });
};

const pool = new pg.Pool({ connectionString: server.url, max: 14 });
const stateAdapter = await createPgStateAdapter({ stateProvider: createPgPoolStateProvider({ pool }) });
const leasehold = await createLeasehold({ stateAdapter, jobTypes: defineUnionJobTypes() });
await observer.query("CREATE TABLE user_row (n int)");

const input = (n) => ({ n, email: `user-${n}@example.com` });
const startMany = async (typeName) => {
  for (let from = 0; from < jobs; from += bulkChunk) {
    const size = Math.min(bulkChunk, jobs - from);
    await leasehold.startJobSequences({
      sequences: Array.from({ length: size }, (_, n) => ({ typeName, input: input(from + n) })),
    });
  }
};

const drain = async (typeName, process, concurrency) => {
  let left = jobs;
  let done;
  const finished = new Promise((resolve) => (done = resolve));
  const worker = await leasehold
    .createWorker()
    .implementJobType({
      typeName,
      process: async (session) => {
        const result = await process(session);
        if (--left === 0) done();
        return result;
      },
    })
    .start({ concurrency });
  await finished;
  await worker.stop();
};

try {
  // The first turn warms everything up and makes the tables as large as they will be.
  await startMany("plain");
  await drain("plain", async () => null, 100);
  await leasehold.jobs.prune({ olderThanMs: 0 });
  await observer.query("VACUUM ANALYZE leasehold.job");

  await measure("start, one by one", 2_000, async () => {
    for (let n = 0; n < 2_000; n += 1)
      await leasehold.startJobSequence({ typeName: "single", input: input(n) });
  });
  await measure(`start, ${bulkChunk} at a time`, jobs, () => startMany("plain"));
  await measure("run, concurrency 100", jobs, () => drain("plain", async () => null, 100));
  const { bytes } = await ask(
    `SELECT pg_total_relation_size('leasehold.job')::float8 / count(*) AS bytes FROM leasehold.job`,
  );
  await startMany("transactional");
  await measure("run, each with a row of the user's", jobs, () =>
    drain(
      "transactional",
      ({ job, complete }) =>
        complete(async ({ client }) => {
          await client.query("INSERT INTO user_row VALUES ($1)", [job.input.n]);
          return null;
        }),
      10,
    ),
  );
  const finished = jobs * 2;
  await measure("prune", finished, () => leasehold.jobs.prune({ olderThanMs: 0 }));
  console.table(lines);
  console.log(`Disk while it is kept, with its indexes: ${Math.round(bytes)} bytes a job`);
} finally {
  await leasehold.close();
  await stateAdapter.close();
  await Promise.all([pool.end(), observer.end()]);
  await server.stop();
}
