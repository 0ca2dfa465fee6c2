import assert from "node:assert/strict";
import type { JobAbortReason } from "../../job-types/entities.ts";
import { defineUnionJobTypes } from "../../job-types/define.ts";
import { createGate } from "../gate.ts";
import { within } from "../patience.ts";
import type { Scenario } from "../scenario.ts";
import { claimAndVanish } from "../vanished-worker.ts";
import { aborted } from "../story-signals.ts";

const jobTypes = defineUnionJobTypes<{
  work: { input: null; output: string };
}>();

const renewalsFail = { renewLeases: () => Promise.reject(new Error("the network is down")) };

export const describeLostLeases: Scenario = ({ test }) => {
  test(
    "a worker that cannot renew is aborted, and the job is completed once by another",
    jobTypes,
    async (story) => {
      const { leasehold, openAnother, work, completion } = story;
      const cutOff = await openAnother({ store: () => renewalsFail });
      const takenOver = createGate();
      const settled = createGate();
      let reason: JobAbortReason | undefined;
      const first = await cutOff.work(
        cutOff.leasehold.createWorker().implementJobType({
          typeName: "work",
          process: async ({ signal }) => {
            reason = await aborted(signal);
            await takenOver.opened;
            return "from the one cut off";
          },
        }),
        { leaseMs: 400, concurrency: 1 },
      );
      const started = await leasehold.startJobSequence({ typeName: "work" });
      await cutOff.events.first("jobAttemptStarted");
      // It claims nothing more; what it has, it has.
      const stopped = first.stop({ deadlineMs: 60_000 });
      const attempts: number[] = [];
      await work(
        leasehold.createWorker().implementJobType({
          typeName: "work",
          process: async ({ job }) => {
            attempts.push(job.attempt);
            takenOver.open();
            await settled.opened;
            return "from the other";
          },
        }),
      );

      const { refusal } = await cutOff.events.first("jobAttemptFenced");
      settled.open();

      assert.equal(refusal, "lease_mismatch");
      // On a machine that stalls, the lease has run out before a renewal could fail.
      assert.ok(reason === "error" || reason === "lease_expired", reason);
      assert.equal((await completion(started)).output, "from the other");
      assert.deepEqual(attempts, [2]);
      assert.equal((await within(stopped, "the worker cut off to stop")).abortedJobs, 0);
    },
  );

  test("a completion under a lost lease is rolled back whole", jobTypes, async (story) => {
    const { leasehold, openAnother, work, completion, queue } = story;
    const cutOff = await openAnother({ store: () => renewalsFail });
    const taken = createGate();
    const refused = createGate();
    let refusal: unknown;
    const first = await cutOff.work(
      cutOff.leasehold.createWorker().implementJobType({
        typeName: "work",
        process: async ({ complete }) => {
          await taken.opened;
          try {
            return await complete(async (ctx) => {
              await cutOff.leasehold.startJobSequence({ ...ctx, typeName: "work" });
              return "from the one cut off";
            });
          } catch (error) {
            refusal = error;
            throw error;
          } finally {
            refused.open();
          }
        },
      }),
      { leaseMs: 400, concurrency: 1 },
    );
    const started = await leasehold.startJobSequence({ typeName: "work" });
    await cutOff.events.first("jobAttemptStarted");
    void first.stop({ deadlineMs: 60_000 });
    await work(
      leasehold.createWorker().implementJobType({
        typeName: "work",
        process: async () => {
          taken.open();
          await refused.opened;
          return "from the other";
        },
      }),
    );

    assert.equal((await completion(started)).output, "from the other");
    assert.ok(refusal instanceof Error);
    assert.ok(["JobTakenByAnotherWorkerError", "JobAttemptEndedError"].includes(refusal.name), refusal.name);
    assert.equal((await leasehold.jobs.list({ queue })).jobs.length, 1);
  });

  test(
    "a job whose leases only ever run out ends as failed",
    jobTypes,
    async ({ leasehold, stateAdapter, work, failure, events, queue }) => {
      const started = await leasehold.startJobSequence({ typeName: "work", maxAttempts: 2 });
      for (let attempt = 1; attempt <= 2; attempt += 1)
        await claimAndVanish(stateAdapter, { queue, typeName: "work", workerId: "vanished" });
      await work(
        leasehold
          .createWorker()
          .implementJobType({ typeName: "work", process: async () => "ran a third time" }),
        {
          reapIntervalMs: 20,
        },
      );

      const { reason, cause } = await failure(started);

      assert.equal(reason, "attempts_exhausted");
      assert.ok(cause instanceof Error);
      assert.equal(cause.name, "LeaseExpiredError");
      assert.equal(
        (await events.first("jobReaped", ({ id }) => id === started.id)).previousWorkerId,
        "vanished",
      );
    },
  );

  test(
    "the job of a worker that vanished is taken over",
    jobTypes,
    async ({ leasehold, stateAdapter, work, completion, queue }) => {
      const started = await leasehold.startJobSequence({ typeName: "work" });
      await claimAndVanish(stateAdapter, { queue, typeName: "work", workerId: "vanished" });
      await work(
        leasehold
          .createWorker()
          .implementJobType({ typeName: "work", process: async ({ job }) => `attempt ${job.attempt}` }),
      );
      assert.equal((await completion(started)).output, "attempt 2");
    },
  );

  test(
    "a long job keeps its lease by renewing it",
    jobTypes,
    async ({ leasehold, work, completion, events }) => {
      const renewedOften = createGate();
      await work(
        leasehold.createWorker().implementJobType({
          typeName: "work",
          process: async ({ job }) => {
            await renewedOften.opened;
            return `attempt ${job.attempt}`;
          },
        }),
        { leaseMs: 1_000 },
      );
      const started = await leasehold.startJobSequence({ typeName: "work" });
      await events.first("jobAttemptLeaseRenewed", () => events.all("jobAttemptLeaseRenewed").length >= 4);
      renewedOften.open();
      assert.equal((await completion(started)).output, "attempt 1");
    },
  );
};
