import type { Throttle, ThrottleReason } from "../store/contract/limits.ts";
import type { LimitValues, LimitRule } from "../store/contract/limits.ts";
import { findReachedLimit, type LimitsInUse } from "../store/rules/limits.ts";
import type { RulesOver } from "../store/rules/limits.ts";
import { nextTokenAt } from "../store/rules/limits.ts";
import { runnableFrom } from "../store/rules/checks.ts";
import type { JobRecord, QueueIndex, QueueType, RunnableEntry } from "./job-record.ts";
import type { JobStore } from "./job-store.ts";
import { firstOf, hasBegun, type Line, pendingOf } from "./line.ts";
import { limitsOf } from "./line-limits.ts";
import { runsBefore } from "./timed-queue.ts";

const mostIds = 5;

/** Whether a claim would put this running job back, because its lease has expired. */
const isFree = ({ row }: JobRecord, now: number): boolean =>
  row.status === "running" && (runnableFrom(row) ?? Number.POSITIVE_INFINITY) <= now;

const goesBefore = (a: RunnableEntry, b: RunnableEntry): boolean => {
  const [aBegun, bBegun] = [a, b].map(({ record }) => hasBegun(record.row));
  if (aBegun !== bBegun) return aBegun === true;
  if (aBegun === true) return a.at !== b.at ? a.at < b.at : a.record.order < b.record.order;
  return runsBefore(a, b);
};

/** The running jobs of a queue, of a type in it, and of each line. */
const groupRunning = ({ runnable }: JobStore): Map<Place, JobRecord[]> => {
  const byPlace = new Map<Place, JobRecord[]>();
  for (const record of runnable.running()) {
    for (const place of [record.queueType.queue, record.queueType, record.line]) {
      const others = byPlace.get(place);
      if (others === undefined) byPlace.set(place, [record]);
      else others.push(record);
    }
  }
  return byPlace;
};

type Place = QueueIndex | QueueType | Line;

/** Whose rule it is that holds a job back: where its jobs run, and what it is called. */
interface Scope {
  readonly place: Place;
  readonly name: Pick<Throttle, "queue" | "typeName" | "group">;
  readonly use: LimitsInUse;
}

const hold = (by: ThrottleReason, { name }: Scope, details: Partial<Throttle> = {}): Throttle => ({
  by,
  ...name,
  limit: null,
  inUse: null,
  claimableAt: null,
  jobIds: [],
  ...details,
});

const idsOf = (records: readonly JobRecord[]): string[] => records.slice(0, mostIds).map(({ id }) => id);

/** Says what holds back a pending job that is due, of any number of jobs as they are at this moment. */
export const createHoldFinder = (store: JobStore, now: number): ((record: JobRecord) => Throttle | null) => {
  const { flow } = store;
  let byPlace: Map<Place, JobRecord[]> | undefined;

  const runningIn = (place: Place): readonly JobRecord[] => {
    byPlace ??= groupRunning(store);
    return byPlace.get(place) ?? [];
  };

  const byLimits = (limits: LimitValues, scope: Scope): Throttle | null => {
    if (findReachedLimit({ ...limits, rate: null }, scope.use, now) !== null) {
      // Slots whose leases have expired come free with the next claim.
      const holders = runningIn(scope.place).filter((each) => !isFree(each, now));
      const { concurrency } = limits;
      if (holders.length >= concurrency!)
        return hold("concurrency", scope, {
          limit: concurrency,
          inUse: holders.length,
          jobIds: idsOf(holders),
        });
    }
    const { rate } = limits;
    if (rate === null || findReachedLimit({ concurrency: null, rate }, scope.use, now) === null) return null;
    return hold("rate", scope, {
      limit: rate.limit,
      claimableAt: nextTokenAt(rate, scope.use.bucketFullAt, now),
    });
  };

  const byRule = (rule: LimitRule | undefined, scope: Scope): Throttle | null => {
    if (rule === undefined) return null;
    return rule.paused ? hold("paused", scope) : byLimits(rule, scope);
  };

  /** The jobs of an ordered line that this one waits for: the one that runs, and those that go before it. */
  const findAhead = (record: JobRecord): JobRecord[] => {
    const { line, entry } = record;
    const running = (line.running === 0 ? [] : runningIn(line)).filter(
      // Once put back, it has begun: then it goes first, unless this one began before.
      (each) => !isFree(each, now) || !hasBegun(record.row) || each.row.leasedUntil! < entry!.at,
    );
    const waiting = [...pendingOf(line)]
      .filter((each) => each.at <= now || hasBegun(each.record.row))
      .filter((each) => goesBefore(each, entry!))
      .sort((a, b) => (goesBefore(a, b) ? -1 : 1));
    return [...running, ...waiting.map((each) => each.record)];
  };

  const byGroup = (
    record: JobRecord,
    over: RulesOver,
    scope: Scope,
    stoppedBy: string | null,
  ): Throttle | null => {
    if (stoppedBy !== null) return hold("stopped", scope, { jobIds: [stoppedBy] });
    const ahead = record.line.orderedJobs > 0 ? findAhead(record) : [];
    const [first] = ahead;
    if (first === undefined) return byLimits(limitsOf(over, record.line), scope);
    const { status, scheduledAt } = first.row;
    const claimableAt = status === "pending" && scheduledAt > now ? scheduledAt : null;
    return hold("order", scope, { claimableAt, jobIds: idsOf(ahead) });
  };

  return (record) => {
    const { queueType, line } = record;
    const { typeName } = queueType;
    const queue = queueType.queue.name;
    const over = flow.rulesOver(queue, typeName);
    const cell = flow.find(queue, typeName);
    const state = flow.line(cell, line.group);
    const ofQueue = byRule(over.queue, {
      place: queueType.queue,
      name: { queue, typeName: null, group: null },
      use: {
        running: queueType.queue.running,
        bucketFullAt: flow.find(queue, null)?.state.bucketFullAt ?? 0,
      },
    });
    if (ofQueue !== null) return ofQueue;
    const ofType = byRule(over.type, {
      place: queueType,
      name: { queue, typeName, group: null },
      use: { running: queueType.counts.running, bucketFullAt: cell?.state.bucketFullAt ?? 0 },
    });
    if (ofType !== null || line.group === null) return ofType;
    const scope: Scope = {
      place: line,
      name: { queue, typeName, group: line.group },
      use: { running: line.running, bucketFullAt: state.bucketFullAt },
    };
    return byGroup(record, over, scope, state.stoppedBy);
  };
};

/** The pending job of a line that goes first among those that are due. */
export const firstDue = (line: Line, now: number): JobRecord | undefined =>
  (firstOf(line, now) ?? line.pending.head(now))?.record;
