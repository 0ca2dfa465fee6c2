import assert from "node:assert/strict";
import { JobSequenceHasDependantsError, JobSequenceNotRootError } from "../../store/errors.ts";
import type { JobAbortReason } from "../../job-types/entities.ts";
import type { DefineBlocker } from "../../job-types/markers.ts";
import { defineUnionJobTypes } from "../../job-types/define.ts";
import { createGate } from "../gate.ts";
import { within } from "../patience.ts";
import type { Scenario } from "../scenario.ts";
import type { StoryApp } from "../story.ts";
import { aborted, heartbeatSoon } from "../story-signals.ts";

interface Definitions {
  part: { input: null; output: null };
  whole: { input: null; output: null; blockers: [DefineBlocker<"part">] };
}

const jobTypes = defineUnionJobTypes<Definitions>();

const startTree = async (leasehold: StoryApp<Definitions>["leasehold"]) => {
  const whole = await leasehold.startJobSequence({
    typeName: "whole",
    startBlockers: async () => [await leasehold.startJobSequence({ typeName: "part" })],
  });
  const [part] = await leasehold.jobs.listBlockers({ id: whole.id });
  assert.ok(part);
  return { whole, part };
};

export const describeDeletion: Scenario = ({ test }) => {
  test("a whole tree goes at once", jobTypes, async ({ leasehold, queue }) => {
    const { whole, part } = await startTree(leasehold);
    const kept = await leasehold.startJobSequence({ typeName: "part" });

    assert.deepEqual(await leasehold.deleteJobSequences({ rootSequenceIds: [whole.id] }), {
      changed: [{ id: whole.id, jobs: 2 }],
      skipped: [],
      cursor: null,
    });

    assert.equal(await leasehold.jobs.get({ id: whole.id }), undefined);
    assert.equal(await leasehold.jobs.getSequence({ id: part.id }), undefined);
    const { jobs } = await leasehold.jobs.list({ queue });
    assert.deepEqual(
      jobs.map(({ id }) => id),
      [kept.id],
    );
  });

  test("a sequence inside a tree cannot be deleted alone", jobTypes, async ({ leasehold, queue }) => {
    const { part } = await startTree(leasehold);
    await assert.rejects(
      leasehold.deleteJobSequences({ rootSequenceIds: [part.id] }),
      (error) => error instanceof JobSequenceNotRootError && error.ids[0] === part.id,
    );
    assert.equal((await leasehold.jobs.list({ queue })).jobs.length, 2);
  });

  test("what others wait for can only go together with them", jobTypes, async ({ leasehold, queue }) => {
    const part = await leasehold.startJobSequence({ typeName: "part" });
    const whole = await leasehold.startJobSequence({ typeName: "whole", startBlockers: () => [part] });

    await assert.rejects(
      leasehold.deleteJobSequences({ rootSequenceIds: [part.id] }),
      (error) =>
        error instanceof JobSequenceHasDependantsError && error.dependantRootSequenceIds[0] === whole.id,
    );
    assert.equal((await leasehold.jobs.list({ queue })).jobs.length, 2);

    const both = await leasehold.deleteJobSequences({ rootSequenceIds: [part.id, whole.id] });
    assert.deepEqual(both.changed, [
      { id: part.id, jobs: 1 },
      { id: whole.id, jobs: 1 },
    ]);
    assert.equal((await leasehold.jobs.list({ queue })).jobs.length, 0);
  });

  test("ids that do not exist are skipped", jobTypes, async ({ leasehold }) => {
    const { id } = await leasehold.startJobSequence({ typeName: "part" });
    const remove = async () => leasehold.deleteJobSequences({ rootSequenceIds: [id] });
    assert.deepEqual((await remove()).changed, [{ id, jobs: 1 }]);
    assert.deepEqual((await remove()).skipped, [{ id, reason: "not_found" }]);
  });

  test(
    "by filter, finished trees go, and others are skipped with a reason",
    jobTypes,
    async ({ leasehold, queue }) => {
      const start = () => leasehold.startJobSequence({ typeName: "part" });
      const [finished, open, needed] = [await start(), await start(), await start()];
      await leasehold.startJobSequence({ typeName: "whole", startBlockers: () => [needed] });
      await leasehold.completeJobSequence({
        ...needed,
        complete: async ({ job, complete }) => complete(job, () => null),
      });
      await leasehold.jobs.cancel({ ids: [finished.id] });
      const filter = { queue };
      const plan = await leasehold.deleteJobSequences({ filter, dryRun: true });
      assert.deepEqual(plan, {
        changed: [{ id: finished.id, jobs: 1 }],
        skipped: [{ id: needed.id, reason: "has_dependants" }],
        cursor: null,
      });
      assert.equal((await leasehold.jobs.list({ queue })).jobs.length, 4);
      assert.deepEqual(await leasehold.deleteJobSequences({ filter }), plan);
      assert.equal((await leasehold.jobs.list({ queue })).jobs.length, 3);
      const onlyFinished = { rootSequenceIds: [open.id], onlyFinished: true };
      assert.deepEqual((await leasehold.deleteJobSequences(onlyFinished)).skipped, [
        { id: open.id, reason: "unfinished" },
      ]);
    },
  );

  test("the handler of a deleted job is aborted, and its result goes nowhere", jobTypes, async (story) => {
    const { leasehold, work } = story;
    const running = createGate();
    const settled = createGate();
    let reason: JobAbortReason | undefined;
    const worker = await work(
      leasehold.createWorker().implementJobType({
        typeName: "part",
        process: async ({ signal }) => {
          running.open();
          reason = await aborted(signal);
          settled.open();
        },
      }),
      heartbeatSoon,
    );
    const started = await leasehold.startJobSequence({ typeName: "part" });
    await running.opened;

    await leasehold.deleteJobSequences({ rootSequenceIds: [started.id] });

    await within(settled.opened, "the handler to settle");
    assert.equal(reason, "not_found");
    await worker.stop();
    assert.equal(await leasehold.jobs.get({ id: started.id }), undefined);
  });

  test(
    "a waiter of a deleted sequence learns that it is gone",
    jobTypes,
    async ({ leasehold, completion }) => {
      const started = await leasehold.startJobSequence({ typeName: "part" });
      const waiting = assert.rejects(completion(started), { code: "JobNotFound" });
      await leasehold.deleteJobSequences({ rootSequenceIds: [started.id] });
      await within(waiting, "the waiter to learn of it");
    },
  );
};
