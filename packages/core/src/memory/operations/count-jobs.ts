import type { JobCount, JobFilter } from "../../store/contract/reads.ts";
import { filtered } from "../job-filter.ts";
import type { StoreView } from "../store-view.ts";

export const countJobs = (view: StoreView, filter: JobFilter): JobCount[] => {
  const counts = new Map<string, { -readonly [Key in keyof JobCount]: JobCount[Key] }>();
  for (const { row } of filtered(view, filter)) {
    const { queue, typeName, status } = row;
    const group = `${status} ${queue.length} ${queue}${typeName}`;
    const count = counts.get(group);
    if (count === undefined) counts.set(group, { queue, typeName, status, count: 1 });
    else count.count += 1;
  }
  return [...counts.values()];
};
