import { InvalidOptionError } from "../base/errors.ts";

export interface CronField {
  readonly name: string;
  readonly min: number;
  readonly max: number;
  /** Words for the numbers from `min` on. */
  readonly names?: readonly string[];
}

/** The numbers that a field names: a list of numbers, ranges and `*`, each with or without a step. */
const parseCronField = (field: CronField, text: string, option: string, given: unknown): number[] => {
  const refuse = (problem: string): never => {
    throw new InvalidOptionError(option, `has a ${field.name} field that cannot be read: ${problem}`, given);
  };

  const readNumber = (word: string): number => {
    const named = field.names?.indexOf(word.toUpperCase()) ?? -1;
    if (named >= 0) return field.min + named;
    if (!/^\d{1,4}$/.test(word)) {
      const words = field.names ? ` or one of ${field.names.join(", ")}` : "";
      const hint = word === "?" ? "; write `*` instead of `?`" : "";
      return refuse(`"${word.slice(0, 20)}" is not a number${words}${hint}`);
    }
    const number = Number(word);
    if (number < field.min || number > field.max) {
      return refuse(`${number} is not from ${field.min} to ${field.max}`);
    }
    return number;
  };

  const readStep = (word: string, span: number): number => {
    const step = /^\d{1,4}$/.test(word) ? Number(word) : 0;
    if (step < 1) return refuse(`the step "${word.slice(0, 20)}" is not a number of at least 1`);
    if (step > span)
      return refuse(`the step ${step} is longer than the field; use \`everyMs\` for such intervals`);
    return step;
  };

  const readRange = (word: string, hasStep: boolean): [first: number, last: number] => {
    // A week that is not `*` must count Sunday once.
    if (word === "*") return [field.min, field.name === "weekday" ? 6 : field.max];
    const ends = word.split("-");
    if (ends.length > 2) return refuse(`"${word.slice(0, 20)}" is not a range`);
    const first = readNumber(ends[0]!);
    if (ends.length === 1) return [first, hasStep ? field.max : first];
    const end = readNumber(ends[1]!);
    const last = field.name === "weekday" && end === 0 && first > 0 ? 7 : end;
    if (last < first) return refuse(`the range ${word} goes backwards; write it as two ranges`);
    return [first, last];
  };

  const numbers = new Set<number>();
  for (const part of text.split(",")) {
    const [range, step, ...rest] = part.split("/");
    if (rest.length > 0) refuse(`"${part.slice(0, 20)}" has more than one step`);
    const [first, last] = readRange(range!, step !== undefined);
    const by = step === undefined ? 1 : readStep(step, field.max - field.min + 1);
    for (let number = first; number <= last; number += by) numbers.add(number);
  }
  return [...numbers].sort((a, b) => a - b);
};

/** The local times that match a cron expression. Each list is sorted and without repetitions. */
export interface CronExpression {
  readonly seconds: readonly number[];
  readonly minutes: readonly number[];
  readonly hours: readonly number[];
  readonly months: readonly number[];
  readonly days: readonly number[];
  /** `L` among the days. */
  readonly lastDay: boolean;
  /** 0 is Sunday. */
  readonly weekdays: readonly number[];
  /** Neither day nor weekday is `*`: then one of the two is enough. */
  readonly dayOrWeekday: boolean;
  /** `*` in the field of hours: the expression repeats within the day and goes by elapsed time. */
  readonly everyHour: boolean;
}

const aliases: Readonly<Record<string, string>> = {
  "@yearly": "0 0 1 1 *",
  "@annually": "0 0 1 1 *",
  "@monthly": "0 0 1 * *",
  "@weekly": "0 0 * * 0",
  "@daily": "0 0 * * *",
  "@midnight": "0 0 * * *",
  "@hourly": "0 * * * *",
};

const months = ["JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"];

const weekdays = ["SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"];

const fields: readonly CronField[] = [
  { name: "second", min: 0, max: 59 },
  { name: "minute", min: 0, max: 59 },
  { name: "hour", min: 0, max: 23 },
  { name: "day", min: 1, max: 31 },
  { name: "month", min: 1, max: 12, names: months },
  { name: "weekday", min: 0, max: 7, names: weekdays },
];

// February has its 29th in some years.
const longestMonths = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

const maxLength = 1_000;

/** Reads five fields (minute, hour, day, month, weekday), six with a leading second, or an alias such as `@daily`. */
export const parseCronExpression = (value: unknown, option = "cron"): CronExpression => {
  if (typeof value !== "string" || value.length > maxLength) {
    throw new InvalidOptionError(option, 'must be a cron expression such as "30 2 * * *"', value);
  }
  const given = value.trim();
  const expression = given.startsWith("@") ? aliases[given.toLowerCase()] : given;
  if (expression === undefined) {
    throw new InvalidOptionError(option, `must be one of ${Object.keys(aliases).join(", ")}`, value);
  }
  const texts = expression.split(/\s+/);
  if (texts.length !== 5 && texts.length !== 6) {
    throw new InvalidOptionError(
      option,
      "must have five fields (minute, hour, day, month, weekday), or six with seconds before them",
      value,
    );
  }
  if (texts.length === 5) texts.unshift("0");

  const isLast = (part: string): boolean => part.toUpperCase() === "L";
  const dayParts = texts[3]!.split(",");
  const lastDay = dayParts.some(isLast);
  texts[3] = dayParts.filter((part) => !isLast(part)).join(",");

  const [seconds, minutes, hours, days, monthList, weekdayList] = texts.map((text, index) =>
    index === 3 && lastDay && text === "" ? [] : parseCronField(fields[index]!, text, option, value),
  ) as [number[], number[], number[], number[], number[], number[]];
  // 0 and 7 are both Sunday.
  const distinctWeekdays = [...new Set(weekdayList.map((weekday) => weekday % 7))].sort((a, b) => a - b);
  // By what is written, as in cron: `1-31` is a day like `1-15`, and `*/2` is a day like `1-31/2`.
  const everyDay = dayParts.includes("*");
  const everyWeekday = texts[5]!.split(",").includes("*");

  if (everyWeekday && !lastDay && !monthList.some((month) => days[0]! <= longestMonths[month - 1]!)) {
    throw new InvalidOptionError(
      option,
      `never comes: no month that it names has a day ${days[0]}. Name another month, or use \`L\` for the last day of a month`,
      value,
    );
  }
  return {
    seconds,
    minutes,
    hours,
    months: monthList,
    days,
    lastDay,
    weekdays: distinctWeekdays,
    dayOrWeekday: !everyDay && !everyWeekday,
    everyHour: hours.length === 24,
  };
};
