import type { ProcessIdentity, ReportCall, StatisticsBucket } from "../../../store/contract/history.ts";
import { baseTime } from "../../state-fixture.ts";
import type { HistoryScenario } from "./history-scenario.ts";

export const bucketMs = 10_000;
export const maxAgeMs = 60_000;

export const newReporter = (overrides: Partial<ProcessIdentity> = {}): ProcessIdentity => ({
  id: "reporter-1",
  deployment: "1.4.2",
  startedAt: baseTime - 9_000,
  info: '{"host":"one"}',
  ...overrides,
});

export const newRollup = (
  { queue, typeName }: Pick<HistoryScenario, "queue" | "typeName">,
  overrides: Partial<StatisticsBucket> = {},
): StatisticsBucket => ({
  bucketMs,
  from: baseTime,
  queue,
  typeName,
  deployment: "1.4.2",
  processId: "reporter-1",
  counts: "[1,1]",
  ...overrides,
});

/** Each of the rollups as its own reporter. */
export const reportAll = async (
  { history }: HistoryScenario,
  buckets: readonly StatisticsBucket[],
  now: number = baseTime,
): Promise<void> => {
  for (const id of new Set(buckets.map(({ processId }) => processId)))
    await history.writeReport({
      reporter: newReporter({ id }),
      buckets: buckets.filter(({ processId }) => processId === id),
      causes: [],
      maxAgeMs,
      now,
    });
};

export const reportCall = (overrides: Partial<ReportCall> = {}): ReportCall => ({
  reporter: newReporter(),
  buckets: [],
  causes: [],
  maxAgeMs,
  ...overrides,
});

/** All rollups of the scenario's queue. */
export const readAll = (
  { history, queue }: HistoryScenario,
  of: { readonly bucketMs?: number; readonly ctx?: object } = {},
): Promise<StatisticsBucket[]> =>
  history.readBuckets({ bucketMs, from: 0, before: 2 ** 50, queues: [queue], limit: 10_000, ...of });
