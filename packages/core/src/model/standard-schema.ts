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

/** `issues` tells the two apart: it is present, and not empty, on failure only. */
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
