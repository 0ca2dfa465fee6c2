import { describe, expect, it } from "vitest";
import { defineUnionJobTypes } from "../job-types/define.ts";
import { JobNotFoundError, RescheduleJobError, StorePartMissingError } from "../store/errors.ts";
import { createTestKit } from "../testing/test-kit.ts";

const jobTypes = defineUnionJobTypes<{ work: { input: number; output: number } }>();

describe("history.listAttempts", () => {
  it("shows how each attempt ended, the latest first, and the one that completed the job", async () => {
    const kit = await createTestKit({ jobTypes, deployment: "v7" });
    const startedAt = kit.clock.now();
    let runs = 0;
    const worker = kit.leasehold.createWorker().implementJobType({
      typeName: "work",
      process: async ({ log }) => {
        runs += 1;
        log("began");
        log("counted", { runs });
        if (runs === 2) throw new RescheduleJobError({ afterMs: 5_000 }, { cause: new Error("busy") });
        if (runs < 4) throw new RangeError(`Order ${runs} is gone`);
        return runs;
      },
    });
    const job = await kit.leasehold.startJobSequence({ typeName: "work", input: 1 });
    expect(await kit.leasehold.history.listAttempts(job)).toEqual([]);
    await kit.advance(worker, 60_000, { workerId: "w" });

    const attempts = await kit.leasehold.history.listAttempts({ id: job.id });
    expect(attempts.map(({ attempt, outcome, workerId }) => [attempt, outcome, workerId])).toEqual([
      [3, "completed", "w"],
      [2, "retried", "w"],
      [2, "released", "w"],
      [1, "retried", "w"],
    ]);
    expect(attempts[0]).toMatchObject({ deployment: "v7", error: null, fingerprint: null, log: [] });
    const first = attempts.at(-1)!;
    expect(first).toMatchObject({
      deployment: "v7",
      dueAt: new Date(startedAt),
      error: { name: "RangeError", message: "Order 1 is gone" },
    });
    expect(first.startedAt.getTime()).toBeGreaterThanOrEqual(startedAt);
    expect(first.endedAt.getTime()).toBeGreaterThanOrEqual(first.startedAt.getTime());
    expect(first.log.map(({ text, data }) => [text, data])).toEqual([
      ["began", undefined],
      ["counted", { runs: 1 }],
    ]);
    expect(first.log[0]?.at).toBeInstanceOf(Date);
    expect(attempts[1]!.fingerprint).toBe(first.fingerprint);
    expect(attempts[1]!.dueAt.getTime()).toBeGreaterThanOrEqual(attempts[2]!.endedAt.getTime() + 5_000);
  });

  it("has nothing to show of a job that was completed from outside", async () => {
    const { leasehold } = await createTestKit({ jobTypes });
    const { id } = await leasehold.startJobSequence({ typeName: "work", input: 1 });
    await leasehold.completeJobSequence({
      id,
      typeName: "work",
      complete: ({ job, complete }) => complete(job, async () => 1),
    });
    expect(await leasehold.history.listAttempts({ id })).toEqual([]);
  });

  it("needs a job, and a store with a history", async () => {
    const { leasehold } = await createTestKit({ jobTypes });
    await expect(leasehold.history.listAttempts({ id: "nobody" })).rejects.toThrow(JobNotFoundError);
    const without = await createTestKit({
      jobTypes,
      wrapStateAdapter: (adapter) => ({ ...adapter, history: undefined as never }),
    });
    const { id } = await without.leasehold.startJobSequence({ typeName: "work", input: 1 });
    await expect(without.leasehold.history.listAttempts({ id })).rejects.toThrow(StorePartMissingError);
  });

  it("keeps the rest of an attempt whose log it cannot read", async () => {
    const kit = await createTestKit({
      jobTypes,
      wrapStateAdapter: (adapter) => ({
        ...adapter,
        commitOutcomes: (call) =>
          adapter.commitOutcomes({
            ...call,
            outcomes: call.outcomes.map((outcome) =>
              outcome.note === undefined ? outcome : { ...outcome, note: { ...outcome.note, log: "{" } },
            ),
          }),
      }),
    });
    const worker = kit.leasehold.createWorker().implementJobType({
      typeName: "work",
      process: async () => {
        throw new Error("broken");
      },
    });
    const { id } = await kit.leasehold.startJobSequence({ typeName: "work", input: 1, maxAttempts: 1 });
    await kit.drain(worker);
    expect(await kit.leasehold.history.listAttempts({ id })).toMatchObject([
      { outcome: "failed", error: { message: "broken" }, log: [] },
    ]);
  });
});
