import type { JobStatus } from "leasehold";
import { jobStatuses } from "leasehold/adapter";
import type { AnyLeasehold } from "./store.ts";

export type StatusCounts = Readonly<Record<JobStatus, number>>;

export interface QueueNumbers {
  readonly queue: string;
  readonly typeName: string;
  readonly counts: StatusCounts;
}

const zero = (): Record<JobStatus, number> =>
  Object.fromEntries(jobStatuses.map((status) => [status, 0])) as Record<JobStatus, number>;

/** How many jobs there are of each queue and type, by status, in the order of their names. */
export const countByQueue = async (
  leasehold: AnyLeasehold,
  filter: { readonly queue?: readonly string[] | undefined; readonly finishedFrom?: Date } = {},
): Promise<QueueNumbers[]> => {
  const rows = new Map<string, { queue: string; typeName: string; counts: Record<JobStatus, number> }>();
  for (const { queue, typeName, status, count } of await leasehold.countJobs(filter)) {
    const key = JSON.stringify([queue, typeName]);
    const row = rows.get(key) ?? { queue, typeName, counts: zero() };
    row.counts[status] += count;
    rows.set(key, row);
  }
  const byName = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
  return [...rows.values()].sort((a, b) => byName(a.queue, b.queue) || byName(a.typeName, b.typeName));
};

export const sumCounts = (rows: readonly QueueNumbers[]): StatusCounts => {
  const total = zero();
  for (const { counts } of rows) for (const status of jobStatuses) total[status] += counts[status];
  return total;
};
