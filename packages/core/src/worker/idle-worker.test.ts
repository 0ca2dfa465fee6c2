import { describe, expect, it } from "vitest";
import { defineUnionJobTypes } from "../model/job-types.ts";
import { createTestBench } from "../testing/test-bench.ts";
import { wrapAdapter } from "../testing/wrap-adapter.ts";

const jobTypes = defineUnionJobTypes<{ work: { input: null; output: null } }>();

/** A worker on a store in which a job is due that nobody gets: a transaction of somebody else's has locked its row. */
const createBench = async () => {
  let locked = true;
  let claims = 0;
  let ran = 0;
  const bench = await createTestBench({
    jobTypes,
    wrapStateAdapter: (adapter) =>
      wrapAdapter(adapter, (method, original) => {
        if (method === "nextRunnableIn") return async (call) => (locked ? 0 : original(call));
        if (method !== "claimJobs") return original;
        return (call) => {
          claims += 1;
          return original(call);
        };
      }),
  });
  const worker = await bench.clock.runUntil(
    bench.leasehold
      .createWorker()
      .implementJobType({
        typeName: "work",
        process: async () => {
          ran += 1;
          return null;
        },
      })
      .start({ pollIntervalMs: 1_000 }),
  );
  return {
    ...bench,
    worker,
    unlock: () => (locked = false),
    get claims() {
      return claims;
    },
    get ran() {
      return ran;
    },
  };
};

describe("a worker beside a due job whose row is locked for long", () => {
  it("asks ever more rarely, down to once per poll interval", async () => {
    const bench = await createBench();
    await bench.clock.advanceBy(60_000);
    expect(bench.claims).toBeGreaterThanOrEqual(60);
    // About ten on the way from one millisecond to a second.
    expect(bench.claims).toBeLessThanOrEqual(75);
    await bench.clock.runUntil(bench.worker.stop());
  });

  it("hears hints at once all the same", async () => {
    const bench = await createBench();
    await bench.clock.advanceBy(60_000);
    const from = bench.clock.now();
    await bench.leasehold.startJobSequence({ typeName: "work" });
    await bench.clock.runUntil(() => bench.ran === 1);
    expect(bench.clock.now() - from).toBeLessThanOrEqual(10);
    await bench.clock.runUntil(bench.worker.stop());
  });

  it("asks quickly again when jobs were to be had in between", async () => {
    const bench = await createBench();
    await bench.clock.advanceBy(60_000);
    await bench.leasehold.startJobSequence({ typeName: "work" });
    await bench.clock.runUntil(() => bench.ran === 1);
    const before = bench.claims;
    await bench.clock.advanceBy(100);
    expect(bench.claims - before).toBeGreaterThanOrEqual(4);
    await bench.clock.runUntil(bench.worker.stop());
  });
});
