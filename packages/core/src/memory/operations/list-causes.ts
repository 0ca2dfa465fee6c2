import type { CauseList, FailedJobs, ListCausesCall } from "../../store/contract/history.ts";
import { byBytes } from "../by-bytes.ts";
import { filtered } from "../job-filter.ts";
import type { StoreView } from "../store-view.ts";
import type { TableRows } from "../tables.ts";

type Counting = { -readonly [Key in keyof FailedJobs]: FailedJobs[Key] };

export const listCauses = (
  view: StoreView,
  causes: TableRows["causes"],
  { cap, queues, typeNames, everyMs }: ListCausesCall,
): CauseList => {
  const matching = [...filtered(view, { statuses: ["failed"], queues, typeNames })].sort((a, b) =>
    byBytes(b.row.id, a.row.id),
  );
  const groups = new Map<string, Counting>();
  for (const { row, history } of matching.slice(0, cap)) {
    const { id, queue, typeName } = row;
    const [reason, failedAt] = [row.failureReason!, row.failedAt!];
    const fingerprint = history?.fingerprint ?? null;
    const stretch = everyMs === undefined ? null : Math.floor(failedAt / everyMs);
    const key = JSON.stringify([fingerprint, queue, typeName, reason, stretch]);
    const group = groups.get(key);
    if (group === undefined) {
      const times = { firstFailedAt: failedAt, lastFailedAt: failedAt };
      groups.set(key, { fingerprint, queue, typeName, reason, count: 1, ...times, exampleId: id });
      continue;
    }
    group.count += 1;
    group.firstFailedAt = Math.min(group.firstFailedAt, failedAt);
    if (failedAt > group.lastFailedAt) {
      group.lastFailedAt = failedAt;
      group.exampleId = id;
    }
  }
  const failed = [...groups.values()];
  const fingerprints = new Set(failed.flatMap(({ fingerprint }) => fingerprint ?? []));
  return {
    failed,
    causes: [...fingerprints].flatMap((fingerprint) => causes.get(fingerprint) ?? []),
    capped: matching.length > cap,
  };
};
