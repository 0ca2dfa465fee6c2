import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { History } from "../store/contract/history.ts";
import { createInProcessStateAdapter } from "../memory/state-adapter.ts";
import type { StatisticsBucket } from "../store/contract/history.ts";
import { createManualClock } from "../testing/manual-clock.ts";
import { bucketMs, mergeCounts, readCounts, bucketSizes } from "./counts.ts";
import { createFolding, planRollUp } from "./roll-up.ts";

const minute = 60_000;

const hour = 60 * minute;

const day = 24 * hour;

const createStore = (): { history: History<object>; clock: ReturnType<typeof createManualClock> } => {
  const clock = createManualClock();
  return { history: createInProcessStateAdapter({ clock }).history as History<object>, clock };
};

const readAll = async (history: History<object>): Promise<StatisticsBucket[]> => {
  const all: StatisticsBucket[] = [];
  for (const { bucketMs } of bucketSizes)
    all.push(...(await history.readBuckets({ bucketMs, from: 0, before: Infinity, limit: 1_000_000 })));
  return all;
};

const sums = (rows: readonly StatisticsBucket[]): Record<string, number> => {
  const result: Record<string, number> = {};
  for (const { queue, typeName, deployment, counts } of rows) {
    const key = [queue, typeName, deployment].join("/");
    result[key] = (result[key] ?? 0) + readCounts(mergeCounts([counts])).created;
  }
  return result;
};

interface Report {
  readonly ageMs: number;
  readonly reporter: string;
  readonly queue: string;
  readonly deployment: string;
  readonly created: number;
}

const report: fc.Arbitrary<Report> = fc.record({
  ageMs: fc.oneof(
    fc.integer({ min: 0, max: 10 * minute }),
    fc.integer({ min: 0, max: 2 * hour }),
    fc.integer({ min: 0, max: 80 * day }),
  ),
  reporter: fc.constantFrom("a", "b", "c"),
  queue: fc.constantFrom("q", "r"),
  deployment: fc.constantFrom("", "v1", "v2"),
  created: fc.integer({ min: 1, max: 1_000 }),
});

const rowOf = ({ ageMs, reporter, queue, deployment, created }: Report, now: number): StatisticsBucket => ({
  bucketMs: bucketMs,
  from: Math.floor((now - ageMs) / bucketMs) * bucketMs,
  queue,
  typeName: "t",
  deployment,
  processId: reporter,
  counts: `[0,${created}]`,
});

const send = async (history: History<object>, buckets: readonly StatisticsBucket[]): Promise<void> => {
  const reporter = { id: "a", deployment: null, startedAt: 0, info: "" };
  await history.writeReport({ reporter, buckets, causes: [], maxAgeMs: Number.MAX_SAFE_INTEGER });
};

const foldAll = async (history: History<object>, now: number): Promise<void> => {
  const folding = createFolding(history);
  // What was never folded has to pass through all widths, one in each pass.
  for (let pass = 0; pass < bucketSizes.length; pass++) while (await folding.turn(now));
};

describe("folding", () => {
  it("loses nothing, whenever it happens", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(report, { maxLength: 60 }),
        fc.array(fc.integer({ min: 0, max: 3 * day }), { maxLength: 4 }),
        async (reports, pauses) => {
          const { history, clock } = createStore();
          const now = clock.now();
          // The same key twice is one row, with the later counts.
          const rows = new Map(
            reports.map((each) => {
              const row = rowOf(each, now);
              return [JSON.stringify({ ...row, counts: "" }), row];
            }),
          );
          await send(history, [...rows.values()]);
          const before = sums(await readAll(history));
          let time = now;
          for (const pause of [0, ...pauses]) {
            time += pause;
            await foldAll(history, time);
            expect(sums(await readAll(history))).toEqual(before);
          }
          for (const row of await readAll(history)) {
            const kept = bucketSizes.find(({ bucketMs }) => bucketMs === row.bucketMs)!.keptMs;
            expect(time - row.from).toBeLessThanOrEqual(kept + hour);
            if (time - row.from > 3 * minute) expect(row.processId).toBe("");
          }
        },
      ),
      { numRuns: 50 },
    );
  });

  it("folds a stretch that has more rows than a page", async () => {
    const { history, clock } = createStore();
    const now = clock.now();
    const rows = Array.from({ length: 2_500 }, (_, n) =>
      rowOf({ ageMs: 10 * minute, reporter: `r${n}`, queue: `q${n % 10}`, deployment: "", created: 1 }, now),
    );
    await send(history, rows);
    await foldAll(history, now);
    const folded = await readAll(history);
    expect(folded.length).toBe(10);
    expect(folded.every(({ counts }) => counts === "[0,250]")).toBe(true);
  });

  it("keeps rows in which more types than a page were counted, and goes on after them", async () => {
    const { history, clock } = createStore();
    const now = clock.now();
    const many = Array.from({ length: 2_500 }, (_, n) =>
      rowOf({ ageMs: 10 * minute, reporter: "", queue: `q${n}`, deployment: "", created: 1 }, now),
    );
    const later = ["a", "b"].map((reporter) =>
      rowOf({ ageMs: 5 * minute, reporter, queue: "q", deployment: "", created: 1 }, now),
    );
    await send(history, [...many, ...later]);
    await foldAll(history, now);
    expect((await readAll(history)).length).toBe(2_501);
  });

  it("adds to rows that were folded before", () => {
    const present = {
      ...rowOf({ ageMs: 0, reporter: "", queue: "q", deployment: "", created: 5 }, 0),
      bucketMs: minute,
    };
    const late = rowOf({ ageMs: 0, reporter: "a", queue: "q", deployment: "", created: 2 }, 20_000);
    expect(planRollUp([late], [present], minute)).toEqual({
      remove: [late, present],
      put: [{ ...present, counts: "[0,7]" }],
    });
  });

  it("stops a pass when another process was faster, and makes up for it in the next one", async () => {
    const { history, clock } = createStore();
    const now = clock.now();
    await send(
      history,
      ["a", "b"].map((reporter) =>
        rowOf({ ageMs: 5 * minute, reporter, queue: "q", deployment: "", created: 1 }, now),
      ),
    );
    let isLost = true;
    const folding = createFolding({
      ...history,
      rollUpBuckets: async (call) => !isLost && history.rollUpBuckets(call),
    });
    expect(await folding.turn(now)).toBe(false);
    expect((await readAll(history)).length).toBe(2);
    isLost = false;
    expect(await folding.turn(now)).toBe(false);
    expect((await readAll(history)).map(({ counts }) => counts)).toEqual(["[0,2]"]);
  });

  it("forgets hours after ninety days, and processes that have been silent for a day", async () => {
    const { history, clock } = createStore();
    const now = clock.now();
    await send(history, [
      rowOf({ ageMs: 89 * day, reporter: "a", queue: "q", deployment: "", created: 1 }, now),
    ]);
    await foldAll(history, now);
    expect((await readAll(history)).length).toBe(1);
    expect((await history.listProcesses({ seenFrom: 0, limit: 10 })).length).toBe(1);
    await foldAll(history, now + 2 * day);
    expect(await readAll(history)).toEqual([]);
    expect(await history.listProcesses({ seenFrom: 0, limit: 10 })).toEqual([]);
  });

  it("forgets causes that have not come up for ninety days", async () => {
    const { history, clock } = createStore();
    const now = clock.now();
    const cause = { fingerprint: "0".repeat(16), name: "E", message: "m", frame: null, deployment: null };
    const reporter = { id: "a", deployment: null, startedAt: now, info: "{}" };
    const learn = () => history.writeReport({ reporter, buckets: [], causes: [cause], maxAgeMs: minute });
    const forgetAll = () =>
      history.deleteOldReports({ processesBefore: 0, causesBefore: now + 1, buckets: [], limit: 10 });
    await learn();
    await foldAll(history, now + 90 * day);
    expect(await forgetAll()).toBe(1);
    await learn();
    await foldAll(history, now + 90 * day + 1);
    expect(await forgetAll()).toBe(0);
  });
});
