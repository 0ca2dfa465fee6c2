import { expect, it } from "vitest";
import { defineUnionJobTypes } from "./job-types/define.ts";
import { createLeasehold } from "./leasehold.ts";
import { createInProcessStateAdapter } from "./memory/state-adapter.ts";

// On a quiet machine it is a few milliseconds. The bound leaves room for a busy one, and none for polling.
const limitMs = 250;

it("a job started as in the README reaches its handler without waiting for a poll", async () => {
  const jobTypes = defineUnionJobTypes<{ greet: { input: { sentAt: number }; output: number } }>();
  const stateAdapter = createInProcessStateAdapter();
  const leasehold = await createLeasehold({ stateAdapter, jobTypes });
  const worker = await leasehold
    .createWorker()
    .implementJobType({ typeName: "greet", process: async ({ job }) => performance.now() - job.input.sentAt })
    .start();
  const latencies: number[] = [];
  for (let n = 0; n < 15; n += 1) {
    const input = { sentAt: performance.now() };
    const started = await leasehold.startJobSequence({ typeName: "greet", input });
    latencies.push((await leasehold.waitForJobSequenceCompletion(started)).output);
  }
  await worker.stop();
  await stateAdapter.close();
  const [median] = latencies.sort((a, b) => a - b).slice(7);
  expect(median).toBeLessThan(limitMs);
});
