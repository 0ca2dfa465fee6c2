import assert from "node:assert/strict";
import { BlockerCycleError } from "../../store/errors.ts";
import type { DefineBlocker } from "../../job-types/markers.ts";
import { defineUnionJobTypes } from "../../job-types/define.ts";
import type { Scenario } from "../scenario.ts";
import type { StoryApp } from "../story.ts";

interface Definitions {
  hen: { input: null; output: null; blockers: [DefineBlocker<"egg">] };
  egg: { input: null; output: null; blockers: [DefineBlocker<"hen">] };
  ouroboros: { input: null; output: null; blockers: [DefineBlocker<"ouroboros">] };
  innocent: { input: null; output: null };
}

const jobTypes = defineUnionJobTypes<Definitions>();

const startHenAndEgg = (leasehold: StoryApp<Definitions>["leasehold"]) =>
  leasehold.startJobSequence({
    typeName: "hen",
    startBlockers: async ({ job: hen }) => [
      await leasehold.startJobSequence({
        typeName: "egg",
        startBlockers: () => [{ id: hen.id, typeName: "hen" }],
      }),
    ],
  });

const startOuroboros = (leasehold: StoryApp<Definitions>["leasehold"]) =>
  leasehold.startJobSequence({
    typeName: "ouroboros",
    startBlockers: ({ job }) => [{ id: job.id, typeName: "ouroboros" }],
  });

export const describeBlockerCycles: Scenario = ({ test }) => {
  test("a job cannot wait for itself", jobTypes, async ({ leasehold, queue }) => {
    await assert.rejects(startOuroboros(leasehold), BlockerCycleError);
    assert.deepEqual(await leasehold.jobs.count({ queue }), []);
  });

  test("nor through another", jobTypes, async ({ leasehold, queue }) => {
    await assert.rejects(startHenAndEgg(leasehold), BlockerCycleError);
    assert.deepEqual(await leasehold.jobs.count({ queue }), []);
  });

  for (const [name, start] of [
    ["itself", startOuroboros],
    ["another", startHenAndEgg],
  ] as const) {
    test(
      `a caller that catches the cycle through ${name} and commits has nothing but its own`,
      jobTypes,
      async (story) => {
        const { leasehold, stateAdapter, queue } = story;
        const { savepoints } = stateAdapter.capabilities;
        const outer = leasehold.runInTransaction(async () => {
          await assert.rejects(start(leasehold), BlockerCycleError);
          if (savepoints) await leasehold.startJobSequence({ typeName: "innocent" });
        });
        // Without savepoints there is no commit: the caller's transaction is lost as a whole.
        if (savepoints) await outer;
        else await assert.rejects(outer, (error) => !(error instanceof assert.AssertionError));

        const innocent = { queue, typeName: "innocent", status: "pending" as const, count: 1 };
        assert.deepEqual(await leasehold.jobs.count({ queue }), savepoints ? [innocent] : []);
      },
    );
  }
};
