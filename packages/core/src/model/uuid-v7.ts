export interface UuidV7Sources {
  now: () => number;
  randomBytes: (size: number) => Uint8Array;
}

const hex = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));
const poolSize = 8 * 128;
const largestCounter = 0xfff;

/**
 * Makes UUIDs of version 7 that rise strictly within one process: the millisecond, then a 12-bit counter in place of
 * the first random bits. When the clock steps back or a millisecond's counter runs out, the timestamp goes on from the
 * last one used.
 */
export const createUuidV7 = ({ now, randomBytes }: UuidV7Sources): (() => string) => {
  let lastMs = -1;
  let counter = 0;
  let pool: Uint8Array = new Uint8Array(0);
  let offset = 0;

  const nextBytes = (): number => {
    if (offset + 8 > pool.length) {
      pool = randomBytes(poolSize);
      offset = 0;
    }
    const start = offset;
    offset += 8;
    return start;
  };

  return () => {
    const at = nextBytes();
    const byte = (index: number): string => hex[pool[at + index]!]!;
    const ms = now();
    if (ms > lastMs) {
      lastMs = ms;
      // Starting low leaves room for at least 2,048 more ids within the millisecond.
      counter = ((pool[at]! << 3) | (pool[at + 1]! >> 5)) & 0x7ff;
    } else if (++counter > largestCounter) {
      lastMs += 1;
      counter = 0;
    }
    const time = lastMs.toString(16).padStart(12, "0");
    const count = counter.toString(16).padStart(3, "0");
    const variant = hex[0x80 | (pool[at + 2]! & 0x3f)]!;
    return (
      `${time.slice(0, 8)}-${time.slice(8, 12)}-7${count}-${variant}${byte(3)}-` +
      `${byte(4)}${byte(5)}${byte(6)}${byte(7)}${byte(0)}${byte(1)}`
    );
  };
};
