import { type Backoff, delayOf } from "../base/backoff.ts";
import { LeaseholdError } from "../base/errors.ts";
import { type Runtime, withDeadline } from "../base/runtime.ts";
import type { StateStore } from "../engine/dispatch.ts";
import type { ReportedWorker, Reporter } from "../engine/engine.ts";
import { noTally } from "../engine/operation.ts";
import type { Observe } from "../observability/observe.ts";
import type { History, NewCause, StatisticsBucket } from "../store/contract/history.ts";
import { AdapterClosedError, StoreCallTimeoutError } from "../store/errors.ts";
import {
  addCounts,
  bucketMs,
  causeReportMs,
  emptyCounts,
  encodeCounts,
  oldestReportMs,
  type SlotCounts,
} from "./counts.ts";
import { readProcessInfo } from "./processes.ts";
import { createTally } from "./tally.ts";

// The first delay is also the interval between reports.
const reportDelay: Backoff = { firstMs: 1_000, longestMs: 30_000, jitter: "none" };

const heartbeatIntervalMs = 10_000;

const closeMs = 1_000;

const mostRows = 500;

const mostKnownCauses = 1_000;

/** What one type did in the present ten seconds, all of it. */
interface Row {
  readonly from: number;
  readonly queue: string;
  readonly typeName: string;
  readonly counts: SlotCounts;
  /** Whether it has not been written to the store yet. */
  isOpen: boolean;
}

export interface ReporterOptions {
  readonly store: StateStore;
  readonly runtime: Runtime;
  readonly observe: Observe;
  readonly deployment: string | null;
  readonly statistics: boolean;
  /** The workerless types of this process. */
  readonly workerless: readonly string[];
}

const noReporter: Reporter = {
  isOn: false,
  tally: noTally,
  id: undefined,
  firstWorkerId: undefined,
  addCause: () => {},
  addWorker: () => () => {},
  flush: () => Promise.resolve(),
  close: () => Promise.resolve(),
};

/** Does nothing where the store keeps no history, or where it is not wanted. */
export const createReporter = (options: ReporterOptions): Reporter => {
  const { history } = options.store;
  return options.statistics && history ? startReporter(options, history) : noReporter;
};

const startReporter = (
  { store, runtime, observe, deployment, workerless }: ReporterOptions,
  history: History<object>,
): Reporter => {
  const { clock } = runtime;
  const createdAt = clock.monotonic();
  let id: string | undefined;
  /** The store's time minus ours, which never steps. */
  let offset: number | undefined;
  let rows = new Map<string, Row>();
  /** Each with the function that says whether it is asleep. */
  const workers = new Map<() => ReportedWorker, () => boolean>();
  /** When each was last reported. */
  const knownCauses = new Map<string, number>();
  let newCauses: NewCause[] = [];
  let hasChanged = false;
  let failures = 0;
  let cancelTimer: (() => void) | undefined;
  let underWay: Promise<void> | undefined;
  let ended = false;

  const tally = createTally(() => changed());

  const schedule = (ms: number): void => {
    cancelTimer?.();
    cancelTimer = ended ? undefined : clock.setTimer(() => void report(true), ms, { background: true });
  };

  const changed = (): void => {
    if (hasChanged) return;
    hasChanged = true;
    // While one is under way, the next is scheduled at its end.
    if (!underWay) schedule(pause());
  };

  /** Grows after errors, so that statistics do not add load to a store that is in trouble. */
  const pause = (): number => delayOf(reportDelay, failures + 1, runtime.random);

  const scheduleNext = (): void => {
    if (hasChanged || failures > 0) schedule(pause());
    else if (workers.size > 0) schedule(heartbeatIntervalMs);
  };

  const storeTime = async (): Promise<number> => {
    offset ??= (await store.getTime()) - clock.monotonic();
    return Math.floor(clock.monotonic() + offset);
  };

  /** What has been counted since the last report belongs to the present stretch: it is a second at most. */
  const takeCounts = (now: number): void => {
    const from = Math.floor(now / bucketMs) * bucketMs;
    rows = new Map(
      [...rows].filter(([, row]) => row.from === from || (row.isOpen && now - row.from < oldestReportMs)),
    );
    for (const { queue, typeName, counts } of tally.take()) {
      const key = JSON.stringify([from, queue, typeName]);
      const row = rows.get(key) ?? {
        from,
        queue,
        typeName,
        counts: emptyCounts(),
        isOpen: true,
      };
      rows.set(key, row);
      addCounts(row.counts, counts);
      row.isOpen = true;
    }
  };

  const toRollup = ({ from, queue, typeName, counts }: Row, processId: string): StatisticsBucket => ({
    bucketMs: bucketMs,
    from,
    queue,
    typeName,
    deployment: deployment ?? "",
    processId,
    counts: encodeCounts(counts),
  });

  const send = async (): Promise<void> => {
    hasChanged = false;
    const now = await storeTime();
    takeCounts(now);
    const processId = (id ??= runtime.createId());
    const startedAt = now - Math.round(clock.monotonic() - createdAt);
    const info = readProcessInfo({
      workers: Array.from(workers.keys(), (describe) => describe()),
      workerless,
      ended,
    });
    const reporter = { id: processId, deployment, startedAt, info };
    const open = [...rows.values()].filter(({ isOpen }) => isOpen);
    do {
      const part = open.splice(0, mostRows);
      const causes = newCauses.slice(0, mostRows);
      const askedAt = clock.monotonic();
      const time = await history.writeReport({
        reporter,
        buckets: part.map((row) => toRollup(row, processId)),
        causes,
        maxAgeMs: oldestReportMs,
      });
      offset = time - (askedAt + clock.monotonic()) / 2;
      for (const row of part) row.isOpen = false;
      newCauses = newCauses.slice(causes.length);
    } while (open.length > 0);
  };

  const sendSafely = async (): Promise<void> => {
    try {
      await send();
      failures = 0;
    } catch (error) {
      failures += 1;
      // The store was closed: drop the statistics.
      if (error instanceof AdapterClosedError) ended = true;
      // Other errors have been reported where every store call passes.
      else if (error instanceof LeaseholdError && !store.isTransientError(error))
        observe("stateAdapterError", () => ({ operation: "writeReport", error }));
    }
    underWay = undefined;
    scheduleNext();
  };

  const report = async (isHeartbeat: boolean): Promise<void> => {
    await underWay;
    const isAwake = Array.from(workers.values()).some((isAsleep) => !isAsleep());
    if (hasChanged || failures > 0 || (isHeartbeat && isAwake)) await (underWay ??= sendSafely());
    else scheduleNext();
  };

  let closing: Promise<void> | undefined;

  const closeNow = async (): Promise<void> => {
    cancelTimer?.();
    ended = true;
    // Marks the process as closed, so that it is not listed as crashed.
    if (id !== undefined) hasChanged = true;
    const tooLate = () => new StoreCallTimeoutError("report", closeMs);
    await withDeadline(report(false), closeMs, tooLate, clock).catch(() => {});
  };

  return {
    isOn: true,
    tally,
    get id() {
      return id;
    },
    get firstWorkerId() {
      const [first] = workers.keys();
      return first?.().id;
    },
    addCause: (kind) => {
      const now = clock.monotonic();
      const reportedAt = knownCauses.get(kind.fingerprint) ?? Number.NEGATIVE_INFINITY;
      if (now - reportedAt < causeReportMs || newCauses.length >= mostKnownCauses) return;
      if (knownCauses.size >= mostKnownCauses) knownCauses.clear();
      knownCauses.set(kind.fingerprint, now);
      newCauses.push({ ...kind, deployment });
      changed();
    },
    addWorker: (describe, isAsleep) => {
      workers.set(describe, isAsleep);
      changed();
      return () => {
        workers.delete(describe);
        changed();
      };
    },
    flush: () => report(false),
    close: () => (closing ??= closeNow()),
  };
};
