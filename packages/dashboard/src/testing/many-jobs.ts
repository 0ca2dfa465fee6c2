import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createPgPoolStateProvider, createPgStateAdapter } from "@leasehold/postgres";
import { createSqliteStateAdapter } from "@leasehold/sqlite";
import { startPostgres } from "@leasehold/test-servers";
import { createLeasehold, defineUnionJobTypes } from "leasehold";
import type { AnyStateAdapter } from "leasehold/adapter";
import Database from "libsql";
import pg from "pg";
import { createDashboard } from "../create-dashboard.ts";
import { rights } from "../http/rights.ts";
import { clientOf } from "./open-shop.ts";

interface ManyTypes {
  [typeName: string]: { input: unknown; output: unknown };
}

/** Shared with the benchmarks: copies of jobs that Leasehold wrote itself, in every state. */
interface Filler {
  fillPostgres(pool: pg.Pool, leasehold: unknown, jobs: number): Promise<void>;
  fillSqlite(db: unknown, leasehold: unknown, jobs: number): Promise<void>;
}

const loadFiller = async (): Promise<Filler> =>
  (await import(new URL("../../../../benchmarks/scale/fill.mjs", import.meta.url).href)) as Filler;

/** Half of the failed jobs have one of five causes, the others none: they were cancelled. */
const giveCauses = (table: string, random: string): string =>
  `UPDATE ${table} SET fingerprint = 'f' || (${random}), failure_reason = 'attempts_exhausted'
   WHERE status = 'failed' AND ${random} < 5`;

/** What five types of jobs leave behind in ninety days: the latest hour by ten seconds, two days by the minute, then by hours. */
const buckets = (series: (count: number) => string, table: string): string[] => {
  const counts = JSON.stringify({
    created: 12,
    completed: 11,
    failed: { attempts_exhausted: 1 },
    retried: 1,
  });
  const now = Date.now();
  return [
    [10_000, 360],
    [60_000, 2_880],
    [3_600_000, 2_160],
  ].map(
    ([width, count]) =>
      `INSERT INTO ${table} (bucket_ms, starts_at, queue, type_name, deployment, process_id, counts)
       SELECT ${width}, (CAST(${Math.floor(now / width!)} AS bigint) - n.n) * ${width}, 'default', t.name, '', '', '${counts}'
       FROM ${series(count!)} CROSS JOIN (VALUES ${["mail", "invoice", "resize", "import", "sync"].map((name) => `('${name}')`).join(", ")}) AS t (name)`,
  );
};

export interface ManyJobs {
  readonly dashboard: ReturnType<typeof createDashboard>;
  readonly leasehold: Awaited<ReturnType<typeof open>>["leasehold"];
  read: ReturnType<typeof clientOf>["read"];
  /** Statements that took longer than this on average, with how long. Empty where the store does not tell. */
  slowStatements(ms: number): Promise<string[]>;
  close(): Promise<void>;
}

const open = async (stateAdapter: AnyStateAdapter) => {
  const leasehold = await createLeasehold({ stateAdapter, jobTypes: defineUnionJobTypes<ManyTypes>() });
  const dashboard = createDashboard({
    leasehold,
    stateAdapter,
    authorize: () => ({ user: "grace", can: rights }),
  });
  return { leasehold, dashboard, read: clientOf(dashboard, "").read };
};

export const openManyInPostgres = async (jobs: number): Promise<ManyJobs> => {
  const server = await startPostgres({
    settings: {
      shared_buffers: "'512MB'",
      max_wal_size: "'4GB'",
      shared_preload_libraries: "'pg_stat_statements'",
    },
  });
  const pool = new pg.Pool({ connectionString: server.url, max: 10 });
  const stateAdapter = await createPgStateAdapter({ stateProvider: createPgPoolStateProvider({ pool }) });
  const shop = await open(stateAdapter);
  const { fillPostgres } = await loadFiller();
  await fillPostgres(pool, shop.leasehold, jobs);
  await pool.query(giveCauses("leasehold.job", "(hashtext(id::text) & 7)"));
  const series = (count: number): string => `generate_series(1, ${count}) AS n (n)`;
  for (const statement of buckets(series, "leasehold.statistics_bucket")) await pool.query(statement);
  await pool.query("VACUUM ANALYZE leasehold.job");
  await pool.query("VACUUM ANALYZE leasehold.statistics_bucket");
  await pool.query("CREATE EXTENSION pg_stat_statements");
  // What filled it is not what is measured.
  await pool.query("SELECT pg_stat_statements_reset()");
  return {
    ...shop,
    slowStatements: async (ms) => {
      const { rows } = await pool.query<{ mean: number; query: string }>(
        `SELECT mean_exec_time AS mean, query FROM pg_stat_statements
         WHERE query LIKE '%leasehold%' AND mean_exec_time > $1 ORDER BY mean_exec_time DESC`,
        [ms],
      );
      return rows.map(({ mean, query }) => `${mean.toFixed(1)} ms: ${query}`);
    },
    close: async () => {
      await shop.dashboard.close();
      await shop.leasehold.close();
      await stateAdapter.close();
      await pool.end();
      await server.stop();
    },
  };
};

export const openManyInSqlite = async (jobs: number): Promise<ManyJobs> => {
  const folder = await mkdtemp(join(tmpdir(), "leasehold-many-"));
  const file = join(folder, "jobs.db");
  const stateAdapter = await createSqliteStateAdapter({ file });
  const shop = await open(stateAdapter);
  const db = new Database(file);
  await (await loadFiller()).fillSqlite(db, shop.leasehold, jobs);
  db.exec(giveCauses("leasehold_job", "(seq % 10)"));
  const series = (count: number): string =>
    `(WITH RECURSIVE s (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < ${count}) SELECT n FROM s) AS n`;
  for (const statement of buckets(series, "leasehold_statistics_bucket"))
    db.exec(
      statement.replace(/\(VALUES (.*)\) AS t \(name\)/, "(SELECT column1 AS name FROM (VALUES $1)) AS t"),
    );
  db.exec("ANALYZE");
  db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
  db.close();
  return {
    ...shop,
    slowStatements: async () => [],
    close: async () => {
      await shop.dashboard.close();
      await shop.leasehold.close();
      await stateAdapter.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
};
