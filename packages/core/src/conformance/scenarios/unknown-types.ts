import assert from "node:assert/strict";
import { defineUnionJobTypes } from "../../job-types/define.ts";
import type { Scenario } from "../scenario.ts";

const jobTypes = defineUnionJobTypes<{
  known: { input: null; output: string };
  unknown: { input: null; output: string };
}>();

export const describeUnknownTypes: Scenario = ({ test }) => {
  test(
    "a worker never claims a type it has no handler for",
    jobTypes,
    async ({ leasehold, work, completion }) => {
      const waiting = await leasehold.startJobSequence({ typeName: "unknown", priority: 10 });
      await work(
        leasehold.createWorker().implementJobType({ typeName: "known", process: async () => "done" }),
        {
          concurrency: 1,
        },
      );
      await completion(await leasehold.startJobSequence({ typeName: "known" }));

      const job = await leasehold.jobs.get({ id: waiting.id });
      assert.deepEqual([job?.status, job?.attempt], ["pending", 0]);
      const explanation = await leasehold.jobs.explain({ id: waiting.id });
      assert.ok(explanation.state === "runnable");
      assert.match(explanation.summary, /"unknown"/);
    },
  );

  test(
    "it stays there until a worker comes that has one",
    jobTypes,
    async ({ leasehold, work, completion }) => {
      const waiting = await leasehold.startJobSequence({ typeName: "unknown" });
      await work(leasehold.createWorker().implementJobType({ typeName: "known", process: async () => "" }));
      await completion(await leasehold.startJobSequence({ typeName: "known" }));
      await work(
        leasehold.createWorker().implementJobType({ typeName: "unknown", process: async () => "at last" }),
      );
      assert.equal((await completion(waiting)).output, "at last");
    },
  );

  test(
    "a worker that owns the queue whole fails it",
    jobTypes,
    async ({ leasehold, work, completion, failure, queue }) => {
      const waiting = await leasehold.startJobSequence({ typeName: "unknown" });
      await work(
        leasehold.createWorker().implementJobType({ typeName: "known", process: async () => "done" }),
        {
          queues: { [queue]: { claimAllTypes: true } },
        },
      );

      const { reason, cause } = await failure(waiting);

      assert.equal(reason, "no_handler");
      assert.ok(cause instanceof Error);
      assert.match(cause.message, /"unknown"/);
      const known = await leasehold.startJobSequence({ typeName: "known" });
      assert.equal((await completion(known)).output, "done");
    },
  );
};
