// Kills worker processes in the middle of their jobs, and checks by a ledger outside Leasehold's tables that no job was lost,
// that a job ran a second time only after its first lease had ended, and that no result of a lost lease was accepted.
//
//   npm run build && node packages/postgres/scripts/kill-workers.mjs
//     [--jobs 5000] [--workers 4] [--producers 2] [--kills 20] [--url postgres://…] [--json]
//
// Without --url it starts its own PostgreSQL. Exits with 1 when something is wrong.
import { fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { inspect, parseArgs } from "node:util";
import pg from "pg";
import { createPgPoolStateProvider, createPgStateAdapter } from "../dist/index.js";

const { values: options } = parseArgs({
  options: {
    jobs: { type: "string", default: "5000" },
    workers: { type: "string", default: "4" },
    producers: { type: "string", default: "2" },
    kills: { type: "string", default: "20" },
    url: { type: "string" },
    json: { type: "boolean", default: false },
  },
});
const jobs = Number(options.jobs);
const workers = Number(options.workers);
const producers = Number(options.producers);
const kills = Number(options.kills);
const leaseMs = 1_500;
const concurrency = 20;
const longestJobMs = 100;
const killEveryMs = 300;
const patienceMs = 300_000;

const startServer = async () => {
  const { startPostgres } = await import("@leasehold/test-servers");
  return startPostgres({ settings: { max_connections: "200" } });
};
const server = options.url === undefined ? await startServer() : undefined;
const url = options.url ?? server.url;
const schema = `kill_${process.pid}_${Date.now().toString(36)}`;
const pool = new pg.Pool({ connectionString: url, application_name: "judge", max: 3 });
const ask = async (sql, params = []) => (await pool.query(sql.replaceAll("$schema", schema), params)).rows;

const setUp = async () => {
  const adapter = await createPgStateAdapter({ stateProvider: createPgPoolStateProvider({ pool }), schema });
  await adapter.close();
  await ask(`CREATE TABLE $schema.acknowledged (job_id uuid PRIMARY KEY)`);
  await ask(`CREATE TABLE $schema.ledger (
    entry bigserial PRIMARY KEY, event text NOT NULL, job_id uuid NOT NULL, attempt int NOT NULL,
    lease_version int, worker text NOT NULL, claimed_at bigint NOT NULL)`);
};

const children = new Set();
let exits = 0;
const startProcess = (role, name, more = {}) => {
  const script = fileURLToPath(new URL("job-process.mjs", import.meta.url));
  const settings = { role, name, url, schema, leaseMs, concurrency, longestJobMs, ...more };
  const child = fork(script, [JSON.stringify(settings)]);
  children.add(child);
  child.once("exit", (code, signal) => {
    children.delete(child);
    // A process that ends before it was stopped has crashed.
    if (signal !== "SIGKILL" && code !== 0) exits += 1;
  });
  return child;
};

let named = 0;
const startWorker = async () => {
  named += 1;
  const child = startProcess("worker", `worker-${named}`);
  await once(child, "message");
  return child;
};

const connections = { worker: 0 };
const sampleConnections = async () => {
  const rows = await ask(
    `SELECT application_name AS name, count(*)::int AS count FROM pg_stat_activity
     WHERE application_name LIKE 'worker-%' GROUP BY 1`,
  );
  for (const { count } of rows) connections.worker = Math.max(connections.worker, count);
};

const countDeadlocks = async () => {
  const [{ deadlocks }] = await ask("SELECT sum(deadlocks)::int AS deadlocks FROM pg_stat_database");
  return deadlocks;
};

const countDone = async () => {
  const [{ done }] = await ask(
    "SELECT count(*)::int AS done FROM $schema.job WHERE status IN ('completed', 'failed')",
  );
  return done;
};

const run = async () => {
  const fleet = await Promise.all(Array.from({ length: workers }, startWorker));
  const deadlocksBefore = await countDeadlocks();
  const began = performance.now();
  const made = Array.from({ length: producers }, (_, index) => {
    const share = Math.floor(jobs / producers) + (index < jobs % producers ? 1 : 0);
    return once(startProcess("producer", `producer-${index}`, { jobs: share }), "exit");
  });

  let killed = 0;
  let producing = true;
  const produced = Promise.all(made).then(() => (producing = false));
  const replacements = [];
  const deadline = performance.now() + patienceMs;
  for (;;) {
    const done = await countDone();
    if (!producing && done >= jobs) break;
    if (performance.now() > deadline) throw new Error(`${done} of ${jobs} jobs done after all this time`);
    await sampleConnections();
    if (killed < kills && fleet.length > 0) {
      const [victim] = fleet.splice(Math.floor(Math.random() * fleet.length), 1);
      victim.kill("SIGKILL");
      killed += 1;
      replacements.push(startWorker().then((child) => fleet.push(child)));
    }
    await sleep(killEveryMs);
  }
  const seconds = (performance.now() - began) / 1_000;
  await Promise.all([produced, ...replacements]);
  const exited = fleet.map((child) => once(child, "exit"));
  for (const child of fleet) child.send("stop");
  await Promise.all(exited);
  const deadlocks = (await countDeadlocks()) - deadlocksBefore;
  return { killed, seconds, deadlocks };
};

/** Each names a kind of damage and finds the jobs that suffered it. */
const damages = {
  "acknowledged, but not completed": `SELECT a.job_id FROM $schema.acknowledged AS a
    LEFT JOIN $schema.job AS j ON j.id = a.job_id WHERE j.status IS DISTINCT FROM 'completed'`,
  "completed without having run": `SELECT j.id FROM $schema.job AS j
    WHERE NOT EXISTS (SELECT FROM $schema.ledger AS l WHERE l.job_id = j.id)`,
  "run twice under one lease": `SELECT job_id FROM $schema.ledger WHERE event = 'began'
    GROUP BY job_id, attempt HAVING count(*) > 1`,
  "claimed again before the lease had ended": `SELECT a.job_id FROM $schema.ledger AS a
    JOIN $schema.ledger AS b ON b.job_id = a.job_id AND b.attempt > a.attempt
    WHERE b.claimed_at < a.claimed_at + ${leaseMs}`,
  "completed by a lease that was not the last": `SELECT id FROM $schema.job
    WHERE output::int <> attempt OR lease_version <> attempt`,
  "completed in a transaction, but not with exactly one write": `SELECT j.id FROM $schema.job AS j
    WHERE j.type_name = 'transactional' AND ARRAY[j.attempt] IS DISTINCT FROM
      (SELECT array_agg(l.attempt) FROM $schema.ledger AS l WHERE l.job_id = j.id AND l.event = 'committed')`,
};

const judge = async () => {
  const found = {};
  for (const [damage, sql] of Object.entries(damages)) {
    const rows = await ask(sql);
    if (rows.length > 0) found[damage] = rows.length;
  }
  const [counts] = await ask(`SELECT
    (SELECT count(*)::int FROM $schema.acknowledged) AS acknowledged,
    (SELECT count(*)::int FROM $schema.ledger WHERE event = 'began') AS executions,
    (SELECT count(*)::int FROM $schema.job WHERE expired_leases > 0 OR attempt > 1) AS "jobsWithExpiredLeases"`);
  return { found, counts };
};

let failed = true;
try {
  await setUp();
  const { killed, seconds, deadlocks } = await run();
  const { found, counts } = await judge();
  const { acknowledged, executions, jobsWithExpiredLeases } = counts;
  const report = {
    jobs,
    workers,
    producers,
    kills: killed,
    acknowledged,
    executions,
    duplicates: executions - acknowledged,
    jobsWithExpiredLeases,
    seconds: Math.round(seconds * 10) / 10,
    jobsPerSecond: Math.round(jobs / seconds),
    connectionsPerWorker: connections.worker,
    deadlocks,
    diedOfSomethingElse: exits,
    damages: found,
  };
  process.stdout.write(options.json ? JSON.stringify(report) : `${inspect(report)}\n`);
  failed = Object.keys(found).length > 0 || acknowledged !== jobs || exits > 0 || deadlocks > 0;
} finally {
  for (const child of children) child.kill("SIGKILL");
  await ask("DROP SCHEMA IF EXISTS $schema CASCADE");
  await pool.end();
  await server?.stop();
}
process.exitCode = failed ? 1 : 0;
