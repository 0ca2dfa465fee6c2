export interface UuidV7Sources {
  now: () => number;
  randomBytes: (size: number) => Uint8Array;
}

const bytesPerId = 8;
const poolSize = bytesPerId * 128;
const largestCounter = 0xfff;

const hexDigits = Buffer.from("0123456789abcdef", "latin1");

/**
 * Makes UUIDs of version 7 that rise strictly within one process: the millisecond, then a 12-bit counter in place of
 * the first random bits. When the clock steps back or a millisecond's counter runs out, the timestamp goes on from the
 * last one used.
 */
export const createUuidV7 = ({ now, randomBytes }: UuidV7Sources): (() => string) => {
  // Written digit by digit into one buffer: concatenation would leave every id a rope of a dozen strings.
  const text = Buffer.from("00000000-0000-7000-8000-000000000000", "latin1");
  let lastMs = -1;
  let counter = 0;
  let pool: Uint8Array = new Uint8Array(0);
  let offset = 0;

  const write = (value: number, position: number, digits: number): void => {
    let rest = value;
    for (let index = position + digits - 1; index >= position; index -= 1) {
      text[index] = hexDigits[rest & 0xf]!;
      rest >>>= 4;
    }
  };

  const advance = (ms: number, randomCounter: number): void => {
    if (ms > lastMs) {
      lastMs = ms;
      counter = randomCounter;
    } else if (++counter > largestCounter) {
      lastMs += 1;
      counter = 0;
    }
  };

  return () => {
    if (offset + bytesPerId > pool.length) {
      pool = randomBytes(poolSize);
      offset = 0;
    }
    const random = (index: number): number => pool[offset + index]!;
    // Half the counter's range: that leaves room for at least 2,048 more ids within the millisecond.
    advance(now(), ((random(0) << 3) | (random(1) >> 5)) & 0x7ff);
    write(Math.floor(lastMs / 2 ** 16), 0, 8);
    write(lastMs % 2 ** 16, 9, 4);
    write(counter, 15, 3);
    write(0x80 | (random(2) & 0x3f), 19, 2);
    write(random(3), 21, 2);
    for (let index = 0; index < 6; index += 1) write(random((4 + index) % bytesPerId), 24 + 2 * index, 2);
    offset += bytesPerId;
    return text.toString("latin1");
  };
};
