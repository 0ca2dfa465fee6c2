import {
  InvalidOptionError,
  type SchemaIssue,
  SchemaValidationError,
  UnknownJobTypeError,
} from "../errors.ts";
import type { RuntimeJobType } from "../model/job-type-options.ts";
import type { AnyJobTypes } from "../model/job-types.ts";
import { isInstance, readProperty } from "../model/option-checks.ts";

/** What core knows at run time about job types. */
export interface JobTypeRegistry {
  /** A type's settings; empty ones where types exist for the compiler only. */
  get(typeName: string): RuntimeJobType;
  /** All types of which something is known. */
  readonly known: ReadonlyMap<string, RuntimeJobType>;
}

const noSettings: RuntimeJobType = {};

export const createJobTypeRegistry = (jobTypes: AnyJobTypes): JobTypeRegistry => {
  // Read once, here: whatever could throw at being read has then done so.
  const definitions = readProperty(jobTypes, "definitions");
  const acceptsAnyName = readProperty(jobTypes, "acceptsAnyName") === true;
  if (!isInstance(definitions, Map)) {
    throw new InvalidOptionError(
      "jobTypes",
      "must come from defineUnionJobTypes or defineJobTypes",
      jobTypes,
    );
  }
  return {
    known: definitions as AnyJobTypes["definitions"],
    get: (typeName) => {
      const type = (definitions as AnyJobTypes["definitions"]).get(typeName);
      if (type) return type;
      if (acceptsAnyName) return noSettings;
      throw new UnknownJobTypeError(typeName);
    },
  };
};

const pathText = (
  part: string,
  path: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined,
): string =>
  [part, ...(path ?? []).map((segment) => String(typeof segment === "object" ? segment.key : segment))].join(
    ".",
  );

/** The schema is somebody else's: what it calls a message may be anything. */
const asText = (message: unknown): string => String(message);

// Enough to correct any input. A faulty schema may report millions.
const mostIssues = 1_000;
const longestIssue = 10_000;

/** Wrapped, because a bare value with a `then` of its own would be mistaken for a promise on its way out. */
export interface ValidatedValue {
  readonly value: unknown;
}

/** What the type's schema makes of a value; the value itself where there is no schema. */
export const validateAgainstSchema = async (
  type: RuntimeJobType,
  typeName: string,
  part: "input" | "output",
  value: unknown,
): Promise<ValidatedValue> => {
  const schema = type[part];
  if (!schema) return { value };
  let issues: SchemaIssue[];
  try {
    const result = await schema["~standard"].validate(value);
    if (!result.issues) return { value: result.value };
    issues = result.issues.slice(0, mostIssues).map(({ message, path }) => ({
      message: asText(message).slice(0, longestIssue),
      path: pathText(part, path).slice(0, longestIssue),
    }));
  } catch (cause) {
    issues = [{ path: part, message: "the schema itself threw" }];
    throw new SchemaValidationError(typeName, part, issues, { cause });
  }
  throw new SchemaValidationError(typeName, part, issues);
};
