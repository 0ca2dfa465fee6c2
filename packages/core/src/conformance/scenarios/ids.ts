import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { InvalidOptionError } from "../../base/errors.ts";
import { JobAlreadyExistsError } from "../../store/errors.ts";
import type { DefineContinuationInput, DefineContinuationOutput } from "../../job-types/markers.ts";
import { defineUnionJobTypes } from "../../job-types/define.ts";
import type { Scenario } from "../scenario.ts";

const jobTypes = defineUnionJobTypes<{
  first: { input: null; output: DefineContinuationOutput<"second"> };
  second: { input: DefineContinuationInput<null>; output: null };
}>();

export const describeIds: Scenario = ({ test }) => {
  for (const source of ["createId", "the adapter's idGenerator"] as const) {
    test(`starts and continuations have the ids that ${source} makes`, jobTypes, async ({ openAnother }) => {
      const made: string[] = [];
      const createId = (): string => {
        made.push(randomUUID());
        return made.at(-1)!;
      };
      const { leasehold, work, completion } = await openAnother(
        source === "createId"
          ? { createId, store: () => ({ idGenerator: () => assert.fail("createId overrides it") }) }
          : { store: () => ({ idGenerator: createId }) },
      );
      await work(
        leasehold
          .createWorker()
          .implementJobType({
            typeName: "first",
            process: ({ complete }) => complete(({ continueWith }) => continueWith({ typeName: "second" })),
          })
          .implementJobType({ typeName: "second", process: async () => null }),
      );
      const one = await leasehold.startJobSequence({ typeName: "first" });
      const two = await leasehold.startJobSequences({ sequences: [{ typeName: "first" }] });
      assert.deepEqual([one.id, two[0].id], made.slice(0, 2));
      await Promise.all([completion(one), completion(two[0])]);
      const current = await Promise.all([
        leasehold.jobs.getSequence(one),
        leasehold.jobs.getSequence(two[0]),
      ]);
      assert.deepEqual(new Set(current.map((sequence) => sequence?.currentJobId)), new Set(made.slice(2)));
      assert.equal(made.length, 4);

      const named = randomUUID();
      assert.equal((await leasehold.startJobSequence({ typeName: "first", id: named })).id, named);
      assert.equal(made.length, 4);
    });
  }

  test("an id that is none is refused, and nothing is written", jobTypes, async ({ openAnother, queue }) => {
    const bad: (() => unknown)[] = [undefined, null, 7, "", "a\0b", "x".repeat(201), {}].map(
      (id) => () => id,
    );
    for (const createId of [...bad, () => Promise.reject(new Error("async"))]) {
      const { leasehold } = await openAnother({ createId: createId as () => string });
      await assert.rejects(
        leasehold.startJobSequence({ typeName: "first" }),
        (error) => error instanceof InvalidOptionError && error.option === "createId()",
      );
      assert.deepEqual(await leasehold.jobs.count({ queue }), []);
    }
  });

  test(
    "an id that was made before is an error, not a second job",
    jobTypes,
    async ({ openAnother, queue }) => {
      const id = randomUUID();
      const { leasehold } = await openAnother({ createId: () => id });
      await leasehold.startJobSequence({ typeName: "first" });
      await assert.rejects(leasehold.startJobSequence({ typeName: "first" }), JobAlreadyExistsError);
      assert.equal((await leasehold.jobs.list({ queue })).jobs.length, 1);
    },
  );
};
