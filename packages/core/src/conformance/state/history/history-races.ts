import assert from "node:assert/strict";
import type { StatisticsBucket } from "../../../store/contract/history.ts";
import { createRandom, shuffle } from "../../random.ts";
import { retryTransient } from "../../retry-transient.ts";
import { baseTime } from "../../state-fixture.ts";
import { release } from "../../state-scenario.ts";
import type { StateSuite } from "../../state-suite.ts";
import { type HistoryScenario, notedOutcome, times, withHistory } from "./history-scenario.ts";
import {
  maxAgeMs,
  newReporter,
  newRollup,
  readAll,
  reportAll,
  reportCall,
  bucketMs,
} from "./report-fixture.ts";

const longTimeoutMs = 120_000;
const leaseMs = 1_000;

const reap = (scenario: HistoryScenario, limit: number, now: number): Promise<unknown> =>
  retryTransient(scenario, () => scenario.adapter.reapExpiredLeases({ limit, error: "gone", now }));

/** Some end their attempts in time while others find the leases expired; each attempt can end only once. */
const raceForEnds = async (scenario: HistoryScenario, seed: number): Promise<void> => {
  const { adapter, claim, history } = scenario;
  const random = createRandom(seed);
  const now = baseTime + seed * 10_000;
  const expiry = now + leaseMs;
  const jobs = await claim({ leaseMs, now });
  assert.equal(jobs.length, 24);
  /** The jobs whose attempt was given back in time. */
  const released = new Set<string>();
  const releaseSome = async (from: number): Promise<void> => {
    const some = jobs.slice(from, from + 4);
    const outcomes = some.map((job) => notedOutcome(job, release));
    const results = await retryTransient(scenario, () => adapter.commitOutcomes({ outcomes, now }));
    for (const [index, { kind }] of results.entries()) if (kind !== "refused") released.add(some[index]!.id);
  };
  const calls: (() => Promise<unknown>)[] = [
    ...times(6, (n) => () => releaseSome(n * 4)),
    ...times(3, () => () => reap(scenario, 5, expiry)),
    ...times(
      3,
      () => () => retryTransient(scenario, () => claim({ limit: 3, leaseMs: 60_000, now: expiry })),
    ),
  ];
  await Promise.all(shuffle(calls, random).map((call) => call()));
  // Whatever still has its first lease loses it now, and what was claimed again is given back.
  await reap(scenario, 100, expiry);
  const jobIds = jobs.map(({ id }) => id);
  const found = await adapter.getJobs({ jobIds });
  const running = found.flatMap((job) => (job?.status === "running" ? [job] : []));
  const outcomes = running.map((job) => notedOutcome(job, release));
  await adapter.commitOutcomes({ outcomes, now: expiry });
  const stored = await adapter.getJobs({ jobIds });
  for (const [index, rows] of (await history.listAttempts({ jobIds })).entries()) {
    const { id, leaseVersion } = jobs[index]!;
    const latest = stored[index]!.leaseVersion;
    assert.deepEqual(
      rows.map((row) => row.leaseVersion),
      times(latest, (n) => latest - n),
      "one row for each lease",
    );
    const ended = rows.find((row) => row.leaseVersion === leaseVersion);
    assert.equal(ended?.outcome, released.has(id) ? "release" : "expired");
  }
};

const sumOf = (buckets: readonly StatisticsBucket[]): number =>
  buckets.reduce((sum, { counts }) => sum + Number(counts), 0);

/** Merges what is old into one row, with the one from before if there is one. */
const foldOld = async (scenario: HistoryScenario): Promise<boolean> => {
  const old = (await readAll(scenario)).filter(({ from }) => from < baseTime);
  if (old.length < 2) return false;
  const put = [newRollup(scenario, { from: old[0]!.from, processId: "", counts: `${sumOf(old)}` })];
  return retryTransient(scenario, () => scenario.history.rollUpBuckets({ remove: old, put }));
};

export const describeHistoryRaces = ({ test, testAlone }: StateSuite): void => {
  testAlone(
    "however an attempt ends, it leaves one row",
    withHistory(async (scenario) => {
      await scenario.startMany(times(24, () => ({ maxAttempts: 100 })));
      for (const seed of [1, 2, 3, 4, 5]) await raceForEnds(scenario, seed);
    }),
    longTimeoutMs,
  );

  test(
    "processes report while others fold, and nothing is lost or counted twice",
    withHistory(async (scenario) => {
      const { history } = scenario;
      const reporterIds = times(3, (n) => `reporter-${n}`);
      const old = reporterIds.flatMap((processId) =>
        times(3, (slot) =>
          newRollup(scenario, { processId, from: baseTime - (slot + 1) * bucketMs, counts: "7" }),
        ),
      );
      await reportAll(scenario, old, baseTime);
      const now = baseTime + maxAgeMs;
      const report = async (processId: string): Promise<void> => {
        for (let n = 1; n <= 10; n += 1) {
          const own = old.filter((bucket) => bucket.processId === processId);
          const buckets = [...own, newRollup(scenario, { processId, counts: `${n}` })];
          const call = { ...reportCall({ reporter: newReporter({ id: processId }), buckets }), now };
          await retryTransient(scenario, () => history.writeReport(call));
        }
      };
      const fold = async (): Promise<void> => {
        for (let n = 0; n < 10; n += 1) await foldOld(scenario);
      };
      await Promise.all([...reporterIds.map(report), ...times(3, fold)]);
      const rows = await readAll(scenario);
      assert.equal(sumOf(rows), 9 * 7 + 3 * 10);
      assert.equal(rows.filter(({ from }) => from < baseTime).length, 1);
    }),
    longTimeoutMs,
  );
};
