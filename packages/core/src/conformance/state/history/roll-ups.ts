import assert from "node:assert/strict";
import type { StatisticsBucket } from "../../../store/contract/history.ts";
import { createRandom } from "../../random.ts";
import { retryTransient } from "../../retry-transient.ts";
import { baseTime } from "../../state-fixture.ts";
import type { StateSuite } from "../../state-suite.ts";
import { type HistoryScenario, rollBack, times, withHistory } from "./history-scenario.ts";
import {
  maxAgeMs,
  newReporter,
  newRollup,
  readAll,
  reportAll,
  reportCall,
  bucketMs,
} from "./report-fixture.ts";

const minute = 60_000;

const startRollups = async (scenario: HistoryScenario, count: number): Promise<StatisticsBucket[]> => {
  const buckets = times(count, (n) => newRollup(scenario, { processId: `reporter-${n}`, counts: `${n}` }));
  await reportAll(scenario, buckets);
  return buckets;
};

const sumOf = (buckets: readonly StatisticsBucket[]): number =>
  buckets.reduce((sum, { counts }) => sum + Number(counts), 0);

/**
 * Three processes count and report for some minutes, and now and then old buckets are rolled up. Whatever the
 * order, the store has each count that it took exactly once.
 */
const countAndFold = async (scenario: HistoryScenario, seed: number): Promise<void> => {
  const { history } = scenario;
  const random = createRandom(seed);
  const draw = (below: number): number => Math.floor(random() * below);
  let now = baseTime;
  /** By reporter and slot, what it counted, and what the store was told in time. */
  const counted = new Map<string, { readonly bucket: StatisticsBucket; told: number }>();
  let remembered: StatisticsBucket[] = [];

  const report = async (): Promise<void> => {
    const processId = `reporter-${draw(3)}`;
    const from = now - (now % bucketMs);
    const typeName = `${scenario.typeName}-${draw(2)}`;
    const key = `${processId} ${from} ${typeName}`;
    const { bucket: before, told = 0 } = counted.get(key) ?? {};
    const counts = `${Number(before?.counts ?? 0) + 1 + draw(5)}`;
    counted.set(key, { bucket: newRollup(scenario, { processId, from, typeName, counts }), told });
    // Reports everything again, also what is too old by now.
    const mine = [...counted.values()].filter(({ bucket }) => bucket.processId === processId);
    const buckets = mine.map(({ bucket }) => bucket);
    await history.writeReport({ ...reportCall({ reporter: newReporter({ id: processId }), buckets }), now });
    for (const each of mine) if (each.bucket.from >= now - maxAgeMs) each.told = Number(each.bucket.counts);
  };

  const merge = (rows: readonly StatisticsBucket[], into: number): StatisticsBucket[] => {
    const merged = new Map<string, StatisticsBucket>();
    for (const row of rows) {
      const from = row.from - (row.from % into);
      const key = `${from} ${row.typeName}`;
      const counts = `${Number(merged.get(key)?.counts ?? 0) + Number(row.counts)}`;
      merged.set(key, { ...row, bucketMs: into, from, processId: "", counts });
    }
    return [...merged.values()];
  };

  const fold = async (): Promise<void> => {
    const old = (await readAll(scenario)).filter(({ from }) => from < now - maxAgeMs);
    const into = draw(2) === 0 ? bucketMs : minute;
    const chosen = old.filter(({ processId }) => (into === bucketMs && processId === "") || draw(3) > 0);
    const targets = merge(chosen, into);
    const existing =
      into === bucketMs
        ? []
        : (await readAll(scenario, { bucketMs: minute })).filter((row) =>
            targets.some(({ from, typeName }) => from === row.from && typeName === row.typeName),
          );
    const remove = [...chosen, ...existing];
    const put = merge(remove, into);
    assert.equal(await history.rollUpBuckets({ remove, put }), true);
    remembered = chosen;
  };

  /** A process that had read the same rows and comes too late. */
  const foldAgain = async (): Promise<void> => {
    if (remembered.every(({ processId }) => processId === "")) return;
    assert.equal(
      await history.rollUpBuckets({ remove: remembered, put: merge(remembered, 3_600_000) }),
      false,
    );
  };

  for (let step = 0; step < 60; step += 1) {
    now += draw(12_000);
    const action = draw(10);
    if (action < 6) await report();
    else if (action < 9) await fold();
    else await foldAgain();
    const rows = [...(await readAll(scenario)), ...(await readAll(scenario, { bucketMs: minute }))];
    const told = [...counted.values()].reduce((sum, each) => sum + each.told, 0);
    assert.equal(sumOf(rows), told, `seed ${seed}, step ${step}`);
  }
};

export const describeFolds = ({ test }: StateSuite): void => {
  test(
    "replaces rows by others, and leaves the rest alone",
    withHistory(async (scenario) => {
      const buckets = await startRollups(scenario, 4);
      const put = [
        newRollup(scenario, { processId: "", counts: "3" }),
        newRollup(scenario, { bucketMs: minute, processId: "", counts: "4" }),
      ];
      assert.equal(await scenario.history.rollUpBuckets({ remove: buckets.slice(1, 3), put }), true);
      assert.deepEqual(await readAll(scenario), [put[0], buckets[0], buckets[3]]);
      assert.deepEqual(await readAll(scenario, { bucketMs: minute }), [put[1]]);
    }),
  );

  test(
    "may put a row with the key of one that it removes",
    withHistory(async (scenario) => {
      const [one, two] = await startRollups(scenario, 2);
      assert.ok(one && two);
      const put = [{ ...one, counts: "sum" }];
      assert.equal(await scenario.history.rollUpBuckets({ remove: [two, one], put }), true);
      assert.deepEqual(await readAll(scenario), put);
    }),
  );

  test(
    "does nothing if there is nothing to do",
    withHistory(async (scenario) => {
      const buckets = await startRollups(scenario, 2);
      assert.equal(await scenario.history.rollUpBuckets({ remove: [], put: [] }), true);
      assert.deepEqual(await readAll(scenario), buckets);
      const put = [newRollup(scenario, { processId: "" })];
      assert.equal(await scenario.history.rollUpBuckets({ remove: [], put }), true);
      assert.deepEqual(await readAll(scenario), [...put, ...buckets]);
      assert.equal(await scenario.history.rollUpBuckets({ remove: buckets, put: [] }), true);
      assert.deepEqual(await readAll(scenario), put);
    }),
  );

  test(
    "does nothing and says so if a row has changed, is gone, or stands where one is to be put",
    withHistory(async (scenario) => {
      const buckets = await startRollups(scenario, 3);
      const [one, two, three] = buckets;
      assert.ok(one && two && three);
      const put = [newRollup(scenario, { processId: "", counts: "sum" })];
      const refusals = {
        "the first has changed": { remove: [{ ...one, counts: "other" }, two], put },
        "the last has changed": { remove: [one, { ...two, counts: "1 " }], put },
        "one is gone": { remove: [one, { ...two, processId: "gone" }], put },
        "of another deployment": { remove: [{ ...one, deployment: "" }, two], put },
        "of another width": { remove: [{ ...one, bucketMs: minute }, two], put },
        "one exists": { remove: [one, two], put: [...put, three] },
        "one exists, and none is removed": { remove: [], put: [{ ...one, counts: "new" }] },
      };
      for (const [why, fold] of Object.entries(refusals)) {
        assert.equal(await scenario.history.rollUpBuckets(fold), false, why);
        assert.deepEqual(await readAll(scenario), buckets, why);
      }
      assert.equal(await scenario.history.rollUpBuckets({ remove: buckets, put }), true);
      assert.equal(await scenario.history.rollUpBuckets({ remove: buckets, put: [] }), false);
      assert.deepEqual(await readAll(scenario), put);
    }),
  );

  test(
    "a fold that is refused does not spoil its transaction",
    withHistory(async (scenario) => {
      const { adapter, history } = scenario;
      const [one, two] = await startRollups(scenario, 2);
      assert.ok(one && two);
      await adapter.runInTransaction(async (ctx) => {
        assert.equal(await history.rollUpBuckets({ remove: [one], put: [two], ctx }), false);
        assert.equal(await history.rollUpBuckets({ remove: [one], put: [], ctx }), true);
      });
      assert.deepEqual(await readAll(scenario), [two]);
    }),
  );

  test(
    "forgets a fold that is rolled back",
    withHistory(async (scenario) => {
      const buckets = await startRollups(scenario, 3);
      await rollBack(scenario, async (ctx) => {
        const put = [newRollup(scenario, { processId: "" })];
        assert.equal(await scenario.history.rollUpBuckets({ remove: buckets, put, ctx }), true);
        assert.deepEqual(await readAll(scenario, { ctx }), put);
      });
      assert.deepEqual(await readAll(scenario), buckets);
    }),
  );

  test(
    "of folds of the same rows at once, one wins",
    withHistory(async (scenario) => {
      for (let round = 0; round < 5; round += 1) {
        const from = baseTime + round * bucketMs;
        const buckets = times(6, (n) =>
          newRollup(scenario, { from, processId: `reporter-${n}`, counts: `${n}` }),
        );
        await reportAll(scenario, buckets);
        const results = await Promise.all(
          times(6, (n) => {
            // Overlapping, and not in the same order.
            const own = n % 2 ? buckets.slice(0, 5) : buckets.slice(1).reverse();
            const put = [newRollup(scenario, { from, processId: "", counts: `${sumOf(own)}` })];
            return retryTransient(scenario, () => scenario.history.rollUpBuckets({ remove: own, put }));
          }),
        );
        assert.equal(results.filter(Boolean).length, 1);
        const left = (await readAll(scenario)).filter((row) => row.from === from);
        assert.equal(left.length, 2);
        assert.equal(sumOf(left), 15);
      }
    }),
  );

  test(
    "of folds that put the same row at once, one wins",
    withHistory(async (scenario) => {
      const buckets = await startRollups(scenario, 6);
      const put = [newRollup(scenario, { processId: "" })];
      const results = await Promise.all(
        buckets.map((bucket) =>
          retryTransient(scenario, () => scenario.history.rollUpBuckets({ remove: [bucket], put })),
        ),
      );
      assert.equal(results.filter(Boolean).length, 1);
      assert.equal((await readAll(scenario)).length, 6);
    }),
  );

  for (const seed of [1, 2, 3])
    test(
      `whatever is reported and folded, nothing is lost or counted twice (seed ${seed})`,
      withHistory((scenario) => countAndFold(scenario, seed)),
      60_000,
    );
};
