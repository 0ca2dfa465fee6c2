// Whether tens of millions of other jobs in the table slow anything down: the phases of the comparison in an empty table and
// in a full one by turns, then what operators do in the full one, then the churn of a day.
//
//   npm run bench -- --only rows [--rows 10000000] [--repetitions 3]
import pg from "pg";
import { createLeasehold, defineUnionJobTypes } from "../../packages/core/dist/index.js";
import { createPgPoolStateProvider, createPgStateAdapter } from "../../packages/postgres/dist/index.js";
import { median } from "../medians.mjs";
import { phases } from "../phases.mjs";
import { startServers } from "../servers.mjs";
import { scales } from "../settings.mjs";
import { measureChurn } from "./churn.mjs";
import { fillPostgres, spanMs } from "./fill.mjs";
import { measureReads } from "./reads.mjs";

/** Nothing is runnable, so that a drain knows when it has come to the end. */
const shares = { completed: 0.95, failed: 0.02, later: 0.02, blocked: 0.01 };

const measuredPhases = ["start_single", "start_bulk", "drain_c100", "drain_tx", "latency"];

const number = (value, digits = 0) =>
  value.toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
const gigabytes = (bytes) => `${number(bytes / 1e9, 1)} GB`;

const openStore = async (url) => {
  const pool = new pg.Pool({ connectionString: url, max: 10 });
  const stateAdapter = await createPgStateAdapter({ stateProvider: createPgPoolStateProvider({ pool }) });
  const leasehold = await createLeasehold({
    stateAdapter,
    jobTypes: defineUnionJobTypes(),
    storeDeadlineMs: 120_000,
  });
  const close = async () => {
    await leasehold.close();
    await stateAdapter.close();
    await pool.end();
  };
  return { pool, url, stateAdapter, leasehold, close };
};

const fill = async ({ pool, leasehold }, rows, report) => {
  const startedAt = performance.now();
  await fillPostgres(pool, leasehold, rows, shares);
  await pool.query("VACUUM (ANALYZE, FREEZE) leasehold.job");
  const { bytes } = (await pool.query("SELECT pg_total_relation_size('leasehold.job')::float8 AS bytes"))
    .rows[0];
  const seconds = (performance.now() - startedAt) / 1_000;
  report(
    `${number(rows)} jobs: ${gigabytes(bytes)}, ${number(bytes / rows)} bytes each, filled in ${number(seconds)} s`,
  );
};

/** What a phase has left behind would be in the way of the next. */
const clean = async (url) => {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query("DELETE FROM leasehold.job WHERE ready; DROP TABLE public.user_write");
  await client.end();
};

const measurePhase = (servers, database, scale, phase) =>
  phases[phase].run({
    servers,
    database,
    scale,
    system: "leasehold",
    options: {
      system: "leasehold",
      postgresUrl: database.url,
      redisPort: servers.redisPort,
      timeoutSeconds: scale.secondsPerStep,
    },
  });

const inEmptyTable = async (servers, scale, phase) => {
  const database = await servers.newDatabase();
  try {
    return await measurePhase(servers, database, scale, phase);
  } finally {
    await database.drop();
  }
};

const inFullTable = async (servers, scale, phase, database) => {
  const measured = await measurePhase(servers, database, scale, phase);
  await clean(database.url);
  return measured;
};

/** How many times as fast it is in the full table. Latencies count the other way round. */
const ratioOf = ({ empty, full }) =>
  empty.rate === undefined ? empty.p50 / full.p50 : full.rate / empty.rate;

const figure = ({ rate, p50, p99 }) =>
  rate === undefined ? `${p50} ms (p99 ${p99})` : `${number(rate)} jobs/s`;

const comparePhases = async (servers, database, scale, report) => {
  const pairs = Object.fromEntries(measuredPhases.map((phase) => [phase, []]));
  for (let rep = 0; rep < scale.repetitions; rep += 1)
    for (const phase of measuredPhases) {
      const pair = {};
      for (const place of rep % 2 === 0 ? ["empty", "full"] : ["full", "empty"])
        pair[place] =
          place === "empty"
            ? await inEmptyTable(servers, scale, phase)
            : await inFullTable(servers, scale, phase, database);
      pairs[phase].push(pair);
      report(
        `${phase.padEnd(14)} empty ${figure(pair.empty).padStart(22)}   full ${figure(pair.full).padStart(22)}   ` +
          `${ratioOf(pair).toFixed(2)} ×   server CPU ${pair.empty.server_cpu_us} → ${pair.full.server_cpu_us} µs`,
      );
    }
  report("");
  for (const [phase, measured] of Object.entries(pairs))
    report(`${phase.padEnd(14)} ${median(measured.map(ratioOf)).toFixed(2)} × (median)`);
};

const time = async (what, count, work, report) => {
  const startedAt = performance.now();
  const done = await work();
  const ms = performance.now() - startedAt;
  report(`${what.padEnd(40)} ${ms.toFixed(1).padStart(9)} ms${count ? `, ${count(done, ms)}` : ""}`);
};

const operate = async (store, rows, report) => {
  for (const { what, ms } of await measureReads(store.leasehold, store))
    report(`${what.padEnd(40)} ${ms.toFixed(1).padStart(9)} ms`);
  const { leasehold } = store;
  const rate = (jobs, ms) => `${number((jobs / ms) * 1_000)} jobs/s`;
  const filter = { typeName: "mail", status: "failed" };
  await time(
    "redrive by filter, dry run",
    undefined,
    () => leasehold.jobs.redrive({ filter, dryRun: true }),
    report,
  );
  await time(
    "redrive by filter",
    ({ changed }, ms) => `${number(changed.length)} jobs, ${rate(changed.length, ms)}`,
    () => leasehold.jobs.redrive({ filter }),
    report,
  );
  const pruned = Math.min(100_000, rows / 10);
  await time(
    "prune the oldest",
    ({ deletedJobs }, ms) => `${number(deletedJobs)} jobs, ${rate(deletedJobs, ms)}`,
    () => leasehold.jobs.prune({ olderThanMs: Math.round(spanMs * (1 - pruned / rows)) }),
    report,
  );
  await store.pool.query("DELETE FROM leasehold.job WHERE ready");
  return pruned / rows;
};

/** @param {{ rows: number, churn: number, quick?: boolean, repetitions?: number, report: (line: string) => void }} options */
export const measureRows = async ({ rows, churn, quick = false, repetitions, report }) => {
  const scale = { ...(quick ? scales.quick : scales.full) };
  if (repetitions !== undefined) scale.repetitions = repetitions;
  const servers = await startServers();
  for (const signal of ["SIGINT", "SIGTERM"])
    process.once(signal, () => void servers.stop().finally(() => process.exit(1)));
  try {
    const database = await servers.newDatabase();
    const store = await openStore(database.url);
    try {
      await fill(store, rows, report);
      await comparePhases(servers, database, scale, report);
      report("");
      const pruned = await operate(store, rows, report);
      report("");
      if (churn > 0) await measureChurn({ ...store, servers, rows, pruned, jobs: churn, report });
    } finally {
      await store.close();
    }
  } finally {
    await servers.stop();
  }
};
