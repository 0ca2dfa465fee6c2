// Runs a great many no-op jobs and reports what is left of them once they have been deleted: nothing should be.
//
//   node --expose-gc scripts/leaks.mjs [jobs]
//
// Works on the built package, in a process of its own, so that nobody else's garbage is counted.
import { getEventListeners, setMaxListeners } from "node:events";
import { setTimeout as pause } from "node:timers/promises";
import v8 from "node:v8";
import {
  createInProcessNotifyAdapter,
  createInProcessStateAdapter,
  createLeasehold,
  defineUnionJobTypes,
} from "../packages/core/dist/index.js";

const jobs = Number(process.argv[2] ?? 1_000_000);
const batchSize = 10_000;
const sharedSignalWaits = 10_000;

// What a process gathers by merely running: compiled code, caches of the engine.
const toleratedHeapBytes = 3_000_000;
const toleratedObjects = 50;

const countTimers = () => process.getActiveResourcesInfo().filter((kind) => kind === "Timeout").length;

const countProcessListeners = () =>
  process.eventNames().reduce((sum, name) => sum + process.listenerCount(name), 0);

const countObjects = () =>
  Object.fromEntries(
    [Map, Set, Promise, AbortController, AbortSignal].map((type) => [
      type.name,
      v8.queryObjects(type, { format: "count" }),
    ]),
  );

/** The fewest of several looks: a worker that runs has one timer more while it asks the store, and a leak is always there. */
const fewestResources = async () => {
  let timers = Infinity;
  let resources = Infinity;
  for (let look = 0; look < 20; look += 1) {
    await pause(11);
    timers = Math.min(timers, countTimers());
    resources = Math.min(resources, process.getActiveResourcesInfo().length);
  }
  return { timers, resources };
};

const measure = async () => {
  const { timers, resources } = await fewestResources();
  for (let round = 0; round < 3; round += 1) globalThis.gc();
  return {
    heapBytes: process.memoryUsage().heapUsed,
    externalBytes: process.memoryUsage().external,
    timers,
    resources,
    processListeners: countProcessListeners(),
    objects: countObjects(),
  };
};

const stateAdapter = createInProcessStateAdapter();
const leasehold = await createLeasehold({
  stateAdapter,
  notifyAdapter: createInProcessNotifyAdapter(),
  jobTypes: defineUnionJobTypes(),
});
const worker = leasehold
  .createWorker()
  .implementJobType({ typeName: "noop", process: async () => null })
  .implementJobType({
    typeName: "flaky",
    retry: { type: "fixed", delayMs: 1 },
    timeoutMs: 60_000,
    process: async ({ job, signal, complete }) => {
      // Whoever reads these gets them made, and they have to go again.
      signal.addEventListener("abort", () => {});
      if (job.attempt === 1) throw new Error("not this time");
      return complete(async () => null);
    },
  });

const remove = async (started) => {
  const rootSequenceIds = started.map(({ id }) => id);
  const { changed } = await leasehold.deleteJobSequences({ rootSequenceIds });
  const deletedJobs = changed.reduce((sum, { jobs }) => sum + jobs, 0);
  if (deletedJobs !== started.length)
    throw new Error(`${deletedJobs} of ${started.length} jobs were deleted`);
};

const allCompleted = async (count) => {
  for (;;) {
    const counts = await leasehold.jobs.count({ status: "completed" });
    if (counts.reduce((sum, row) => sum + row.count, 0) === count) return;
    await pause(5);
  }
};

const runBatch = async (count) => {
  const sequences = Array.from({ length: count }, (_, n) => ({
    typeName: n % 10 === 9 ? "flaky" : "noop",
    input: null,
    ...(n % 7 === 0 ? { deduplication: { key: `key-${n}` } } : {}),
  }));
  const started = await leasehold.startJobSequences({ sequences });
  await allCompleted(count);
  await remove(started);
};

const waitWithOneSignal = async (signal, count) => {
  for (let done = 0; done < count; done += 500) {
    const sequences = Array.from({ length: 500 }, () => ({ typeName: "noop", input: null }));
    const started = await leasehold.startJobSequences({ sequences });
    await Promise.all(
      started.map(({ id, typeName }) => leasehold.waitForJobSequenceCompletion({ id, typeName, signal })),
    );
    await remove(started);
  }
};

const problems = [];
const expectAtMost = (what, before, after, tolerated = 0) => {
  if (after > before + tolerated) problems.push(`${what}: ${before} before, ${after} after`);
};

const compare = (phase, before, after) => {
  expectAtMost(`${phase}, heap`, before.heapBytes, after.heapBytes, toleratedHeapBytes);
  expectAtMost(
    `${phase}, memory outside the heap`,
    before.externalBytes,
    after.externalBytes,
    toleratedHeapBytes,
  );
  expectAtMost(`${phase}, timers`, before.timers, after.timers);
  expectAtMost(`${phase}, resources`, before.resources, after.resources);
  expectAtMost(`${phase}, listeners of the process`, before.processListeners, after.processListeners);
  for (const [type, count] of Object.entries(after.objects)) {
    expectAtMost(`${phase}, objects of ${type}`, before.objects[type], count, toleratedObjects);
  }
};

const idle = await measure();

const running = await worker.start({ concurrency: 100, pollIntervalMs: 50 });
const { signal } = new AbortController();
// Hundreds of waits share it at a time, which Node would take for a leak.
setMaxListeners(0, signal);
// The first jobs bring in what stays: compiled code, the first size of every table.
await runBatch(batchSize);
await waitWithOneSignal(signal, 500);

const before = await measure();
for (let done = 0; done < jobs; done += batchSize) await runBatch(Math.min(batchSize, jobs - done));
const after = await measure();
compare("jobs", before, after);

await waitWithOneSignal(signal, sharedSignalWaits);
expectAtMost("listeners of a signal that many waits shared", 0, getEventListeners(signal, "abort").length);
compare("waits", before, await measure());

for (let round = 0; round < 200; round += 1) await (await worker.start()).stop();
await running.stop();
const stopped = await measure();
expectAtMost("workers, timers", idle.timers, stopped.timers);
expectAtMost("workers, resources", idle.resources, stopped.resources);
compare("workers", before, stopped);

process.stdout.write(`${JSON.stringify({ jobs, before, after, stopped, problems }, null, 2)}\n`);
process.exitCode = problems.length === 0 ? 0 : 1;
