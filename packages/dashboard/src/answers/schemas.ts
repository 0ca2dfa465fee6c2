import type { Answer, Schema } from "../http/fields.ts";

/** The one place where a schema gets its type. All others consist of these, so that the compiler infers theirs. */
const answer = <T>(schema: Schema): Answer<T> => schema as Answer<T>;

/** The type that a schema describes. */
export type AnswerOf<TAnswer> = TAnswer extends Answer<infer T> ? T : never;

export const text: Answer<string> = answer({ type: "string" });

export const date: Answer<string> = answer({ type: "string", format: "date-time" });

export const boolean: Answer<boolean> = answer({ type: "boolean" });

export const integer: Answer<number> = answer({ type: "integer" });

export const number: Answer<number> = answer({ type: "number" });

export const count: Answer<number> = answer({ type: "integer", minimum: 0 });

/** Anything: what users store, or the marker of a hidden value. */
export const payload: Answer<unknown> = answer({});

export const nullable = <T>(schema: Answer<T>): Answer<T | null> =>
  answer({ anyOf: [schema, { type: "null" }] });

export const wordOf = <const T extends string>(...words: readonly T[]): Answer<T> =>
  answer({ type: "string", enum: words });

export const listOf = <T>(items: Answer<T>): Answer<readonly T[]> => answer({ type: "array", items });

export const recordOf = <T>(values: Answer<T>): Answer<Readonly<Record<string, T>>> =>
  answer({ type: "object", additionalProperties: values });

/** An object whose properties the OpenAPI description leaves out. */
export const opaque = <T extends object>(): Answer<T> => answer({ type: "object" });

type Properties = Readonly<Record<string, Answer<never>>>;

type Described<TRequired, TOptional> = { readonly [K in keyof TRequired]: AnswerOf<TRequired[K]> } & {
  readonly [K in keyof TOptional]?: AnswerOf<TOptional[K]>;
};

/** One type instead of an intersection, for error messages. */
type Flat<T> = { readonly [K in keyof T]: T[K] };

/** An object with these properties and no others; those of `optional` may be missing. */
export const objectOf = <TRequired, TOptional = object>(
  required: TRequired,
  optional?: TOptional,
): Answer<Flat<Described<TRequired, TOptional>>> =>
  answer({
    type: "object",
    properties: { ...required, ...optional },
    required: Object.keys(required as Properties),
    additionalProperties: false,
  });
