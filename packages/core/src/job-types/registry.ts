import { InvalidOptionError, type SchemaIssue, SchemaValidationError } from "../base/errors.ts";
import type { PruneRule } from "../store/contract/creation.ts";
import { actionTypeName } from "../store/contract/job.ts";
import { UnknownJobTypeError } from "../store/errors.ts";
import type { AnyJobTypes } from "./define.ts";
import type { RuntimeJobType } from "./options.ts";
import type { RetentionOptions } from "./retention.ts";

/** What core knows at run time about job types. */
export interface JobTypeRegistry {
  /** A type's settings; empty ones where types exist for the compiler only. */
  get(typeName: string): RuntimeJobType;
  /** All types of which something is known. */
  readonly known: ReadonlyMap<string, RuntimeJobType>;
}

const noSettings: RuntimeJobType = {};

export const createJobTypeRegistry = (jobTypes: AnyJobTypes): JobTypeRegistry => {
  const { definitions, acceptsAnyName } = (jobTypes ?? {}) as Partial<AnyJobTypes>;
  if (!(definitions instanceof Map)) {
    throw new InvalidOptionError(
      "jobTypes",
      "must come from one call of defineUnionJobTypes or defineJobTypes: to combine definitions, combine its arguments",
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

/** The schema comes from another library: its message may be of any type. */
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

/** Throws unless the type that the caller names is that of the job or sequence found. */
export const requireTypeName = (named: string, found: string, of: "id" | "sequence"): void => {
  if (named !== found) throw new InvalidOptionError("typeName", `must be "${found}" for this ${of}`, named);
};

/** What workers remove in the background; the rules of a moment, or none at all where everything is kept. */
export interface Retention {
  readonly isUnlimited: boolean;
  /** Whether sequences of this type are not kept at all once they have completed. */
  keepsNothing(sequenceTypeName: string): boolean;
  rulesAt(now: number): PruneRule[];
}

interface Rule {
  readonly sequenceTypeNames: readonly string[] | null;
  readonly completedMs: number | null;
  readonly failedMs: number | null;
}

const keepActions: Rule = { sequenceTypeNames: [actionTypeName], completedMs: null, failedMs: null };

/** The types that say something of their own, then all the others. */
export const createRetention = (
  defaults: RetentionOptions | undefined,
  jobTypes: ReadonlyMap<string, RuntimeJobType>,
  /** Whether the store can delete jobs when they complete. Otherwise all are kept until they are pruned. */
  { canDiscard = false }: { readonly canDiscard?: boolean } = {},
): Retention => {
  const resolve = (own: RetentionOptions, sequenceTypeNames: readonly string[] | null): Rule => {
    // Null is a value: no limit.
    const pick = (name: keyof RetentionOptions): number | null =>
      (own[name] === undefined ? defaults?.[name] : own[name]) ?? null;
    return { sequenceTypeNames, completedMs: pick("completedMs"), failedMs: pick("failedMs") };
  };
  const rules = [...jobTypes].flatMap(([typeName, { retention }]) =>
    retention === undefined ? [] : [resolve(retention, [typeName])],
  );
  if (jobTypes.get(actionTypeName)?.retention === undefined) rules.push(keepActions);
  const others = resolve({}, null);
  rules.push(others);
  const ofTypes = new Map(
    rules.flatMap(({ sequenceTypeNames, completedMs }) =>
      (sequenceTypeNames ?? []).map((typeName) => [typeName, completedMs === 0]),
    ),
  );
  const keepsNothing = (typeName: string): boolean => ofTypes.get(typeName) ?? others.completedMs === 0;
  return {
    keepsNothing:
      canDiscard && rules.some(({ completedMs }) => completedMs === 0) ? keepsNothing : () => false,
    isUnlimited: rules.every(({ completedMs, failedMs }) => completedMs === null && failedMs === null),
    rulesAt: (now) =>
      rules.map(({ sequenceTypeNames, completedMs, failedMs }) => ({
        sequenceTypeNames,
        completedBefore: completedMs === null ? null : now - completedMs,
        failedBefore: failedMs === null ? null : now - failedMs,
      })),
  };
};
