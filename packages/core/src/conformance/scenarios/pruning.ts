import assert from "node:assert/strict";
import type { LeaseholdEvents } from "../../observability/events.ts";
import { createLeasehold } from "../../leasehold.ts";
import type { DefineBlocker } from "../../job-types/markers.ts";
import { defineUnionJobTypes } from "../../job-types/define.ts";
import { until } from "../patience.ts";
import type { Scenario } from "../scenario.ts";

const jobTypes = defineUnionJobTypes<{
  part: { input: { fails: boolean }; output: null };
  whole: { input: null; output: null; blockers: [DefineBlocker<"part">] };
}>();

export const describePruning: Scenario = ({ testAlone }) => {
  testAlone("finished trees go, by age and status; the rest stays", jobTypes, async (story) => {
    const { leasehold, work, events, completion, failure, stateAdapter, queue } = story;
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

    assert.deepEqual(await leasehold.jobs.prune({ olderThanMs: 3_600_000 }), { deletedJobs: 0 });
    assert.deepEqual(await leasehold.jobs.prune({ olderThanMs: 0, batchSize: 1 }), { deletedJobs: 5 });
    const { jobs } = await leasehold.jobs.list({ queue, order: "oldest" });
    assert.deepEqual(
      jobs.map(({ id }) => id),
      [failed.id, open.id],
    );
    assert.deepEqual(await leasehold.jobs.prune({ olderThanMs: 0, statuses: ["failed"] }), {
      deletedJobs: 1,
    });
    // So that failures less deletions are what is left.
    assert.deepEqual(
      events.all("jobDeleted").map(({ id, status, typeName }) => [id, status, typeName]),
      [[failed.id, "failed", "part"]],
    );
    assert.equal((await leasehold.jobs.get({ id: open.id }))?.status, "pending");
  });

  testAlone("workers remove what is past its retention, and nothing else", jobTypes, async (story) => {
    const { stateAdapter } = story;
    const deletions: LeaseholdEvents["jobDeleted"][] = [];
    const leasehold = await createLeasehold({
      stateAdapter,
      jobTypes: defineUnionJobTypes<{
        short: { input: null; output: null };
        kept: { input: null; output: null };
        failing: { input: null; output: null };
        forgotten: { input: null; output: null };
      }>({ kept: { retention: { completedMs: null } }, forgotten: { retention: { failedMs: 1 } } }),
      observabilityAdapter: { jobDeleted: (data) => deletions.push(data) },
      defaults: { retention: { completedMs: 1 } },
    });
    const short = await leasehold.startJobSequence({ typeName: "short" });
    const kept = await leasehold.startJobSequence({ typeName: "kept" });
    const failing = await leasehold.startJobSequence({ typeName: "failing", maxAttempts: 1 });
    const forgotten = await leasehold.startJobSequence({ typeName: "forgotten", maxAttempts: 1 });
    const open = await leasehold.startJobSequence({ typeName: "short", schedule: { afterMs: 3_600_000 } });
    const worker = await leasehold
      .createWorker()
      .implementJobType({ typeName: "short", process: async () => {} })
      .implementJobType({ typeName: "kept", process: async () => {} })
      .implementJobType({
        typeName: "failing",
        process: async () => {
          throw new Error("no");
        },
      })
      .implementJobType({
        typeName: "forgotten",
        process: async () => {
          throw new Error("no");
        },
      })
      .start({ pruneIntervalMs: 10, pollIntervalMs: 10 });
    const status = async ({ id }: { readonly id: string }): Promise<string | undefined> =>
      (await leasehold.jobs.get({ id }))?.status;
    try {
      await until(async () => (await status(kept)) === "completed", "the one is completed");
      await until(async () => (await status(failing)) === "failed", "the other has failed");
      await until(async () => (await status(short)) === undefined, "what is past its retention is gone");
      await until(() => deletions.length > 0, "the failed one that went is announced");
      // One more pass, at the end of which the rest would be gone too.
      const second = await leasehold.startJobSequence({ typeName: "short" });
      await until(async () => (await status(second)) === undefined, "the second is gone");
      assert.deepEqual(
        [await status(kept), await status(failing), await status(open)],
        ["completed", "failed", "pending"],
      );
      assert.deepEqual(
        deletions.map(({ id, status }) => [id, status]),
        [[forgotten.id, "failed"]],
      );
    } finally {
      await worker.stop();
    }
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

    assert.deepEqual(await leasehold.jobs.prune({ olderThanMs: 0 }), { deletedJobs: 0 });
    assert.equal((await leasehold.jobs.get({ id: two.id, typeName: "whole" }))?.blockers[0].id, one.id);
  });
};
