import type { Lane, Tally } from "../engine/engine.ts";
import { addAttempt, addOne, emptyCounts, type SlotCounts } from "./counts.ts";

export interface CountedLane extends Lane {
  readonly counts: SlotCounts;
}

export interface TakenTally extends Tally {
  /** Everything since it was last taken. */
  take(): readonly CountedLane[];
}

// A queue for each customer makes many. Queues beyond this limit are counted together, under a name that no queue has.
const mostLanes = 1_000;

const otherQueues = "";

/** `onChange` is called with the first count after each `take`. */
export const createTally = (onChange: () => void): TakenTally => {
  let lanes = new Map<string, Map<string, CountedLane>>();
  let size = 0;

  const add = (lane: Lane): CountedLane => {
    if (size === 0) onChange();
    const named = size < mostLanes ? lane : { queue: otherQueues, typeName: lane.typeName };
    let types = lanes.get(named.queue);
    if (!types) lanes.set(named.queue, (types = new Map()));
    let open = types.get(named.typeName);
    if (!open) {
      const { queue, typeName } = named;
      types.set(typeName, (open = { queue, typeName, counts: emptyCounts() }));
      size += 1;
    }
    return open;
  };

  /** Jobs of one type often come in a row. */
  let latest: CountedLane | undefined;

  const find = (lane: Lane): CountedLane => {
    if (latest && latest.typeName === lane.typeName && latest.queue === lane.queue) return latest;
    return (latest = lanes.get(lane.queue)?.get(lane.typeName) ?? add(lane));
  };

  return {
    isOn: true,
    add: (lane, counted) => addOne(find(lane).counts, counted),
    addAttempt: (lane, waitedMs, ranMs) => addAttempt(find(lane).counts, waitedMs, ranMs),
    take: () => {
      const taken = [...lanes.values()].flatMap((types) => [...types.values()]);
      lanes = new Map();
      latest = undefined;
      size = 0;
      return taken;
    },
  };
};
