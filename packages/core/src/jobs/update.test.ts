import { describe, expect, it } from "vitest";
import { defineUnionJobTypes } from "../job-types/define.ts";
import { createLeasehold } from "../leasehold.ts";
import { createInProcessStateAdapter } from "../memory/state-adapter.ts";
import { onNthCall } from "../testing/fault-plans.ts";
import { withFaults } from "../testing/faults.ts";
import { createTestKit } from "../testing/test-kit.ts";

const jobTypes = defineUnionJobTypes<{ index: { input: number; output: number } }>();

const deduplication = { key: "k", strategy: "pending", onDuplicate: "replace" } as const;

describe("an answer that is lost", () => {
  /** The `nth` call of this method takes effect, and its answer does not arrive. */
  const losing = (method: string, nth: number) =>
    createTestKit({
      jobTypes,
      wrapStateAdapter: (adapter) => withFaults(adapter, onNthCall(method, nth, { kind: "fail_after" })),
    });

  it("of a start that replaced a job is found again", async () => {
    const { leasehold, clock } = await losing("createJobs", 2);
    const first = await leasehold.startJobSequence({ typeName: "index", input: 1, deduplication });
    const second = await clock.runUntil(
      leasehold.startJobSequence({ typeName: "index", input: 2, deduplication }),
    );
    expect(second).toMatchObject({ id: first.id, deduplicated: true, replaced: true, input: 2 });
    expect(await leasehold.jobs.count()).toMatchObject([{ count: 1 }]);
  });

  it("of a start whose job was replaced since is found again", async () => {
    const stateAdapter = createInProcessStateAdapter();
    const faulty = withFaults(stateAdapter, onNthCall("createJobs", 1, { kind: "fail_after" }));
    const leasehold = await createLeasehold({
      stateAdapter: faulty,
      jobTypes,
      storeRetry: { initialDelayMs: 50 },
    });
    const other = await createLeasehold({ stateAdapter, jobTypes });
    const started = leasehold.startJobSequence({ typeName: "index", input: 1, deduplication });
    while ((await other.jobs.count()).length === 0);
    await other.startJobSequence({ typeName: "index", input: 2, deduplication });
    expect(await started).toMatchObject({ deduplicated: false });
    expect((await other.jobs.list()).jobs.map(({ input }) => input)).toEqual([2]);
  });

  it("of an update is found again, also when the job was claimed since", async () => {
    const stateAdapter = createInProcessStateAdapter();
    const faulty = withFaults(stateAdapter, onNthCall("runInTransaction", 1, { kind: "fail_after" }));
    const leasehold = await createLeasehold({
      stateAdapter: faulty,
      jobTypes,
      storeRetry: { initialDelayMs: 50 },
    });
    const { id } = await leasehold.startJobSequence({ typeName: "index", input: 1 });
    const updating = leasehold.jobs.update({ ids: [id], priority: 5 });
    const [job] = await stateAdapter.getJobs({ jobIds: [id] });
    while ((await stateAdapter.getJobs({ jobIds: [id] }))[0]?.priority !== 5);
    await stateAdapter.claimJobs({
      workerId: "worker",
      leaseToken: "token",
      leaseMs: 60_000,
      requests: [{ queue: job!.queue, typeNames: null, limit: 1 }],
      limit: 1,
    });
    expect(await updating).toMatchObject({ changed: [{ id, priority: 5 }], skipped: [] });
  });
});

describe("a job that is told to run now", () => {
  it("wakes a worker that would sleep for long", async () => {
    const { leasehold, clock } = await createTestKit({ jobTypes });
    const worker = await clock.runUntil(
      leasehold
        .createWorker()
        .implementJobType({ typeName: "index", process: async ({ job }) => job.input })
        .start({ pollIntervalMs: 3_600_000 }),
    );
    const day = { afterMs: 86_400_000 };
    const started = await leasehold.startJobSequence({ typeName: "index", input: 1, schedule: day });
    await clock.advanceBy(1_000);
    await leasehold.jobs.update({ ids: [started.id], schedule: { afterMs: 0 } });
    await clock.advanceBy(1_000);
    expect((await leasehold.jobs.getSequence({ id: started.id }))?.status).toBe("completed");
    await clock.runUntil(worker.stop());
  });
});
