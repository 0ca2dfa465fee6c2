import assert from "node:assert/strict";
import { UnrecoverableJobError } from "../../store/errors.ts";
import { defineJobTypes, defineUnionJobTypes, typeOnly } from "../../job-types/define.ts";
import type { RetryPolicy } from "../../job-types/retry-policy.ts";
import type { Scenario } from "../scenario.ts";
import { claimAndVanish } from "../vanished-worker.ts";

const jobTypes = defineUnionJobTypes<{
  flaky: { input: null; output: string };
}>();

const limitedJobTypes = defineJobTypes({
  flaky: { output: typeOnly<string>(), maxAttempts: 3, retry: { type: "fixed", delayMs: 0 } },
});

type Limits = { readonly [TWho in "start" | "handler" | "type" | "defaults" | "worker"]?: number };

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
      const job = await leasehold.jobs.get({ id: started.id });
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
    const job = await leasehold.jobs.get({ id: started.id });
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

  const limitedBy: Record<string, [limits: Limits, attempts: number]> = {
    "its start": [{ start: 5, handler: 2, type: 3, defaults: 1 }, 5],
    "its handler, where its start says nothing": [{ handler: 5, type: 3, defaults: 1 }, 5],
    "its handler, to fewer than its type": [{ handler: 1, type: 3 }, 1],
    "its type, where its handler says nothing either": [{ type: 3, defaults: 5 }, 3],
    "the instance, where nobody else does": [{ defaults: 2 }, 2],
    "four attempts, where nobody says anything": [{}, 4],
    "its worker, whatever the others say": [{ start: 5, handler: 4, type: 3, worker: 2 }, 2],
  };
  for (const [who, [limits, attempts]] of Object.entries(limitedBy)) {
    test(
      `a job is limited by ${who}`,
      limits.type === undefined ? jobTypes : limitedJobTypes,
      async ({ openAnother }) => {
        const { defaults } = limits;
        const { leasehold, work, failure } = await openAnother(
          defaults === undefined ? {} : { defaults: { maxAttempts: defaults } },
        );
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
        const started = await leasehold.startJobSequence({ typeName: "flaky", maxAttempts: limits.start });
        assert.equal((await failure(started)).reason, "attempts_exhausted");
        assert.equal((await leasehold.jobs.get({ id: started.id }))?.attempt, attempts);
      },
    );
  }

  for (const [handler, outcome] of [
    [5, "run again"],
    [undefined, "fail"],
  ] as const) {
    test(
      `a job whose worker vanishes at the last attempt of its type will ${outcome} by the word of its handler`,
      limitedJobTypes,
      async (story) => {
        const { leasehold, work, completion, failure, stateAdapter, queue } = story;
        const started = await leasehold.startJobSequence({ typeName: "flaky" });
        for (let attempt = 1; attempt <= 3; attempt += 1)
          await claimAndVanish(stateAdapter, { queue, typeName: "flaky", workerId: `lost-${attempt}` });
        await work(
          leasehold.createWorker().implementJobType({
            typeName: "flaky",
            maxAttempts: handler,
            process: async ({ job }) => `attempt ${job.attempt}`,
          }),
          { reapIntervalMs: 10 },
        );
        if (handler === undefined) assert.equal((await failure(started)).reason, "attempts_exhausted");
        else assert.equal((await completion(started)).output, "attempt 4");
      },
    );
  }

  test("the default of the instance spaces out retries", jobTypes, async ({ openAnother }) => {
    const { leasehold, work, events } = await openAnother({
      defaults: { retry: { type: "fixed", delayMs: 3_600_000 } },
    });
    await work(
      leasehold.createWorker().implementJobType({
        typeName: "flaky",
        process: async () => {
          throw new Error("no");
        },
      }),
    );
    await leasehold.startJobSequence({ typeName: "flaky" });
    assert.equal((await events.first("jobAttemptFailed")).retryInMs, 3_600_000);
  });

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
