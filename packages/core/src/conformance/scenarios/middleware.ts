import assert from "node:assert/strict";
import { defineUnionJobTypes } from "../../job-types/define.ts";
import type { Scenario } from "../scenario.ts";

const jobTypes = defineUnionJobTypes<{
  greet: { input: { name: string }; output: string };
}>();

export const describeMiddleware: Scenario = ({ test }) => {
  test("the first added is the outermost", jobTypes, async ({ leasehold, work, completion }) => {
    const steps: string[] = [];
    const layer = (name: string) => async (_context: unknown, next: () => Promise<unknown>) => {
      steps.push(`${name} before`);
      const result = await next();
      steps.push(`${name} after`);
      return result;
    };
    const worker = await work(
      leasehold
        .createWorker()
        .use(layer("outer"))
        .use(layer("inner"))
        .implementJobType({
          typeName: "greet",
          process: async ({ job, complete }) =>
            complete(() => {
              steps.push("handler");
              return `Hello ${job.input.name}`;
            }),
        }),
    );
    const { output } = await completion(
      await leasehold.startJobSequence({ typeName: "greet", input: { name: "Ada" } }),
    );
    assert.equal(output, "Hello Ada");
    // The sequence has completed before the layers have returned.
    await worker.stop();
    assert.deepEqual(steps, ["outer before", "inner before", "handler", "inner after", "outer after"]);
  });

  test("it sees the job, the signal and the worker", jobTypes, async ({ leasehold, work, completion }) => {
    const seen: unknown[] = [];
    await work(
      leasehold
        .createWorker()
        .use(async ({ job, signal, workerId }, next) => {
          seen.push([job.id, job.typeName, job.status, job.input, signal.aborted, workerId]);
          return next();
        })
        .implementJobType({ typeName: "greet", process: async () => "" }),
      { workerId: "watched" },
    );
    const started = await leasehold.startJobSequence({ typeName: "greet", input: { name: "Ada" } });
    await completion(started);
    assert.deepEqual(seen, [[started.id, "greet", "running", { name: "Ada" }, false, "watched"]]);
  });

  test(
    "what it returns instead of calling next is the output",
    jobTypes,
    async ({ leasehold, work, completion }) => {
      let ran = false;
      await work(
        leasehold
          .createWorker()
          .use(async () => "from the cache")
          .implementJobType({
            typeName: "greet",
            process: async () => {
              ran = true;
              return "";
            },
          }),
      );
      const { output } = await completion(
        await leasehold.startJobSequence({ typeName: "greet", input: { name: "Ada" } }),
      );
      assert.equal(output, "from the cache");
      assert.equal(ran, false);
    },
  );

  test("what it throws fails the attempt", jobTypes, async ({ leasehold, work, failure }) => {
    await work(
      leasehold
        .createWorker()
        .use(() => {
          throw new Error("not even asynchronously");
        })
        .implementJobType({ typeName: "greet", process: async () => "" }),
    );
    const started = await leasehold.startJobSequence({
      typeName: "greet",
      input: { name: "Ada" },
      maxAttempts: 1,
    });
    const { cause } = await failure(started);
    assert.ok(cause instanceof Error);
    assert.equal(cause.message, "not even asynchronously");
  });

  test("it can turn an error into an output, and an output into an error", jobTypes, async (story) => {
    const { leasehold, work, completion, failure } = story;
    await work(
      leasehold
        .createWorker()
        .use(async (_context, next) => {
          const result = await next().catch(() => "rescued");
          if (result === "too good") throw new Error("suspicious");
          return result;
        })
        .implementJobType({
          typeName: "greet",
          process: async ({ job }) => {
            if (job.input.name === "") throw new Error("nobody there");
            return "too good";
          },
        }),
    );
    const rescued = await leasehold.startJobSequence({ typeName: "greet", input: { name: "" } });
    const spoilt = await leasehold.startJobSequence({
      typeName: "greet",
      input: { name: "Ada" },
      maxAttempts: 1,
    });
    assert.equal((await completion(rescued)).output, "rescued");
    const { cause } = await failure(spoilt);
    assert.ok(cause instanceof Error);
    assert.equal(cause.message, "suspicious");
  });

  test(
    "calling next twice is an error, and the handler runs once",
    jobTypes,
    async ({ leasehold, work, failure }) => {
      let ran = 0;
      await work(
        leasehold
          .createWorker()
          .use(async (_context, next) => {
            await next();
            return next();
          })
          .implementJobType({
            typeName: "greet",
            process: async () => {
              ran += 1;
              return "";
            },
          }),
      );
      const started = await leasehold.startJobSequence({
        typeName: "greet",
        input: { name: "Ada" },
        maxAttempts: 1,
      });
      const { cause } = await failure(started);
      assert.ok(cause instanceof Error);
      assert.deepEqual([cause.name, ran], ["ProcessMisuseError", 1]);
    },
  );
};
