import assert from "node:assert/strict";
import { SchemaValidationError } from "../../base/errors.ts";
import { UnknownJobTypeError } from "../../store/errors.ts";
import { defineJobTypes } from "../../job-types/define.ts";
import type { StandardSchemaV1 } from "../../job-types/options.ts";
import type { Scenario } from "../scenario.ts";
import type { StoryTransaction } from "../story.ts";

/** Numbers within bounds, also as text. Written by hand: the stories depend on no library. */
const amount = (largest: () => number): StandardSchemaV1<{ cents: number | string }, { cents: number }> => ({
  "~standard": {
    version: 1,
    vendor: "leasehold-conformance",
    validate: async (value) => {
      const cents = Number((value as { cents?: unknown } | null)?.cents);
      return cents <= largest()
        ? { value: { cents } }
        : { issues: [{ message: `must be at most ${largest()}`, path: ["cents"] }] };
    },
  },
});

let largestAtClaim = 100;

const jobTypes = defineJobTypes({
  pay: { input: amount(() => 100), output: amount(() => 100), continuesTo: ["thank"] },
  strict: { input: amount(() => largestAtClaim) },
  thank: { internal: true, input: amount(() => 100) },
});

const invalid = (part: "input" | "output") => (error: unknown) =>
  error instanceof SchemaValidationError &&
  error.part === part &&
  error.issues.length === 1 &&
  error.issues[0]?.path === `${part}.cents`;

export const describeSchemas: Scenario = ({ test }) => {
  test(
    "what the schema returns is stored and handed to the handler",
    jobTypes,
    async ({ leasehold, work, completion }) => {
      await work(
        leasehold.createWorker().implementJobType({
          typeName: "pay",
          process: async ({ job }) => ({ cents: String(job.input.cents + 1) }),
        }),
      );
      const started = await leasehold.startJobSequence({ typeName: "pay", input: { cents: "7" } });
      assert.deepEqual(started.input, { cents: 7 });
      assert.deepEqual((await completion(started)).output, { cents: 8 });
    },
  );

  test("a bad input is refused before anything is written", jobTypes, async ({ leasehold, queue }) => {
    await assert.rejects(
      leasehold.startJobSequence({ typeName: "pay", input: { cents: 500 } }),
      invalid("input"),
    );
    await assert.rejects(
      leasehold.startJobSequences({
        sequences: [
          { typeName: "pay", input: { cents: 1 } },
          { typeName: "pay", input: { cents: 500 } },
        ],
      }),
      invalid("input"),
    );
    await leasehold.runInTransaction(async (ctx: StoryTransaction) => {
      await assert.rejects(
        leasehold.startJobSequence({ ...ctx, typeName: "pay", input: { cents: 500 } }),
        invalid("input"),
      );
    });
    assert.deepEqual(await leasehold.jobs.count({ queue }), []);
  });

  test(
    "a stored input that no longer fits fails the job at once",
    jobTypes,
    async ({ leasehold, work, failure }) => {
      largestAtClaim = 100;
      const started = await leasehold.startJobSequence({ typeName: "strict", input: { cents: 50 } });
      largestAtClaim = 10;
      let ran = false;
      await work(
        leasehold.createWorker().implementJobType({
          typeName: "strict",
          process: async () => {
            ran = true;
          },
        }),
      );
      const { reason, cause } = await failure(started);
      assert.equal(reason, "invalid_input");
      assert.ok(cause instanceof Error);
      assert.equal(cause.name, "SchemaValidationError");
      assert.equal(ran, false);
      assert.equal((await leasehold.jobs.get({ id: started.id }))?.attempt, 1);
    },
  );

  test(
    "a bad output and a bad continuation fail the attempt",
    jobTypes,
    async ({ leasehold, work, failure }) => {
      await work(
        leasehold.createWorker().implementJobType({
          typeName: "pay",
          process: async ({ job, complete }) =>
            job.input.cents === 1
              ? { cents: 500 }
              : complete(({ continueWith }) => continueWith({ typeName: "thank", input: { cents: 500 } })),
        }),
      );
      for (const cents of [1, 2]) {
        const started = await leasehold.startJobSequence({
          typeName: "pay",
          input: { cents },
          maxAttempts: 1,
        });
        const { reason, cause } = await failure(started);
        // Not `invalid_input`: the job's own input was fine.
        assert.equal(reason, "attempts_exhausted");
        assert.ok(cause instanceof Error);
        assert.equal(cause.name, "SchemaValidationError");
        assert.equal((await leasehold.jobs.listInSequence({ id: started.id })).jobs.length, 1);
      }
    },
  );

  test(
    "at run time too, an internal type cannot be started, nor an undefined one",
    jobTypes,
    async ({ leasehold, queue }) => {
      for (const typeName of ["thank", "nonsense"]) {
        const attempt = leasehold.startJobSequence({ typeName: typeName as "pay", input: { cents: 1 } });
        await assert.rejects(attempt, UnknownJobTypeError);
      }
      assert.deepEqual(await leasehold.jobs.count({ queue }), []);
    },
  );
};
