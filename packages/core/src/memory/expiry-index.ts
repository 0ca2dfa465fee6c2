import type { StateJob } from "../store/contract/job.ts";
import { expiresAt } from "../store/rules/edits.ts";
import { createHeap } from "./heap.ts";
import type { JobRecord } from "./job-record.ts";
import { isMostlyStale } from "./timed-queue.ts";

/** Finds the jobs that have waited too long. Jobs that cannot expire are not in here. */
export interface ExpiryIndex {
  /** Must be called for every change of a row, with null for one that is not stored. */
  update(record: JobRecord, before: StateJob | null, after: StateJob | null): void;
  /** Removes and returns the job that expired first, if any has at `now`. */
  takeExpired(now: number): JobRecord | undefined;
}

interface Entry {
  readonly record: JobRecord;
  readonly at: number;
}

const momentOf = (row: StateJob | null): number | null => (row === null ? null : expiresAt(row));

export const createExpiryIndex = (): ExpiryIndex => {
  const heap = createHeap<Entry>((a, b) => a.at < b.at);
  // The one valid entry of each job. Others that still lie in the heap are stale.
  const entries = new Map<JobRecord, Entry>();
  const isCurrent = (entry: Entry): boolean => entries.get(entry.record) === entry;

  return {
    update: (record, before, after) => {
      const at = momentOf(after);
      if (at === null && momentOf(before) === null) return;
      if (at === null) entries.delete(record);
      else if (entries.get(record)?.at !== at) {
        const entry = { record, at };
        entries.set(record, entry);
        heap.push(entry);
      }
      if (isMostlyStale(heap.size(), entries.size)) heap.retain(isCurrent);
    },
    takeExpired: (now) => {
      for (let entry = heap.peek(); entry !== undefined; entry = heap.peek()) {
        const current = isCurrent(entry);
        if (current && entry.at > now) return undefined;
        heap.pop();
        if (!current) continue;
        entries.delete(entry.record);
        return entry.record;
      }
      return undefined;
    },
  };
};
