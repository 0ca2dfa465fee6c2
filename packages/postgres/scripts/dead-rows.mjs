// The long form of src/load/dead-rows.test.ts: a transaction is idle with an old snapshot, so that no dead row can be removed,
// while a producer and a worker go on at a steady rate. Prints a line every ten seconds. The backlog must not grow.
//
//   npm run build && node packages/postgres/scripts/dead-rows.mjs [--minutes 15] [--rate 800] [--url postgres://…]
//
// Without --url it starts its own PostgreSQL. Exits with 1 when the worker has fallen behind.
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { createLeasehold, defineUnionJobTypes } from "leasehold";
import pg from "pg";
import { createPgPoolStateProvider, createPgStateAdapter } from "../dist/index.js";

const { values: options } = parseArgs({
  options: {
    minutes: { type: "string", default: "15" },
    rate: { type: "string", default: "800" },
    url: { type: "string" },
  },
});
const endsAfterMs = Number(options.minutes) * 60_000;
const rate = Number(options.rate);
const reportEveryMs = 10_000;
const produceEveryMs = 100;
// Two seconds of work, whatever the rate.
const toleratedBacklog = rate * 2;

const startServer = async () => {
  const { startPostgres } = await import("@leasehold/test-servers");
  return startPostgres({ settings: { shared_buffers: "'256MB'" } });
};
const server = options.url === undefined ? await startServer() : undefined;
const url = options.url ?? server.url;
const schema = `pinned_${process.pid}_${Date.now().toString(36)}`;
const pool = new pg.Pool({ connectionString: url });
const stateAdapter = await createPgStateAdapter({
  stateProvider: createPgPoolStateProvider({ pool }),
  schema,
});

let claims = [];
let completed = 0;
const leasehold = await createLeasehold({
  stateAdapter,
  jobTypes: defineUnionJobTypes(),
  observabilityAdapter: { claimBatch: ({ durationMs }) => claims.push(durationMs) },
});

const pinning = new pg.Client({ connectionString: url });
await pinning.connect();
await pinning.query("BEGIN ISOLATION LEVEL REPEATABLE READ");
await pinning.query("SELECT 1");

const worker = await leasehold
  .createWorker()
  .implementJobType({
    typeName: "work",
    process: async () => {
      completed += 1;
      return null;
    },
  })
  .start({ concurrency: 50, pollIntervalMs: 100 });

const began = performance.now();
let started = 0;
let producing = true;
const produce = async () => {
  while (producing) {
    const wanted = Math.floor((rate * (performance.now() - began)) / 1_000) - started;
    if (wanted > 0) {
      const sequences = Array.from({ length: wanted }, () => ({ typeName: "work", input: null }));
      await leasehold.startJobSequences({ sequences });
      started += wanted;
    }
    await sleep(produceEveryMs);
  }
};
const produced = produce();

const percentile = (values, share) =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length * share)]?.toFixed(1) ?? "-";

let worstBacklog = 0;
while (performance.now() - began < endsAfterMs) {
  await sleep(reportEveryMs);
  const { rows } = await pool.query(
    "SELECT n_dead_tup AS dead FROM pg_stat_user_tables WHERE schemaname = $1 AND relname = 'job'",
    [schema],
  );
  const backlog = started - completed;
  worstBacklog = Math.max(worstBacklog, backlog);
  const seconds = Math.round((performance.now() - began) / 1_000);
  process.stdout.write(
    `${seconds} s: ${completed} done, backlog ${backlog}, ${rows[0].dead} dead rows, claims ${percentile(claims, 0.5)} ms (p95 ${percentile(claims, 0.95)})\n`,
  );
  claims = [];
}
producing = false;
await produced;
await worker.stop();
await pinning.end();
await pool.query(`DROP SCHEMA ${schema} CASCADE`);
await pool.end();
await server?.stop();
process.exitCode = worstBacklog > toleratedBacklog ? 1 : 0;
