// What depends on how many jobs are kept: pruning, and what operators look at. Each store is filled with jobs, nearly all of
// them finished, and then measured.
//
//   npm run build && node benchmarks/scale/run.mjs [--store postgres,sqlite] [--jobs 100000,1000000] [--prune 100000]
import { mkdtemp, rm, stat } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import { createLeasehold, defineUnionJobTypes } from "leasehold";
import { readServerCpu } from "../process-cpu.mjs";
import { fillPostgres, fillSqlite, spanMs } from "./fill.mjs";
import { measureReads } from "./reads.mjs";

const require = createRequire(new URL("../../packages/sqlite/package.json", import.meta.url));

const openPostgres = async () => {
  const { default: pg } = await import("pg");
  const { createPgPoolStateProvider, createPgStateAdapter } =
    await import("../../packages/postgres/dist/index.js");
  const { startPostgres } = await import("../../packages/test-servers/dist/index.js");
  const { postgresSettings } = await import("../settings.mjs");
  const server = await startPostgres({ durable: true, settings: postgresSettings });
  const pool = new pg.Pool({ connectionString: server.url, max: 5 });
  const stateAdapter = await createPgStateAdapter({ stateProvider: createPgPoolStateProvider({ pool }) });
  const size = async () =>
    Number((await pool.query("SELECT pg_total_relation_size('leasehold.job') AS bytes")).rows[0].bytes);
  return {
    stateAdapter,
    url: server.url,
    fill: async (leasehold, jobs) => {
      await fillPostgres(pool, leasehold, jobs);
      await pool.query("VACUUM ANALYZE leasehold.job");
      await pool.query("CHECKPOINT");
    },
    serverCpu: () => readServerCpu(server.pid),
    // As autovacuum does after so many deletions, at a moment of its own choosing.
    tidy: () => pool.query("VACUUM leasehold.job"),
    size,
    close: async () => {
      await stateAdapter.close();
      await pool.end();
      await server.stop();
    },
  };
};

const openSqlite = async () => {
  const { createSqliteStateAdapter } = await import("../../packages/sqlite/dist/index.js");
  const folder = await mkdtemp(join(tmpdir(), "leasehold-scale-"));
  const file = join(folder, "jobs.db");
  const stateAdapter = await createSqliteStateAdapter({ file });
  return {
    stateAdapter,
    url: `sqlite:${file}`,
    fill: async (leasehold, jobs) => {
      const db = new (require("libsql"))(file);
      await fillSqlite(db, leasehold, jobs);
      db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
      db.close();
    },
    serverCpu: async () => 0,
    tidy: async () => {},
    size: async () => (await stat(file)).size,
    close: async () => {
      await stateAdapter.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
};

const stores = { postgres: openPostgres, sqlite: openSqlite };

const megabytes = (bytes) => `${Math.round(bytes / 1e6).toLocaleString("en")} MB`;

/** Removes the oldest jobs, and says how fast. */
const measurePruning = async (leasehold, store, jobs, prune) => {
  const olderThanMs = Math.round(spanMs * (1 - Math.min(prune / jobs, 0.5)));
  const startedAt = performance.now();
  const cpu = process.cpuUsage();
  const serverCpu = await store.serverCpu();
  const { deletedJobs } = await leasehold.jobs.prune({ olderThanMs });
  const seconds = (performance.now() - startedAt) / 1_000;
  const { user, system } = process.cpuUsage(cpu);
  const microseconds = user + system + ((await store.serverCpu()) - serverCpu) * 1e6;
  return { deletedJobs, rate: deletedJobs / seconds, cpuPerJob: microseconds / deletedJobs };
};

/** @param {{ store: string, jobs: number, prune: number, report: (line: string) => void }} options */
export const measureScale = async ({ store: name, jobs, prune, report }) => {
  const store = await stores[name]();
  try {
    const leasehold = await createLeasehold({
      stateAdapter: store.stateAdapter,
      jobTypes: defineUnionJobTypes(),
      storeDeadlineMs: 120_000,
    });
    await store.fill(leasehold, jobs);
    const label = `${name.padEnd(8)} ${jobs.toLocaleString("en").padStart(10)} jobs`;
    for (const { what, ms } of await measureReads(leasehold, store))
      report(`${label}  ${what.padEnd(38)} ${ms.toFixed(1).padStart(9)} ms`);
    const before = await store.size();
    const { deletedJobs, rate, cpuPerJob } = await measurePruning(leasehold, store, jobs, prune);
    report(
      `${label}  ${`prune ${deletedJobs.toLocaleString("en")}`.padEnd(38)} ${Math.round(rate).toLocaleString("en").padStart(9)} jobs/s, ${cpuPerJob.toFixed(1)} µs of CPU each`,
    );
    // What was freed is used again: as many new jobs do not make the store larger.
    await store.tidy();
    await store.fill(leasehold, deletedJobs);
    report(
      `${label}  size before, and with as many new jobs: ${megabytes(before)}, ${megabytes(await store.size())}`,
    );
    return rate;
  } finally {
    await store.close();
  }
};

const main = async () => {
  const { values } = parseArgs({
    options: {
      store: { type: "string", default: "postgres,sqlite" },
      jobs: { type: "string", default: "100000,1000000" },
      prune: { type: "string", default: "100000" },
    },
  });
  for (const store of values.store.split(","))
    for (const jobs of values.jobs.split(","))
      await measureScale({ store, jobs: Number(jobs), prune: Number(values.prune), report: console.log });
};

if (import.meta.url === pathToFileURL(process.argv[1]).href) await main();
