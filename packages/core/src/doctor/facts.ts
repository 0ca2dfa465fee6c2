import { requirePart } from "../contracts/optional-parts.ts";
import type { FlowUse, RecentlyFinishedJob, TypeBacklog } from "../contracts/state-adapter.ts";
import type { StateStore } from "../engine/dispatch.ts";
import { listLiveWorkers } from "../engine/history/list-processes.ts";
import type { ReportedWorker } from "../engine/reporter/about.ts";

/** Numbers of the backlog are counted up to here. How many more there are hardly matters. */
export const countCap = 10_000;
const sampleSize = 5_000;

/** What there is to judge. Each is read when it is first asked for, and once. */
export interface Facts {
  readonly store: StateStore;
  now(): Promise<number>;
  backlog(): Promise<readonly TypeBacklog[]>;
  /** The workers of live processes; undefined where no process reports. */
  workers(): Promise<readonly ReportedWorker[] | undefined>;
  /** The rules of queues and types; none where the store has no rules. */
  rules(): Promise<readonly FlowUse[]>;
  /** A sample of what finished since a moment. */
  finishedSince(from: number): Promise<readonly RecentlyFinishedJob[]>;
}

const once = <T>(read: () => Promise<T>): (() => Promise<T>) => {
  let reading: Promise<T> | undefined;
  return () => (reading ??= read());
};

export const readFacts = (store: StateStore): Facts => {
  const now = once(() => store.getTime());
  return {
    store,
    now,
    backlog: once(() => requirePart(store, "statistics", "Counting jobs").measureBacklog({ cap: countCap })),
    workers: once(async () => store.history && listLiveWorkers(store.history, await now())),
    rules: once(async () => (await store.flow?.listFlow({ queue: null })) ?? []),
    finishedSince: (from) =>
      requirePart(store, "statistics", "Measuring rates").listRecentlyFinished({ from, limit: sampleSize }),
  };
};
