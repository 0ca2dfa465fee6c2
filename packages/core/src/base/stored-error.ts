/// <reference lib="es2024.string" />

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
const messageWithoutData = (message: string): string => {
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

/** The error as it may be logged: an error of a driver may contain the row, and a row contains a job's input. */
export const errorWithoutData = (error: unknown): unknown => {
  try {
    return strip(error, 0);
  } catch {
    return new Error("an error that cannot be read");
  }
};

/** What is kept of something a handler threw. */
export interface StoredError {
  name: string;
  message: string;
  stack?: string;
  code?: string;
  cause?: StoredError;
}

interface Limits {
  readonly name: number;
  readonly message: number;
  readonly stack: number;
  readonly causes: number;
}

const fullLimits: Limits = { name: 200, message: 4_000, stack: 8_000, causes: 4 };

// Tried in turn until the text fits. The last fits even if every character takes six bytes as an escape.
const tighterLimits: readonly Limits[] = [
  { name: 200, message: 4_000, stack: 3_000, causes: 4 },
  { name: 200, message: 2_000, stack: 1_000, causes: 3 },
  { name: 100, message: 1_000, stack: 0, causes: 1 },
];

const maxBytes = 32 * 1_024;

const mostListedErrors = 5;

const mostListedFields = 10;

const lastResort = '{"name":"Error","message":"What was thrown could not be described."}';

/** No store may choke on it: NUL and unpaired surrogates become U+FFFD. */
const sanitise = (text: string): string => text.toWellFormed().replaceAll("\0", "\uFFFD");

export const cut = (text: string, maxLength: number): string => {
  if (text.length <= maxLength) return sanitise(text);
  const last = text.charCodeAt(maxLength - 2);
  const splitsPair = last >= 0xd800 && last <= 0xdbff;
  return `${sanitise(text.slice(0, maxLength - (splitsPair ? 2 : 1)))}…`;
};

const read = (source: object, key: PropertyKey): unknown => {
  try {
    return Reflect.get(source, key);
  } catch {
    return undefined;
  }
};

const readText = (source: object, key: PropertyKey): string | undefined => {
  const value = read(source, key);
  return typeof value === "string" ? value : undefined;
};

const isObject = (value: unknown): value is object =>
  (typeof value === "object" && value !== null) || typeof value === "function";

/** One line for a value that is no error, without calling its methods. */
const describe = (value: unknown, maxLength: number): string => {
  if (typeof value === "string") return cut(value, maxLength);
  // Spelling out a bigint of a million digits takes seconds.
  if (typeof value === "bigint")
    return BigInt.asIntN(128, value) === value ? `${value}n` : "a very large bigint";
  if (typeof value === "function") return "a function";
  if (isObject(value)) return "an object";
  return cut(String(value), maxLength);
};

const describeFields = (thrown: object): string => {
  if (typeof thrown === "function") return "a function";
  let keys: string[];
  try {
    keys = Object.keys(thrown);
  } catch {
    return "an object that cannot be read";
  }
  const fields = keys
    .slice(0, mostListedFields)
    .map((key) => `${cut(key, 60)}: ${describe(read(thrown, key), 200)}`);
  if (keys.length > mostListedFields) fields.push("…");
  return fields.length === 0 ? "an object without fields" : `{ ${fields.join(", ")} }`;
};

/** The first errors of an AggregateError. */
const readErrors = (thrown: object): unknown[] => {
  const errors = read(thrown, "errors");
  try {
    return Array.isArray(errors) ? Array.prototype.slice.call(errors, 0, mostListedErrors) : [];
  } catch {
    return [];
  }
};

const summarise = (thrown: unknown): string => {
  if (!isObject(thrown)) return describe(thrown, 300);
  return `${cut(readText(thrown, "name") ?? "Error", 60)}: ${cut(readText(thrown, "message") ?? "", 300)}`;
};

/** The stack repeats the message; a message of megabytes would leave no room for the frames. */
const cutStack = (stack: string, message: string): string => {
  if (stack.length <= fullLimits.stack) return sanitise(stack);
  const start = message === "" ? -1 : stack.indexOf(message);
  const shortened =
    start === -1
      ? stack
      : `${stack.slice(0, start)}${cut(message, 1_000)}${stack.slice(start + message.length)}`;
  return cut(shortened, fullLimits.stack);
};

const collect = (thrown: unknown, ancestors: readonly unknown[]): StoredError => {
  if (!isObject(thrown)) return { name: "NonErrorThrown", message: describe(thrown, fullLimits.message) };
  const fullMessage = readText(thrown, "message");
  if (fullMessage === undefined) return { name: "NonErrorThrown", message: describeFields(thrown) };
  const ownMessage = messageWithoutData(fullMessage);

  const errors = readErrors(thrown);
  const message =
    errors.length === 0 ? ownMessage : `${cut(ownMessage, 1_000)} [${errors.map(summarise).join("; ")}]`;
  const stored: StoredError = {
    name: cut(readText(thrown, "name") || "Error", fullLimits.name),
    message: cut(message, fullLimits.message),
  };
  const stack = readText(thrown, "stack");
  if (stack !== undefined) {
    stored.stack = cutStack(
      ownMessage === fullMessage ? stack : stack.replace(fullMessage, () => ownMessage),
      ownMessage,
    );
  }
  const code = read(thrown, "code");
  if (typeof code === "string" || typeof code === "number") stored.code = cut(String(code), fullLimits.name);

  const cause = read(thrown, "cause") ?? errors[0];
  const path = [...ancestors, thrown];
  if (cause !== undefined && cause !== null && path.length <= fullLimits.causes && !path.includes(cause)) {
    stored.cause = collect(cause, path);
  }
  return stored;
};

const shrink = (stored: StoredError, limits: Limits): StoredError => {
  const smaller: StoredError = {
    name: cut(stored.name, limits.name),
    message: cut(stored.message, limits.message),
  };
  if (stored.stack !== undefined && limits.stack > 0) smaller.stack = cut(stored.stack, limits.stack);
  if (stored.code !== undefined) smaller.code = cut(stored.code, limits.name);
  if (stored.cause !== undefined && limits.causes > 0) {
    smaller.cause = shrink(stored.cause, { ...limits, causes: limits.causes - 1 });
  }
  return smaller;
};

/** Text for anything that can be thrown, of bounded size and acceptable to every store. Never throws. */
export const toStoredErrorText = (thrown: unknown): string => {
  try {
    const stored = collect(thrown, []);
    let text = JSON.stringify(stored);
    for (const limits of tighterLimits) {
      if (Buffer.byteLength(text) <= maxBytes) return text;
      text = JSON.stringify(shrink(stored, limits));
    }
    return text;
  } catch {
    return lastResort;
  }
};

/** What a handler threw. A proxy that throws at `instanceof` is replaced by an error, so that an attempt can always end. */
export const readableThrown = (thrown: unknown): unknown => {
  try {
    void (thrown instanceof Error);
    return thrown;
  } catch {
    return Object.assign(new Error("an object that cannot be read"), { name: "NonErrorThrown" });
  }
};

const mostParsedCauses = 16;

const fromParsed = (value: unknown, depth: number): StoredError | undefined => {
  if (typeof value !== "object" || value === null) return undefined;
  const { name, message, stack, code, cause } = value as Record<string, unknown>;
  if (typeof name !== "string" || typeof message !== "string") return undefined;
  const stored: StoredError = { name, message };
  if (typeof stack === "string") stored.stack = stack;
  if (typeof code === "string") stored.code = code;
  const parsedCause = depth < mostParsedCauses ? fromParsed(cause, depth + 1) : undefined;
  if (parsedCause !== undefined) stored.cause = parsedCause;
  return stored;
};

/** Reads stored text back. Text of another origin becomes the message, so that nothing recorded is hidden. */
export const parseStoredError = (text: string | null): StoredError | null => {
  if (typeof text !== "string") return null;
  const foreign: StoredError = { name: "Error", message: text };
  try {
    return fromParsed(JSON.parse(text), 0) ?? foreign;
  } catch {
    return foreign;
  }
};

const shortBytes = 4 * 1_024;
// The last fits even if every character takes six bytes.
const shortLimits: readonly Limits[] = [
  { name: 200, message: 1_000, stack: 1_500, causes: 2 },
  { name: 100, message: 500, stack: 500, causes: 1 },
  { name: 100, message: 300, stack: 0, causes: 0 },
];

/** A stored error in at most 4 kB, for lists of many. */
export const shortenStoredError = (text: string, stored: StoredError): string => {
  let shorter = text;
  for (const limits of shortLimits) {
    if (Buffer.byteLength(shorter) <= shortBytes) return shorter;
    shorter = JSON.stringify(shrink(stored, limits));
  }
  return shorter;
};

/** An Error to throw or to show; not an instance of the class that was thrown. */
export const storedErrorToError = (stored: StoredError): Error => {
  const options = stored.cause === undefined ? undefined : { cause: storedErrorToError(stored.cause) };
  const error = new Error(stored.message, options);
  const hidden = { configurable: true, enumerable: false, writable: true };
  Object.defineProperty(error, "name", { ...hidden, value: stored.name });
  // Our own frames would point at this file instead of the handler.
  Object.defineProperty(error, "stack", {
    ...hidden,
    value: stored.stack ?? `${stored.name}: ${stored.message}`,
  });
  if (stored.code !== undefined) Object.assign(error, { code: stored.code });
  return error;
};

/** Stored text as an Error again; null where none was stored. */
export const restoreError = (text: string | null): Error | null => {
  const stored = parseStoredError(text);
  return stored && storedErrorToError(stored);
};
