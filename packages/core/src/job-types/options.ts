import type { TypeJobSettings } from "../store/contract/job.ts";
import type { RetentionOptions } from "./retention.ts";
import type { RetryPolicy } from "./retry-policy.ts";

/**
 * The Standard Schema interface, version 1 (https://standardschema.dev), written out so that core depends on nothing.
 * zod, valibot, arktype and others implement it; the shape is fixed by that agreement, not by us.
 */
export interface StandardSchemaV1<TInput = unknown, TOutput = TInput> {
  readonly "~standard": StandardSchemaProps<TInput, TOutput>;
}

export interface StandardSchemaProps<TInput = unknown, TOutput = TInput> {
  readonly version: 1;
  readonly vendor: string;
  readonly validate: (
    value: unknown,
  ) => StandardSchemaResult<TOutput> | Promise<StandardSchemaResult<TOutput>>;
  /** Exists in the types only; no library fills it in. */
  readonly types?: { readonly input: TInput; readonly output: TOutput } | undefined;
}

/** `issues` is present, and not empty, on failure only. */
export type StandardSchemaResult<TOutput> =
  | { readonly value: TOutput; readonly issues?: undefined }
  | { readonly issues: readonly StandardSchemaIssue[] };

export interface StandardSchemaIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

// oxlint-disable-next-line typescript/no-explicit-any -- only `any` matches schemas of every type
export type AnyStandardSchema = StandardSchemaV1<any, any>;

/** What a schema accepts. */
export type SchemaInput<TSchema extends AnyStandardSchema> = NonNullable<
  TSchema["~standard"]["types"]
>["input"];

/** What a schema returns. */
export type SchemaOutput<TSchema extends AnyStandardSchema> = NonNullable<
  TSchema["~standard"]["types"]
>["output"];

/** A type for an input or output that no schema validates. Made by `typeOnly`. */
export interface TypeOnly<T> {
  readonly "~leasehold": "type-only";
  /** Exists in the types only. */
  readonly "~type"?: T;
}

/** Finds the group of a job by its input, as the schema returns it. */
// oxlint-disable-next-line typescript/no-explicit-any -- each type has its own input
export type GroupOf<TInput = any> = (input: TInput) => string;

/** How jobs of a type are treated unless something else is said for a job. */
export interface JobTypeSettings extends TypeJobSettings {
  /** When a failed attempt is tried again. Default: the worker's policy, else that of the `defaults`. */
  readonly retry?: RetryPolicy | undefined;
  /** How long finished trees are kept whose root sequence is of this type. Default: `defaults.retention`. */
  readonly retention?: RetentionOptions | undefined;
  /**
   * Jobs of this type are completed from outside, by `completeJobSequence`: an approval, a webhook. No worker may
   * implement it, and `leasehold doctor` does not miss one. Default: false.
   */
  readonly workerless?: boolean | undefined;
  /** The group of each job, by its input: `(input) => input.customerId`. A start that names a group overrides it. */
  readonly group?: GroupOf | undefined;
}

/** One entry of `defineJobTypes`. */
export interface JobTypeOptions<TName extends string = string> extends JobTypeSettings {
  /**
   * A Standard Schema (zod, valibot, arktype, …) or `typeOnly<T>()`. Callers pass what the schema accepts; what it
   * returns is stored, validated again at every claim, and given to the handler. Without it the input is `null`.
   */
  readonly input?: AnyStandardSchema | TypeOnly<unknown>;
  /**
   * Likewise for what the handler returns. Without it the type either only continues, if it has `continuesTo`, or has
   * the output `null`.
   */
  readonly output?: AnyStandardSchema | TypeOnly<unknown>;
  /** Only reachable by `continueWith`. */
  readonly internal?: true;
  /** The types a job of this type may continue with. */
  readonly continuesTo?: readonly TName[];
  /**
   * The types of the sequences a job of this type waits for, in the order `startBlockers` returns them. Or
   * `{ anyNumberOf: ["resize-image"] }`: as many sequences of these types as `startBlockers` returns.
   */
  readonly blockers?: readonly TName[] | VaryingBlockers<TName>;
}

/** Blockers whose number differs from job to job. */
export interface VaryingBlockers<TName extends string = string> {
  readonly anyNumberOf: readonly TName[];
}

/** A job type as the engine sees it. Empty for a type that exists for the compiler only: then everything is allowed. */
export interface RuntimeJobType extends JobTypeSettings {
  /** Absent where nothing is validated: there is no input, or only its type is known. */
  readonly input?: StandardSchemaV1 | undefined;
  readonly output?: StandardSchemaV1 | undefined;
  /** False where none is declared. */
  readonly hasOutput?: boolean | undefined;
  readonly internal?: boolean | undefined;
  readonly continuesTo?: readonly string[] | undefined;
  readonly blockers?: readonly string[] | undefined;
  /** Whether `blockers` are the types of any number of sequences, not one of each. */
  readonly blockersVary?: boolean | undefined;
}
