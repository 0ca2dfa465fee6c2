import assert from "node:assert/strict";
import { PayloadNotStorableError, PayloadTooLargeError } from "../../base/errors.ts";
import { defineUnionJobTypes } from "../../job-types/define.ts";
import type { Scenario } from "../scenario.ts";

const jobTypes = defineUnionJobTypes<{
  echo: { input: { value: unknown }; output: { value: unknown } };
}>();

const storable: readonly unknown[] = [
  null,
  true,
  0.1,
  -1e300,
  "",
  "ä 漢 😀 \u2028 \n \" \\ '",
  [],
  [[1, [2, [3]]]],
  { "": 1, "a.b": { $ne: null }, "key with spaces": [] },
  { constructor: 1, toString: "x", hasOwnProperty: null },
];

const unstorable: Readonly<Record<string, { value: unknown; path: string }>> = {
  "a bigint": { value: { total: 5n }, path: ".value.total" },
  "a date": { value: [{ when: new Date(0) }], path: ".value[0].when" },
  NaN: { value: { a: [1, Number.NaN] }, path: ".value.a[1]" },
  "undefined in an array": { value: [1, undefined], path: ".value[1]" },
  "a function": { value: () => 1, path: ".value" },
  NUL: { value: "a\0b", path: ".value" },
  "a key that could change a prototype": { value: JSON.parse('{"__proto__": {}}'), path: ".value.__proto__" },
  "a lone surrogate": { value: ["\ud800"], path: ".value[0]" },
};

export const describePayloads: Scenario = ({ test }) => {
  test(
    "what can be stored comes back exactly as it went in",
    jobTypes,
    async ({ leasehold, work, completion }) => {
      await work(
        leasehold
          .createWorker()
          .implementJobType({ typeName: "echo", process: async ({ job }) => job.input }),
      );
      for (const value of storable) {
        const started = await leasehold.startJobSequence({ typeName: "echo", input: { value } });
        const { input, output } = await completion(started);
        assert.equal(JSON.stringify(input), JSON.stringify({ value }));
        assert.equal(JSON.stringify(output), JSON.stringify({ value }));
      }
    },
  );

  test("minus zero stays minus zero", jobTypes, async ({ leasehold, work, completion }) => {
    const seen: unknown[] = [];
    await work(
      leasehold.createWorker().implementJobType({
        typeName: "echo",
        process: async ({ job }) => {
          seen.push(job.input.value);
          return { value: -0 };
        },
      }),
    );
    const started = await leasehold.startJobSequence({ typeName: "echo", input: { value: -0 } });
    const { input, output } = await completion(started);
    const job = await leasehold.jobs.get({ id: started.id, typeName: "echo" });
    for (const value of [started.input.value, ...seen, input.value, output.value, job?.input.value]) {
      assert.ok(Object.is(value, -0), `received ${String(value)}`);
    }
  });

  test(
    "a property that is undefined is left out, for whoever looks",
    jobTypes,
    async ({ leasehold, work, completion, queue }) => {
      const seen: unknown[] = [];
      await work(
        leasehold.createWorker().implementJobType({
          typeName: "echo",
          process: async ({ job }) => {
            seen.push(job.input);
            return { value: { kept: null, left: undefined } };
          },
        }),
      );
      const start = (input: { value: unknown }) =>
        leasehold.startJobSequence({
          typeName: "echo",
          input,
          deduplication: { key: queue, strategy: "all" },
        });
      const started = await start({ value: { kept: null, left: undefined, list: [{ left: undefined }] } });
      const again = await start({ value: { kept: null, list: [{}] } });
      const { input, output } = await completion(started);
      const job = await leasehold.jobs.get({ id: started.id, typeName: "echo" });
      for (const read of [started.input, again.input, ...seen, input, job?.input]) {
        assert.deepStrictEqual(read, { value: { kept: null, list: [{}] } });
      }
      assert.deepStrictEqual(output, { value: { kept: null } });
      assert.equal(again.deduplicated, true);
    },
  );

  for (const [what, { value, path }] of Object.entries(unstorable)) {
    test(`${what} as input is refused before anything is written`, jobTypes, async ({ leasehold, queue }) => {
      await assert.rejects(
        leasehold.startJobSequence({ typeName: "echo", input: { value } }),
        (error) => error instanceof PayloadNotStorableError && error.path === `input${path}`,
      );
      assert.deepEqual(await leasehold.jobs.count({ queue }), []);
    });

    test(
      `${what} as output fails the attempt and names the path`,
      jobTypes,
      async ({ leasehold, work, failure }) => {
        await work(
          leasehold.createWorker().implementJobType({
            typeName: "echo",
            process: async ({ job, complete }) =>
              job.input.value === "simple" ? { value } : complete(() => ({ value })),
          }),
        );
        for (const form of ["simple", "complete"]) {
          const started = await leasehold.startJobSequence({
            typeName: "echo",
            input: { value: form },
            maxAttempts: 1,
          });
          const { reason, cause } = await failure(started);
          assert.equal(reason, "attempts_exhausted");
          assert.ok(cause instanceof Error);
          assert.equal(cause.name, "PayloadNotStorableError");
          assert.ok(cause.message.includes(`\`output${path}\``), cause.message);
        }
      },
    );
  }

  test(
    "a payload of more than a mebibyte is refused",
    jobTypes,
    async ({ leasehold, work, failure, queue }) => {
      const value = "x".repeat(1_048_576);
      await assert.rejects(
        leasehold.startJobSequence({ typeName: "echo", input: { value } }),
        PayloadTooLargeError,
      );
      assert.deepEqual(await leasehold.jobs.count({ queue }), []);

      await work(
        leasehold.createWorker().implementJobType({ typeName: "echo", process: async () => ({ value }) }),
      );
      const started = await leasehold.startJobSequence({
        typeName: "echo",
        input: { value: 1 },
        maxAttempts: 1,
      });
      const { cause } = await failure(started);
      assert.ok(cause instanceof Error);
      assert.equal(cause.name, "PayloadTooLargeError");
    },
  );
};
