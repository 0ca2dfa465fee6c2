import type {
  AdvancedRecurringJob,
  DueRecurringJobs,
  ListRecurringCall,
  LockDueRecurringCall,
  NewRecurringJob,
  StateRecurringJob,
} from "../../contracts/state-adapter.ts";
import type { RecurringRows, RecurringStore } from "../recurring-store.ts";

const byBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b));

export const listRecurring = (
  rows: RecurringRows,
  { limit, after, owner }: ListRecurringCall,
): StateRecurringJob[] =>
  [...rows.values()]
    .filter((row) => owner === undefined || row.owner === owner)
    .filter(({ id }) => after === null || byBytes(id, after) > 0)
    .sort((a, b) => byBytes(a.id, b.id))
    .slice(0, limit);

export const nextRecurringIn = (rows: RecurringRows, now: number): number | null => {
  let earliest = Infinity;
  for (const { paused, fireAt } of rows.values())
    if (!paused && fireAt !== null) earliest = Math.min(earliest, fireAt);
  return earliest === Infinity ? null : Math.max(0, earliest - now);
};

export const lockDueRecurring = (
  rows: RecurringRows,
  { limit, zoneData }: LockDueRecurringCall,
  now: number,
): DueRecurringJobs => {
  const isOutdated = (row: StateRecurringJob): boolean =>
    zoneData !== null && row.zoneData !== "" && row.zoneData < zoneData;
  const jobs = [...rows.values()]
    .filter((row) => !row.paused && row.fireAt !== null && (row.fireAt <= now || isOutdated(row)))
    .sort((a, b) => a.fireAt! - b.fireAt! || byBytes(a.id, b.id))
    .slice(0, limit);
  return { now, jobs };
};

export const putRecurring = (store: RecurringStore, job: NewRecurringJob, now: number): StateRecurringJob => {
  const createdAt = store.rows().get(job.id)?.createdAt ?? now;
  const stored: StateRecurringJob = { ...job, createdAt, updatedAt: now };
  store.change((rows) => rows.set(job.id, stored));
  return stored;
};

export const advanceRecurring = (store: RecurringStore, jobs: readonly AdvancedRecurringJob[]): void =>
  store.change((rows) => {
    for (const job of jobs) {
      const row = rows.get(job.id);
      if (row !== undefined) rows.set(job.id, { ...row, ...job });
    }
  });

export const deleteRecurring = (store: RecurringStore, ids: readonly string[]): string[] => {
  const found = ids.filter((id) => store.rows().has(id));
  store.change((rows) => {
    for (const id of found) rows.delete(id);
  });
  return found;
};
