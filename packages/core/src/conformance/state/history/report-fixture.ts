import type { ReportCall, Reporter, StatisticsBucket } from "../../../store/contract/history.ts";
import { baseTime } from "../../state-fixture.ts";
import type { HistoryScenario } from "./history-scenario.ts";

export const width = 10_000;
export const maxAgeMs = 60_000;

export const newReporter = (overrides: Partial<Reporter> = {}): Reporter => ({
  id: "reporter-1",
  deployment: "1.4.2",
  startedAt: baseTime - 9_000,
  about: '{"host":"one"}',
  ...overrides,
});

export const newRollup = (
  { queue, typeName }: Pick<HistoryScenario, "queue" | "typeName">,
  overrides: Partial<StatisticsBucket> = {},
): StatisticsBucket => ({
  width,
  from: baseTime,
  queue,
  typeName,
  deployment: "1.4.2",
  reporterId: "reporter-1",
  counts: "[1,1]",
  ...overrides,
});

/** Each of the rollups as its own reporter. */
export const reportAll = async (
  { history }: HistoryScenario,
  rollups: readonly StatisticsBucket[],
  now: number = baseTime,
): Promise<void> => {
  for (const id of new Set(rollups.map(({ reporterId }) => reporterId)))
    await history.writeReport({
      reporter: newReporter({ id }),
      rollups: rollups.filter(({ reporterId }) => reporterId === id),
      causes: [],
      maxAgeMs,
      now,
    });
};

export const reportCall = (overrides: Partial<ReportCall> = {}): ReportCall => ({
  reporter: newReporter(),
  rollups: [],
  causes: [],
  maxAgeMs,
  ...overrides,
});

/** All rollups of the scenario's queue. */
export const readAll = (
  { history, queue }: HistoryScenario,
  of: { readonly width?: number; readonly ctx?: object } = {},
): Promise<StatisticsBucket[]> =>
  history.readBuckets({ width, from: 0, before: 2 ** 50, queues: [queue], limit: 10_000, ...of });
