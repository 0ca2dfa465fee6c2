// What is measured, and how the processes of a measurement play together.
import { typeNames } from "./jobs.mjs";
import { runToEnd, startMeasuredProcess } from "./measured-process.mjs";
import { readServerCpu } from "./process-cpu.mjs";
import { callSize, defaultConcurrency, transactionConcurrency, typeCount } from "./settings.mjs";
import { systems } from "./systems/index.mjs";

/** Undefined, and so left out, where the system does not tell. */
const perJob = (seconds, jobs) =>
  Number.isFinite(seconds) ? Math.round((seconds / jobs) * 1e7) / 10 : undefined;
const round = (value, digits) => Number(value.toFixed(digits));

/** The user's write goes to PostgreSQL, whatever keeps the jobs. */
const serversInUse = (system, transactional) =>
  transactional ? new Set([systems[system].server, "postgres"]) : new Set([systems[system].server]);

/** Runs the measured work between two readings of the servers' CPU time, and of their counts if there are any. */
const measure = async ({ servers, system, database }, child, work, { transactional } = {}) => {
  const pids = [...serversInUse(system, transactional)].map((server) => servers.pids[server]);
  const read = async () =>
    (await Promise.all(pids.map(readServerCpu))).reduce((sum, value) => sum + value, 0);
  const countsBefore = await servers.readCounts?.(database);
  const before = await read();
  await work();
  const answer = await child.answer("done");
  const serverSeconds = (await read()) - before;
  const countsAfter = await servers.readCounts?.(database);
  const counts = countsAfter && {
    statements: round((countsAfter.statements - countsBefore.statements) / answer.jobs, 3),
    wal_bytes: round((countsAfter.walBytes - countsBefore.walBytes) / answer.jobs, 0),
    round_trips: round(answer.roundTrips / answer.jobs, 3),
  };
  return { answer, serverSeconds, counts };
};

const rateRecord = ({ answer, serverSeconds, counts }, role, seconds = answer.seconds) => ({
  rate: round(answer.jobs / seconds, 1),
  jobs: answer.jobs,
  [`${role}_cpu_us`]: perJob(answer.cpuSeconds, answer.jobs),
  server_cpu_us: perJob(serverSeconds, answer.jobs),
  [`${role}_rss_mb`]: round(answer.rssMb, 1),
  ...counts,
  ...(answer.duplicates ? { duplicates: answer.duplicates } : {}),
});

/** @param {string} task @param {(scale: object) => object} optionsOf */
const startPhase = (task, optionsOf) => async (run) => {
  const options = { ...run.options, ...optionsOf(run.scale), types: typeNames(1) };
  await runToEnd("setUp", { ...options, jobs: 0 });
  await run.servers.settle(run.database);
  const child = startMeasuredProcess(task, options);
  try {
    await child.ready();
    return rateRecord(await measure(run, child, () => child.go()), "producer");
  } finally {
    await child.end();
  }
};

/** @param {{ types?: number, beside?: "completed" | "scheduled", jobs?: string, concurrency?: number, transactional?: boolean, callSize?: number }} plan */
const drainPhase =
  ({ types = 1, beside, jobs = "drainJobs", ...worker }) =>
  async (run) => {
    const options = {
      ...run.options,
      concurrency: defaultConcurrency,
      ...worker,
      jobs: run.scale[jobs],
      types: typeNames(types),
      ...(beside ? { beside: { kind: beside, count: run.scale.growthRows } } : {}),
    };
    await runToEnd("setUp", options);
    await run.servers.settle(run.database);
    const child = startMeasuredProcess("drain", options);
    try {
      await child.ready();
      const measured = await measure(run, child, () => child.go(), options);
      // One of them is the observer's.
      const connections = (await run.servers.countConnections(run.database)) - 1;
      return { ...rateRecord(measured, "worker"), connections };
    } finally {
      await child.end();
    }
  };

const withTwo = async (run, [workerTask, producerTask], options, record) => {
  await runToEnd("setUp", { ...options, jobs: 0 });
  await run.servers.settle(run.database);
  const worker = startMeasuredProcess(workerTask, options);
  const producer = startMeasuredProcess(producerTask, options);
  try {
    await Promise.all([worker.ready(), producer.ready()]);
    const measured = await measure(run, worker, () => {
      worker.go();
      producer.go();
    });
    return record(measured, await producer.answer("done"));
  } finally {
    await Promise.all([worker.end(), producer.end()]);
  }
};

const steadyPhase = (run) =>
  withTwo(
    run,
    ["workSteadily", "produceSteadily"],
    {
      ...run.options,
      types: typeNames(1),
      jobs: run.scale.drainJobs,
      chunk: 1_000,
      concurrency: defaultConcurrency,
      wakeAtOnce: true,
    },
    (measured, { startedAt }) => rateRecord(measured, "worker", (measured.answer.endedAt - startedAt) / 1e6),
  );

const latencyPhase = (run) =>
  withTwo(
    run,
    ["awaitStarts", "startWithPauses"],
    {
      ...run.options,
      types: typeNames(1),
      starts: run.scale.latencyStarts,
      concurrency: 10,
      wakeAtOnce: true,
    },
    ({ answer, serverSeconds, counts }) => ({
      ...counts,
      p50: round(answer.p50, 2),
      p95: round(answer.p95, 2),
      p99: round(answer.p99, 2),
      jobs: answer.jobs,
      worker_cpu_us: perJob(answer.cpuSeconds, answer.jobs),
      server_cpu_us: perJob(serverSeconds, answer.jobs),
      worker_rss_mb: round(answer.rssMb, 1),
    }),
  );

/** Only what has recurring jobs of its own. */
const tickPhase = async (run) => {
  const options = {
    ...run.options,
    types: typeNames(1),
    concurrency: defaultConcurrency,
    recurring: run.scale.recurringJobs,
    spreadMs: run.scale.recurringSpreadMs,
  };
  await runToEnd("setUp", { ...options, jobs: 0 });
  const child = startMeasuredProcess("tick", options);
  try {
    await child.ready();
    const { answer, serverSeconds } = await measure(run, child, () => child.go());
    return {
      p50: round(answer.p50, 2),
      p95: round(answer.p95, 2),
      p99: round(answer.p99, 2),
      jobs: answer.jobs,
      worker_cpu_us: perJob(answer.cpuSeconds, answer.jobs),
      server_cpu_us: perJob(serverSeconds, answer.jobs),
      worker_rss_mb: round(answer.rssMb, 1),
      ...(answer.duplicates ? { duplicates: answer.duplicates } : {}),
    };
  } finally {
    await child.end();
  }
};

/**
 * In the order in which they run and are reported.
 * @type {Record<string, { title: string, unit: "jobs/s" | "ms", systems?: string[], run: (run: object) => Promise<object> }>}
 */
export const phases = {
  start_single: {
    title: "Single starts, one after another",
    unit: "jobs/s",
    run: startPhase("startSingle", ({ startSeconds }) => ({ seconds: startSeconds })),
  },
  start_concurrent: {
    title: "Single starts, 50 callers at once",
    unit: "jobs/s",
    run: startPhase("startConcurrent", ({ startSeconds }) => ({ seconds: startSeconds })),
  },
  start_bulk: {
    title: "Bulk start",
    unit: "jobs/s",
    run: startPhase("startInBulk", ({ bulkJobs }) => ({ jobs: bulkJobs })),
  },
  drain_c10: { title: "Drain, concurrency 10", unit: "jobs/s", run: drainPhase({ concurrency: 10 }) },
  drain_c100: { title: "Drain, concurrency 100", unit: "jobs/s", run: drainPhase({ concurrency: 100 }) },
  drain_tx: {
    title: "Drain, each job in a transaction with a write of the user's",
    unit: "jobs/s",
    run: drainPhase({
      jobs: "transactionJobs",
      concurrency: transactionConcurrency,
      transactional: true,
    }),
  },
  batch_200: {
    title: `Drain, handlers that get up to ${callSize} jobs`,
    unit: "jobs/s",
    run: drainPhase({ concurrency: transactionConcurrency, callSize }),
  },
  drain_tx_batch: {
    title: `Drain, up to ${callSize} jobs in a transaction with the user's writes`,
    unit: "jobs/s",
    run: drainPhase({ concurrency: transactionConcurrency, transactional: true, callSize }),
  },
  latency: { title: "From start to handler, idle worker", unit: "ms", run: latencyPhase },
  tick_10k: {
    title: "From the time of a recurring job to its start, 10,000 due within a minute",
    unit: "ms",
    systems: ["leasehold"],
    run: tickPhase,
  },
  steady: { title: "Bulk producer and worker together", unit: "jobs/s", run: steadyPhase },
  growth_empty: { title: "Drain, nothing else in the table", unit: "jobs/s", run: drainPhase({}) },
  growth_completed: {
    title: "Drain beside completed jobs",
    unit: "jobs/s",
    run: drainPhase({ beside: "completed" }),
  },
  growth_scheduled: {
    title: "Drain beside jobs scheduled for later",
    unit: "jobs/s",
    run: drainPhase({ beside: "scheduled" }),
  },
  growth_types: {
    title: `Drain of ${typeCount} job types`,
    unit: "jobs/s",
    run: drainPhase({ types: typeCount }),
  },
};
