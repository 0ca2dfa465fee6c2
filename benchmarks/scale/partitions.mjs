// An experiment: would it pay to keep jobs in partitions, and to drop whole partitions of finished jobs instead of deleting
// rows? The adapter knows nothing of it. Its table is replaced after the migrations, and its statements are rewritten on
// their way to the server. docs/design/0024-no-partitions.md has the results.
//
//   npm run build && node benchmarks/scale/partitions.mjs [--jobs 20000] [--repetitions 3] [--rows 1000000]
import { parseArgs } from "node:util";
import pg from "pg";
import { createLeasehold, defineUnionJobTypes } from "../../packages/core/dist/index.js";
import { createPgPoolStateProvider, createPgStateAdapter } from "../../packages/postgres/dist/index.js";
import { startPostgres } from "../../packages/test-servers/dist/index.js";
import { median } from "../medians.mjs";
import { readServerCpu } from "../process-cpu.mjs";
import { bulkChunk, postgresSettings } from "../settings.mjs";
import { fillPostgres, spanMs } from "./fill.mjs";

const { values } = parseArgs({
  options: {
    jobs: { type: "string", default: "20000" },
    repetitions: { type: "string", default: "3" },
    rows: { type: "string", default: "1000000" },
  },
});
const jobs = Number(values.jobs);
const repetitions = Number(values.repetitions);
const rows = Number(values.rows);

const number = (value, digits = 0) =>
  value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });

/** The smallest id of UUID version 7 of a moment. */
const idAt = (at) => {
  const hex = Math.round(at).toString(16).padStart(12, "0");
  return `${hex.slice(0, 8)}-${hex.slice(8)}-7000-8000-000000000000`;
};

/** Bounds of `count` equal parts of the time that the table is filled for. */
const boundsOf = (count) => {
  const begin = Date.now() - spanMs;
  return Array.from({ length: count + 1 }, (_, n) => Math.round(begin + (n * (spanMs + 3_600_000)) / count));
};

const layouts = {
  // As it is.
  one_table: { rewrite: (sql) => sql },
  // By the time that is in the id. Ids of other kinds go to the last partition.
  by_id: {
    key: "id",
    partitions: (count) => {
      const bounds = boundsOf(count).map((at) => `'${idAt(at)}'`);
      return bounds
        .slice(0, -1)
        .map((from, n) => [n === 0 ? "MINVALUE" : from, n === count - 1 ? "MAXVALUE" : bounds[n + 1]]);
    },
    // A place in the table says nothing without the partition.
    rewrite: (sql) => sql.replaceAll(/\bctid\b/g, "id"),
  },
  // By the end of a job, with one partition for all that have not ended: a completion moves its row.
  by_end: {
    key: "finished_at",
    partitions: (count) => {
      const bounds = boundsOf(count);
      const ended = bounds
        .slice(0, -1)
        .map((from, n) => [n === 0 ? 1 : from, n === count - 1 ? "MAXVALUE" : bounds[n + 1]]);
      return [["MINVALUE", 1], ...ended];
    },
    // So that the planner sees that only the first partition is meant.
    rewrite: (sql) =>
      sql
        .replaceAll("j.ready AND", "j.finished_at = 0 AND j.ready AND")
        .replaceAll(
          "j.status = 'pending' AND NOT j.ready",
          "j.finished_at = 0 AND j.status = 'pending' AND NOT j.ready",
        )
        .replaceAll("j.status = 'running' ORDER", "j.finished_at = 0 AND j.status = 'running' ORDER")
        .replaceAll("j.status = 'running' AND", "j.finished_at = 0 AND j.status = 'running' AND")
        .replaceAll("WHERE j.ctid = taken.ctid", "WHERE j.finished_at = 0 AND j.ctid = taken.ctid")
        .replaceAll("j.id = o.id", "j.finished_at = 0 AND j.id = o.id"),
  },
};

/** Replaces the table of jobs by one with partitions, with the same columns and indexes. */
const divide = async (client, { key, partitions }, count) => {
  const { rows: indexes } = await client.query(
    `SELECT indexname AS name, indexdef AS sql FROM pg_indexes WHERE schemaname = 'leasehold' AND tablename = 'job'`,
  );
  await client.query(`ALTER TABLE leasehold.job RENAME TO job_before;
    CREATE TABLE leasehold.job (LIKE leasehold.job_before INCLUDING DEFAULTS INCLUDING IDENTITY) PARTITION BY RANGE (${key})`);
  for (const [n, [from, to]] of partitions(count).entries())
    await client.query(
      `CREATE TABLE leasehold.job_${n} PARTITION OF leasehold.job FOR VALUES FROM (${from}) TO (${to})`,
    );
  await client.query("DROP TABLE leasehold.job_before CASCADE");
  for (const { name, sql } of indexes) {
    const primary = name === "job_pkey" ? `(id${key === "id" ? "" : `, ${key}`})` : undefined;
    // Only keys that contain the partition's can be unique.
    await client.query(
      primary === undefined
        ? sql.replace("CREATE UNIQUE INDEX", "CREATE INDEX")
        : `ALTER TABLE leasehold.job ADD PRIMARY KEY ${primary}`,
    );
  }
};

const server = await startPostgres({
  durable: true,
  settings: { ...postgresSettings, max_locks_per_transaction: "256" },
});
const admin = new pg.Client({ connectionString: server.url });
await admin.connect();
let databases = 0;

const open = async ({ rewrite, ...layout }, count) => {
  const name = `partitions_${++databases}`;
  await admin.query(`CREATE DATABASE ${name}`);
  const url = new URL(server.url);
  url.pathname = `/${name}`;
  const pool = new pg.Pool({ connectionString: url.href, max: 10 });
  const provider = createPgPoolStateProvider({ pool });
  const known = new Map();
  const stateProvider = {
    ...provider,
    executeSql: (ctx, statement) => {
      let sql = known.get(statement.sql);
      if (sql === undefined) known.set(statement.sql, (sql = rewrite(statement.sql)));
      return provider.executeSql(ctx, { ...statement, sql });
    },
  };
  await (await createPgStateAdapter({ stateProvider: provider })).close();
  if (layout.key !== undefined) await divide(pool, layout, count);
  const stateAdapter = await createPgStateAdapter({ stateProvider });
  const leasehold = await createLeasehold({
    stateAdapter,
    jobTypes: defineUnionJobTypes(),
    statistics: false,
  });
  const close = async () => {
    await leasehold.close();
    await stateAdapter.close();
    await pool.end();
    await admin.query(`DROP DATABASE ${name} WITH (FORCE)`);
  };
  return { pool, leasehold, close };
};

const read = async ({ pool }) => {
  const {
    rows: [{ wal }],
  } = await pool.query("SELECT pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0')::float8 AS wal");
  return { wal, cpu: await readServerCpu(server.pid), at: performance.now() };
};

const measure = async (store, count, work) => {
  const before = await read(store);
  await work();
  const after = await read(store);
  return {
    rate: (count / (after.at - before.at)) * 1_000,
    cpu: ((after.cpu - before.cpu) / count) * 1e6,
    wal: (after.wal - before.wal) / count,
  };
};

const typeName = "no-op";
const start = async ({ leasehold }) => {
  for (let from = 0; from < jobs; from += bulkChunk)
    await leasehold.startJobSequences({
      sequences: Array.from({ length: Math.min(bulkChunk, jobs - from) }, (_, n) => ({
        typeName,
        input: { n: from + n, email: `user-${from + n}@example.com` },
      })),
    });
};

const drain = async ({ leasehold, pool }) => {
  let left = jobs;
  let onAll;
  const all = new Promise((resolve) => (onAll = resolve));
  const worker = await leasehold
    .createWorker()
    .implementJobType({
      typeName,
      process: async () => {
        if (--left === 0) onAll();
        return null;
      },
    })
    .start({ concurrency: 100 });
  await all;
  await worker.stop();
  const {
    rows: [{ open }],
  } = await pool.query("SELECT count(*)::int AS open FROM leasehold.job WHERE finished_at = 0");
  if (open > 0) throw new Error(`${open} jobs have not ended`);
};

const medians = (measured) =>
  Object.fromEntries(["rate", "cpu", "wal"].map((name) => [name, median(measured.map((one) => one[name]))]));

const report = (what, { rate, cpu, wal }) =>
  console.log(
    `${what.padEnd(34)} ${number(rate).padStart(9)} jobs/s ${number(cpu, 1).padStart(7)} µs of server CPU ` +
      `${number(wal).padStart(6)} B of log`,
  );

const settle = async ({ pool }) => {
  await pool.query("VACUUM ANALYZE leasehold.job");
  await admin.query("CHECKPOINT");
};

const counts = [1, 8, 32, 128];
const runs = [["one_table", 1], ...["by_id", "by_end"].flatMap((layout) => counts.map((n) => [layout, n]))];

const compareLayouts = async () => {
  const results = runs.map(() => ({ start: [], drain: [] }));
  for (let repetition = 0; repetition < repetitions; repetition += 1)
    for (const [place, [layout, count]] of runs.entries()) {
      const store = await open(layouts[layout], count);
      try {
        // The first turn makes the plans and the pages.
        await start(store);
        await drain(store);
        await settle(store);
        results[place].start.push(await measure(store, jobs, () => start(store)));
        results[place].drain.push(await measure(store, jobs, () => drain(store)));
      } finally {
        await store.close();
      }
    }
  for (const step of ["start", "drain"])
    for (const [place, [layout, count]] of runs.entries())
      report(`${step}, ${layout}, ${count}`, medians(results[place][step]));
};

// A tenth of what is kept goes. Of that, one job in a hundred has failed and is kept longer.
const shares = { completed: 0.99, failed: 0.01 };

const deleteRows = async () => {
  const store = await open(layouts.one_table, 1);
  await fillPostgres(store.pool, store.leasehold, rows, shares);
  await settle(store);
  const prune = () => store.leasehold.jobs.prune({ olderThanMs: Math.round(spanMs * 0.9) });
  report("delete row by row", await measure(store, rows / 10, prune));
  const vacuum = () => store.pool.query("VACUUM leasehold.job");
  report("… and the vacuum after that", await measure(store, rows / 10, vacuum));
  await store.close();
};

/** What has to stay moves on to the next partition: jobs that are kept longer, and those of trees that are still alive. */
const dropOldest = async (pool) => {
  const client = await pool.connect();
  await client.query("BEGIN; ALTER TABLE leasehold.job DETACH PARTITION leasehold.job_1");
  await client.query(
    `INSERT INTO leasehold.job SELECT (jsonb_populate_record(old, jsonb_build_object('finished_at', next.begins_at))).*
     FROM leasehold.job_1 AS old, (SELECT min(finished_at) AS begins_at FROM leasehold.job_2) AS next
     WHERE old.status = 'failed' OR EXISTS (
       SELECT FROM leasehold.job AS alive
       WHERE alive.root_sequence_id = old.root_sequence_id AND alive.root_sequence_id <> alive.id
     )`,
  );
  await client.query("DROP TABLE leasehold.job_1; COMMIT");
  client.release();
};

const dropPartition = async () => {
  const store = await open(layouts.by_end, 10);
  await fillPostgres(store.pool, store.leasehold, rows, shares);
  await settle(store);
  report("drop a partition", await measure(store, rows / 10, () => dropOldest(store.pool)));
  await store.close();
};

try {
  await compareLayouts();
  await deleteRows();
  await dropPartition();
} finally {
  await admin.end();
  await server.stop();
}
