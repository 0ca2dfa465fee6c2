import { describe, expect, it } from "vitest";
import { defineUnionJobTypes } from "../job-types/define.ts";
import { createTestKit } from "../testing/test-kit.ts";
import { createStaleJobs } from "./prefetch.ts";

const jobTypes = defineUnionJobTypes<{
  quick: { input: null; output: null };
  slow: { input: null; output: null };
}>();

const setUp = async () => {
  const kit = await createTestKit({ jobTypes });
  const { leasehold, clock } = kit;
  const sleep = (ms: number): Promise<void> => new Promise((resolve) => clock.setTimer(resolve, ms));
  const ran = new Map<string, number>();
  const createWorker = () =>
    leasehold
      .createWorker()
      .implementJobType({ typeName: "quick", process: async () => null })
      .implementJobType({
        typeName: "slow",
        process: async ({ job }) => {
          ran.set(job.leasedBy, (ran.get(job.leasedBy) ?? 0) + 1);
          await sleep(1_000);
          return null;
        },
      });
  const start = (typeName: "quick" | "slow", count: number) =>
    clock.runUntil(
      leasehold.startJobSequences({
        sequences: Array.from({ length: count }, () => ({ typeName, input: null })),
      }),
    );
  const count = async (typeName: "quick" | "slow", status: "running" | "completed"): Promise<number> => {
    const [counted] = await leasehold.jobs.count({ typeName, status });
    return counted?.count ?? 0;
  };
  return { ...kit, createWorker, start, count, ran };
};

describe("prefetch", () => {
  it("leaves slow jobs behind quick ones to a worker with free slots", async () => {
    const { clock, createWorker, start, count, ran } = await setUp();
    // Neither a poll nor the end of a lease comes into it.
    const times = { pollIntervalMs: 600_000, leaseMs: 600_000 };
    const hoarder = await clock.runUntil(
      createWorker().start({ workerId: "hoarder", concurrency: 10, ...times }),
    );
    await start("quick", 2_000);
    await start("slow", 200);
    await clock.runUntil(async () => (await count("slow", "running")) > 20);
    const begunAt = clock.monotonic();
    const free = await clock.runUntil(createWorker().start({ workerId: "free", concurrency: 200, ...times }));
    await clock.runUntil(async () => (await count("slow", "completed")) === 200);
    expect(clock.monotonic() - begunAt).toBeLessThan(2_000);
    expect(ran.get("free")).toBeGreaterThan(150);
    await clock.runUntil(Promise.all([hoarder.stop(), free.stop()]));
  });

  it("does not claim a slow type on the pace of a quick one", async () => {
    const { clock, createWorker, start, count } = await setUp();
    const worker = await clock.runUntil(createWorker().start({ concurrency: 10 }));
    await start("slow", 10);
    await clock.runUntil(async () => (await count("slow", "completed")) === 10);
    let most = 0;
    await start("quick", 2_000);
    await start("slow", 200);
    await clock.runUntil(async () => {
      most = Math.max(most, await count("slow", "running"));
      return (await count("slow", "completed")) >= 30;
    });
    expect(most).toBeGreaterThanOrEqual(10);
    expect(most).toBeLessThanOrEqual(20);
    await clock.runUntil(worker.stop());
  });

  it("claims slow jobs in their order although quick ones would fill the buffer", async () => {
    const { leasehold, clock, createWorker, start, count } = await setUp();
    const worker = await clock.runUntil(createWorker().start({ concurrency: 4 }));
    await start("slow", 4);
    await clock.runUntil(async () => (await count("slow", "completed")) === 4);
    await start("quick", 20_000);
    await clock.runUntil(
      leasehold.startJobSequences({
        sequences: Array.from({ length: 4 }, () => ({ typeName: "slow" as const, input: null, priority: 1 })),
      }),
    );
    await clock.runUntil(async () => (await count("slow", "running")) === 4);
    expect(await count("quick", "completed")).toBeLessThan(20_000);
    await clock.runUntil(worker.stop());
  });
});

describe("jobs that wait in a buffer", () => {
  it("are stale at the third check, and later ones are not", () => {
    const stale = createStaleJobs();
    expect(stale.check(5)).toBe(0);
    stale.taken(2);
    expect(stale.check(10)).toBe(0);
    stale.taken(1);
    expect(stale.check(9)).toBe(2);
    stale.taken(2);
    expect(stale.check(7)).toBe(7);
  });

  it("are not stale while all of them are taken between two checks", () => {
    const stale = createStaleJobs();
    for (let check = 0; check < 10; check += 1) {
      expect(stale.check(5)).toBe(0);
      stale.taken(5);
    }
  });
});
