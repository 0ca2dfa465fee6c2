import type { OnBlockerFailure } from "./job.ts";
import type { RetentionOptions } from "./retention.ts";
import type { RetryPolicy } from "./retry-policy.ts";
import type { AnyStandardSchema, StandardSchemaV1 } from "./standard-schema.ts";

/** A type for an input or output that no schema validates. Made by `typeOnly`. */
export interface TypeOnly<T> {
  readonly "~leasehold": "type-only";
  /** Exists in the types only. */
  readonly "~type"?: T;
}

/** How jobs of a type are treated unless something else is said for a job. */
export interface JobTypeSettings {
  /** What becomes of a blocked job when a sequence it waits for fails. Default: `"fail"`. */
  readonly onBlockerFailure?: OnBlockerFailure;
  /** Default: `"default"`. */
  readonly queue?: string;
  /** Higher runs first. Default: 0. */
  readonly priority?: number;
  /** How often a job may run in all, unless its start or its handler says so. Default: the instance's, else 4. */
  readonly maxAttempts?: number;
  readonly retry?: RetryPolicy;
  /** How long one attempt may take before its signal aborts. */
  readonly timeoutMs?: number;
  /** How long a worker may be silent before the job is given to another one. */
  readonly leaseMs?: number;
  /** How long finished trees are kept whose root sequence is of this type. Default: `defaults.retention`. */
  readonly retention?: RetentionOptions;
  /**
   * Jobs of this type are completed from outside, by `completeJobSequence`: an approval, a webhook. No worker
   * implements it, and `leasehold doctor` does not miss one. Default: false.
   */
  readonly workerless?: boolean;
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
  /** The types of the sequences a job of this type waits for, in the order `startBlockers` returns them. */
  readonly blockers?: readonly TName[];
}

/** A job type as the engine sees it. Empty for a type that exists for the compiler only: then everything is allowed. */
export interface RuntimeJobType {
  /** Absent where nothing is validated: there is no input, or only its type is known. */
  readonly input?: StandardSchemaV1 | undefined;
  readonly output?: StandardSchemaV1 | undefined;
  /** False where none is declared. */
  readonly hasOutput?: boolean | undefined;
  readonly internal?: boolean | undefined;
  readonly continuesTo?: readonly string[] | undefined;
  readonly blockers?: readonly string[] | undefined;
  readonly onBlockerFailure?: OnBlockerFailure | undefined;
  readonly queue?: string | undefined;
  readonly priority?: number | undefined;
  readonly maxAttempts?: number | undefined;
  readonly retry?: RetryPolicy | undefined;
  readonly timeoutMs?: number | undefined;
  readonly leaseMs?: number | undefined;
  readonly retention?: RetentionOptions | undefined;
  readonly workerless?: boolean | undefined;
}
