import { InvalidOptionError } from "../errors.ts";
import { type Codec, jsonCodec } from "../model/codec.ts";
import { requireArray, requireNestedOptions } from "../model/option-checks.ts";

export interface InputSearch {
  /** Every input that matches contains it, and few others do: stores look for this. */
  readonly text: string;
  /** Whether it does match. */
  readonly matches: (input: string) => boolean;
}

type Step = string | number;
type Scalar = string | number | boolean | null;

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

/** The option `input` of `listJobs`. */
export const parseInputSearch = (codec: Codec, passed: unknown): InputSearch | undefined => {
  if (passed === undefined) return undefined;
  const options = requireNestedOptions(passed, "input", { path: true, equals: true });
  if (codec !== jsonCodec) {
    throw new InvalidOptionError(
      "input",
      "can be searched only where the codec is JSON, the default",
      passed,
    );
  }
  const path = requireArray(options.path, "input.path", { maxLength: 100 });
  const { equals } = options;
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
