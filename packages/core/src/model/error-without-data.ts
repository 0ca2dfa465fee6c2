/**
 * Where drivers put rows, parameters and statements: `detail`, `where` and the internal ones of PostgreSQL's protocol,
 * `query`, `parameters` and `args` of postgres.js, `params`, `sql` and `bindings` of query builders, `meta` of Prisma.
 */
const dataFields: ReadonlySet<string> = new Set([
  "detail",
  "where",
  "internalQuery",
  "query",
  "parameters",
  "params",
  "args",
  "sql",
  "bindings",
  "meta",
]);

const deepest = 8;

const statement = /^\s*(?:insert into|delete from|update ["`[]|with ["`[]|select [^\n]{0,500}? from )/i;

/** Query builders put values into messages too: Drizzle after `params:`, Knex in a statement before ` - `. */
export const messageWithoutData = (message: string): string => {
  const params = message.indexOf("\nparams: ");
  if (params >= 0) return message.slice(0, params);
  const end = message.lastIndexOf(" - ");
  return end >= 0 && statement.test(message.slice(0, 1_000)) ? message.slice(end + 3) : message;
};

const stackWithoutData = (stack: string, message: string): string => {
  const stripped = messageWithoutData(message);
  return stripped === message ? stack : stack.replace(message, () => stripped);
};

const strip = (error: unknown, depth: number): unknown => {
  if (!(error instanceof Error) || depth > deepest) return error;
  const keys = Object.getOwnPropertyNames(error);
  const { message, stack, cause } = error;
  const strippedCause = strip(cause, depth + 1);
  const { errors } = error as { errors?: unknown };
  const strippedErrors = Array.isArray(errors) ? errors.map((each) => strip(each, depth + 1)) : undefined;
  const isClean =
    !keys.some((key) => dataFields.has(key)) &&
    messageWithoutData(message) === message &&
    strippedCause === cause &&
    (strippedErrors?.every((each, index) => each === (errors as unknown[])[index]) ?? true);
  if (isClean) return error;

  // Still an error of its class: observers may ask.
  const copy = new Error(messageWithoutData(message));
  Object.setPrototypeOf(copy, Object.getPrototypeOf(error) as object);
  const hidden = { configurable: true, enumerable: false, writable: true };
  for (const key of keys) {
    if (dataFields.has(key) || key === "message") continue;
    const value: unknown =
      key === "stack"
        ? stackWithoutData(stack ?? "", message)
        : key === "cause"
          ? strippedCause
          : key === "errors"
            ? (strippedErrors ?? errors)
            : (error as unknown as Record<string, unknown>)[key];
    const enumerable = Object.prototype.propertyIsEnumerable.call(error, key);
    Object.defineProperty(copy, key, { ...hidden, enumerable, value });
  }
  return copy;
};

/** The error as it may be logged: a driver's says which row it was about, and a row of ours holds an input. */
export const errorWithoutData = (error: unknown): unknown => {
  try {
    return strip(error, 0);
  } catch {
    return new Error("an error that cannot be read");
  }
};
