import { InvalidArgumentError } from "commander";
import type { InputChange, RateLimitOptions } from "leasehold";
import { readFileSync } from "node:fs";

const unitsMs: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** `250ms`, `30s`, `5m`, `2h`, `7d`. */
export const parseDuration = (text: string): number => {
  const match = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(text.trim());
  if (!match) throw new InvalidArgumentError("It must be a number with a unit: 250ms, 30s, 5m, 2h or 7d.");
  return Math.round(Number(match[1]) * unitsMs[match[2]!]!);
};

/** The same, where a shorter time makes no sense. */
export const parseDurationFrom =
  (leastMs: number) =>
  (text: string): number => {
    const ms = parseDuration(text);
    if (ms < leastMs) throw new InvalidArgumentError(`It must be at least ${leastMs}ms.`);
    return ms;
  };

const isDuration = (text: string): boolean => /^\d+(\.\d+)?(ms|s|m|h|d)$/.test(text.trim());

const parseDate = (text: string, orElse: string): Date => {
  const date = new Date(text);
  if (/^\d{4}-\d{2}-\d{2}/.test(text) && !Number.isNaN(date.getTime())) return date;
  throw new InvalidArgumentError(`It must be a date such as 2026-01-31T12:00Z, or ${orElse}.`);
};

/** A moment: a date, or how long ago. */
export const parseMoment = (text: string): Date =>
  isDuration(text) ? new Date(Date.now() - parseDuration(text)) : parseDate(text, "how long ago, such as 2h");

/** A moment to come: a date, or how long from now, which the store's clock then counts. */
export const parseSchedule = (text: string): { readonly at: Date } | { readonly afterMs: number } =>
  isDuration(text)
    ? { afterMs: parseDuration(text) }
    : { at: parseDate(text, "how long from now, such as 10m") };

export const parseInteger =
  (min: number, max: number) =>
  (text: string): number => {
    const value = Number(text);
    if (!/^-?\d+$/.test(text.trim()) || value < min || value > max) {
      throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`);
    }
    return value;
  };

/** JSON, or `@file` with JSON in it, or `-` for JSON from stdin. */
export const parseInput = (text: string): unknown => {
  const source = text === "-" ? 0 : text.startsWith("@") ? text.slice(1) : undefined;
  let json = text;
  try {
    if (source !== undefined) json = readFileSync(source, "utf8");
  } catch (error) {
    throw new InvalidArgumentError(`It cannot be read: ${(error as Error).message}`);
  }
  try {
    return JSON.parse(json);
  } catch (error) {
    // Not the whole message: it repeats a piece of the input.
    const place = /\bposition \d+/.exec((error as Error).message)?.[0];
    throw new InvalidArgumentError(
      `It must be JSON, @file or - for stdin${place === undefined ? "" : `, and is not at ${place}`}. Text needs quotes inside: '"text"'.`,
    );
  }
};

const pathOf = (text: string): (string | number)[] => {
  if (text === "") throw new InvalidArgumentError("It must name a property: to, or items.0.name.");
  return text.split(".").map((part) => (/^\d{1,6}$/.test(part) ? Number(part) : part));
};

/** `items.0.name="tea"`: a place in an input, and JSON. May be given several times. */
export const collectChange = (text: string, before: readonly InputChange[] = []): InputChange[] => {
  const at = text.indexOf("=");
  if (at < 1) throw new InvalidArgumentError(`It must be a property and JSON: 'to="ada@example.com"'.`);
  return [...before, { path: pathOf(text.slice(0, at)), value: parseInput(text.slice(at + 1)) }];
};

/** `items.0.name`: a place in an input. May be given several times. */
export const collectRemoval = (text: string, before: readonly InputChange[] = []): InputChange[] => [
  ...before,
  { path: pathOf(text) },
];

/** For options that may be given several times, or once with commas. */
export const collect = (text: string, before: readonly string[] = []): string[] => [
  ...before,
  ...text.split(",").filter((part) => part !== ""),
];

/** For options that may be given several times, with values that may contain commas. */
export const collectWhole = (text: string, before: readonly string[] = []): string[] => [...before, text];

/** The same as `collect`, where only these will do. */
export const collectOneOf =
  <T extends string>(allowed: readonly T[]) =>
  (text: string, before: readonly T[] = []): T[] => {
    const given = collect(text, before);
    if (given.every((value): value is T => allowed.includes(value as T))) return given;
    throw new InvalidArgumentError(`It is one of ${allowed.join(", ")}.`);
  };

const wrongRate = "It must be a number and a time: 100/1m, or 100/1m/10 to let 10 come at once; or none.";

/** What the option takes, or `none`. Not null, which the parser takes for an option without a value. */
export const parseOrNone =
  <T>(parse: (text: string) => T) =>
  (text: string): T | "none" =>
    text.trim() === "none" ? "none" : parse(text);

export const parseRate: (text: string) => RateLimitOptions | "none" = parseOrNone((text) => {
  const match = /^(\d+)\/([^/]+)(?:\/(\d+))?$/.exec(text.trim());
  if (!match) throw new InvalidArgumentError(wrongRate);
  const [, limit, time, burst] = match;
  // "100/m" is as good as "100/1m".
  const perMs = parseDuration(/^\d/.test(time!) ? time! : `1${time!}`);
  return { limit: Number(limit), perMs, ...(burst === undefined ? {} : { burst: Number(burst) }) };
});

/** `group=2` or `group=none`, several times. The group may contain `=` itself. */
export const parseGroupWeight = (
  text: string,
  before: Readonly<Record<string, number | "none">> = {},
): Record<string, number | "none"> => {
  const at = text.lastIndexOf("=");
  const weight = parseOrNone(Number)(text.slice(at + 1));
  if (at < 1 || !(weight === "none" || weight > 0))
    throw new InvalidArgumentError("It must be a group and a number: acme=2; or acme=none.");
  return { ...before, [text.slice(0, at)]: weight };
};
