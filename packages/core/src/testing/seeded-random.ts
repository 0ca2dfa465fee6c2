/** Numbers that look random and are the same for the same seed, on every machine. Not for secrets. */
export interface SeededRandom {
  /** A number in [0, 1) with 53 random bits. */
  next(): number;
  /** A whole number from `min` to `max`, both included. */
  integer(min: number, max: number): number;
  pick<T>(items: readonly T[]): T;
  bytes(size: number): Uint8Array;
  /** True in about `probability` of all calls. */
  chance(probability: number): boolean;
}

/** FNV-1a over UTF-16 units, with a final mix so that neighbouring seeds have nothing in common. */
const hash = (text: string, start: number): number => {
  let value = start;
  for (let index = 0; index < text.length; index += 1) {
    value = Math.imul(value ^ text.charCodeAt(index), 0x01000193);
  }
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35);
  return (value ^ (value >>> 16)) >>> 0;
};

/**
 * The generator is sfc32 ("small fast counter", by Chris Doty-Humphrey): three words of state and a counter, so that its
 * period is at least 2³². A text as the seed makes independent streams of one number easy: `` `${seed}/tokens` ``.
 */
export const createSeededRandom = (seed: number | string): SeededRandom => {
  const text = String(seed);
  let a = hash(text, 0x811c9dc5);
  let b = hash(text, 0x9e3779b9);
  let c = hash(text, 0x243f6a88);
  let counter = 1;

  const word = (): number => {
    const sum = (a + b + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (((c << 21) | (c >>> 11)) + sum) | 0;
    return sum >>> 0;
  };
  // The first outputs still show the seed.
  for (let round = 0; round < 15; round += 1) word();

  const next = (): number => ((word() >>> 5) * 2 ** 26 + (word() >>> 6)) / 2 ** 53;
  const integer = (min: number, max: number): number => {
    if (!(min <= max)) throw new Error(`There is no whole number from ${min} to ${max}.`);
    return min + Math.floor(next() * (max - min + 1));
  };

  return {
    next,
    integer,
    pick: <T>(items: readonly T[]): T => {
      if (items.length === 0) throw new Error("There is nothing to pick from.");
      return items[integer(0, items.length - 1)] as T;
    },
    bytes: (size) => Uint8Array.from({ length: size }, () => word() & 0xff),
    chance: (probability) => next() < probability,
  };
};
