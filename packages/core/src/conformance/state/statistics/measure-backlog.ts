import assert from "node:assert/strict";
import { requirePart } from "../../../store/parts.ts";
import type { TypeBacklog } from "../../../store/contract/diagnostics.ts";
import { baseTime } from "../../state-fixture.ts";
import { completion, failure } from "../../state-scenario.ts";
import type { StateScenario } from "../../state-scenario.ts";
import type { StateSuite } from "../../state-suite.ts";

const measure = async (
  { adapter, queue }: StateScenario,
  cap = 100,
  now = baseTime,
): Promise<TypeBacklog[]> => {
  const { measureBacklog } = requirePart(adapter, "statistics", "The suite of measureBacklog");
  const all = await measureBacklog({ cap, now });
  return all.filter((backlog) => backlog.queue === queue).sort((a, b) => (a.typeName < b.typeName ? -1 : 1));
};

const nothing = {
  runnable: 0,
  throttled: 0,
  overdue: 0,
  later: 0,
  running: 0,
  expired: 0,
  blocked: 0,
  failed: 0,
  oldestRunnableAt: null,
};

export const describeMeasureBacklog = ({ testAlone: test }: StateSuite): void => {
  test("counts what has not completed, by queue and type", async (scenario) => {
    const { queue, typeName } = scenario;
    assert.deepEqual(await measure(scenario), []);
    const types = { a: `${typeName}-a`, b: `${typeName}-b` };
    const start = (type: string, overrides = {}, now = baseTime) =>
      scenario.start({ typeName: type, sequenceTypeName: type, ...overrides }, now);
    const first = await start(types.a, {}, baseTime - 500);
    await start(types.a, { priority: 5 }, baseTime - 100);
    await start(types.a, { schedule: { afterMs: 60_000 } });
    await scenario.endWorkerless(await start(types.a), failure);
    await scenario.endWorkerless(await start(types.a), completion);
    await scenario.startBlocked([first], { typeName: types.b, sequenceTypeName: types.b });
    await scenario.endWorkerless(await start("all-done"), completion);
    assert.deepEqual(await measure(scenario), [
      {
        queue,
        typeName: types.a,
        ...nothing,
        runnable: 2,
        later: 1,
        failed: 1,
        oldestRunnableAt: baseTime - 500,
      },
      { queue, typeName: types.b, ...nothing, blocked: 1 },
    ]);
    const claimed = await scenario.claim({
      typeNames: [types.a],
      limit: 1,
      leaseMs: 1_000,
    });
    assert.equal(claimed.length, 1);
    assert.deepEqual((await measure(scenario))[0], {
      queue,
      typeName: types.a,
      ...nothing,
      runnable: 1,
      later: 1,
      running: 1,
      failed: 1,
      oldestRunnableAt: baseTime - 500,
    });
    const later = (await measure(scenario, 100, baseTime + 2_000))[0];
    assert.deepEqual([later?.running, later?.expired], [1, 1]);
    // What was for later comes due, whether or not anybody has claimed since.
    const due = (await measure(scenario, 100, baseTime + 60_000))[0];
    assert.deepEqual([due?.runnable, due?.later], [2, 0]);
  });

  test("jobs past `expireAfterMs` are not runnable", async (scenario) => {
    if (scenario.adapter.edits === undefined) return;
    const late = { expireAfterMs: 1_000 };
    await scenario.start(late, baseTime - 5_000);
    await scenario.start({ ...late, priority: 3 }, baseTime - 4_000);
    await scenario.start(late, baseTime - 500);
    await scenario.start({}, baseTime - 200);
    const counts = async (now: number) =>
      (await measure(scenario, 100, now)).map(({ runnable, overdue, oldestRunnableAt }) => [
        runnable,
        overdue,
        oldestRunnableAt,
      ]);
    assert.deepEqual(await counts(baseTime), [[2, 2, baseTime - 500]]);
    assert.deepEqual(await counts(baseTime + 500), [[1, 3, baseTime - 200]]);
  });

  test("counts up to the cap, and finds the oldest beyond it", async (scenario) => {
    await scenario.startMany(Array.from({ length: 12 }, () => ({ priority: 7 })));
    await scenario.startMany(Array.from({ length: 12 }, () => ({ schedule: { afterMs: 60_000 } })));
    await scenario.start({ priority: -3 }, baseTime - 9_000);
    const blocker = await scenario.start();
    for (let n = 0; n < 6; n += 1) await scenario.startBlocked([blocker]);
    const [backlog] = await measure(scenario, 5);
    assert.deepEqual(
      [backlog?.runnable, backlog?.later, backlog?.blocked, backlog?.oldestRunnableAt],
      [5, 5, 5, baseTime - 9_000],
    );
    assert.deepEqual(
      (await measure(scenario, 1_000)).map(({ runnable, later, blocked }) => [runnable, later, blocked]),
      [[14, 12, 6]],
    );
  });
};
