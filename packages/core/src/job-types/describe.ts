import { SchemaValidationError } from "../base/errors.ts";
import type { AnyStandardSchema, RuntimeJobType } from "./options.ts";
import { type JobTypeRegistry, validateAgainstSchema } from "./registry.ts";

/** A job type, for tools that show it to people or ask them for its values. */
export interface JobTypeDescription {
  readonly typeName: string;
  /** Its jobs are completed from outside. */
  readonly workerless: boolean;
  /** Only reachable by `continueWith`. */
  readonly internal: boolean;
  /** The types it may continue with; null if that is not known at run time. */
  readonly continuesTo: readonly string[] | null;
  /** Whether it may end with an output; null if that is not known at run time. */
  readonly hasOutput: boolean | null;
  /** Its jobs cannot be started without a program that starts their blockers. */
  readonly hasBlockers: boolean;
  /** As JSON Schema, if the schema library can express it. */
  readonly input: object | null;
  readonly output: object | null;
}

/** Schema libraries that implement Standard JSON Schema have this in addition. */
interface JsonSchemaSource {
  readonly jsonSchema?: { input(options: { readonly target: "draft-2020-12" }): object };
}

const jsonSchemaOf = (schema: AnyStandardSchema | undefined): object | null => {
  try {
    const source = schema?.["~standard"] as JsonSchemaSource | undefined;
    return source?.jsonSchema?.input({ target: "draft-2020-12" }) ?? null;
  } catch {
    // JSON Schema cannot express everything, such as a transformation.
    return null;
  }
};

const describeType = (typeName: string, type: RuntimeJobType): JobTypeDescription => ({
  typeName,
  workerless: type.workerless === true,
  internal: type.internal === true,
  continuesTo: type.continuesTo ?? null,
  hasOutput: type.hasOutput ?? null,
  hasBlockers: (type.blockers ?? []).length > 0,
  input: jsonSchemaOf(type.input),
  output: jsonSchemaOf(type.output),
});

const registries = new WeakMap<object, JobTypeRegistry>();

export const setJobTypes = (leasehold: object, registry: JobTypeRegistry): void => {
  registries.set(leasehold, registry);
};

/** The job types that a Leasehold knows at run time, by name. Empty where types exist for the compiler only. */
export const describeJobTypes = (leasehold: object): ReadonlyMap<string, JobTypeDescription> =>
  new Map(
    [...(registries.get(leasehold)?.known ?? [])].map(([typeName, type]) => [
      typeName,
      describeType(typeName, type),
    ]),
  );

/** Whether a value is an input that jobs of this type can have, as far as the Leasehold knows. */
export const fitsJobType = async (leasehold: object, typeName: string, input: unknown): Promise<boolean> => {
  const type = registries.get(leasehold)?.known.get(typeName);
  if (type === undefined) return true;
  try {
    await validateAgainstSchema(type, typeName, "input", input);
    return true;
  } catch (error) {
    if (error instanceof SchemaValidationError) return false;
    throw error;
  }
};
