import assert from "node:assert/strict";
import { baseTime } from "../../state-fixture.ts";
import { createRandom } from "../../random.ts";
import { completion, release, retryAfter } from "../../state-scenario.ts";
import type { StateScenario } from "../../state-scenario.ts";
import type { StateSuite } from "../../state-suite.ts";

/** Claims all jobs in batches, and names them by their input. */
const claimAll = async ({ claim }: StateScenario, limit: number, now = baseTime): Promise<string[]> => {
  const inputs: string[] = [];
  for (;;) {
    const jobs = await claim({ limit, now });
    if (jobs.length === 0) return inputs;
    inputs.push(...jobs.map(({ input }) => input));
  }
};

export const describeClaimOrder = ({ test }: StateSuite): void => {
  test("higher priority goes first", async (scenario) => {
    await scenario.startMany([
      { input: "low", priority: -1 },
      { input: "high", priority: 10 },
      { input: "normal" },
    ]);
    assert.deepEqual(await claimAll(scenario, 100), ["high", "normal", "low"]);
  });

  test("with equal priority, earlier scheduled goes first", async (scenario) => {
    await scenario.startMany([
      { input: "third", schedule: { at: baseTime + 300 } },
      { input: "first", schedule: { at: baseTime + 1 } },
      { input: "second", schedule: { at: baseTime + 20 } },
    ]);
    assert.deepEqual(await claimAll(scenario, 1, baseTime + 300), ["first", "second", "third"]);
  });

  test("a job scheduled for the past stands behind those that were there before it", async (scenario) => {
    await scenario.start({ input: "before" });
    await scenario.start({ input: "late", schedule: { at: baseTime - 1_000 } }, baseTime + 5);
    await scenario.start({ input: "after" }, baseTime + 6);
    assert.deepEqual(await claimAll(scenario, 1, baseTime + 10), ["before", "late", "after"]);
  });

  test("so does one that is put back for the past", async (scenario) => {
    for (const kind of ["retry", "release"] as const) {
      const running = await scenario.run(await scenario.start({ input: kind }));
      await scenario.start({ input: "fresh" }, baseTime + 5);
      await scenario.end(running, { kind, schedule: { at: baseTime - 1_000 }, error: null }, baseTime + 6);
      assert.deepEqual(await claimAll(scenario, 1, baseTime + 10), ["fresh", kind]);
    }
  });

  test("a job that was blocked stands where it was unblocked, not where it was started", async (scenario) => {
    const blocker = await scenario.run(await scenario.start());
    const waiting = await scenario.startBlocked([blocker], { input: "unblocked" });
    await scenario.start({ input: "meanwhile" }, baseTime + 100);
    await scenario.end(blocker, completion, baseTime + 200);
    assert.equal((await scenario.reload(waiting)).scheduledAt, baseTime + 200);
    await scenario.start({ input: "after" }, baseTime + 300);
    const order = await claimAll(scenario, 1, baseTime + 400);
    assert.deepEqual(order, ["meanwhile", "unblocked", "after"]);
  });

  test("a job that is unblocked before its time waits for that", async (scenario) => {
    const blocker = await scenario.run(await scenario.start());
    const schedule = { at: baseTime + 500 };
    const waiting = await scenario.startBlocked([blocker], { input: "scheduled", schedule });
    await scenario.end(blocker, completion, baseTime + 200);
    assert.equal((await scenario.reload(waiting)).scheduledAt, baseTime + 500);
    assert.deepEqual(await scenario.claim({ now: baseTime + 499 }), []);
    await scenario.start({ input: "before" }, baseTime + 499);
    await scenario.start({ input: "after" }, baseTime + 501);
    const order = await claimAll(scenario, 1, baseTime + 600);
    assert.deepEqual(order, ["before", "scheduled", "after"]);
  });

  test("a job that is given back keeps its place, also one that was unblocked or lost its lease", async (scenario) => {
    const blocker = await scenario.run(await scenario.start());
    await scenario.startBlocked([blocker], { input: "unblocked" });
    await scenario.start({ input: "first" }, baseTime + 100);
    await scenario.end(blocker, completion, baseTime + 200);
    await scenario.start({ input: "second" }, baseTime + 300);
    const lost = await scenario.start({ input: "lost", priority: 1 });
    await scenario.run(lost, { leaseMs: 250, now: baseTime + 300, limit: 1 });
    await scenario.start({ input: "third", priority: 1 }, baseTime + 500);

    const claimed = await scenario.claim({ now: baseTime + 600 });
    const order = ["third", "lost", "first", "unblocked", "second"];
    assert.deepEqual(
      claimed.map(({ input }) => input),
      order,
    );
    await scenario.start({ input: "last" }, baseTime + 650);
    for (const job of claimed) await scenario.end(job, release, baseTime + 700);
    assert.deepEqual(await claimAll(scenario, 1, baseTime + 800), [...order, "last"]);
  });

  test("scheduled for the same moment, jobs go in the order of their creation", async (scenario) => {
    const names = Array.from({ length: 60 }, (_, index) => `${index}`);
    await scenario.startMany(names.slice(0, 20).map((input) => ({ input })));
    for (const input of names.slice(20, 40)) await scenario.start({ input });
    await scenario.startMany(names.slice(40).map((input) => ({ input })));
    assert.deepEqual(await claimAll(scenario, 7), names);
  });

  test("the order holds across the types of a request", async (scenario) => {
    const names = Array.from({ length: 12 }, (_, index) => `${index}`);
    await scenario.startMany(
      names.map((input, index) => ({ input, typeName: `${scenario.typeName}-${(index * 5) % 3}` })),
    );
    assert.deepEqual(await claimAll(scenario, 5), names);
  });

  test("a job whose lease ran out stands where it would had it been scheduled for that moment", async (scenario) => {
    await scenario.run(await scenario.start({ input: "expired" }), { leaseMs: 500 });
    await scenario.startMany([
      { input: "urgent", priority: 1, schedule: { afterMs: 900 } },
      { input: "before", schedule: { afterMs: 499 } },
      { input: "after", schedule: { afterMs: 501 } },
    ]);
    const order = await claimAll(scenario, 1, baseTime + 1_000);
    assert.deepEqual(order, ["urgent", "before", "expired", "after"]);
  });

  test("a retry stands behind what was scheduled before it", async (scenario) => {
    const running = await scenario.run(await scenario.start({ input: "retried" }));
    await scenario.start({ input: "fresh" }, baseTime + 50);
    await scenario.end(running, retryAfter(100));
    assert.deepEqual(await claimAll(scenario, 1, baseTime + 200), ["fresh", "retried"]);
  });

  test("any mixture comes out sorted, in batches of any size", async (scenario) => {
    const random = createRandom(20_400_101);
    const pick = (count: number): number => Math.floor(random() * count);
    const jobs = Array.from({ length: 300 }, (_, index) => ({
      input: `${index}`,
      priority: pick(4) - 2,
      typeName: `${scenario.typeName}-${pick(5)}`,
      schedule: { at: baseTime + pick(8) },
    }));
    await scenario.startMany(jobs);

    const now = baseTime + 5;
    const expected = jobs
      .filter(({ schedule }) => schedule.at <= now)
      .sort(
        (a, b) =>
          b.priority - a.priority || a.schedule.at - b.schedule.at || Number(a.input) - Number(b.input),
      )
      .map(({ input }) => input);
    const claimed: string[] = [];
    while (claimed.length < expected.length) {
      const batch = await scenario.claim({ limit: 1 + pick(20), now });
      assert.notEqual(batch.length, 0);
      claimed.push(...batch.map(({ input }) => input));
    }
    assert.deepEqual(claimed, expected);
  });
};
