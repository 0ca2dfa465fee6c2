import { describe, expect, it } from "vitest";
import { defineUnionJobTypes } from "../job-types/define.ts";
import type { DefineBlocker } from "../job-types/markers.ts";
import { InjectedFaultError, withFaults } from "../testing/faults.ts";
import { createTestKit } from "../testing/test-kit.ts";
import { wrapAdapter } from "../store/wrap-adapter.ts";

const jobTypes = defineUnionJobTypes<{
  work: { input: null; output: null };
  waits: { input: null; output: null; blockers: [DefineBlocker<"work">] };
}>();

type Transaction = (ctx: object) => Promise<unknown>;

/** Runs the transaction; nobody is told how it ended. */
const loseEnd = async (
  runInTransaction: (transaction: Transaction) => unknown,
  transaction: Transaction,
  what: "commit" | "reply",
): Promise<never> => {
  const error = new InjectedFaultError("runInTransaction", "fail_after");
  await runInTransaction(async (ctx) => {
    const result = await transaction(ctx);
    if (what === "commit") throw error;
    return result;
  });
  throw error;
};

/** A job, one that waits for it, and a store that loses the next commit when told so, or only the reply to it. */
const createStory = async () => {
  let lost: "commit" | "reply" | null = null;
  const events = { jobRedriven: 0, jobFailed: 0, jobCancelled: 0, jobDeleted: 0 };
  const count = (name: keyof typeof events) => (): void => void (events[name] += 1);
  const kit = await createTestKit({
    jobTypes,
    observabilityAdapter: {
      jobRedriven: count("jobRedriven"),
      jobFailed: count("jobFailed"),
      jobCancelled: count("jobCancelled"),
      jobDeleted: count("jobDeleted"),
    },
    wrapStateAdapter: (adapter) => {
      const lossy = wrapAdapter(adapter, (method, original) => (...args) => {
        if (method !== "runInTransaction" || lost === null) return original(...args);
        const what = lost;
        lost = null;
        return loseEnd(original, args[0] as Transaction, what);
      });
      return withFaults(lossy, () => undefined);
    },
  });
  const { leasehold } = kit;
  const work = await leasehold.startJobSequence({ typeName: "work" });
  const waits = await leasehold.startJobSequence({ typeName: "waits", startBlockers: () => [work] });
  return {
    ...kit,
    work,
    waits,
    events,
    cancel: () => leasehold.jobs.cancel({ ids: [work.id] }),
    losing: async <T>(what: "commit" | "reply", call: () => Promise<T>): Promise<T> => {
      lost = what;
      const result = await kit.clock.runUntil(call());
      expect(lost).toBe(null);
      return result;
    },
  };
};

describe.each(["commit", "reply"] as const)("when the %s of a call is lost, and it is made again", (what) => {
  it("a redrive says that it took place, once", async () => {
    const { leasehold, losing, work, waits, events, cancel } = await createStory();
    await cancel();
    const report = await losing(what, () => leasehold.jobs.redrive({ ids: [work.id] }));
    expect(report).toEqual({
      changed: [{ id: work.id, sequenceId: work.id, revivedIds: [waits.id] }],
      skipped: [],
      cursor: null,
    });
    expect(events).toMatchObject({ jobFailed: 2, jobRedriven: 2 });
  });

  it("a cancellation announces what it did, once", async () => {
    const { losing, work, events, cancel } = await createStory();
    expect(await losing(what, cancel)).toMatchObject({ changed: [{ id: work.id }], skipped: [] });
    expect(events).toMatchObject({ jobFailed: 2, jobCancelled: 1 });
    await cancel();
    expect(events).toMatchObject({ jobFailed: 2, jobCancelled: 1 });
  });

  it("a deletion counts what it took away", async () => {
    const { leasehold, losing, work, waits, events } = await createStory();
    const rootSequenceIds = [work.id, waits.id];
    const remove = () => leasehold.deleteJobSequences({ rootSequenceIds });
    expect(await losing(what, remove)).toMatchObject({
      changed: rootSequenceIds.map((id) => ({ id, jobs: 1 })),
    });
    expect(await remove()).toMatchObject({ changed: [] });
    expect(events).toMatchObject({ jobDeleted: 2 });
  });
});

describe("a call that is made again", () => {
  it("does not take somebody else's redrive for its own", async () => {
    const { leasehold, losing, work, events, cancel, clock, stateAdapter } = await createStory();
    await cancel();
    const redrive = losing("commit", () => leasehold.jobs.redrive({ ids: [work.id] }));
    // In the pause before the second try.
    const other = clock.now() + 1;
    await stateAdapter.redriveJobs({ jobIds: [work.id], now: other });
    expect(await redrive).toMatchObject({
      changed: [],
      skipped: [{ id: work.id, reason: "not_failed" }],
    });
    expect(events).toMatchObject({ jobRedriven: 0 });
  });

  it("recognises a job that has been claimed meanwhile", async () => {
    const { leasehold, losing, work, cancel, stateAdapter, clock } = await createStory();
    await cancel();
    const redrive = losing("reply", () => leasehold.jobs.redrive({ ids: [work.id] }));
    const requests = [{ queue: "default", typeNames: ["work"], limit: 1 }];
    const lease = { workerId: "worker", leaseToken: "token", leaseMs: 1_000, limit: 1 };
    for (let claimed = 0; claimed === 0;)
      claimed = (await stateAdapter.claimJobs({ ...lease, requests, now: clock.now() + 5 })).length;
    expect(await redrive).toMatchObject({ changed: [{ id: work.id }], skipped: [] });
  });
});
