import { BSONRegExp } from "bson";
import { CommandError } from "../errors.ts";
import type { Value } from "../bson-values/types.ts";

/** JavaScript's regular expressions stand in for PCRE; `x` (extended) is refused. */
export const createRegExp = (pattern: string, options: string): RegExp => {
  for (const option of options) {
    if (!"imsu".includes(option)) {
      throw new CommandError(51108, `invalid flag in regex options: ${option}`);
    }
  }
  try {
    return new RegExp(pattern, [...new Set(`${options}u`)].join(""));
  } catch {
    try {
      return new RegExp(pattern, options.replace("u", ""));
    } catch (error) {
      throw new CommandError(51091, `Regular expression is invalid: ${String(error)}`);
    }
  }
};

export const regExpOf = (value: Value, options?: string): RegExp | undefined => {
  if (value instanceof BSONRegExp) return createRegExp(value.pattern, options ?? value.options);
  if (value instanceof RegExp) return createRegExp(value.source, options ?? value.flags);
  return undefined;
};
