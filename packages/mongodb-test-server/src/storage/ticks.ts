import { Timestamp } from "bson";

/**
 * A moment of the store's history, as one number: seconds and a counter within the second. Every commit has a tick of its
 * own; it is also the cluster time that drivers see.
 */
export type Tick = number;

const perSecond = 2 ** 20;

export const latest: Tick = Number.POSITIVE_INFINITY;

export const tickToTimestamp = (tick: Tick): Timestamp =>
  new Timestamp({ t: Math.floor(tick / perSecond), i: tick % perSecond });

export const timestampToTick = (timestamp: Timestamp): Tick =>
  timestamp.getHighBitsUnsigned() * perSecond + Math.min(timestamp.getLowBitsUnsigned(), perSecond - 1);

export interface TickSource {
  /** The tick of the newest commit. */
  last(): Tick;
  next(): Tick;
}

/** Never goes back, whatever the clock does. */
export const createTickSource = (now: () => number): TickSource => {
  let last: Tick = Math.floor(now() / 1000) * perSecond + 1;
  return {
    last: () => last,
    next: () => {
      last = Math.max(last + 1, Math.floor(now() / 1000) * perSecond + 1);
      return last;
    },
  };
};
