import type { StatisticsKey, Tally } from "../engine/engine.ts";
import { addAttempt, addOne, emptyCounts, type SlotCounts } from "./counts.ts";

export interface CountedKey extends StatisticsKey {
  readonly counts: SlotCounts;
}

export interface TakenTally extends Tally {
  /** Everything since it was last taken. */
  take(): readonly CountedKey[];
}

// A queue for each customer makes many. Queues beyond this limit are counted together, under a name that no queue has.
const mostKeys = 1_000;

const otherQueues = "";

/** `onChange` is called with the first count after each `take`. */
export const createTally = (onChange: () => void): TakenTally => {
  let keys = new Map<string, Map<string, CountedKey>>();
  let size = 0;

  const add = (key: StatisticsKey): CountedKey => {
    if (size === 0) onChange();
    const named = size < mostKeys ? key : { queue: otherQueues, typeName: key.typeName };
    let types = keys.get(named.queue);
    if (!types) keys.set(named.queue, (types = new Map()));
    let open = types.get(named.typeName);
    if (!open) {
      const { queue, typeName } = named;
      types.set(typeName, (open = { queue, typeName, counts: emptyCounts() }));
      size += 1;
    }
    return open;
  };

  /** Jobs of one type often come in a row. */
  let latest: CountedKey | undefined;

  const find = (key: StatisticsKey): CountedKey => {
    if (latest && latest.typeName === key.typeName && latest.queue === key.queue) return latest;
    return (latest = keys.get(key.queue)?.get(key.typeName) ?? add(key));
  };

  return {
    isOn: true,
    add: (key, counter) => addOne(find(key).counts, counter),
    addAttempt: (key, waitedMs, ranMs) => addAttempt(find(key).counts, waitedMs, ranMs),
    take: () => {
      const taken = [...keys.values()].flatMap((types) => [...types.values()]);
      keys = new Map();
      latest = undefined;
      size = 0;
      return taken;
    },
  };
};
