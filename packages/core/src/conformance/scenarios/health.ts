import assert from "node:assert/strict";
import { defineUnionJobTypes } from "../../job-types/define.ts";
import { createGate } from "../gate.ts";
import { until } from "../patience.ts";
import type { Scenario } from "../scenario.ts";

const jobTypes = defineUnionJobTypes<{
  work: { input: null; output: null };
}>();

export const describeHealth: Scenario = ({ test }) => {
  test("a worker tells what it is doing", jobTypes, async ({ leasehold, work, completion }) => {
    const running = createGate();
    const goOn = createGate();
    const worker = await work(
      leasehold.createWorker().implementJobType({
        typeName: "work",
        process: async () => {
          running.open();
          await goOn.opened;
        },
      }),
      { workerId: "patient" },
    );
    assert.equal(worker.workerId, "patient");
    const started = await leasehold.startJobSequence({ typeName: "work" });
    await running.opened;
    await until(() => worker.health().lastClaimAt !== null, "a claim has gone well");

    const { lastClaimAt, lastRenewalAt, ...busy } = worker.health();
    assert.ok(lastClaimAt instanceof Date && lastRenewalAt instanceof Date);
    assert.deepEqual(busy, {
      workerId: "patient",
      state: "running",
      healthy: true,
      problems: [],
      runningJobs: 1,
      bufferedJobs: 0,
      uncommittedResults: 0,
    });

    goOn.open();
    await completion(started);
    await worker.stop();
    const { state, runningJobs, uncommittedResults } = worker.health();
    assert.deepEqual([state, runningJobs, uncommittedResults], ["stopped", 0, 0]);
  });

  test(
    "a store that fails makes it unhealthy, and it recovers with the store",
    jobTypes,
    async ({ openAnother }) => {
      let broken = true;
      const { leasehold, work, completion, events } = await openAnother({
        store: (adapter) => ({
          claimJobs: (call) => (broken ? Promise.reject(new Error("disk full")) : adapter.claimJobs(call)),
        }),
      });
      const worker = await work(
        leasehold.createWorker().implementJobType({ typeName: "work", process: async () => {} }),
      );
      const started = await leasehold.startJobSequence({ typeName: "work" });
      await until(() => !worker.health().healthy, "the worker is unhealthy");
      assert.ok(
        worker
          .health()
          .problems.some((problem) => problem.includes("fetcher") && problem.includes("disk full")),
      );
      assert.ok(events.all("workerError").length >= 3);

      broken = false;
      await completion(started);
      await until(() => worker.health().healthy, "the worker is healthy again");
      assert.deepEqual(worker.health().problems, []);
    },
  );

  test(
    "a store that refuses every outcome makes it unhealthy, although it claims and renews",
    jobTypes,
    async ({ openAnother }) => {
      let broken = true;
      const { leasehold, work, completion } = await openAnother({
        store: (adapter) => ({
          commitOutcomes: (call) =>
            broken ? Promise.reject(new Error("disk full")) : adapter.commitOutcomes(call),
        }),
      });
      const worker = await work(
        leasehold.createWorker().implementJobType({ typeName: "work", process: async () => {} }),
      );
      await leasehold.startJobSequence({ typeName: "work" });
      await until(() => !worker.health().healthy, "the worker is unhealthy");
      const { problems } = worker.health();
      assert.equal(problems.length, 1);
      assert.match(problems[0]!, /committer has failed \d+ times.*disk full/);

      broken = false;
      await completion(await leasehold.startJobSequence({ typeName: "work" }));
      assert.deepEqual(worker.health().problems, []);
    },
  );
};
