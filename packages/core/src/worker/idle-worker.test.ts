import { describe, expect, it } from "vitest";
import { defineUnionJobTypes } from "../job-types/define.ts";
import { createTestKit } from "../testing/test-kit.ts";
import { wrapAdapter } from "../store/wrap-adapter.ts";

const jobTypes = defineUnionJobTypes<{ work: { input: null; output: null } }>();

/**
 * A worker on a store that says that something is due in `dueInMs`, though a claim does not get it: a transaction of
 * somebody else's has locked its row. With `nothingElse` a claim gets nothing at all.
 */
const createIdleWorker = async ({ dueInMs = 0 as number | null, nothingElse = false } = {}) => {
  let claims = 0;
  let ran = 0;
  let due = dueInMs;
  const kit = await createTestKit({
    jobTypes,
    wrapStateAdapter: (adapter) =>
      wrapAdapter(adapter, (method, original) => {
        if (method === "nextRunnableIn") return async () => due;
        if (method !== "claimJobs") return original;
        return async (call) => {
          claims += 1;
          return nothingElse ? [] : original(call);
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
    setDue: (ms: number | null) => {
      due = ms;
    },
    get claims() {
      return claims;
    },
    get ran() {
      return ran;
    },
  };
};

describe("a worker beside a due job whose row is locked for long", () => {
  it.each([0, 1, 30])(
    "asks ever more rarely, down to once per poll interval (due in %i ms)",
    async (dueInMs) => {
      const kit = await createIdleWorker({ dueInMs });
      await kit.clock.advanceBy(60_000);
      expect(kit.claims).toBeGreaterThanOrEqual(60);
      // About eight on the way from five milliseconds to a second.
      expect(kit.claims).toBeLessThanOrEqual(75);
      await kit.clock.runUntil(kit.worker.stop());
    },
  );

  it("still acts on a notification at once", async () => {
    const kit = await createIdleWorker();
    await kit.clock.advanceBy(60_000);
    const from = kit.clock.now();
    await kit.leasehold.startJobSequence({ typeName: "work" });
    await kit.clock.runUntil(() => kit.ran === 1);
    expect(kit.clock.now() - from).toBeLessThanOrEqual(10);
    await kit.clock.runUntil(kit.worker.stop());
  });

  it("asks quickly again after a notification, even if that brought nothing", async () => {
    const kit = await createIdleWorker({ nothingElse: true });
    await kit.clock.advanceBy(60_000);
    const before = kit.claims;
    await kit.leasehold.startJobSequence({ typeName: "work" });
    await kit.clock.advanceBy(100);
    expect(kit.claims - before).toBeGreaterThanOrEqual(4);
    expect(kit.claims - before).toBeLessThanOrEqual(10);
    await kit.clock.runUntil(kit.worker.stop());
  });

  it("asks quickly again when jobs were to be had in between", async () => {
    const kit = await createIdleWorker();
    await kit.clock.advanceBy(60_000);
    await kit.leasehold.startJobSequence({ typeName: "work" });
    await kit.clock.runUntil(() => kit.ran === 1);
    const before = kit.claims;
    await kit.clock.advanceBy(100);
    expect(kit.claims - before).toBeGreaterThanOrEqual(4);
    await kit.clock.runUntil(kit.worker.stop());
  });
});

describe("a worker that polls while another claims the only job", () => {
  it("claims in vain once, and then only asks", async () => {
    const kit = await createIdleWorker({ dueInMs: null, nothingElse: true });
    await kit.clock.advanceBy(10_000);
    const before = kit.claims;
    kit.setDue(0);
    await kit.clock.runUntil(() => kit.claims > before);
    // The claim of the other is committed.
    await kit.clock.advanceBy(4);
    kit.setDue(null);
    await kit.clock.advanceBy(10_000);
    expect(kit.claims - before).toBe(1);
    await kit.clock.runUntil(kit.worker.stop());
  });
});

describe("a worker that asks when the next job is due", () => {
  /** The store answers that question only when told to. */
  const createAskingWorker = async () => {
    const answers: (() => void)[] = [];
    let answersAtOnce = false;
    let ran = 0;
    const kit = await createTestKit({
      jobTypes,
      wrapStateAdapter: (adapter) =>
        wrapAdapter(adapter, (method, original) =>
          method === "nextRunnableIn"
            ? () =>
                answersAtOnce
                  ? Promise.resolve(null)
                  : new Promise((resolve) => void answers.push(() => resolve(null)))
            : original,
        ),
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
    await kit.clock.runUntil(() => answers.length === 1);
    return {
      ...kit,
      answers,
      stop: () => {
        answersAtOnce = true;
        for (const answer of answers) answer();
        return kit.clock.runUntil(worker.stop());
      },
      get ran() {
        return ran;
      },
    };
  };

  it("claims a job that is started meanwhile, without waiting for the answer", async () => {
    const kit = await createAskingWorker();
    const from = kit.clock.now();
    await kit.leasehold.startJobSequence({ typeName: "work" });
    await kit.clock.runUntil(() => kit.ran === 1);
    expect(kit.clock.now() - from).toBeLessThanOrEqual(10);
    await kit.stop();
  });

  it("leaves at most one answer unread, and waits for the next one", async () => {
    const kit = await createAskingWorker();
    await kit.leasehold.startJobSequence({ typeName: "work" });
    await kit.clock.runUntil(() => kit.answers.length === 2);
    await kit.leasehold.startJobSequence({ typeName: "work" });
    await kit.clock.advanceBy(10_000);
    expect(kit.answers.length).toBe(2);
    expect(kit.ran).toBe(1);
    kit.answers[1]!();
    await kit.clock.runUntil(() => kit.ran === 2);
    await kit.stop();
  });
});
