import {
  type AnyStateAdapter,
  type FlowUse,
  type JobCount,
  type TypeBacklog,
  requirePart,
} from "leasehold/adapter";

/** What the store says of its jobs at one moment. */
export interface StoreReading {
  /** Jobs that have not completed. */
  readonly jobs: readonly JobCount[];
  /** How long the job that has waited longest could have been running, by queue. */
  readonly oldestRunnableAgeMs: ReadonlyMap<string, number>;
  /** Running jobs whose lease is over and that nobody has taken back yet, by queue. */
  readonly expiredLeases: ReadonlyMap<string, number>;
  /** The rules of queues and types, and how much of them is in use; empty where the store has none. */
  readonly flow: readonly FlowUse[];
}

const countsOf = ({ queue, typeName, blocked, runnable, later, running, failed }: TypeBacklog): JobCount[] =>
  Object.entries({ blocked, pending: runnable + later, running, failed })
    .filter(([, count]) => count > 0)
    .map(([status, count]) => ({ queue, typeName, status, count }) as JobCount);

/** Completed jobs are not counted: they are most of the table, and no backlog. */
export const readStore = async (store: AnyStateAdapter, scanLimit: number): Promise<StoreReading> => {
  const now = await store.getTime();
  const backlogs = await requirePart(store, "statistics", "observeStore").measureBacklog({ cap: scanLimit });
  const oldestRunnableAgeMs = new Map<string, number>();
  const expiredLeases = new Map<string, number>();
  for (const { queue, oldestRunnableAt, expired } of backlogs) {
    const age = oldestRunnableAt === null ? 0 : Math.max(0, now - oldestRunnableAt);
    oldestRunnableAgeMs.set(queue, Math.max(age, oldestRunnableAgeMs.get(queue) ?? 0));
    if (expired > 0) expiredLeases.set(queue, expired + (expiredLeases.get(queue) ?? 0));
  }
  const flow = (await store.flow?.listFlow({ queue: null })) ?? [];
  return { jobs: backlogs.flatMap(countsOf), oldestRunnableAgeMs, expiredLeases, flow };
};
