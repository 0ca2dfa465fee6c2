import { expect, it } from "vitest";
import { createGate } from "../conformance/gate.ts";
import { defineUnionJobTypes } from "../job-types/define.ts";
import { createLeasehold } from "../leasehold.ts";
import { createInProcessStateAdapter } from "../memory/state-adapter.ts";

const jobTypes = defineUnionJobTypes<{
  slow: { input: number; output: null };
  quick: { input: number; output: null };
}>();

it("does not let a queue whose slots are all in use keep the others waiting, nor hold more of its jobs for that", async () => {
  const stateAdapter = createInProcessStateAdapter();
  const leasehold = await createLeasehold({ stateAdapter, jobTypes });
  const over = createGate();
  const worker = await leasehold
    .createWorker()
    .implementJobType({
      typeName: "slow",
      process: async () => {
        await over.opened;
        return null;
      },
    })
    .implementJobType({ typeName: "quick", process: async () => null })
    .start({ queues: { slow: 2, quick: 4 } });
  const startSlow = (n: number) => leasehold.startJobSequence({ typeName: "slow", queue: "slow", input: n });
  const slow = await Promise.all(Array.from({ length: 20 }, (_, n) => startSlow(n)));

  for (let n = 0; n < 100; n += 1) {
    const quick = await leasehold.startJobSequence({ typeName: "quick", queue: "quick", input: n });
    await leasehold.waitForJobSequenceCompletion({ ...quick, timeoutMs: 5_000 });
  }
  const running = await leasehold.jobs.count({ queue: "slow", status: "running" });
  expect(running.map(({ count }) => count)).toEqual([2]);

  over.open();
  await Promise.all(slow.map((sequence) => leasehold.waitForJobSequenceCompletion(sequence)));
  await worker.stop();
});
