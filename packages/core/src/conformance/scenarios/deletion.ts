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

    assert.deepEqual(await leasehold.deleteJobSequences({ rootSequenceIds: [whole.id] }), { deletedJobs: 2 });

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

    assert.deepEqual(await leasehold.deleteJobSequences({ rootSequenceIds: [part.id, whole.id] }), {
      deletedJobs: 2,
    });
    assert.equal((await leasehold.jobs.list({ queue })).jobs.length, 0);
  });

  test("ids that do not exist are passed over", jobTypes, async ({ leasehold }) => {
    const { id } = await leasehold.startJobSequence({ typeName: "part" });
    assert.deepEqual(await leasehold.deleteJobSequences({ rootSequenceIds: [id] }), { deletedJobs: 1 });
    assert.deepEqual(await leasehold.deleteJobSequences({ rootSequenceIds: [id] }), { deletedJobs: 0 });
  });

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
