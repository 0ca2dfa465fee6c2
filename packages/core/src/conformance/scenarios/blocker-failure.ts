import assert from "node:assert/strict";
import { JobSequenceFailedError, UnrecoverableJobError } from "../../store/errors.ts";
import type { DefineBlocker } from "../../job-types/markers.ts";
import { defineJobTypes, defineUnionJobTypes, typeOnly } from "../../job-types/define.ts";
import type { Scenario } from "../scenario.ts";
import type { Story } from "../story.ts";

interface Definitions {
  mine: { input: null; output: string };
  smelt: { input: null; output: string; blockers: [DefineBlocker<"mine">] };
  forge: { input: null; output: string; blockers: [DefineBlocker<"smelt">] };
}

const jobTypes = defineUnionJobTypes<Definitions>();

const patientJobTypes = defineJobTypes({
  mine: { output: typeOnly<string>() },
  forge: { output: typeOnly<string>(), blockers: ["mine"], onBlockerFailure: "wait" },
});

const startThreeLevels = async ({ leasehold }: Story<Definitions>) => {
  const mine = await leasehold.startJobSequence({ typeName: "mine" });
  const smelt = await leasehold.startJobSequence({ typeName: "smelt", startBlockers: () => [mine] });
  const forge = await leasehold.startJobSequence({ typeName: "forge", startBlockers: () => [smelt] });
  return { mine, smelt, forge };
};

export const describeBlockerFailure: Scenario = ({ test }) => {
  test("a failure takes along who waits for it, through two levels", jobTypes, async (story) => {
    const { leasehold, work, failure, events } = story;
    const { mine, smelt, forge } = await startThreeLevels(story);
    const waiters = Promise.all([failure(mine), failure(smelt), failure(forge)]);
    const ran: string[] = [];
    await work(
      leasehold
        .createWorker()
        .implementJobType({
          typeName: "mine",
          process: async () => {
            throw new UnrecoverableJobError("The shaft has caved in");
          },
        })
        .implementJobType({
          typeName: "smelt",
          process: async () => {
            ran.push("smelt");
            return "";
          },
        }),
    );

    const [ofMine, ofSmelt, ofForge] = await waiters;

    assert.deepEqual(
      [ofMine.reason, ofSmelt.reason, ofForge.reason],
      ["unrecoverable", "blocker_failed", "blocker_failed"],
    );
    assert.ok(ofMine.cause instanceof Error);
    assert.equal(ofMine.cause.message, "The shaft has caved in");
    assert.deepEqual([ofMine.sequenceId, ofMine.jobId], [mine.id, mine.id]);
    // As with rejected promises, the failure at the top leads down to the error that began it.
    assert.ok(ofForge.cause instanceof JobSequenceFailedError);
    assert.equal(ofForge.cause.sequenceId, smelt.id);
    assert.ok(ofForge.cause.cause instanceof JobSequenceFailedError);
    assert.ok(ofForge.cause.cause.cause instanceof Error);
    assert.equal(ofForge.cause.cause.cause.message, "The shaft has caved in");

    const smelting = await leasehold.jobs.get({ id: smelt.id });
    const forging = await leasehold.jobs.get({ id: forge.id });
    assert.ok(smelting?.status === "failed" && forging?.status === "failed");
    assert.deepEqual([smelting.failure.blockerSequenceId, smelting.attempt], [mine.id, 0]);
    assert.deepEqual([forging.failure.blockerSequenceId, forging.attempt], [smelt.id, 0]);
    // It is on record with the job, too, however far the blocker is and whatever becomes of it.
    for (const { failure } of [smelting, forging]) {
      assert.equal(failure.error?.name, "BlockerFailedError");
      assert.match(failure.error.message, /The shaft has caved in/);
      assert.equal(failure.error.cause?.message, "The shaft has caved in");
    }
    const { error } = await events.first("jobFailed", ({ id }) => id === forge.id);
    assert.match(String(error), /The shaft has caved in/);
    assert.deepEqual(ran, []);
    await events.first("jobSequenceFailed", ({ id }) => id === forge.id);
  });

  test(
    "a cancellation names the jobs that fail with it, also in a dry run",
    jobTypes,
    async ({ leasehold }) => {
      const mine = await leasehold.startJobSequence({ typeName: "mine" });
      const smelt = await leasehold.startJobSequence({ typeName: "smelt", startBlockers: () => [mine] });
      const plan = await leasehold.jobs.cancel({ ids: [mine.id], dryRun: true });
      assert.deepEqual(plan.changed, [{ id: mine.id, failedIds: [smelt.id] }]);
      assert.equal((await leasehold.jobs.get(smelt))?.status, "blocked");
      assert.deepEqual(await leasehold.jobs.cancel({ ids: [mine.id] }), plan);
      assert.equal((await leasehold.jobs.get(smelt))?.status, "failed");
    },
  );

  test(
    "a job started on a failed sequence has failed before it begins",
    jobTypes,
    async ({ leasehold, failure }) => {
      const mine = await leasehold.startJobSequence({ typeName: "mine" });
      await leasehold.jobs.cancel({ ids: [mine.id] });

      const smelt = await leasehold.startJobSequence({ typeName: "smelt", startBlockers: () => [mine] });

      assert.ok(smelt.status === "failed");
      assert.deepEqual([smelt.failure.reason, smelt.failure.blockerSequenceId], ["blocker_failed", mine.id]);
      assert.equal((await failure(smelt)).reason, "blocker_failed");
    },
  );

  test(
    "a job type may wait regardless",
    patientJobTypes,
    async ({ leasehold, work, completion, failure }) => {
      const mine = await leasehold.startJobSequence({ typeName: "mine" });
      const forge = await leasehold.startJobSequence({ typeName: "forge", startBlockers: () => [mine] });
      let caved = true;
      await work(
        leasehold
          .createWorker()
          .implementJobType({
            typeName: "mine",
            process: async () => {
              if (caved) throw new UnrecoverableJobError("The shaft has caved in");
              return "ore";
            },
          })
          .implementJobType({
            typeName: "forge",
            process: async ({ job }) => `a sword of ${job.blockers[0].output}`,
          }),
      );

      await failure(mine);
      const waiting = await leasehold.jobs.explain({ id: forge.id });
      assert.ok(waiting.state === "blocked");
      assert.deepEqual(waiting.by, [{ id: mine.id, typeName: "mine", status: "failed" }]);

      caved = false;
      await leasehold.jobs.redrive({ ids: [mine.id] });
      assert.equal((await completion(forge)).output, "a sword of ore");
    },
  );
};
