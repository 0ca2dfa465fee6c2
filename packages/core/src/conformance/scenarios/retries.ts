import assert from "node:assert/strict";
import { UnrecoverableJobError } from "../../errors.ts";
import { defineJobTypes, defineUnionJobTypes, typeOnly } from "../../model/job-types.ts";
import type { RetryPolicy } from "../../model/retry-policy.ts";
import type { Scenario } from "../scenario.ts";

const jobTypes = defineUnionJobTypes<{
  flaky: { input: null; output: string };
}>();

const limitedJobTypes = defineJobTypes({
  flaky: { output: typeOnly<string>(), maxAttempts: 2, retry: { type: "fixed", delayMs: 0 } },
});

const atOnce: RetryPolicy = { type: "fixed", delayMs: 0 };

const policies: Readonly<Record<string, { policy: RetryPolicy; delays: readonly number[] }>> = {
  fixed: { policy: { type: "fixed", delayMs: 7 }, delays: [7, 7, 7] },
  linear: { policy: { type: "linear", stepMs: 5, maxMs: 12 }, delays: [5, 10, 12] },
  exponential: { policy: { type: "exponential", baseMs: 2, maxMs: 12, jitter: "none" }, delays: [4, 8, 12] },
  "user's own": {
    policy: ({ attempt, error }) => attempt + (error as Error).message.length,
    delays: [5, 6, 7],
  },
};

export const describeRetries: Scenario = ({ test }) => {
  test(
    "a job that fails is tried again and may succeed",
    jobTypes,
    async ({ leasehold, work, completion, events }) => {
      const attempts: number[] = [];
      await work(
        leasehold.createWorker().implementJobType({
          typeName: "flaky",
          retry: atOnce,
          process: async ({ job }) => {
            attempts.push(job.attempt);
            if (job.attempt < 3) throw new Error(`attempt ${job.attempt}`);
            return "at last";
          },
        }),
      );
      const started = await leasehold.startJobSequence({ typeName: "flaky" });

      assert.equal((await completion(started)).output, "at last");
      assert.deepEqual(attempts, [1, 2, 3]);
      const job = await leasehold.getJob({ id: started.id });
      assert.deepEqual([job?.attempt, job?.lastError?.message], [3, "attempt 2"]);
      assert.equal(events.all("jobAttemptFailed").length, 2);
    },
  );

  test("after four attempts it has failed, and the dead letter says why", jobTypes, async (story) => {
    const { leasehold, work, failure, stateAdapter } = story;
    let ran = 0;
    await work(
      leasehold.createWorker({ retry: atOnce }).implementJobType({
        typeName: "flaky",
        process: async () => {
          ran += 1;
          throw new RangeError(`number ${ran}`, { cause: new Error("deeper") });
        },
      }),
    );
    const before = await stateAdapter.getTime();
    const started = await leasehold.startJobSequence({ typeName: "flaky" });

    const error = await failure(started);

    assert.equal(ran, 4);
    assert.equal(error.reason, "attempts_exhausted");
    assert.ok(error.cause instanceof Error && error.cause.cause instanceof Error);
    assert.deepEqual(
      [error.cause.name, error.cause.message, error.cause.cause.message],
      ["RangeError", "number 4", "deeper"],
    );
    const job = await leasehold.getJob({ id: started.id });
    assert.ok(job?.status === "failed");
    const { reason, attempt, at, blockerSequenceId, error: stored } = job.failure;
    assert.deepEqual([reason, attempt, blockerSequenceId], ["attempts_exhausted", 4, null]);
    assert.deepEqual(
      [stored?.name, stored?.message, stored?.cause?.message],
      ["RangeError", "number 4", "deeper"],
    );
    assert.match(stored?.stack ?? "", /retries/);
    assert.ok(at.getTime() >= before && at.getTime() <= (await stateAdapter.getTime()));
  });

  for (const [name, { policy, delays }] of Object.entries(policies)) {
    test(
      `the ${name} policy decides how long to wait`,
      jobTypes,
      async ({ leasehold, work, failure, events }) => {
        await work(
          leasehold.createWorker().implementJobType({
            typeName: "flaky",
            retry: policy,
            process: async () => {
              throw new Error("oops");
            },
          }),
        );
        const started = await leasehold.startJobSequence({ typeName: "flaky" });
        await failure(started);
        await events.first("jobFailed");
        assert.deepEqual(
          events.all("jobAttemptFailed").map(({ retryInMs }) => retryInMs),
          [...delays, null],
        );
      },
    );
  }

  for (const [who, limits] of Object.entries({
    job: { job: 3, handler: 5, worker: 6 },
    handler: { job: 5, handler: 2, worker: 6 },
    worker: { job: 5, handler: 4, worker: 1 },
  })) {
    test(`the smallest bound wins: that of the ${who}`, jobTypes, async ({ leasehold, work, failure }) => {
      await work(
        leasehold.createWorker().implementJobType({
          typeName: "flaky",
          retry: atOnce,
          maxAttempts: limits.handler,
          process: async () => {
            throw new Error("no");
          },
        }),
        { maxAttempts: limits.worker },
      );
      const started = await leasehold.startJobSequence({ typeName: "flaky", maxAttempts: limits.job });
      assert.equal((await failure(started)).reason, "attempts_exhausted");
      const job = await leasehold.getJob({ id: started.id });
      assert.equal(job?.attempt, Math.min(limits.job, limits.handler, limits.worker));
    });
  }

  test(
    "the smallest bound wins: that of the job type",
    limitedJobTypes,
    async ({ leasehold, work, failure }) => {
      await work(
        leasehold.createWorker().implementJobType({
          typeName: "flaky",
          maxAttempts: 5,
          process: async () => {
            throw new Error("no");
          },
        }),
      );
      const started = await leasehold.startJobSequence({ typeName: "flaky", maxAttempts: 3 });
      await failure(started);
      const job = await leasehold.getJob({ id: started.id });
      assert.deepEqual([job?.attempt, job?.maxAttempts], [2, 2]);
    },
  );

  test(
    "a job that used up its attempts elsewhere is not run by a stricter worker",
    jobTypes,
    async (story) => {
      const { leasehold, work, failure } = story;
      const lenient = await work(
        leasehold.createWorker().implementJobType({
          typeName: "flaky",
          retry: atOnce,
          process: async () => {
            void lenient.stop();
            throw new Error("first");
          },
        }),
      );
      const started = await leasehold.startJobSequence({ typeName: "flaky" });
      await story.events.first("jobAttemptFailed");
      await lenient.stop();

      let ran = false;
      await work(
        leasehold.createWorker().implementJobType({
          typeName: "flaky",
          process: async () => {
            ran = true;
            return "done";
          },
        }),
        { maxAttempts: 1 },
      );

      assert.equal((await failure(started)).reason, "attempts_exhausted");
      assert.equal(ran, false);
    },
  );

  test("an unrecoverable error fails at once", jobTypes, async ({ leasehold, work, failure }) => {
    let ran = 0;
    await work(
      leasehold.createWorker().implementJobType({
        typeName: "flaky",
        retry: atOnce,
        process: async () => {
          ran += 1;
          throw new UnrecoverableJobError("The account is closed", { cause: new Error("404") });
        },
      }),
    );
    const started = await leasehold.startJobSequence({ typeName: "flaky" });

    const { reason, cause } = await failure(started);

    assert.deepEqual([reason, ran], ["unrecoverable", 1]);
    assert.ok(cause instanceof Error && cause.cause instanceof Error);
    assert.deepEqual(
      [cause.name, cause.message, cause.cause.message],
      ["UnrecoverableJobError", "The account is closed", "404"],
    );
  });
};
