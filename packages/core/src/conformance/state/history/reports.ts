import assert from "node:assert/strict";
import type { StateProcess } from "../../../store/contract/history.ts";
import { retryTransient } from "../../retry-transient.ts";
import { baseTime } from "../../state-fixture.ts";
import type { StateSuite } from "../../state-suite.ts";
import { rollBack, times, withHistory } from "./history-scenario.ts";
import {
  maxAgeMs,
  newReporter,
  newRollup,
  readAll,
  reportAll,
  reportCall,
  bucketMs,
} from "./report-fixture.ts";

export const describeReports = ({ test, testAlone }: StateSuite): void => {
  test(
    "stores what a reporter says, and returns the store's time",
    withHistory(async (scenario) => {
      const buckets = [
        newRollup(scenario),
        newRollup(scenario, { from: baseTime + bucketMs, deployment: "" }),
      ];
      assert.equal(
        await scenario.history.writeReport({ ...reportCall({ buckets }), now: baseTime }),
        baseTime,
      );
      assert.deepEqual(await readAll(scenario), buckets);
      const before = await scenario.adapter.getTime();
      assert.ok((await scenario.history.writeReport(reportCall())) >= before);
    }),
  );

  test(
    "overwrites what the same reporter said before, so that the same again changes nothing",
    withHistory(async (scenario) => {
      const report = (counts: string): Promise<void> =>
        reportAll(scenario, [
          newRollup(scenario, { counts }),
          newRollup(scenario, { from: 0 + baseTime + bucketMs }),
        ]);
      await report("7");
      await report("9");
      await report("9");
      assert.deepEqual(
        (await readAll(scenario)).map(({ counts }) => counts),
        ["9", "[1,1]"],
      );
      // Rows that are not named stay.
      await reportAll(scenario, [newRollup(scenario, { counts: "8" })]);
      assert.deepEqual(
        (await readAll(scenario)).map(({ counts }) => counts),
        ["8", "[1,1]"],
      );
    }),
  );

  test(
    "leaves rows of others alone: another reporter, type, queue, deployment, time or width",
    withHistory(async (scenario) => {
      const { queue, typeName, history } = scenario;
      const mine = newRollup(scenario);
      const others = [
        { processId: "reporter-2" },
        { processId: "" },
        { typeName: `${typeName}-2` },
        { queue: `${queue}-2` },
        { deployment: "" },
        { from: baseTime + bucketMs },
        { bucketMs: 60_000 },
      ].map((overrides) => newRollup(scenario, { counts: "theirs", ...overrides }));
      await reportAll(scenario, [mine, ...others]);
      await reportAll(scenario, [{ ...mine, counts: "mine" }]);
      const call = { from: 0, before: 2 ** 50, queues: [queue, `${queue}-2`], limit: 100 };
      const rows = [
        ...(await history.readBuckets({ ...call, bucketMs })),
        ...(await history.readBuckets({ ...call, bucketMs: 60_000 })),
      ];
      assert.deepEqual(rows.map(({ counts }) => counts).sort(), ["mine", ...others.map(() => "theirs")]);
    }),
  );

  test(
    "drops rollups that begin too long ago by the store's clock, and stores the others",
    withHistory(async (scenario) => {
      const now = baseTime + maxAgeMs;
      const [old, oldest, recent] = [-1, -bucketMs, 0].map((offset) =>
        newRollup(scenario, { from: baseTime + offset }),
      );
      assert.ok(old && oldest && recent);
      await reportAll(scenario, [old, recent, oldest], now);
      assert.deepEqual(await readAll(scenario), [recent]);
      // What is stored already does not change when it has become too old.
      await reportAll(scenario, [{ ...recent, counts: "late" }], now + 1);
      assert.deepEqual(await readAll(scenario), [recent]);
    }),
  );

  test(
    "forgets a report that is rolled back",
    withHistory(async (scenario) => {
      const bucket = newRollup(scenario, { counts: "before" });
      await reportAll(scenario, [bucket]);
      await rollBack(scenario, async (ctx) => {
        const buckets = [{ ...bucket, counts: "after" }, newRollup(scenario, { from: baseTime + bucketMs })];
        await scenario.history.writeReport({ ...reportCall({ buckets }), ctx, now: baseTime });
        assert.equal((await readAll(scenario, { ctx })).length, 2);
      });
      assert.deepEqual(await readAll(scenario), [bucket]);
    }),
  );

  test(
    "reports of many at once are all stored",
    withHistory(async (scenario) => {
      const reporterIds = times(8, (n) => `reporter-${n}`);
      await Promise.all(
        reporterIds.map(async (processId) => {
          for (let n = 0; n <= 5; n += 1)
            await retryTransient(scenario, () =>
              scenario.history.writeReport({
                ...reportCall({
                  reporter: newReporter({ id: processId }),
                  buckets: times(3, (slot) =>
                    newRollup(scenario, { processId, from: baseTime + slot * bucketMs, counts: `${n}` }),
                  ),
                  causes: [
                    {
                      fingerprint: "00000000000000aa",
                      name: "E",
                      message: processId,
                      frame: null,
                      deployment: null,
                    },
                  ],
                }),
                now: baseTime,
              }),
            );
        }),
      );
      const rows = await readAll(scenario);
      assert.equal(rows.length, 24);
      assert.ok(rows.every(({ counts }) => counts === "5"));
    }),
  );

  testAlone(
    "lists the reporters that reported since, the latest first, up to the limit",
    withHistory(async ({ history }) => {
      const list = (seenFrom: number, limit = 100): Promise<StateProcess[]> =>
        history.listProcesses({ seenFrom, limit });
      assert.deepEqual(await list(0), []);
      const [a, b, c] = ["a", "b", "c"].map((id) => newReporter({ id }));
      assert.ok(a && b && c);
      for (const [reporter, now] of [
        [a, baseTime + 30],
        [b, baseTime + 10],
        [c, baseTime + 20],
      ] as const)
        await history.writeReport({ ...reportCall({ reporter }), now });
      const seen = (reporter: typeof a, after: number): StateProcess => ({
        ...reporter,
        seenAt: baseTime + after,
      });
      assert.deepEqual(await list(0), [seen(a, 30), seen(c, 20), seen(b, 10)]);
      assert.deepEqual(await list(baseTime + 20), [seen(a, 30), seen(c, 20)]);
      assert.deepEqual(await list(baseTime + 21), [seen(a, 30)]);
      assert.deepEqual(await list(0, 2), [seen(a, 30), seen(c, 20)]);
      const changed = { ...b, deployment: null, startedAt: baseTime, info: "{}" };
      await history.writeReport({ ...reportCall({ reporter: changed }), now: baseTime + 40 });
      assert.deepEqual(await list(0), [seen(changed, 40), seen(a, 30), seen(c, 20)]);
    }),
  );

  test(
    "reads rollups from a moment on, and before another",
    withHistory(async (scenario) => {
      const { history, queue } = scenario;
      const froms = times(5, (n) => baseTime + n * bucketMs);
      await reportAll(
        scenario,
        froms.map((from) => newRollup(scenario, { from })),
      );
      const read = async (from: number, before: number, limit = 100): Promise<number[]> =>
        (await history.readBuckets({ bucketMs, from, before, queues: [queue], limit })).map(
          (row) => row.from,
        );
      assert.deepEqual(await read(froms[1]!, froms[3]!), froms.slice(1, 3));
      assert.deepEqual(await read(froms[1]! + 1, froms[3]! + 1), froms.slice(2, 4));
      assert.deepEqual(await read(froms[0]!, froms[4]! + 1, 2), froms.slice(0, 2));
      assert.deepEqual(await read(froms[3]!, froms[3]!), []);
      const others = { bucketMs: 60_000, from: 0, before: 2 ** 50, queues: [queue], limit: 100 };
      assert.deepEqual(await history.readBuckets(others), []);
    }),
  );

  test(
    "reads rollups of some queues and types, or of all",
    withHistory(async (scenario) => {
      const { history, queue, typeName } = scenario;
      const queues = [queue, `${queue}-2`];
      const typeNames = [typeName, `${typeName}-2`];
      const buckets = queues.flatMap((each) =>
        typeNames.map((type) => newRollup(scenario, { queue: each, typeName: type })),
      );
      await reportAll(scenario, buckets);
      const read = (filter: object) =>
        history.readBuckets({ bucketMs, from: 0, before: 2 ** 50, limit: 1_000, ...filter });
      assert.deepEqual(await read({ queues }), buckets);
      assert.deepEqual(await read({ queues: [queues[1]] }), buckets.slice(2));
      assert.deepEqual(await read({ typeNames: [typeNames[0]] }), [buckets[0], buckets[2]]);
      assert.deepEqual(await read({ queues: [queue], typeNames: [typeNames[1]] }), [buckets[1]]);
      assert.deepEqual(await read({ queues: [] }), []);
      assert.deepEqual(await read({ queues, typeNames: [] }), []);
      assert.ok((await read({})).length >= 4);
    }),
  );

  test(
    "orders rollups by their beginning, then by the bytes of queue, type, deployment and reporter",
    withHistory(async (scenario) => {
      const { history, queue, typeName } = scenario;
      const texts = ["", "B", "a", "a-2", "ä", "日本", "\u{1f389}", "\uffee"];
      const sorted = texts.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
      const key = (from: number, n: number, at: "queue" | "typeName" | "deployment" | "processId") => ({
        from: baseTime + from * bucketMs,
        [at]: `${at === "queue" ? queue : at === "typeName" ? typeName : ""}${sorted[n]!}`,
      });
      const expected = [
        ...sorted.map((_, n) => newRollup(scenario, key(0, n, "queue"))),
        ...sorted.map((_, n) => newRollup(scenario, key(1, n, "typeName"))),
        ...sorted.map((_, n) => newRollup(scenario, key(2, n, "deployment"))),
        ...sorted.map((_, n) => newRollup(scenario, key(3, n, "processId"))),
      ];
      await reportAll(scenario, expected.toReversed());
      const queues = sorted.map((text) => `${queue}${text}`);
      const call = { bucketMs, from: 0, before: 2 ** 50, queues };
      assert.deepEqual(await history.readBuckets({ ...call, limit: 100 }), expected);
      assert.deepEqual(await history.readBuckets({ ...call, limit: 11 }), expected.slice(0, 11));
    }),
  );

  testAlone(
    "forgets silent reporters and old rollups, each width by its own bound, and nothing else",
    withHistory(async (scenario) => {
      const { history, queue } = scenario;
      const minute = 60_000;
      const froms = times(4, (n) => baseTime + n * minute);
      const buckets = [bucketMs, minute].flatMap((each) =>
        froms.map((from) => newRollup(scenario, { bucketMs: each, from })),
      );
      await history.writeReport({ ...reportCall({ buckets }), now: baseTime + 20 });
      for (const [id, seenAt] of [
        ["old", 10],
        ["older", 5],
      ] as const)
        await history.writeReport({
          ...reportCall({ reporter: newReporter({ id }) }),
          now: baseTime + seenAt,
        });
      const call = {
        processesBefore: baseTime + 10,
        causesBefore: 0,
        buckets: [
          { bucketMs, before: froms[2]! },
          { bucketMs: minute, before: froms[1]! },
          { bucketMs: 3_600_000, before: froms[3]! },
        ],
        limit: 100,
      };
      assert.equal(await history.deleteOldReports(call), 4);
      assert.equal(await history.deleteOldReports(call), 0);
      const left = async (each: number): Promise<number[]> =>
        (
          await history.readBuckets({ bucketMs: each, from: 0, before: 2 ** 50, queues: [queue], limit: 100 })
        ).map(({ from }) => from);
      assert.deepEqual([await left(bucketMs), await left(minute)], [froms.slice(2), froms.slice(1)]);
      const reporters = await history.listProcesses({ seenFrom: 0, limit: 10 });
      assert.deepEqual(
        reporters.map(({ id }) => id),
        ["reporter-1", "old"],
      );
      assert.equal(await history.deleteOldReports({ ...call, processesBefore: 0, buckets: [] }), 0);
    }),
  );

  testAlone(
    "forgets at most as many rows as allowed, and all of them in the end",
    withHistory(async (scenario) => {
      const { history } = scenario;
      await reportAll(
        scenario,
        times(4, (n) =>
          times(3, (slot) => newRollup(scenario, { processId: `r${n}`, from: baseTime + slot * bucketMs })),
        ).flat(),
      );
      const bounds = [{ bucketMs, before: 2 ** 50 }];
      const call = { processesBefore: 2 ** 50, causesBefore: 0, buckets: bounds, limit: 5 };
      const counts: number[] = [];
      const rows = async (): Promise<number> =>
        (await readAll(scenario)).length + (await history.listProcesses({ seenFrom: 0, limit: 100 })).length;
      for (let before = await rows(); before > 0; before = await rows()) {
        const count = await history.deleteOldReports(call);
        assert.equal(await rows(), before - count);
        counts.push(count);
        assert.ok(count > 0);
      }
      assert.deepEqual(counts, [5, 5, 5, 1]);
      await reportAll(scenario, [newRollup(scenario)]);
      await rollBack(scenario, async (ctx) => {
        assert.equal(await history.deleteOldReports({ ...call, ctx }), 2);
      });
      assert.equal(await rows(), 2);
    }),
  );
};
