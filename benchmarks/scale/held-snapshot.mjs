// Draining while a transaction holds an old snapshot, as `pg_dump` or a long report does, beside draining without one. For
// docs/design/0027-claim-cursors.md.
//
//   npm run build && node benchmarks/scale/held-snapshot.mjs [--jobs 100000] [--repetitions 3] [--groups 100]
//
// `--groups`: the jobs belong to so many groups. Claims of groups have no cursor.
import { parseArgs } from "node:util";
import pg from "pg";
import { createLeasehold, defineUnionJobTypes } from "../../packages/core/dist/index.js";
import { createPgPoolStateProvider, createPgStateAdapter } from "../../packages/postgres/dist/index.js";
import { startPostgres } from "../../packages/test-servers/dist/index.js";
import { readServerCpu } from "../process-cpu.mjs";
import { bulkChunk, postgresSettings } from "../settings.mjs";

const { values } = parseArgs({
  options: {
    jobs: { type: "string", default: "100000" },
    repetitions: { type: "string", default: "3" },
    groups: { type: "string" },
  },
});
const groups = values.groups === undefined ? undefined : Number(values.groups);
const jobs = Number(values.jobs);

const ways = [
  { concurrency: 10, prefetch: 40 },
  { concurrency: 100, prefetch: undefined },
];

const server = await startPostgres({ durable: true, settings: postgresSettings });

const drain = async ({ concurrency, prefetch }, isHeld, schema) => {
  const pool = new pg.Pool({ connectionString: server.url, max: 14 });
  const stateAdapter = await createPgStateAdapter({
    stateProvider: createPgPoolStateProvider({ pool }),
    schema,
  });
  const leasehold = await createLeasehold({ stateAdapter, jobTypes: defineUnionJobTypes() });
  const holder = new pg.Client({ connectionString: server.url });
  await holder.connect();
  await holder.query("BEGIN ISOLATION LEVEL REPEATABLE READ");
  if (isHeld) await holder.query("SELECT 1");
  for (let from = 0; from < jobs; from += bulkChunk) {
    const size = Math.min(bulkChunk, jobs - from);
    await leasehold.startJobSequences({
      sequences: Array.from({ length: size }, (_, n) => ({
        typeName: "plain",
        input: from + n,
        ...(groups === undefined ? {} : { group: `group ${n % groups}` }),
      })),
    });
  }
  let left = jobs;
  let done;
  const finished = new Promise((resolve) => (done = resolve));
  const cpuBefore = await readServerCpu(server.pid);
  const startedAt = performance.now();
  const worker = await leasehold
    .createWorker()
    .implementJobType({
      typeName: "plain",
      process: async () => {
        if (--left === 0) done();
        return null;
      },
    })
    .start({ concurrency, ...(prefetch === undefined ? {} : { prefetch }) });
  await finished;
  const seconds = (performance.now() - startedAt) / 1_000;
  const cpu = (await readServerCpu(server.pid)) - cpuBefore;
  await worker.stop();
  await leasehold.close();
  await holder.end();
  await pool.query(`DROP SCHEMA ${schema} CASCADE`);
  await pool.end();
  return { rate: Math.round(jobs / seconds), cpu: Math.round((cpu / jobs) * 1e7) / 10 };
};

try {
  for (let round = 0; round < Number(values.repetitions); round += 1) {
    for (const [index, way] of ways.entries()) {
      const free = await drain(way, false, `free_${round}_${index}`);
      const held = await drain(way, true, `held_${round}_${index}`);
      process.stdout.write(
        `concurrency ${way.concurrency}: ${free.rate} jobs/s without a snapshot, ${held.rate} with one ` +
          `(${(held.rate / free.rate).toFixed(2)} ×); server CPU ${free.cpu} and ${held.cpu} µs a job\n`,
      );
    }
  }
} finally {
  await server.stop();
}
