import type { BatchObservableResult, Meter } from "@opentelemetry/api";
import {
  type AnyStateAdapter,
  type LimitUse,
  type JobCount,
  requirePart,
  type TypeBacklog,
} from "leasehold/adapter";
import { countPending, findRunnableTypes, readStoreFacts } from "leasehold/doctor";
import type { ObserveStoreOptions, Resolved } from "./options.ts";
import { createPairTable, createSeriesTable, type SeriesTable } from "./series.ts";

/** The store's job counts at one time. */
export interface StoreReading {
  /** Jobs that have not completed. */
  readonly jobs: readonly JobCount[];
  /** How long the job that has waited longest could have been running, by queue. */
  readonly oldestRunnableAgeMs: ReadonlyMap<string, number>;
  /** The same for types that no live worker serves. */
  readonly oldestUnservedAgeMs: ReadonlyMap<string, number>;
  /** Running jobs with an expired lease that has not been reclaimed, by queue. */
  readonly expiredLeases: ReadonlyMap<string, number>;
  /** The rules of queues and types, and how much of them is in use; empty where the store has none. */
  readonly flow: readonly LimitUse[];
}

const countsOf = (backlog: TypeBacklog): JobCount[] => {
  const { queue, typeName, blocked, running, failed } = backlog;
  return Object.entries({ blocked, pending: countPending(backlog), running, failed })
    .filter(([, count]) => count > 0)
    .map(([status, count]) => ({ queue, typeName, status, count }) as JobCount);
};

/** Completed jobs are not counted: they are most of the table, and no backlog. */
const readStore = async (
  store: AnyStateAdapter,
  { scanLimit, timeoutMs }: Pick<Resolved<ObserveStoreOptions>, "scanLimit" | "timeoutMs">,
): Promise<StoreReading> => {
  requirePart(store, "statistics", "observeStore");
  const facts = readStoreFacts(store, { storeDeadlineMs: timeoutMs, cap: scanLimit });
  const now = await facts.now();
  const backlogs = await facts.backlog();
  const [oldestRunnableAgeMs, oldestUnservedAgeMs] = [new Map<string, number>(), new Map<string, number>()];
  const expiredLeases = new Map<string, number>();
  for (const { queue, expired } of backlogs) {
    oldestRunnableAgeMs.set(queue, 0);
    oldestUnservedAgeMs.set(queue, 0);
    if (expired > 0) expiredLeases.set(queue, expired + (expiredLeases.get(queue) ?? 0));
  }
  const runnable = await findRunnableTypes(facts, { stalledMs: 0 });
  // If no process reports, no worker can be missed.
  const isReported = runnable.length > 0 && (await facts.serving()).workers !== undefined;
  for (const { queue, since, isServed } of runnable) {
    const ages = isServed || !isReported ? oldestRunnableAgeMs : oldestUnservedAgeMs;
    ages.set(queue, Math.max(now - since, ages.get(queue) ?? 0));
  }
  const flow = await facts.rules();
  const jobs = backlogs.flatMap(countsOf);
  return { jobs, oldestRunnableAgeMs, oldestUnservedAgeMs, expiredLeases, flow };
};

export interface StoreGauges {
  /** Begins to read a store when metrics are collected. Returns what ends it. */
  observe(store: AnyStateAdapter, options: Resolved<ObserveStoreOptions>): () => void;
}

export const createStoreGauges = (
  meter: Meter,
  prefix: string,
  onError: (error: unknown) => void,
): StoreGauges => {
  const gauge = (name: string, unit: string, description: string) =>
    meter.createObservableGauge(`${prefix}.store.${name}`, { unit, description });
  const jobs = gauge("jobs", "{job}", "Jobs that have not completed, by queue, type and status");
  const oldestRunnableAge = gauge(
    "oldest_runnable_age",
    "ms",
    "How long the longest-waiting runnable job waits",
  );
  const oldestUnservedAge = gauge(
    "oldest_unserved_age",
    "ms",
    "How long the longest-waiting job waits whose type no live worker serves",
  );
  const expiredLeases = gauge(
    "expired_leases",
    "{job}",
    "Running jobs whose lease is over, not yet taken back",
  );

  const limitedRunning = gauge(
    "limited_running",
    "{job}",
    "Running jobs that count against the limit of a queue or type",
  );
  const concurrencyLimit = gauge("concurrency_limit", "{job}", "How many may run at once, by queue and type");
  const throttledGroups = gauge(
    "held_lines",
    "{line}",
    "Groups with jobs that a limit, pause or order holds back",
  );
  const paused = gauge("paused", "{pause}", "1 while a queue or type is paused");

  const observe: StoreGauges["observe"] = (store, { maxAgeMs, timeoutMs, scanLimit }) => {
    // A series that was reported once continues at 0, instead of keeping its last value.
    const counts = createPairTable((queue, typeName) =>
      createSeriesTable((status) => ({ queue, typeName, status })),
    );
    const leases = createSeriesTable((queue) => ({ queue }));
    let reading: Promise<StoreReading> | undefined;
    let readAt = -Infinity;

    const read = (): Promise<StoreReading> => {
      if (reading && performance.now() - readAt < maxAgeMs) return reading;
      readAt = performance.now();
      reading = withTimeout(readStore(store, { scanLimit, timeoutMs }), timeoutMs);
      reading.catch(() => {
        reading = undefined;
      });
      return reading;
    };

    const report = (result: BatchObservableResult, current: StoreReading): void => {
      for (const table of counts.all()) reset(table);
      reset(leases);
      for (const { queue, typeName, status, count } of current.jobs) {
        counts.get(queue, typeName).get(status, "").value = count;
        leases.get(queue, "");
      }
      for (const [queue, count] of current.expiredLeases) leases.get(queue, "").value = count;
      for (const table of counts.all()) {
        for (const { value, attributes } of table.all()) result.observe(jobs, value, attributes);
      }
      for (const { value, attributes } of leases.all()) result.observe(expiredLeases, value, attributes);
      for (const [queue, age] of current.oldestRunnableAgeMs)
        result.observe(oldestRunnableAge, age, { queue });
      for (const [queue, age] of current.oldestUnservedAgeMs)
        result.observe(oldestUnservedAge, age, { queue });
      for (const { rule, running, throttledGroups: held } of current.flow) {
        const attributes = { queue: rule.queue, typeName: rule.typeName ?? "" };
        result.observe(throttledGroups, held, attributes);
        result.observe(paused, rule.paused ? 1 : 0, attributes);
        if (rule.concurrency === null) continue;
        result.observe(limitedRunning, running, attributes);
        result.observe(concurrencyLimit, rule.concurrency, attributes);
      }
    };

    const callback = async (result: BatchObservableResult): Promise<void> => {
      try {
        report(result, await read());
      } catch (error) {
        onError(error);
      }
    };
    const instruments = [
      jobs,
      oldestRunnableAge,
      oldestUnservedAge,
      expiredLeases,
      limitedRunning,
      concurrencyLimit,
      throttledGroups,
      paused,
    ];
    meter.addBatchObservableCallback(callback, instruments);
    return () => meter.removeBatchObservableCallback(callback, instruments);
  };
  return { observe };
};

const reset = (table: SeriesTable): void => {
  for (const series of table.all()) series.value = 0;
};

const withTimeout = <T>(work: Promise<T>, ms: number): Promise<T> => {
  let timer: NodeJS.Timeout;
  const timeout = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error(`The store did not answer within ${ms} ms.`)), ms);
    timer.unref();
  });
  return Promise.race([work, timeout]).finally(() => clearTimeout(timer));
};
