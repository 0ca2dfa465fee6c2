import assert from "node:assert/strict";
import { baseTime } from "../state-fixture.ts";
import { createRandom } from "../random.ts";
import { retryAfter } from "../state-scenario.ts";
import type { StateScenario } from "../state-scenario.ts";
import type { StateSuite } from "../state-suite.ts";

/** Claims all there is, so many at a time, and names the jobs by their input. */
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
      { input: "third", schedule: { at: baseTime - 1 } },
      { input: "first", schedule: { at: baseTime - 300 } },
      { input: "second", schedule: { at: baseTime - 20 } },
    ]);
    assert.deepEqual(await claimAll(scenario, 1), ["first", "second", "third"]);
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
