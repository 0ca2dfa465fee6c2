import type { Counted, Lane, Tally } from "../engine/engine.ts";
import { failureReasons } from "../store/contract/job.ts";
import { lastStep, stepOf, type StoredCounts } from "./counts.ts";

export interface CountedLane extends Lane {
  readonly counts: StoredCounts;
}

export interface TakenTally extends Tally {
  /** Everything since it was last taken. */
  take(): readonly CountedLane[];
}

interface OpenLane extends Lane {
  readonly counts: Record<Counted, number>;
  readonly waited: number[];
  readonly ran: number[];
}

// Queues can be as many as there are customers. What is beyond this is counted together, under a name that no queue has.
const mostLanes = 1_000;

const otherQueues = "";

const steps = (): number[] => Array.from({ length: lastStep + 1 }, () => 0);

const openLane = ({ queue, typeName }: Lane): OpenLane => ({
  queue,
  typeName,
  counts: {
    created: 0,
    completed: 0,
    retried: 0,
    givenBack: 0,
    reaped: 0,
    attempts_exhausted: 0,
    unrecoverable: 0,
    blocker_failed: 0,
    cancelled: 0,
    no_handler: 0,
    invalid_input: 0,
    expired: 0,
  },
  waited: steps(),
  ran: steps(),
});

const withoutZeros = (numbers: Readonly<Record<string, number>> | readonly number[]): StoredCounts =>
  Object.fromEntries(Object.entries(numbers).filter(([, count]) => count > 0));

const closeLane = ({ queue, typeName, counts, waited, ran }: OpenLane): CountedLane => {
  const failed = Object.fromEntries(failureReasons.map((reason) => [reason, counts[reason]]));
  const others = Object.entries(counts).filter(([counted]) => !(counted in failed));
  return {
    queue,
    typeName,
    counts: {
      ...withoutZeros(Object.fromEntries(others)),
      failed: withoutZeros(failed),
      timeToStart: withoutZeros(waited),
      runTime: withoutZeros(ran),
    },
  };
};

/** `onChange` is called with the first count after each `take`. */
export const createTally = (onChange: () => void): TakenTally => {
  let lanes = new Map<string, Map<string, OpenLane>>();
  let size = 0;

  const add = (lane: Lane): OpenLane => {
    if (size === 0) onChange();
    const named = size < mostLanes ? lane : { queue: otherQueues, typeName: lane.typeName };
    let types = lanes.get(named.queue);
    if (!types) lanes.set(named.queue, (types = new Map()));
    let open = types.get(named.typeName);
    if (!open) {
      types.set(named.typeName, (open = openLane(named)));
      size += 1;
    }
    return open;
  };

  /** Jobs of one type often come in a row. */
  let latest: OpenLane | undefined;

  const find = (lane: Lane): OpenLane => {
    if (latest && latest.typeName === lane.typeName && latest.queue === lane.queue) return latest;
    return (latest = lanes.get(lane.queue)?.get(lane.typeName) ?? add(lane));
  };

  return {
    isOn: true,
    add: (lane, counted) => {
      find(lane).counts[counted] += 1;
    },
    addAttempt: (lane, waitedMs, ranMs) => {
      const { waited, ran } = find(lane);
      waited[stepOf(waitedMs)]! += 1;
      ran[stepOf(ranMs)]! += 1;
    },
    take: () => {
      const taken = [...lanes.values()].flatMap((types) => [...types.values()].map(closeLane));
      lanes = new Map();
      latest = undefined;
      size = 0;
      return taken;
    },
  };
};
