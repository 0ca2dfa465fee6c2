// The cost of core itself: no-op jobs on the in-process store, one worker, concurrency 100.
//
//   npm run bench:core [-- --quick]
//
// Prints jobs per second, how the cost per job changes with a million retained or scheduled jobs, and the heap over a
// million jobs whose sequences are deleted when they have finished.
import { createInProcessStateAdapter, createLeasehold, defineUnionJobTypes } from "leasehold";

const quick = process.argv.includes("--quick");
const drainSize = quick ? 20_000 : 100_000;
const ballast = quick ? 100_000 : 1_000_000;
const memoryJobs = quick ? 100_000 : 1_000_000;
const concurrency = 100;
const repetitions = 3;

const median = (values) => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)];
const rate = (count, ms) => Math.round((count / ms) * 1_000);
const format = (value) => value.toLocaleString("en-US");

const setUp = async () => {
  const stateAdapter = createInProcessStateAdapter();
  const leasehold = await createLeasehold({ stateAdapter, jobTypes: defineUnionJobTypes() });
  return { stateAdapter, leasehold };
};

const startMany = async (leasehold, count, options = {}) => {
  const ids = [];
  for (let start = 0; start < count; start += 10_000) {
    const sequences = Array.from({ length: Math.min(10_000, count - start) }, () => ({
      typeName: "noop",
      input: null,
      ...options,
    }));
    for (const { id } of await leasehold.startJobSequences({ sequences })) ids.push(id);
  }
  return ids;
};

/** Runs a worker until `count` jobs have been committed, and measures from its start to the last commit. */
const drain = async (leasehold, stateAdapter, count) => {
  let settle;
  const drained = new Promise((resolve) => (settle = resolve));
  let committed = 0;
  const commitOutcomes = stateAdapter.commitOutcomes;
  stateAdapter.commitOutcomes = async (call) => {
    const results = await commitOutcomes.call(stateAdapter, call);
    committed += results.length;
    if (committed >= count) settle();
    return results;
  };
  const builder = leasehold.createWorker().implementJobType({ typeName: "noop", process: async () => null });
  const startedAt = performance.now();
  const worker = await builder.start({ concurrency });
  await drained;
  const elapsed = performance.now() - startedAt;
  await worker.stop();
  stateAdapter.commitOutcomes = commitOutcomes;
  return elapsed;
};

const measureDrain = async (prepare) => {
  const rates = [];
  const startRates = [];
  for (let repetition = 0; repetition < repetitions; repetition++) {
    const { stateAdapter, leasehold } = await setUp();
    await prepare(leasehold, stateAdapter);
    const startedAt = performance.now();
    await startMany(leasehold, drainSize);
    startRates.push(rate(drainSize, performance.now() - startedAt));
    rates.push(rate(drainSize, await drain(leasehold, stateAdapter, drainSize)));
  }
  return { drain: median(rates), start: median(startRates) };
};

const report = (name, { drain, start }, base) =>
  console.log(
    `${name.padEnd(34)} drain ${format(drain).padStart(9)} jobs/s` +
      `${base ? ` (${(drain / base.drain).toFixed(2)} x empty)` : ""}   bulk start ${format(start)} jobs/s`,
  );

// The first run pays for compilation.
await measureDrain(async () => {});

const empty = await measureDrain(async () => {});
report("empty store", empty);
report(
  `${format(ballast)} completed jobs retained`,
  await measureDrain(async (leasehold, stateAdapter) => {
    await startMany(leasehold, ballast);
    await drain(leasehold, stateAdapter, ballast);
  }),
  empty,
);
report(
  `${format(ballast)} jobs scheduled for later`,
  await measureDrain((leasehold) => startMany(leasehold, ballast, { schedule: { afterMs: 3_600_000 } })),
  empty,
);

const heapMegabytes = () => {
  globalThis.gc?.();
  return Math.round(process.memoryUsage().heapUsed / 1e6);
};
const { stateAdapter, leasehold } = await setUp();
const chunk = 50_000;
const heaps = [];
for (let done = 0; done < memoryJobs; done += chunk) {
  const rootSequenceIds = await startMany(leasehold, chunk);
  await drain(leasehold, stateAdapter, chunk);
  await leasehold.deleteJobSequences({ rootSequenceIds });
  heaps.push(heapMegabytes());
}
console.log(
  `heap after deleting finished jobs: ${heaps[0]} MB after ${format(chunk)}, ${heaps.at(-1)} MB after ${format(memoryJobs)}`,
);
