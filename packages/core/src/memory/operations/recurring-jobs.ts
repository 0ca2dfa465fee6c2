import type {
  AdvancedRecurringJob,
  DueRecurringJobs,
  ListRecurringCall,
  LockDueRecurringCall,
  NewRecurringJob,
  StateRecurringJob,
} from "../../store/contract/recurring.ts";
import { byBytes } from "../by-bytes.ts";
import type { TableRows, Tables } from "../tables.ts";

type RecurringRows = TableRows["recurring"];

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

export const putRecurring = (tables: Tables, job: NewRecurringJob, now: number): StateRecurringJob => {
  const createdAt = tables.rows().recurring.get(job.id)?.createdAt ?? now;
  const stored: StateRecurringJob = { ...job, createdAt, updatedAt: now };
  tables.change("recurring", (rows) => rows.set(job.id, stored));
  return stored;
};

export const advanceRecurring = (tables: Tables, jobs: readonly AdvancedRecurringJob[]): void =>
  tables.change("recurring", (rows) => {
    for (const job of jobs) {
      const row = rows.get(job.id);
      if (row !== undefined) rows.set(job.id, { ...row, ...job });
    }
  });

export const deleteRecurring = (tables: Tables, ids: readonly string[]): string[] => {
  const found = ids.filter((id) => tables.rows().recurring.has(id));
  tables.change("recurring", (rows) => {
    for (const id of found) rows.delete(id);
  });
  return found;
};
