import { badRequest } from "./errors.ts";

/** A part of JSON Schema, as OpenAPI 3.1 has it. */
export type Schema = Readonly<Record<string, unknown>>;

/** One value of a query or a body: how it is checked, and how it is described. Query values arrive as text. */
export interface Field<T> {
  readonly schema: Schema;
  readonly required: boolean;
  readonly isList: boolean;
  parse(value: unknown, name: string): T;
}

export type Fields<T> = { readonly [K in keyof T]: Field<T[K]> };

const wrong = (name: string, expectation: string): never => {
  throw badRequest(`"${name}" ${expectation}.`);
};

const field = <T>(schema: Schema, parse: Field<T>["parse"], required = true): Field<T> => ({
  schema,
  required,
  isList: false,
  parse,
});

export const text = ({ min = 1, max = 1_000 }: { min?: number; max?: number } = {}): Field<string> =>
  field({ type: "string", minLength: min, maxLength: max }, (value, name) => {
    if (typeof value !== "string" || value.length < min || value.length > max)
      return wrong(name, `must be a text of ${min} to ${max} characters`);
    return value.includes("\0") ? wrong(name, "must not contain NUL") : value;
  });

export const whole = ({ min, max }: { min: number; max: number }): Field<number> =>
  field({ type: "integer", minimum: min, maximum: max }, (value, name) => {
    const number = typeof value === "string" && /^-?\d{1,16}$/.test(value) ? Number(value) : value;
    if (!Number.isSafeInteger(number) || Number(number) < min || Number(number) > max)
      return wrong(name, `must be a whole number from ${min} to ${max}`);
    return Number(number);
  });

/** Any JSON value: what users store. */
export const anything: Field<unknown> = field({}, (value) => value);

export const flag: Field<boolean> = field({ type: "boolean" }, (value, name) =>
  typeof value === "boolean" ? value : wrong(name, "must be true or false"),
);

/** A time: ISO 8601 with a zone. */
export const timestamp: Field<Date> = field({ type: "string", format: "date-time" }, (value, name) => {
  const isComplete =
    typeof value === "string" &&
    /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,9})?)?(Z|[+-]\d\d:\d\d)$/.test(value);
  const date = new Date(isComplete ? value : Number.NaN);
  return Number.isNaN(date.getTime()) ? wrong(name, "must be a time such as 2040-01-01T00:00:00Z") : date;
});

export const oneOf = <const T extends string>(values: readonly T[]): Field<T> =>
  field({ type: "string", enum: values }, (value, name) => {
    const found = values.find((known) => known === value);
    return found ?? wrong(name, `must be one of ${values.join(", ")}`);
  });

/** In a query the parameter is repeated. */
export const listOf = <T>(item: Field<T>, { max }: { max: number }): Field<readonly T[]> => ({
  schema: { type: "array", items: item.schema, minItems: 1, maxItems: max },
  required: true,
  isList: true,
  parse: (value, name) => {
    if (!Array.isArray(value) || value.length === 0 || value.length > max)
      return wrong(name, `must be a list of 1 to ${max}`);
    return value.map((entry) => item.parse(entry, name));
  },
});

/** A number, or else something of the second kind. */
export const numberOr = <A, B>(first: Field<A>, second: Field<B>): Field<A | B> =>
  field({ anyOf: [first.schema, second.schema] }, (value, name) =>
    typeof value === "number" ? first.parse(value, name) : second.parse(value, name),
  );

export const objectOf = <T>(fields: Fields<T>): Field<T> => ({
  schema: schemaOf(fields),
  required: true,
  isList: false,
  parse: (value, name) => parseFields(fields, value, name),
});

export const optional = <T>(inner: Field<T>): Field<T | undefined> => ({
  ...inner,
  required: false,
  parse: (value, name) => (value === undefined ? undefined : inner.parse(value, name)),
});

/** Where null means something: to remove what is there. */
export const orNull = <T>(inner: Field<T>): Field<T | null> => ({
  ...inner,
  schema: { anyOf: [inner.schema, { type: "null" }] },
  parse: (value, name) => (value === null ? null : inner.parse(value, name)),
});

export const withDefault = <T>(inner: Field<T>, usual: T): Field<T> => ({
  ...inner,
  schema: { ...inner.schema, default: usual },
  required: false,
  parse: (value, name) => (value === undefined ? usual : inner.parse(value, name)),
});

export const schemaOf = <T>(fields: Fields<T>): Schema => {
  const entries = Object.entries<Field<unknown>>(fields as Record<string, Field<unknown>>);
  return {
    type: "object",
    properties: Object.fromEntries(entries.map(([name, { schema }]) => [name, schema])),
    required: entries.filter(([, { required }]) => required).map(([name]) => name),
    additionalProperties: false,
  };
};

/** Refuses unknown names: a misspelt filter would show, or change, more than was meant. */
export const parseFields = <T>(fields: Fields<T>, value: unknown, name = "The body"): T => {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw badRequest(`${name} must be an object.`);
  const given = value as Record<string, unknown>;
  const unknown = Object.keys(given).find((key) => !Object.hasOwn(fields as object, key));
  if (unknown !== undefined) {
    const known = Object.keys(fields);
    throw badRequest(
      `"${unknown}" is not known here.`,
      known.length === 0 ? "Leave it out." : `Known are ${known.join(", ")}.`,
    );
  }
  const entries = Object.entries<Field<unknown>>(fields as Record<string, Field<unknown>>).map(
    ([key, { required, parse }]) => {
      const passed = Object.hasOwn(given, key) ? given[key] : undefined;
      if (passed === undefined && required) throw badRequest(`"${key}" is missing.`);
      return [key, parse(passed, key)] as const;
    },
  );
  return Object.fromEntries(entries.filter(([, parsed]) => parsed !== undefined)) as T;
};

/** The parameters of an address. Only lists may be repeated. */
export const parseQuery = <T>(fields: Fields<T>, query: URLSearchParams): T => {
  const known = fields as Record<string, Field<unknown>>;
  const given: Record<string, unknown> = {};
  for (const name of new Set(query.keys())) {
    const values = query.getAll(name);
    const isList = Object.hasOwn(known, name) && known[name]!.isList;
    if (!isList && values.length > 1) throw badRequest(`"${name}" is there more than once.`);
    Object.defineProperty(given, name, { value: isList ? values : values[0], enumerable: true });
  }
  return parseFields(fields, given);
};

declare const answered: unique symbol;

/**
 * The JSON Schema of an answer, with the type of the answer. Made by the functions of `answers/schemas.ts`.
 */
export type Answer<T> = Schema & { readonly [answered]: (answer: T) => T };
