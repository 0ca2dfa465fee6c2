import { InvalidOptionError } from "../errors.ts";
import { type Codec, jsonCodec } from "../model/codec.ts";
import { requireArray, requireNestedOptions } from "../model/option-checks.ts";

export interface InputSearch {
  /** Every input that matches contains it, and few others do: stores look for this. Undefined where they cannot. */
  readonly text: string | undefined;
  /** Whether it does match. */
  readonly matches: (input: string) => boolean;
}

type Step = string | number;
type Scalar = string | number | boolean | null;

const longestText = 1_000;

const isStep = (value: unknown): value is Step => typeof value === "string" || Number.isSafeInteger(value);
const isScalar = (value: unknown): value is Scalar =>
  value === null || ["string", "boolean"].includes(typeof value) || Number.isFinite(value);

/** Names lead into objects, numbers into arrays. */
const enter = (value: unknown, step: Step): unknown => {
  if (Array.isArray(value)) return typeof step === "number" ? value[step] : undefined;
  const isProperty = typeof value === "object" && value !== null && Object.hasOwn(value, step);
  return isProperty && typeof step === "string" ? (value as Record<string, unknown>)[step] : undefined;
};

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    // Written with another codec.
    return undefined;
  }
};

const searchPlace = (codec: Codec, passed: unknown, givenPath: unknown, equals: unknown): InputSearch => {
  if (codec !== jsonCodec) {
    throw new InvalidOptionError(
      "input",
      "can be searched by a path only where the codec is JSON, the default; use `contains`",
      passed,
    );
  }
  const path = requireArray(givenPath, "input.path", { maxLength: 100 });
  if (!path.every(isStep)) {
    throw new InvalidOptionError("input.path", "must consist of names and, for arrays, whole numbers", path);
  }
  if (!isScalar(equals)) {
    throw new InvalidOptionError("input.equals", "must be a string, a number, a boolean or null", equals);
  }
  const last = path.at(-1);
  const name = typeof last === "string" ? `${JSON.stringify(last)}:` : "";
  return {
    // The codec keeps -0, as a value of its own.
    text: name + (Object.is(equals, -0) ? "-0" : JSON.stringify(equals)),
    matches: (input) => Object.is(path.reduce(enter, parseJson(input)), equals),
  };
};

/** As it stands inside the quotes of JSON. */
const escapeText = (text: string): string => JSON.stringify(text).slice(1, -1);

const searchText = (codec: Codec, contains: unknown): InputSearch => {
  if (typeof contains !== "string" || contains === "" || contains.length > longestText) {
    throw new InvalidOptionError(
      "input.contains",
      `must be a text of 1 to ${longestText} characters`,
      contains,
    );
  }
  const text = escapeText(contains);
  if (codec === jsonCodec) return { text, matches: () => true };
  return {
    text: undefined,
    matches: (input) => {
      try {
        return JSON.stringify(codec.decode(input) ?? null).includes(text);
      } catch {
        // Written with another codec, or nothing that can be shown as text.
        return false;
      }
    },
  };
};

/** The option `input` of `listJobs`. */
export const parseInputSearch = (codec: Codec, passed: unknown): InputSearch | undefined => {
  if (passed === undefined) return undefined;
  const { path, equals, contains } = requireNestedOptions(passed, "input", {
    path: true,
    equals: true,
    contains: true,
  });
  if (contains === undefined) return searchPlace(codec, passed, path, equals);
  if (path !== undefined || equals !== undefined) {
    throw new InvalidOptionError("input.contains", "excludes `path` and `equals`", contains);
  }
  return searchText(codec, contains);
};
