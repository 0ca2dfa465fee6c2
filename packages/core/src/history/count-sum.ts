import { failureReasons } from "../store/contract/job.ts";
import {
  addStoredText,
  type Counts,
  emptyCounts,
  type Histogram,
  lastStep,
  readCounts,
  type StoredCounts,
} from "./counts.ts";

// Statistics of an hour read thousands of stored counts, and to make objects of each took most of the time. So texts as
// `encodeCounts` writes them, with the names that this release knows, are read in place: every number has a slot in one array.
// Whatever looks otherwise goes the long way.

const numberNames = ["created", "completed", "retried", "givenBack", "reaped"] as const;

const histogramNames = ["timeToStart", "runTime"] as const;

const failedFrom = numberNames.length;

const histogramsFrom = failedFrom + failureReasons.length;

const steps = lastStep + 1;

const slotCount = histogramsFrom + histogramNames.length * steps;

const slotsFrom = (names: readonly string[], first: number): ReadonlyMap<string, number> =>
  new Map(names.map((name, index) => [name, first + index]));

/** The slots of numbers that stand at the top, and of those inside an object: by name, or from that of step 0 on. */
const numberSlots = slotsFrom(numberNames, 0);

const groupSlots: ReadonlyMap<string, number | ReadonlyMap<string, number>> = new Map<
  string,
  number | ReadonlyMap<string, number>
>([
  ["failed", slotsFrom(failureReasons, failedFrom)],
  ...histogramNames.map((name, index) => [name, histogramsFrom + index * steps] as const),
]);

/** Characters as `charCodeAt` returns them: `" , 0 : { }`. */
const quote = 0x22;

const comma = 0x2c;

const zero = 0x30;

const colon = 0x3a;

const open = 0x7b;

const close = 0x7d;

const mostDigits = 15;

// What was found in a text is added once all of it has been read. One text at a time, so one place for it is enough.
const foundSlots = new Int32Array(slotCount);

const foundNumbers = new Float64Array(slotCount);

/** How many numbers it found in the text; undefined if that is not of the usual form. */
const scan = (text: string): number | undefined => {
  if (text === "{}") return 0;
  if (text.charCodeAt(0) !== open) return undefined;
  let at = 1;
  let found = 0;
  let group: number | ReadonlyMap<string, number> | undefined;
  for (;;) {
    if (text.charCodeAt(at) !== quote) return undefined;
    at += 1;
    let slot: number | undefined;
    if (typeof group === "number") {
      const first = text.charCodeAt(at) - zero;
      const second = text.charCodeAt(at + 1) - zero;
      const hasTwo = second >= 0 && second <= 9;
      const step = hasTwo ? 10 * first + second : first;
      if (!(first >= (hasTwo ? 1 : 0) && first <= 9 && step <= lastStep)) return undefined;
      at += hasTwo ? 2 : 1;
      if (text.charCodeAt(at) !== quote) return undefined;
      slot = group + step;
    } else {
      const end = text.indexOf('"', at);
      if (end === -1) return undefined;
      const name = text.slice(at, end);
      at = end;
      if (group !== undefined) slot = group.get(name);
      else if (text.charCodeAt(at + 2) !== open) slot = numberSlots.get(name);
      else group = groupSlots.get(name);
    }
    if (text.charCodeAt(at + 1) !== colon) return undefined;
    at += 2;
    if (slot !== undefined) {
      const firstDigit = at;
      let number = 0;
      let digit = text.charCodeAt(at) - zero;
      while (digit >= 0 && digit <= 9) {
        number = 10 * number + digit;
        at += 1;
        digit = text.charCodeAt(at) - zero;
      }
      if (at === firstDigit || at - firstDigit > mostDigits || found === slotCount) return undefined;
      foundSlots[found] = slot;
      foundNumbers[found] = number;
      found += 1;
    } else {
      if (group === undefined || text.charCodeAt(at) !== open) return undefined;
      at += 1;
      if (text.charCodeAt(at) !== close) continue;
    }
    while (text.charCodeAt(at) === close) {
      at += 1;
      if (group === undefined) return at === text.length ? found : undefined;
      group = undefined;
    }
    if (text.charCodeAt(at) !== comma) return undefined;
    at += 1;
  }
};

/** A sum of stored counts. */
export interface CountSum {
  add(text: string): void;
  read(): Counts;
}

export const createCountSum = (): CountSum => {
  const slots = new Float64Array(slotCount);
  let others: StoredCounts | undefined;
  return {
    add: (text) => {
      const found = scan(text);
      if (found === undefined) addStoredText((others ??= emptyCounts()), text);
      else for (let index = 0; index < found; index += 1) slots[foundSlots[index]!]! += foundNumbers[index]!;
    },
    read: () => {
      const known = readCounts(others ?? emptyCounts());
      const histogram = (name: (typeof histogramNames)[number]): Histogram => {
        const first = groupSlots.get(name) as number;
        const sums: Record<string, number> = { ...known[name] };
        for (let step = 0; step < steps; step += 1) {
          const count = slots[first + step]!;
          if (count > 0) sums[step] = (sums[step] ?? 0) + count;
        }
        return sums;
      };
      const number = (name: (typeof numberNames)[number]): number =>
        known[name] + slots[numberSlots.get(name)!]!;
      return {
        created: number("created"),
        completed: number("completed"),
        failed: Object.fromEntries(
          failureReasons.map((reason, index) => [reason, known.failed[reason] + slots[failedFrom + index]!]),
        ) as Counts["failed"],
        retried: number("retried"),
        givenBack: number("givenBack"),
        reaped: number("reaped"),
        timeToStart: histogram("timeToStart"),
        runTime: histogram("runTime"),
      };
    },
  };
};
