import type { Answer, Schema } from "../http/fields.ts";
import type { JobRow, Status, StoredError } from "./jobs.ts";

/** The one place where a schema gets its type: all others are made of those below, so that the compiler knows theirs. */
const answer = <T>(schema: Schema): Answer<T> => schema as Answer<T>;

export const text: Answer<string> = answer({ type: "string" });

export const date: Answer<string> = answer({ type: "string", format: "date-time" });

export const boolean: Answer<boolean> = answer({ type: "boolean" });

const integer: Answer<number> = answer({ type: "integer" });

export const number: Answer<number> = answer({ type: "number" });

export const count: Answer<number> = answer({ type: "integer", minimum: 0 });
/** Anything: what users store, or what is shown in place of it. */
export const payload: Answer<unknown> = answer({});

export const nullable = <T>(schema: Answer<T>): Answer<T | null> =>
  answer({ anyOf: [schema, { type: "null" }] });

export const wordOf = <const T extends string>(...words: readonly T[]): Answer<T> =>
  answer({ type: "string", enum: words });

export const listOfSchema = <T>(items: Answer<T>): Answer<readonly T[]> => answer({ type: "array", items });

export const recordOf = <T>(values: Answer<T>): Answer<Readonly<Record<string, T>>> =>
  answer({ type: "object", additionalProperties: values });

/** An object whose parts the description leaves out: those of core, which has types for them. */
export const opaque = <T extends object>(): Answer<T> => answer({ type: "object" });

type OptionalKeys<T> = { [K in keyof T]-?: object extends Pick<T, K> ? K : never }[keyof T];

/** A schema for each property that is always there. */
export type Properties<T> = { readonly [K in Exclude<keyof T, OptionalKeys<T>>]: Answer<T[K]> };

type OptionalProperties<T> = { readonly [K in OptionalKeys<T>]-?: Answer<Exclude<T[K], undefined>> };

/** An object with just these properties, and perhaps those that are optional. */
export const objectSchema = <T extends object>(
  properties: Properties<T>,
  ...[optional]: keyof OptionalProperties<T> extends never ? [] : [optional: OptionalProperties<T>]
): Answer<T> =>
  answer({
    type: "object",
    properties: { ...properties, ...optional },
    required: Object.keys(properties),
    additionalProperties: false,
  });

export const errorSchema: Answer<StoredError> = objectSchema<StoredError>(
  { name: text, message: payload },
  { stack: payload, code: text, cause: opaque<StoredError>() },
);

export const status: Answer<Status> = wordOf("blocked", "pending", "running", "completed", "failed");

/** A job in a list: all but its payloads. */
export const jobRow: Properties<JobRow> = {
  id: text,
  typeName: text,
  queue: text,
  status,
  sequenceId: text,
  sequenceTypeName: text,
  rootSequenceId: text,
  originId: nullable(text),
  priority: integer,
  attempt: count,
  createdAt: date,
  scheduledAt: date,
  startedAt: nullable(date),
  endedAt: nullable(date),
  failureReason: nullable(text),
  error: nullable(errorSchema),
  leasedBy: nullable(text),
  group: nullable(text),
  deduplicationKey: nullable(text),
};
