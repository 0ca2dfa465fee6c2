import type { Shuffle } from "./find-documents.ts";

/** Random numbers below one that are the same for the same seed. */
const createRandom = (seed: number): (() => number) => {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
};

export const createShuffle = (seed: number): Shuffle => {
  const random = createRandom(seed);
  return <TItem>(items: TItem[]): TItem[] => {
    for (let i = items.length - 1; i > 0; i--) {
      const j = Math.floor(random() * (i + 1));
      [items[i], items[j]] = [items[j] as TItem, items[i] as TItem];
    }
    return items;
  };
};
