import { InvalidOptionError } from "../../errors.ts";

export interface CronField {
  readonly name: string;
  readonly min: number;
  readonly max: number;
  /** Words for the numbers from `min` on. */
  readonly names?: readonly string[];
}

/** The numbers that a field names: a list of numbers, ranges and `*`, each with or without a step. */
export const parseCronField = (field: CronField, text: string, option: string, given: unknown): number[] => {
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
