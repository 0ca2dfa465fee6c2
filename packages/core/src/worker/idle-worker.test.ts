import { describe, expect, it } from "vitest";
import { defineUnionJobTypes } from "../model/job-types.ts";
import { createTestKit } from "../testing/test-kit.ts";
import { wrapAdapter } from "../testing/wrap-adapter.ts";

const jobTypes = defineUnionJobTypes<{ work: { input: null; output: null } }>();

/** A worker on a store in which a job is due that nobody gets: a transaction of somebody else's has locked its row. */
const createBench = async () => {
  let locked = true;
  let claims = 0;
  let ran = 0;
  const kit = await createTestKit({
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
  const worker = await kit.clock.runUntil(
    kit.leasehold
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
    ...kit,
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
    const kit = await createBench();
    await kit.clock.advanceBy(60_000);
    expect(kit.claims).toBeGreaterThanOrEqual(60);
    // About ten on the way from one millisecond to a second.
    expect(kit.claims).toBeLessThanOrEqual(75);
    await kit.clock.runUntil(kit.worker.stop());
  });

  it("hears hints at once all the same", async () => {
    const kit = await createBench();
    await kit.clock.advanceBy(60_000);
    const from = kit.clock.now();
    await kit.leasehold.startJobSequence({ typeName: "work" });
    await kit.clock.runUntil(() => kit.ran === 1);
    expect(kit.clock.now() - from).toBeLessThanOrEqual(10);
    await kit.clock.runUntil(kit.worker.stop());
  });

  it("asks quickly again when jobs were to be had in between", async () => {
    const kit = await createBench();
    await kit.clock.advanceBy(60_000);
    await kit.leasehold.startJobSequence({ typeName: "work" });
    await kit.clock.runUntil(() => kit.ran === 1);
    const before = kit.claims;
    await kit.clock.advanceBy(100);
    expect(kit.claims - before).toBeGreaterThanOrEqual(4);
    await kit.clock.runUntil(kit.worker.stop());
  });
});
