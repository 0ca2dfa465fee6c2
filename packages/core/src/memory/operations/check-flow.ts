import type { CounterRepair } from "../../store/contract/limits.ts";
import type { JobStore } from "../job-store.ts";

type Counter = CounterRepair["counters"][number];
type Place = Pick<Counter, "queue" | "typeName" | "group">;

/** Compares the counters with the jobs themselves. */
export const repairCounters = (store: JobStore, repair: boolean): CounterRepair => {
  const running = new Map<string, number>();
  const keyOf = ({ queue, typeName, group }: Place): string => JSON.stringify([queue, typeName, group]);
  const add = (place: Place): void => {
    const key = keyOf(place);
    running.set(key, (running.get(key) ?? 0) + 1);
  };
  for (const { row } of store.records()) {
    if (row.status !== "running") continue;
    const { queue, typeName, group } = row;
    add({ queue, typeName: null, group: null });
    add({ queue, typeName, group: null });
    if (group !== null) add({ queue, typeName, group });
  }
  const counters: Counter[] = [];
  const compare = (place: Place, was: number, set: (is: number) => void): void => {
    const is = running.get(keyOf(place)) ?? 0;
    if (was === is) return;
    counters.push({ ...place, was, is });
    if (repair) set(is);
  };
  for (const index of store.runnable.queues()) {
    const queue = index.name;
    compare({ queue, typeName: null, group: null }, index.running, (is) => (index.running = is));
    for (const { typeName, counts, groups } of index.types.values()) {
      compare({ queue, typeName, group: null }, counts.running, (is) => (counts.running = is));
      for (const [group, line] of groups)
        compare({ queue, typeName, group }, line.running, (is) => (line.running = is));
    }
  }
  return { counters };
};
