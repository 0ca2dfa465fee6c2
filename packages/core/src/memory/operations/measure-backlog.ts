import type { TypeBacklog } from "../../store/contract/diagnostics.ts";
import type { StoreView } from "../store-view.ts";

type Counting = { -readonly [Key in keyof TypeBacklog]: TypeBacklog[Key] };

/** Goes through all jobs: they are in memory, and nothing is read for it. */
export const measureBacklog = (view: StoreView, cap: number, now: number): TypeBacklog[] => {
  const types = new Map<string, Counting>();
  const typeOf = (queue: string, typeName: string): Counting => {
    const key = `${queue.length} ${queue}${typeName}`;
    let type = types.get(key);
    if (type === undefined) {
      const none = { runnable: 0, later: 0, running: 0, expired: 0, blocked: 0, failed: 0 };
      type = { queue, typeName, ...none, oldestRunnableAt: null };
      types.set(key, type);
    }
    return type;
  };
  for (const { row } of view.jobs()) {
    if (row.status === "completed") continue;
    const type = typeOf(row.queue, row.typeName);
    const add = (kind: "runnable" | "later" | "running" | "expired" | "blocked" | "failed"): void => {
      if (type[kind] < cap) type[kind] += 1;
    };
    if (row.status !== "pending") add(row.status);
    else if (row.scheduledAt > now) add("later");
    else {
      add("runnable");
      type.oldestRunnableAt = Math.min(type.oldestRunnableAt ?? row.scheduledAt, row.scheduledAt);
    }
    if (row.status === "running" && row.leasedUntil !== null && row.leasedUntil <= now) add("expired");
  }
  return [...types.values()];
};
