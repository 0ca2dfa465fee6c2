import type { StateJob } from "../store/contract/job.ts";
import { isOverdue } from "../store/rules/edits.ts";
import { countClaimable } from "../store/rules/limits.ts";
import { dueIn, type GroupQueue, type JobRecord } from "./groups.ts";
import { throttledJob } from "./limits.ts";
import { filtered, groupBy } from "./reads.ts";
import type { Operation } from "./rows.ts";

/** The due jobs of a group queue: what a claim could take, and how many it could not. */
const dueOf = (
  group: GroupQueue,
  now: number,
): { readonly claimable: readonly JobRecord[]; readonly throttled: number; readonly overdue: number } => {
  const due = [...dueIn(group.pending, now)].filter(({ row }) => row.scheduledAt <= now);
  const [head] = due;
  const count = head === undefined ? 0 : countClaimable(throttledJob(head, now), due.length, now);
  const claimable = due.slice(0, count).filter(({ row }) => !isOverdue(row, now));
  const overdue = due.filter(({ row }) => isOverdue(row, now)).length;
  return { claimable, overdue, throttled: due.length - overdue - claimable.length };
};

export const measureBacklog: Operation<"measureBacklog"> = (rows, { cap }, now) => {
  const unfinished = filtered(rows, { statuses: ["blocked", "pending", "running", "failed"] });
  return groupBy(unfinished, ({ row }) => [row.queue, row.typeName]).map((group) => {
    const count = (isCounted: (row: StateJob) => boolean): number =>
      Math.min(cap, group.filter(({ row }) => isCounted(row)).length);
    const { queue, typeName } = group[0]!.row;
    const groups = rows.queues.get(queue)?.types.get(typeName)?.groups.values() ?? [];
    const due = [...groups].map((each) => dueOf(each, now));
    const claimable = due.flatMap((each) => each.claimable);
    const sum = (of: "throttled" | "overdue"): number =>
      Math.min(
        cap,
        due.reduce((total, each) => total + each[of], 0),
      );
    return {
      queue,
      typeName,
      runnable: Math.min(cap, claimable.length),
      throttled: sum("throttled"),
      overdue: sum("overdue"),
      later: count((row) => row.status === "pending" && row.scheduledAt > now),
      running: count(({ status }) => status === "running"),
      expired: count((row) => row.status === "running" && (row.leasedUntil ?? Infinity) <= now),
      blocked: count(({ status }) => status === "blocked"),
      failed: count(({ status }) => status === "failed"),
      oldestRunnableAt:
        claimable.length === 0
          ? null
          : claimable.reduce((oldest, { row }) => Math.min(oldest, row.scheduledAt), Infinity),
    };
  });
};
