// The parts of a measurement that run in a process of their own.
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { createJob, createJobs } from "./jobs.mjs";
import { roundTripsSoFar } from "./round-trips.mjs";
import { bulkChunk, concurrentStarters } from "./settings.mjs";
import { loadSystem } from "./systems/index.mjs";
import { userWriteTable } from "./systems/user-write.mjs";

/** Monotonic and the same in every process of the machine. */
const microseconds = () => Number(process.hrtime.bigint() / 1_000n);

const openContext = async ({ postgresUrl, redisPort, types, wakeAtOnce }) => {
  const observer = new pg.Client({ connectionString: postgresUrl });
  await observer.connect();
  // It only asks whether anything is left, through indexes; the planner would not know yet how little that is.
  await observer.query("set enable_seqscan = off");
  return { postgresUrl, redisPort, types, wakeAtOnce, observer };
};

/** Time and CPU from here to the call of the function that is returned. */
const startClock = () => {
  const startedAt = microseconds();
  const cpu = process.cpuUsage();
  const roundTrips = roundTripsSoFar();
  return (jobs) => {
    const seconds = (microseconds() - startedAt) / 1e6;
    const { user, system } = process.cpuUsage(cpu);
    return {
      jobs,
      seconds,
      cpuSeconds: (user + system) / 1e6,
      rssMb: process.resourceUsage().maxRSS / 1_024,
      roundTrips: roundTripsSoFar() - roundTrips,
    };
  };
};

const startInChunks = async (producer, count, types) => {
  for (let from = 0; from < count; from += bulkChunk) {
    await producer.startMany(createJobs(from, Math.min(bulkChunk, count - from), types));
  }
};

/** Creates the schema, the jobs beside which the others have to be found, and the jobs to work on. */
const setUp = async (options, { ready, send }) => {
  const { system, jobs = 0, beside, types } = options;
  const { install, prefill, openProducer } = await loadSystem(system);
  const context = await openContext(options);
  await ready();
  await context.observer.query(userWriteTable);
  await install(context);
  if (beside) await prefill(context, beside.kind, beside.count);
  if (jobs > 0) await startInChunks(await openProducer(context, options), jobs, types);
  send("done");
};

const startOneAfterAnother = async (producer, types, seconds, onStarted) => {
  const end = microseconds() + seconds * 1e6;
  while (microseconds() < end) {
    await producer.start(createJob(onStarted(), types));
  }
};

/** Single starts for a fixed time, by one caller or by many. */
const startSingly =
  (callers) =>
  async (options, { ready, send }) => {
    const { openProducer } = await loadSystem(options.system);
    const producer = await openProducer(await openContext(options), options);
    let started = 0;
    const run = (seconds) =>
      Promise.all(
        Array.from({ length: callers }, () =>
          startOneAfterAnother(producer, options.types, seconds, () => started++),
        ),
      );
    await run(0.3);
    await ready();
    started = 0;
    const stopClock = startClock();
    await run(options.seconds);
    send("done", stopClock(started));
  };

const startInBulk = async (options, { ready, send }) => {
  const { openProducer } = await loadSystem(options.system);
  const producer = await openProducer(await openContext(options), options);
  await startInChunks(producer, bulkChunk, options.types);
  await ready();
  const stopClock = startClock();
  await startInChunks(producer, options.jobs, options.types);
  send("done", stopClock(options.jobs));
};

/** Tells apart what has run from what has run twice. */
const createLedger = (expected) => {
  const seen = new Uint8Array(expected);
  let distinct = 0;
  let duplicates = 0;
  let onAll;
  const all = new Promise((resolve) => (onAll = resolve));
  return {
    all,
    add: (n) => {
      if (seen[n] === 1) duplicates += 1;
      else {
        seen[n] = 1;
        distinct += 1;
        if (distinct === expected) onAll();
      }
    },
    duplicates: () => duplicates,
  };
};

/** From the first call of the handler until every job is recorded as finished. */
const drain = async (options, { ready, send }) => {
  const { openWorker } = await loadSystem(options.system);
  const ledger = createLedger(options.jobs);
  let stopClock;
  const worker = await openWorker(await openContext(options), {
    ...options,
    handle: async ({ n }) => {
      stopClock ??= startClock();
      ledger.add(n);
    },
  });
  await ready();
  await worker.start();
  await ledger.all;
  while (await worker.unfinished()) await sleep(1);
  send("done", { ...stopClock(options.jobs), duplicates: ledger.duplicates() });
};

/** The worker's half of the steady state: it is idle when the producer begins. */
const workSteadily = async (options, { ready, send }) => {
  const { openWorker } = await loadSystem(options.system);
  const ledger = createLedger(options.jobs);
  const worker = await openWorker(await openContext(options), {
    ...options,
    handle: async ({ n }) => ledger.add(n),
  });
  await worker.start();
  await sleep(500);
  await ready();
  const stopClock = startClock();
  await ledger.all;
  while (await worker.unfinished()) await sleep(1);
  send("done", { ...stopClock(options.jobs), duplicates: ledger.duplicates(), endedAt: microseconds() });
};

const produceSteadily = async (options, { ready, send }) => {
  const { openProducer } = await loadSystem(options.system);
  const producer = await openProducer(await openContext(options), options);
  await ready();
  const startedAt = microseconds();
  for (let from = 0; from < options.jobs; from += options.chunk) {
    await producer.startMany(createJobs(from, Math.min(options.chunk, options.jobs - from), options.types));
  }
  send("done", { startedAt });
};

const percentile = (sorted, share) =>
  sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)];

const warmUpStarts = 20;

/** Its handlers know when they were called; what was started when stands in the input. */
const awaitStarts = async (options, { ready, send }) => {
  const { openWorker } = await loadSystem(options.system);
  const waits = [];
  let onAll;
  const all = new Promise((resolve) => (onAll = resolve));
  const worker = await openWorker(await openContext(options), {
    ...options,
    handle: async ({ at }) => {
      waits.push((microseconds() - at) / 1_000);
      if (waits.length === options.starts + warmUpStarts) onAll();
    },
  });
  await worker.start();
  await sleep(500);
  await ready();
  const stopClock = startClock();
  await all;
  const { cpuSeconds, rssMb, roundTrips } = stopClock(options.starts);
  const sorted = waits.slice(warmUpStarts).sort((a, b) => a - b);
  send("done", {
    p50: percentile(sorted, 0.5),
    p95: percentile(sorted, 0.95),
    p99: percentile(sorted, 0.99),
    jobs: options.starts,
    cpuSeconds,
    rssMb,
    roundTrips,
  });
};

/** Starts with pauses of 15 to 45 ms, so that the worker is idle each time and no timer falls into step. */
const startWithPauses = async (options, { ready, send }) => {
  const { openProducer } = await loadSystem(options.system);
  const producer = await openProducer(await openContext(options), options);
  await ready();
  for (let n = 0; n < options.starts + warmUpStarts; n += 1) {
    const { type, input } = createJob(n, options.types);
    await producer.start({ type, input: { ...input, at: microseconds() } });
    await sleep(15 + ((n * 7) % 31));
  }
  send("done");
};

const putAtOnce = 20;

/** One worker with recurring jobs that fall due one after the other: how late are theirs? */
const tick = async (options, { ready, send }) => {
  const { openWorker, putRecurring, readTicks } = await loadSystem(options.system);
  const context = await openContext(options);
  const { recurring, spreadMs } = options;
  const startAt = Date.now() + 5_000 + recurring * 6;
  await putRecurring(context, { recurring, spreadMs, startAt, callers: putAtOnce });
  if (Date.now() > startAt) throw new Error("The recurring jobs were not put in time.");
  const ledger = createLedger(recurring);
  const worker = await openWorker(context, { ...options, handle: async ({ n }) => ledger.add(n) });
  await ready();
  await worker.start();
  const stopClock = startClock();
  await ledger.all;
  const { lateMs, duplicates } = await readTicks(context);
  const sorted = lateMs.sort((a, b) => a - b);
  send("done", {
    ...stopClock(recurring),
    p50: percentile(sorted, 0.5),
    p95: percentile(sorted, 0.95),
    p99: percentile(sorted, 0.99),
    duplicates,
  });
};

export const tasks = {
  setUp,
  startSingle: startSingly(1),
  startConcurrent: startSingly(concurrentStarters),
  startInBulk,
  drain,
  workSteadily,
  produceSteadily,
  awaitStarts,
  startWithPauses,
  tick,
};
