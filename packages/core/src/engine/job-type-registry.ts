import { InvalidOptionError, SchemaValidationError, UnknownJobTypeError } from "../errors.ts";
import type { AnyJobTypes, RuntimeJobType } from "../model/job-types.ts";

/** What core knows at run time about job types. */
export interface JobTypeRegistry {
  /** A type's settings; empty ones where types exist for the compiler only. */
  get(typeName: string): RuntimeJobType;
}

const noSettings: RuntimeJobType = {};

export const createJobTypeRegistry = (jobTypes: AnyJobTypes): JobTypeRegistry => {
  if (typeof jobTypes !== "object" || jobTypes === null || !(jobTypes.definitions instanceof Map)) {
    throw new InvalidOptionError(
      "jobTypes",
      "must come from defineUnionJobTypes or defineJobTypes",
      jobTypes,
    );
  }
  return {
    get: (typeName) => {
      const type = jobTypes.definitions.get(typeName);
      if (type) return type;
      if (jobTypes.isOpen) return noSettings;
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

/** What the type's schema makes of a value; the value itself where there is no schema. */
export const validateAgainstSchema = async (
  type: RuntimeJobType,
  typeName: string,
  part: "input" | "output",
  value: unknown,
): Promise<unknown> => {
  const schema = type[part];
  if (!schema) return value;
  let result;
  try {
    result = await schema["~standard"].validate(value);
  } catch (cause) {
    throw new SchemaValidationError(typeName, part, [{ path: part, message: "the schema itself threw" }], {
      cause,
    });
  }
  if (!result.issues) return result.value;
  throw new SchemaValidationError(
    typeName,
    part,
    result.issues.map(({ message, path }) => ({ message, path: pathText(part, path) })),
  );
};
