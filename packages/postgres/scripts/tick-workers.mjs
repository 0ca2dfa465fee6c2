// Lets several processes tick the same recurring jobs, kills some of them meanwhile, and checks in the table of jobs that every
// time of every recurring job has started exactly one job. Says how late they were.
//
//   npm run build && node packages/postgres/scripts/tick-workers.mjs
//     [--recurring 1000] [--times 5] [--every 2000] [--workers 4] [--kills 10] [--url postgres://…] [--json]
//
// Without --url it starts its own PostgreSQL. Exits with 1 when something is wrong.
import { fork } from "node:child_process";
import { once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import pg from "pg";
import { createLeasehold, defineUnionJobTypes } from "leasehold";
import { createPgPoolStateProvider, createPgStateAdapter } from "../dist/index.js";

const { values: options } = parseArgs({
  options: {
    recurring: { type: "string", default: "1000" },
    times: { type: "string", default: "5" },
    every: { type: "string", default: "2000" },
    workers: { type: "string", default: "4" },
    kills: { type: "string", default: "10" },
    url: { type: "string" },
    json: { type: "boolean", default: false },
  },
});
const [recurring, times, everyMs, workers, kills] = ["recurring", "times", "every", "workers", "kills"].map(
  (name) => Number(options[name]),
);
const patienceMs = 120_000;
const putsAtOnce = 20;

const startServer = async () => {
  const { startPostgres } = await import("@leasehold/test-servers");
  return startPostgres({ settings: { max_connections: "200" } });
};
const server = options.url === undefined ? await startServer() : undefined;
const url = options.url ?? server.url;
const schema = `tick_${process.pid}_${Date.now().toString(36)}`;
const pool = new pg.Pool({ connectionString: url, max: putsAtOnce });
const ask = async (sql) => (await pool.query(sql.replaceAll("$schema", schema))).rows;

let expected = 0;

/** All of them have the same number of times, spread over the interval, from a moment on when everybody is ready. */
const putAll = async () => {
  const stateAdapter = await createPgStateAdapter({
    stateProvider: createPgPoolStateProvider({ pool }),
    schema,
  });
  const leasehold = await createLeasehold({ stateAdapter, jobTypes: defineUnionJobTypes() });
  const soon = (await leasehold.getTime()).getTime() + 3_000 + recurring * 10;
  const put = async (index) => {
    const anchor = soon + Math.floor((index * everyMs) / recurring);
    const endAt = new Date(anchor + times * everyMs - 1);
    const { nextAt } = await leasehold.recurring.put({
      id: `tick-${index}`,
      everyMs,
      startAt: new Date(anchor),
      endAt,
      // However late: every time has its job.
      overlap: "allow",
      catchUp: "all",
      job: { typeName: "tick", input: null },
    });
    // On a slow machine some of its times are over by now.
    if (nextAt !== null) expected += Math.floor((endAt - nextAt) / everyMs) + 1;
  };
  for (let from = 0; from < recurring; from += putsAtOnce)
    await Promise.all(
      Array.from({ length: Math.min(putsAtOnce, recurring - from) }, (_, index) => put(from + index)),
    );
};

const children = new Set();
let crashes = 0;
const startWorker = async () => {
  const script = fileURLToPath(new URL("tick-process.mjs", import.meta.url));
  const child = fork(script, [JSON.stringify({ url, schema })]);
  children.add(child);
  child.once("exit", (code, signal) => {
    children.delete(child);
    if (signal !== "SIGKILL" && code !== 0) crashes += 1;
  });
  await once(child, "message");
};

const isOver = async () => {
  const [{ left }] = await ask(
    `SELECT count(*)::int AS left FROM $schema.recurring_job WHERE runs_at IS NOT NULL`,
  );
  return left === 0;
};

const killSome = async () => {
  for (let killed = 0; killed < kills && !(await isOver()); killed += 1) {
    await sleep((times * everyMs) / kills);
    const [victim] = [...children].sort(() => Math.random() - 0.5);
    victim?.kill("SIGKILL");
    await startWorker();
  }
};

const judge = async () => {
  const [row] = await ask(`
    WITH started AS (
      SELECT recurrence::jsonb ->> 'id' AS id, (recurrence::jsonb ->> 'nominalAt')::bigint AS nominal, created_at
      FROM $schema.job WHERE recurrence IS NOT NULL
    )
    SELECT count(*)::int AS jobs, count(DISTINCT (id, nominal))::int AS distinct_times,
      percentile_cont(0.5) WITHIN GROUP (ORDER BY created_at - nominal)::int AS late_p50,
      percentile_cont(0.99) WITHIN GROUP (ORDER BY created_at - nominal)::int AS late_p99,
      max(created_at - nominal)::int AS late_max
    FROM started`);
  const [{ counted }] = await ask(`
    SELECT sum((tick_history::jsonb #>> '{counts,started}')::int + (tick_history::jsonb #>> '{counts,caught_up}')::int)::int AS counted
    FROM $schema.recurring_job`);
  return {
    expected,
    jobs: row.jobs,
    twice: row.jobs - row.distinct_times,
    onRecord: counted,
    lateMs: { p50: row.late_p50, p99: row.late_p99, max: row.late_max },
    crashes,
  };
};

try {
  await putAll();
  await Promise.all(Array.from({ length: workers }, startWorker));
  await killSome();
  const deadline = Date.now() + patienceMs;
  while (!(await isOver()) && Date.now() < deadline) await sleep(100);
  const result = await judge();
  process.stdout.write(`${JSON.stringify(result, null, options.json ? 0 : 2)}\n`);
  const isRight =
    result.jobs === result.expected && result.onRecord === result.expected && result.twice === 0;
  process.exitCode = isRight && crashes === 0 ? 0 : 1;
} finally {
  const ended = [...children].map((child) => once(child, "exit"));
  for (const child of children) child.send("stop");
  await Promise.all(ended);
  await ask(`DROP SCHEMA IF EXISTS $schema CASCADE`);
  await pool.end();
  await server?.stop();
}
