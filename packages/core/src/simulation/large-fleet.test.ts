import { expect, it } from "vitest";
import { createLeasehold } from "../leasehold.ts";
import { createInProcessNotifyAdapter } from "../notify/in-process.ts";
import { createInProcessStateAdapter } from "../memory/state-adapter.ts";
import { defineUnionJobTypes } from "../job-types/define.ts";
import { createDeterministicRuntime } from "../testing/deterministic-runtime.ts";
import { createManualClock } from "../testing/manual-clock.ts";
import { wrapAdapter } from "../store/wrap-adapter.ts";

const jobTypes = defineUnionJobTypes<{ greet: { input: number; output: number } }>();
const idleSeconds = 60;
const jobs = 100;

/** How often a fleet asks its store: while it has nothing to do, and for each job. */
const measureFleet = async (workers: number) => {
  const clock = createManualClock();
  const calls = new Map<string, number>();
  let reportersRead = 0;
  const stateAdapter = wrapAdapter(
    createInProcessStateAdapter({ clock }),
    (method, original) =>
      (...args) => {
        calls.set(method, (calls.get(method) ?? 0) + 1);
        const result = original(...args);
        if (method === "listProcesses")
          void (result as Promise<unknown[]>).then(({ length }) => (reportersRead += length));
        return result;
      },
  );
  const notifyAdapter = createInProcessNotifyAdapter();
  const open = (seed: string) =>
    createLeasehold({
      stateAdapter,
      notifyAdapter,
      jobTypes,
      runtime: createDeterministicRuntime({ seed, clock }),
    });
  const producer = await open("producer");
  const fleet = await Promise.all(
    Array.from({ length: workers }, async (_, n) => {
      const leasehold = await open(`worker ${n}`);
      const worker = leasehold
        .createWorker()
        .implementJobType({ typeName: "greet", process: async ({ job }) => job.input });
      return worker.start();
    }),
  );
  await clock.advanceBy(10_000);

  reportersRead = 0;
  const countDuring = async (work: () => Promise<void>) => {
    calls.clear();
    await work();
    const all = [...calls.values()].reduce((sum, count) => sum + count, 0);
    // Processes look at each other whether there are jobs or not, one to three times in half a minute.
    return { all, ofJobs: all - (calls.get("listProcesses") ?? 0) };
  };
  const idle = await countDuring(() => clock.advanceBy(idleSeconds * 1_000));
  const idleCalls = Object.fromEntries(calls);
  const idleReportersRead = reportersRead;
  const busy = await countDuring(async () => {
    for (let n = 0; n < jobs; n += 1) {
      await producer.startJobSequence({ typeName: "greet", input: n });
      await clock.advanceBy((idleSeconds * 1_000) / jobs);
    }
  });
  const stopping = Promise.all(fleet.map((worker) => worker.stop()));
  await clock.runUntil(stopping);
  const busyCalls = Object.fromEntries(calls);
  return {
    perWorkerAndSecond: idle.all / workers / idleSeconds,
    reportersPerWorkerAndSecond: idleReportersRead / workers / idleSeconds,
    perJob: (busy.ofJobs - idle.ofJobs) / jobs,
    idleCalls,
    busyCalls,
  };
};

// A thousand workers take a minute of computing; `FLEET=1000` asks for them.
const largeFleet = Number(process.env["FLEET"] ?? 100);

it("asks the store no more often for each worker and each job, however many workers there are", async () => {
  const small = await measureFleet(5);
  const large = await measureFleet(largeFleet);
  // For each: a look every second, reaping and expiry every five, a report every ten, and who is there now and then.
  expect(small.perWorkerAndSecond).toBeLessThan(1.7);
  expect(large.perWorkerAndSecond).toBeLessThan(1.7);
  // Nobody reads the whole list of processes again and again.
  expect(small.reportersPerWorkerAndSecond).toBeLessThan(1);
  expect(large.reportersPerWorkerAndSecond).toBeLessThan(1);
  // Start, claim, a look for more, commit, and reports of those who took part.
  expect(small.perJob).toBeLessThan(6);
  expect(large.perJob).toBeLessThan(6);
  if (process.env["FLEET"] !== undefined) console.log({ small, large });
}, 600_000);
