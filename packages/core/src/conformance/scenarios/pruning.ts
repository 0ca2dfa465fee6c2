import assert from "node:assert/strict";
import type { DefineBlocker } from "../../model/job-type-markers.ts";
import { defineUnionJobTypes } from "../../model/job-types.ts";
import { until } from "../patience.ts";
import type { Scenario } from "../scenario.ts";

const jobTypes = defineUnionJobTypes<{
  part: { input: { fails: boolean }; output: null };
  whole: { input: null; output: null; blockers: [DefineBlocker<"part">] };
}>();

export const describePruning: Scenario = ({ testAlone }) => {
  testAlone("finished trees go, by age and status; the rest stays", jobTypes, async (story) => {
    const { leasehold, work, completion, failure, stateAdapter, queue } = story;
    await work(
      leasehold
        .createWorker()
        .implementJobType({
          typeName: "part",
          process: async ({ job }) => {
            if (job.input.fails) throw new Error("no");
          },
        })
        .implementJobType({ typeName: "whole", process: async () => {} }),
    );
    const part = (fails: boolean) =>
      leasehold.startJobSequence({ typeName: "part", input: { fails }, maxAttempts: 1 });
    const completed = [await part(false), await part(false), await part(false)];
    const failed = await part(true);
    const tree = await leasehold.startJobSequence({
      typeName: "whole",
      startBlockers: async () => [await part(false)],
    });
    const open = await leasehold.startJobSequence({
      typeName: "part",
      input: { fails: false },
      schedule: { afterMs: 3_600_000 },
    });
    for (const sequence of completed) await completion(sequence);
    await completion(tree);
    await failure(failed);
    const now = await stateAdapter.getTime();
    await until(async () => (await stateAdapter.getTime()) > now + 1, "time has passed");

    assert.deepEqual(await leasehold.pruneJobSequences({ olderThanMs: 3_600_000 }), { deletedJobs: 0 });
    assert.deepEqual(await leasehold.pruneJobSequences({ olderThanMs: 0, batchSize: 1 }), { deletedJobs: 5 });
    const { jobs } = await leasehold.listJobs({ queue, order: "oldest" });
    assert.deepEqual(
      jobs.map(({ id }) => id),
      [failed.id, open.id],
    );
    assert.deepEqual(await leasehold.pruneJobSequences({ olderThanMs: 0, statuses: ["failed"] }), {
      deletedJobs: 1,
    });
    assert.equal((await leasehold.getJob({ id: open.id }))?.status, "pending");
  });

  testAlone("a finished tree stays while something waits for a part of it", jobTypes, async (story) => {
    const { leasehold, work, completion, stateAdapter } = story;
    const worker = await work(
      leasehold.createWorker().implementJobType({ typeName: "part", process: async () => {} }),
    );
    const one = await leasehold.startJobSequence({ typeName: "part", input: { fails: false } });
    await completion(one);
    await worker.stop();
    const two = await leasehold.startJobSequence({ typeName: "whole", startBlockers: () => [one] });
    const now = await stateAdapter.getTime();
    await until(async () => (await stateAdapter.getTime()) > now + 1, "time has passed");

    assert.deepEqual(await leasehold.pruneJobSequences({ olderThanMs: 0 }), { deletedJobs: 0 });
    assert.equal((await leasehold.getJob({ id: two.id, typeName: "whole" }))?.blockers[0].id, one.id);
  });
};
