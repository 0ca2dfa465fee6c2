/// <reference lib="es2024.string" />
import { InvalidOptionError } from "./errors.ts";

/** The least number of letters to insert, delete, replace, or swap with their neighbour, to get from one to the other. */
const editDistance = (from: string, to: string): number => {
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 1; i <= from.length; i += 1) {
    const row = [i];
    for (let j = 1; j <= to.length; j += 1) {
      const replaced = last[j - 1]! + (from[i - 1] === to[j - 1] ? 0 : 1);
      const isSwap = i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1];
      const swapped = isSwap ? beforeLast[j - 2]! + 1 : Infinity;
      row[j] = Math.min(replaced, swapped, last[j]! + 1, row[j - 1]! + 1);
    }
    beforeLast = last;
    last = row;
  }
  return last[to.length]!;
};

const longestName = 50;

const shortestPart = 4;

/** The name that was probably meant: a few letters away, or the given one with a part missing or too much. */
export const closestName = (given: string, names: readonly string[]): string | undefined => {
  if (given.length > longestName) return undefined;
  const wanted = given.toLowerCase();
  let closest: string | undefined;
  let least = Infinity;
  for (const name of names) {
    const candidate = name.toLowerCase();
    const distance = editDistance(wanted, candidate);
    if (distance <= Math.max(wanted.length, candidate.length) / 3 && distance < least) {
      closest = name;
      least = distance;
    }
  }
  return closest ?? names.find((name) => isPart(wanted, name.toLowerCase()));
};

const isPart = (given: string, name: string): boolean =>
  Math.min(given.length, name.length) >= shortestPart && (name.startsWith(given) || given.startsWith(name));

/** Every store keeps counts and priorities in 32 bits. */
export const largestInt32: number = 2 ** 31 - 1;

/** A timeout, a lease or an interval beyond a year is a mistake in units, not a wish. */
export const longestDurationMs: number = 366 * 24 * 3_600_000;

/*
 * Each check returns the value with its type or throws InvalidOptionError. Objects, arrays and dates are returned as copies: the
 * caller may change its own while a call is pending.
 */

/** Made by a literal or with a null prototype, here or in another realm: test runners have one of their own. */
export const isPlainObject = (value: unknown): value is Record<string, unknown> => {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype === Object.prototype || prototype === null) return true;
  // The Object.prototype of another realm (a vm context, a test runner) is the only parentless one to own this method.
  return Object.getPrototypeOf(prototype) === null && Object.hasOwn(prototype as object, "isPrototypeOf");
};

export const isStorableText = (value: string): boolean => value.isWellFormed() && !value.includes("\0");

export interface TextLimits {
  readonly maxLength?: number;
}

/** A text people choose: the name of a queue, a type, a worker, a key. */
export const requireName = (value: unknown, option: string, { maxLength = 200 }: TextLimits = {}): string => {
  if (typeof value !== "string" || value.length === 0 || value.length > maxLength) {
    throw new InvalidOptionError(option, `must be a string of 1 to ${maxLength} characters`, value);
  }
  if (!isStorableText(value)) {
    throw new InvalidOptionError(option, "must not contain NUL characters or unpaired surrogates", value);
  }
  return value;
};

export const requireDeduplicationKey = (value: unknown, option: string): string =>
  requireName(value, option, { maxLength: 500 });

export const requireId = (value: unknown, option: string): string => requireName(value, option);

export interface NumberLimits {
  readonly min?: number;
  readonly max?: number;
}

const requireWithin = (value: number, option: string, kind: string, { min, max }: NumberLimits): number => {
  if (min !== undefined && max !== undefined && !(value >= min && value <= max)) {
    throw new InvalidOptionError(option, `must be ${kind} from ${min} to ${max}`, value);
  }
  if (min !== undefined && !(value >= min))
    throw new InvalidOptionError(option, `must be ${kind} of at least ${min}`, value);
  if (max !== undefined && !(value <= max))
    throw new InvalidOptionError(option, `must be ${kind} of at most ${max}`, value);
  return value;
};

export const requireInteger = (value: unknown, option: string, limits: NumberLimits = {}): number => {
  if (!Number.isSafeInteger(value)) throw new InvalidOptionError(option, "must be an integer", value);
  return requireWithin(value as number, option, "an integer", limits);
};

/** Absent takes the fallback; null does not count as absent. */
export const optionalInteger = (
  value: unknown,
  option: string,
  fallback: number,
  limits: NumberLimits,
): number => (value === undefined ? fallback : requireInteger(value, option, limits));

export const requireNumber = (value: unknown, option: string, limits: NumberLimits = {}): number => {
  if (typeof value !== "number" || !Number.isFinite(value))
    throw new InvalidOptionError(option, "must be a finite number", value);
  return requireWithin(value, option, "a number", limits);
};

export const requireBoolean = (value: unknown, option: string): boolean => {
  if (typeof value !== "boolean") throw new InvalidOptionError(option, "must be true or false", value);
  return value;
};

/** Parameters and result are not checked: the caller vouches for the type argument. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- a cast that callers make in one place, here
export const requireFunction = <TFunction extends (...parameters: never[]) => unknown>(
  value: unknown,
  option: string,
): TFunction => {
  if (typeof value !== "function") throw new InvalidOptionError(option, "must be a function", value);
  return value as TFunction;
};

export const requireOneOf = <const TAllowed extends string>(
  value: unknown,
  option: string,
  allowed: readonly TAllowed[],
): TAllowed => {
  const found = allowed.find((candidate) => candidate === value);
  if (found === undefined) {
    throw new InvalidOptionError(
      option,
      `must be one of ${allowed.map((name) => `"${name}"`).join(", ")}`,
      value,
    );
  }
  return found;
};

export const requirePlainObject = (value: unknown, option: string): Record<string, unknown> => {
  if (isPlainObject(value)) return { ...value };
  throw new InvalidOptionError(option, "must be a plain object", value);
};

/** The names that an options object may have: for a type by `OptionNames<keyof Type>`, which misses none. */
export type OptionNames<TName extends string = string> = { readonly [K in TName]: true };

/** Options whose names are checked and whose values are not. */
export type UncheckedOptions<TName extends string> = { readonly [K in TName]: unknown };

/** What to say of a name that is no option of `owner`. */
export const unknownOption = (
  name: string,
  known: readonly string[],
  owner: string,
  path = "",
): InvalidOptionError => {
  const closest = closestName(name, known);
  const hint =
    closest === undefined
      ? `It has ${known.map((option) => `\`${option}\``).join(", ")}.`
      : `Did you mean \`${path}${closest}\`?`;
  return new InvalidOptionError(path + name, `is not an option of ${owner}. ${hint}`);
};

const refuseUnknownOptions = (
  options: Record<string, unknown>,
  known: object,
  owner: string,
  path: string,
): void => {
  for (const name of Object.keys(options)) {
    if (!Object.hasOwn(known, name)) throw unknownOption(name, Object.keys(known), owner, path);
  }
};

/** The options of a function. A name that is not known is refused, with the closest one that is. */
export const requireOptions = <TName extends string>(
  value: unknown,
  functionName: string,
  known: OptionNames<TName>,
): UncheckedOptions<TName> => {
  const options = requirePlainObject(value, "options");
  refuseUnknownOptions(options, known, functionName, "");
  return options as UncheckedOptions<TName>;
};

/** The same for an option that is itself an object of options. */
export const requireNestedOptions = <TName extends string>(
  value: unknown,
  option: string,
  known: OptionNames<TName>,
): UncheckedOptions<TName> => {
  const options = requirePlainObject(value, option);
  refuseUnknownOptions(options, known, `\`${option}\``, `${option}.`);
  return options as UncheckedOptions<TName>;
};

export const requireArray = (
  value: unknown,
  option: string,
  { maxLength = 100_000 }: TextLimits = {},
): readonly unknown[] => {
  if (!Array.isArray(value)) throw new InvalidOptionError(option, "must be an array", value);
  if (value.length > maxLength)
    throw new InvalidOptionError(option, `must have at most ${maxLength} entries`, value);
  return [...(value as unknown[])];
};

export const requireDate = (value: unknown, option: string): Date => {
  if (!(value instanceof Date) || Number.isNaN(value.getTime()))
    throw new InvalidOptionError(option, "must be a valid Date", value);
  return new Date(value);
};
