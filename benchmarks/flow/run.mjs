// What groups and rules cost, on PostgreSQL: the same drain with and without them, and whether limits, rates and turns hold.
//
//   npm run build && node benchmarks/flow/run.mjs [--jobs 20000] [--only flow_1,flow_race]
//
// Every phase but the first is given as a ratio to `drain`, measured by the same loop in the same run. The CPU time of the
// server, in microseconds per job, is less disturbed by other work on the machine than the rate is.
import { fork } from "node:child_process";
import { randomUUID } from "node:crypto";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";
import pg from "pg";
import { createPgPoolStateProvider, createPgStateAdapter } from "../../packages/postgres/dist/index.js";
import { startPostgres } from "../../packages/test-servers/dist/index.js";
import { readServerCpu } from "../process-cpu.mjs";
import { postgresSettings } from "../settings.mjs";
import { claimJobs, completeJobs, newJob, percentile, queue, startJobs, typeName } from "./loop.mjs";

const raceProgram = fileURLToPath(new URL("race.mjs", import.meta.url));
const batch = 200;

/** A store of its own for each phase. */
const openStore = async ({ url, pid }) => {
  const schema = `flow_${randomUUID().slice(0, 8)}`;
  const pool = new pg.Pool({ connectionString: url, max: 4 });
  const adapter = await createPgStateAdapter({ stateProvider: createPgPoolStateProvider({ pool }), schema });
  return {
    adapter,
    schema,
    pool,
    pid,
    rule: (change) => adapter.limits.setRule({ queue, typeName, change }),
    close: async () => {
      await adapter.close();
      await pool.query(`DROP SCHEMA ${schema} CASCADE`);
      await pool.end();
    },
  };
};

/** How fast the work was done, and how much CPU time it took the server. */
const measured = async ({ pid }, jobs, work) => {
  const cpuBefore = await readServerCpu(pid);
  const startedAt = performance.now();
  const found = await work();
  const rate = (jobs / (performance.now() - startedAt)) * 1_000;
  return { rate, serverCpuUs: (((await readServerCpu(pid)) - cpuBefore) / jobs) * 1e6, ...found };
};

/** Claims and completes until nothing is left. */
const drain = (store, jobs) =>
  measured(store, jobs, async () => {
    const waits = [];
    for (let done = 0; done < jobs;) {
      const claimedAt = performance.now();
      const claimed = await claimJobs(store.adapter, batch);
      waits.push(performance.now() - claimedAt);
      await completeJobs(store.adapter, claimed);
      done += claimed.length;
    }
    const claimUs = (waits.reduce((sum, wait) => sum + wait, 0) / jobs) * 1_000;
    return { claimUs, claimP99: percentile(waits, 0.99) };
  });

const groupOf = (groups) => (n) => (groups === 0 ? {} : { group: `group-${n % groups}` });

const drainPhase =
  (groups, change) =>
  async (store, { jobs }) => {
    if (change !== undefined) await store.rule(change);
    await startJobs(store.adapter, jobs, groupOf(groups(jobs)));
    await store.pool.query(`VACUUM ANALYZE ${store.schema}.job`);
    return drain(store, jobs);
  };

const perGroup = (concurrency) => ({ perGroup: { concurrency, rate: null } });

/** Beside a group that is full, with ever so many jobs. */
const hot = async (store, { jobs, pending }) => {
  await store.rule(perGroup(50));
  await startJobs(store.adapter, 50, () => ({ group: "hot" }));
  await claimJobs(store.adapter, 50, { leaseMs: 3_600_000 });
  await startJobs(store.adapter, pending, () => ({ group: "hot" }));
  return drainPhase(() => 100)(store, { jobs });
};

const startPhase =
  (groups) =>
  async (store, { jobs }) =>
    measured(store, jobs, () => startJobs(store.adapter, jobs, groupOf(groups)));

/** Four processes and a limit of three: how many run is looked at all the time. */
const race = async ({ adapter, pool, schema, rule }, { url }) => {
  await rule(perGroup(3));
  const jobs = 300;
  await startJobs(adapter, jobs, () => ({ group: "a" }));
  const children = Array.from({ length: 4 }, () => fork(raceProgram, [url, schema]));
  let [looks, most, left] = [0, 0, jobs];
  while (left > 0) {
    const { rows } = await pool.query(
      `SELECT count(*) FILTER (WHERE status = 'running')::int AS running,
         count(*) FILTER (WHERE status <> 'completed')::int AS left FROM ${schema}.job`,
    );
    looks += 1;
    most = Math.max(most, rows[0].running);
    left = rows[0].left;
  }
  for (const child of children) child.kill();
  const { counters } = await adapter.limits.repairCounters({ repair: false });
  return { most, looks, wrongCounters: counters.length };
};

/** A thousand in a second, for as many seconds. */
const rate = async ({ adapter, rule }, { seconds }) => {
  const limit = 1_000;
  await rule({ rate: { limit, perMs: 1_000, burst: 50 } });
  await startJobs(adapter, limit * (seconds + 1), () => ({}));
  const moments = [];
  const endAt = Date.now() + seconds * 1_000;
  while (Date.now() < endAt) {
    const jobs = await claimJobs(adapter, batch);
    moments.push(...jobs.map(({ lastAttemptAt }) => lastAttemptAt));
    if (jobs.length > 0) await completeJobs(adapter, jobs);
  }
  let [most, from] = [0, 0];
  for (const [place, moment] of moments.entries()) {
    while (moments[from] <= moment - 1_000) from += 1;
    most = Math.max(most, place - from + 1);
  }
  return { mostInASecond: most, mean: moments.length / seconds };
};

/** How long the jobs of 99 small groups wait, beside one with a great many and without it. */
const fair = async (store, { pending, seconds }) => {
  const waitsBeside = async (backlog) => {
    if (backlog > 0) await startJobs(store.adapter, backlog, () => ({ group: "large" }));
    const waits = [];
    const endAt = Date.now() + seconds * 500;
    for (let n = 0; Date.now() < endAt; n += 1) {
      const jobs = Array.from({ length: 10 }, (_, i) => newJob({ group: `small-${(n * 10 + i) % 99}` }));
      await store.adapter.createJobs({ jobs });
      for (let look = 0; look < 2; look += 1) {
        const claimed = await claimJobs(store.adapter, batch);
        for (const { group, createdAt, lastAttemptAt } of claimed)
          if (group !== "large") waits.push(lastAttemptAt - createdAt);
        await completeJobs(store.adapter, claimed);
      }
    }
    return percentile(waits, 0.99);
  };
  const alone = await waitsBeside(0);
  const beside = await waitsBeside(pending);
  return { p99Alone: alone, p99Beside: beside };
};

export const phases = {
  drain: drainPhase(() => 0),
  flow_off: drainPhase(() => 0),
  flow_1: drainPhase(() => 1, perGroup(100_000)),
  flow_100: drainPhase(() => 100, perGroup(50)),
  flow_100k: drainPhase((jobs) => jobs, perGroup(1)),
  flow_hot: hot,
  flow_race: race,
  flow_rate: rate,
  flow_fair: fair,
  start_bulk: startPhase(0),
  start_grouped: startPhase(100),
};

const baselines = {
  flow_off: "drain",
  flow_1: "drain",
  flow_100: "drain",
  flow_100k: "drain",
  flow_hot: "flow_100",
  start_grouped: "start_bulk",
};

/** @param {{ jobs: number, pending: number, seconds: number, only?: readonly string[], report: (line: string) => void }} options */
export const measureFlow = async ({ only = Object.keys(phases), report, ...scale }) => {
  const server = await startPostgres({ durable: true, settings: postgresSettings });
  const found = {};
  try {
    for (const name of only) {
      const store = await openStore(server);
      try {
        found[name] = await phases[name](store, { ...scale, url: server.url });
      } finally {
        await store.close();
      }
      const against = found[baselines[name]]?.rate;
      const ratio =
        against === undefined ? "" : ` ${(found[name].rate / against).toFixed(2)} × ${baselines[name]}`;
      const figures = Object.entries(found[name]).map(
        ([field, value]) => `${field} ${Number(value.toFixed(1)).toLocaleString("en")}`,
      );
      report(`${name.padEnd(14)} ${figures.join(", ")}${ratio}`);
    }
  } finally {
    await server.stop();
  }
};

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const { values } = parseArgs({
    options: {
      jobs: { type: "string", default: "20000" },
      pending: { type: "string", default: "1000000" },
      seconds: { type: "string", default: "20" },
      only: { type: "string" },
    },
  });
  await measureFlow({
    jobs: Number(values.jobs),
    pending: Number(values.pending),
    seconds: Number(values.seconds),
    ...(values.only && { only: values.only.split(",") }),
    report: console.log,
  });
}
