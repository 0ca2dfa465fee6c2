import assert from "node:assert/strict";
import type { StateProcess } from "../../../store/contract/history.ts";
import { retryTransient } from "../../retry-transient.ts";
import { baseTime } from "../../state-fixture.ts";
import type { StateSuite } from "../../state-suite.ts";
import { rollBack, times, withHistory } from "./history-scenario.ts";
import { maxAgeMs, newReporter, newRollup, readAll, reportAll, reportCall, width } from "./report-fixture.ts";

export const describeReports = ({ test, testAlone }: StateSuite): void => {
  test(
    "stores what a reporter says, and returns the store's time",
    withHistory(async (scenario) => {
      const rollups = [newRollup(scenario), newRollup(scenario, { from: baseTime + width, deployment: "" })];
      assert.equal(
        await scenario.history.writeReport({ ...reportCall({ rollups }), now: baseTime }),
        baseTime,
      );
      assert.deepEqual(await readAll(scenario), rollups);
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
          newRollup(scenario, { from: 0 + baseTime + width }),
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
        { reporterId: "reporter-2" },
        { reporterId: "" },
        { typeName: `${typeName}-2` },
        { queue: `${queue}-2` },
        { deployment: "" },
        { from: baseTime + width },
        { width: 60_000 },
      ].map((overrides) => newRollup(scenario, { counts: "theirs", ...overrides }));
      await reportAll(scenario, [mine, ...others]);
      await reportAll(scenario, [{ ...mine, counts: "mine" }]);
      const call = { from: 0, before: 2 ** 50, queues: [queue, `${queue}-2`], limit: 100 };
      const rows = [
        ...(await history.readBuckets({ ...call, width })),
        ...(await history.readBuckets({ ...call, width: 60_000 })),
      ];
      assert.deepEqual(rows.map(({ counts }) => counts).sort(), ["mine", ...others.map(() => "theirs")]);
    }),
  );

  test(
    "drops rollups that begin too long ago by the store's clock, and stores the others",
    withHistory(async (scenario) => {
      const now = baseTime + maxAgeMs;
      const [old, oldest, recent] = [-1, -width, 0].map((offset) =>
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
      const rollup = newRollup(scenario, { counts: "before" });
      await reportAll(scenario, [rollup]);
      await rollBack(scenario, async (ctx) => {
        const rollups = [{ ...rollup, counts: "after" }, newRollup(scenario, { from: baseTime + width })];
        await scenario.history.writeReport({ ...reportCall({ rollups }), ctx, now: baseTime });
        assert.equal((await readAll(scenario, { ctx })).length, 2);
      });
      assert.deepEqual(await readAll(scenario), [rollup]);
    }),
  );

  test(
    "reports of many at once are all stored",
    withHistory(async (scenario) => {
      const reporterIds = times(8, (n) => `reporter-${n}`);
      await Promise.all(
        reporterIds.map(async (reporterId) => {
          for (let n = 0; n <= 5; n += 1)
            await retryTransient(scenario, () =>
              scenario.history.writeReport({
                ...reportCall({
                  reporter: newReporter({ id: reporterId }),
                  rollups: times(3, (slot) =>
                    newRollup(scenario, { reporterId, from: baseTime + slot * width, counts: `${n}` }),
                  ),
                  causes: [
                    {
                      fingerprint: "00000000000000aa",
                      name: "E",
                      message: reporterId,
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
      const changed = { ...b, deployment: null, startedAt: baseTime, about: "{}" };
      await history.writeReport({ ...reportCall({ reporter: changed }), now: baseTime + 40 });
      assert.deepEqual(await list(0), [seen(changed, 40), seen(a, 30), seen(c, 20)]);
    }),
  );

  test(
    "reads rollups from a moment on, and before another",
    withHistory(async (scenario) => {
      const { history, queue } = scenario;
      const froms = times(5, (n) => baseTime + n * width);
      await reportAll(
        scenario,
        froms.map((from) => newRollup(scenario, { from })),
      );
      const read = async (from: number, before: number, limit = 100): Promise<number[]> =>
        (await history.readBuckets({ width, from, before, queues: [queue], limit })).map((row) => row.from);
      assert.deepEqual(await read(froms[1]!, froms[3]!), froms.slice(1, 3));
      assert.deepEqual(await read(froms[1]! + 1, froms[3]! + 1), froms.slice(2, 4));
      assert.deepEqual(await read(froms[0]!, froms[4]! + 1, 2), froms.slice(0, 2));
      assert.deepEqual(await read(froms[3]!, froms[3]!), []);
      const others = { width: 60_000, from: 0, before: 2 ** 50, queues: [queue], limit: 100 };
      assert.deepEqual(await history.readBuckets(others), []);
    }),
  );

  test(
    "reads rollups of some queues and types, or of all",
    withHistory(async (scenario) => {
      const { history, queue, typeName } = scenario;
      const queues = [queue, `${queue}-2`];
      const typeNames = [typeName, `${typeName}-2`];
      const rollups = queues.flatMap((each) =>
        typeNames.map((type) => newRollup(scenario, { queue: each, typeName: type })),
      );
      await reportAll(scenario, rollups);
      const read = (filter: object) =>
        history.readBuckets({ width, from: 0, before: 2 ** 50, limit: 1_000, ...filter });
      assert.deepEqual(await read({ queues }), rollups);
      assert.deepEqual(await read({ queues: [queues[1]] }), rollups.slice(2));
      assert.deepEqual(await read({ typeNames: [typeNames[0]] }), [rollups[0], rollups[2]]);
      assert.deepEqual(await read({ queues: [queue], typeNames: [typeNames[1]] }), [rollups[1]]);
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
      const key = (from: number, n: number, at: "queue" | "typeName" | "deployment" | "reporterId") => ({
        from: baseTime + from * width,
        [at]: `${at === "queue" ? queue : at === "typeName" ? typeName : ""}${sorted[n]!}`,
      });
      const expected = [
        ...sorted.map((_, n) => newRollup(scenario, key(0, n, "queue"))),
        ...sorted.map((_, n) => newRollup(scenario, key(1, n, "typeName"))),
        ...sorted.map((_, n) => newRollup(scenario, key(2, n, "deployment"))),
        ...sorted.map((_, n) => newRollup(scenario, key(3, n, "reporterId"))),
      ];
      await reportAll(scenario, expected.toReversed());
      const queues = sorted.map((text) => `${queue}${text}`);
      const call = { width, from: 0, before: 2 ** 50, queues };
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
      const rollups = [width, minute].flatMap((each) =>
        froms.map((from) => newRollup(scenario, { width: each, from })),
      );
      await history.writeReport({ ...reportCall({ rollups }), now: baseTime + 20 });
      for (const [id, seenAt] of [
        ["old", 10],
        ["older", 5],
      ] as const)
        await history.writeReport({
          ...reportCall({ reporter: newReporter({ id }) }),
          now: baseTime + seenAt,
        });
      const call = {
        reportersBefore: baseTime + 10,
        causesBefore: 0,
        rollups: [
          { width, before: froms[2]! },
          { width: minute, before: froms[1]! },
          { width: 3_600_000, before: froms[3]! },
        ],
        limit: 100,
      };
      assert.equal(await history.deleteOldReports(call), 4);
      assert.equal(await history.deleteOldReports(call), 0);
      const left = async (each: number): Promise<number[]> =>
        (
          await history.readBuckets({ width: each, from: 0, before: 2 ** 50, queues: [queue], limit: 100 })
        ).map(({ from }) => from);
      assert.deepEqual([await left(width), await left(minute)], [froms.slice(2), froms.slice(1)]);
      const reporters = await history.listProcesses({ seenFrom: 0, limit: 10 });
      assert.deepEqual(
        reporters.map(({ id }) => id),
        ["reporter-1", "old"],
      );
      assert.equal(await history.deleteOldReports({ ...call, reportersBefore: 0, rollups: [] }), 0);
    }),
  );

  testAlone(
    "forgets at most as many rows as allowed, and all of them in the end",
    withHistory(async (scenario) => {
      const { history } = scenario;
      await reportAll(
        scenario,
        times(4, (n) =>
          times(3, (slot) => newRollup(scenario, { reporterId: `r${n}`, from: baseTime + slot * width })),
        ).flat(),
      );
      const bounds = [{ width, before: 2 ** 50 }];
      const call = { reportersBefore: 2 ** 50, causesBefore: 0, rollups: bounds, limit: 5 };
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
