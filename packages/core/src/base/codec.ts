/// <reference lib="es2024.string" />
import { PayloadNotStorableError, PayloadTooLargeError } from "./errors.ts";
import { isPlainObject, isStorableText } from "./options.ts";

/*
 * JSON.stringify quietly drops or alters a good part of what JavaScript can express. So a walk over the value comes
 * first and refuses all of that; what passes is written by JSON.stringify. The walk keeps only what it needs to name
 * the place of a failure and to see a cycle. Strings are not examined on the way: JSON.stringify writes NUL and
 * unpaired surrogates as \u escapes, so only a text with such escapes needs the second, careful walk.
 */

type Segment = string | number;

interface Walk {
  readonly path: string;
  readonly maxBytes: number;
  readonly careful: boolean;
  /** The containers around the current value, outermost first, and where each one's child was found. */
  readonly containers: object[];
  readonly segments: Segment[];
  /** The step that is being taken, for naming a getter that throws. */
  reading: Segment | undefined;
  /** At least this many bytes will be written. Also ends the walk over a small graph that unfolds into a huge tree. */
  bytes: number;
  hasNegativeZero: boolean;
}

const deepestNesting = 500;

const identifier = /^[\p{ID_Start}$_][\p{ID_Continue}$]*$/u;

const formatSegment = (segment: Segment): string => {
  if (typeof segment === "number") return `[${segment}]`;
  const shown = segment.length > 100 ? `${segment.slice(0, 100)}…` : segment;
  return identifier.test(shown) ? `.${shown}` : `[${JSON.stringify(shown)}]`;
};

const formatPath = (path: string, segments: readonly Segment[]): string => {
  if (segments.length <= 40) return path + segments.map(formatSegment).join("");
  return `${formatPath(path, segments.slice(0, 20))}…${formatPath("", segments.slice(-20))}`;
};

interface Place {
  readonly depth: number;
  /** The step from the container at `depth`; undefined for that container itself. */
  readonly segment?: Segment | undefined;
}

const refuse = (walk: Walk, { depth, segment }: Place, problem: string, options?: ErrorOptions): never => {
  const segments = walk.segments.slice(0, depth);
  if (segment !== undefined) segments.push(segment);
  throw new PayloadNotStorableError(formatPath(walk.path, segments), problem, options);
};

const count = (walk: Walk, bytes: number): void => {
  walk.bytes += bytes;
  if (walk.bytes > walk.maxBytes) throw new PayloadTooLargeError(walk.path, walk.bytes, walk.maxBytes);
};

const checkText = (walk: Walk, text: string, depth: number, segment: Segment | undefined): void => {
  if (!isStorableText(text)) {
    refuse(walk, { depth, segment }, "NUL characters and unpaired surrogates are not storable text");
  }
};

/** Checks what stands at `segment` of the container at `depth`; `segment` is undefined for the whole payload. */
const checkValue = (walk: Walk, value: unknown, depth: number, segment: Segment | undefined): void => {
  switch (typeof value) {
    case "string":
      count(walk, value.length + 2);
      if (walk.careful) checkText(walk, value, depth, segment);
      return;
    case "number":
      count(walk, 1);
      if (!Number.isFinite(value)) refuse(walk, { depth, segment }, `JSON has no ${value}`);
      if (value === 0 && Object.is(value, -0)) walk.hasNegativeZero = true;
      return;
    case "boolean":
      count(walk, 4);
      return;
    case "object":
      if (value === null) count(walk, 4);
      else checkContainer(walk, value, depth, segment);
      return;
    case "undefined":
      return refuse(walk, { depth, segment }, "JSON has no undefined");
    case "bigint":
      return refuse(walk, { depth, segment }, "JSON has no bigint; pass it as a string");
    default:
      return refuse(walk, { depth, segment }, `a ${typeof value} is not data`);
  }
};

const isPayloadError = (error: unknown): boolean =>
  error instanceof PayloadNotStorableError || error instanceof PayloadTooLargeError;

const checkContainer = (
  walk: Walk,
  value: object,
  outerDepth: number,
  segment: Segment | undefined,
): void => {
  if (segment !== undefined) walk.segments[outerDepth] = segment;
  const depth = segment === undefined ? outerDepth : outerDepth + 1;
  count(walk, 2);
  for (let level = depth - 1; level >= 0; level -= 1) {
    if (walk.containers[level] === value) refuse(walk, { depth }, "it contains itself");
  }
  if (depth >= deepestNesting) refuse(walk, { depth }, `it nests deeper than ${deepestNesting} levels`);
  walk.containers[depth] = value;
  walk.reading = undefined;
  try {
    if (Array.isArray(value)) checkArray(walk, value, depth);
    else checkObject(walk, value, depth);
  } catch (error) {
    // Anything else comes out of a getter or a proxy.
    if (isPayloadError(error)) throw error;
    refuse(walk, { depth, segment: walk.reading }, "it cannot be read", { cause: error });
  }
};

const checkArray = (walk: Walk, value: readonly unknown[], depth: number): void => {
  const prototype: unknown = Object.getPrototypeOf(value);
  // Array.prototype, of whichever realm, is itself an array; the prototype of a subclass is not.
  if (prototype !== Array.prototype && !Array.isArray(prototype)) {
    refuse(walk, { depth }, "it is an instance of a class and would come back as a plain array");
  }
  const { length } = value;
  count(walk, Math.max(0, length - 1));
  for (let index = 0; index < length; index += 1) {
    walk.reading = index;
    const item = value[index];
    if (item === undefined && !(index in value))
      refuse(walk, { depth, segment: index }, "it is a hole in an array");
    checkValue(walk, item, depth, index);
  }
  walk.reading = undefined;
  if (Object.keys(value).length !== length || Object.getOwnPropertySymbols(value).length > 0) {
    refuse(walk, { depth }, "it is an array with extra properties, which JSON leaves out");
  }
};

const describeClass = (value: object): string => {
  const { name } = (value as { constructor?: { name?: unknown } }).constructor ?? {};
  return typeof name === "string" && name !== "" ? `an instance of ${name}` : "an instance of a class";
};

const checkObject = (walk: Walk, value: object, depth: number): void => {
  if (!isPlainObject(value)) {
    refuse(walk, { depth }, `it is ${describeClass(value)} and would come back as something else`);
  }
  const keys = Object.keys(value);
  const hidden =
    Object.getOwnPropertyNames(value).length - keys.length + Object.getOwnPropertySymbols(value).length;
  if (hidden > 0) refuse(walk, { depth }, "it has symbol keys or hidden properties, which JSON leaves out");
  // Without fields it may be a date or a boxed number that has lost its prototype.
  if (keys.length === 0 && Object.prototype.toString.call(value) !== "[object Object]") {
    refuse(walk, { depth }, "it would come back as something else");
  }
  for (const key of keys) {
    walk.reading = key;
    const item = (value as Record<string, unknown>)[key];
    if (key === "__proto__") {
      refuse(
        walk,
        { depth, segment: key },
        "that key can change the prototype of whatever it is copied into",
      );
    }
    if (walk.careful) checkText(walk, key, depth, key);
    // Left out as JSON does, so that an optional property may be present and empty.
    if (item === undefined) continue;
    count(walk, key.length + 3);
    checkValue(walk, item, depth, key);
  }
};

/** JSON.stringify turns -0 into 0 and obeys any `toJSON`; this does neither. Only for values that passed the walk. */
const writeJson = (value: unknown): string => {
  if (value === 0 && Object.is(value, -0)) return "-0";
  if (typeof value !== "object" || value === null) {
    const text = JSON.stringify(value) as string | undefined;
    if (text === undefined) throw new TypeError("The value changed while it was written");
    return text;
  }
  if (Array.isArray(value)) return `[${Array.from(value, writeJson).join(",")}]`;
  const fields: string[] = [];
  for (const key of Object.keys(value)) {
    const item = (value as Record<string, unknown>)[key];
    if (item !== undefined) fields.push(`${JSON.stringify(key)}:${writeJson(item)}`);
  }
  return `{${fields.join(",")}}`;
};

const encodeJson = (value: unknown, path: string, maxBytes: number = Number.POSITIVE_INFINITY): string => {
  // What most handlers that return nothing worth keeping return.
  if (value === null) return "null";
  const inspect = (careful: boolean): Walk => {
    const walk: Walk = {
      path,
      maxBytes,
      careful,
      containers: [],
      segments: [],
      reading: undefined,
      bytes: 0,
      hasNegativeZero: false,
    };
    checkValue(walk, value, 0, undefined);
    return walk;
  };
  const { hasNegativeZero } = inspect(false);
  let text: string | undefined;
  try {
    // Some old libraries give every array a `toJSON`.
    text = hasNegativeZero || "toJSON" in Array.prototype ? writeJson(value) : JSON.stringify(value);
  } catch (error) {
    throw new PayloadNotStorableError(path, "it cannot be written as JSON", { cause: error });
  }
  if (text === undefined) throw new PayloadNotStorableError(path, "it changed while it was written");
  if (text.includes("\\u")) inspect(true);
  return text;
};

/** JSON.parse makes `__proto__` an ordinary key, which then sets the prototype of whatever the object is copied into. */
const refusePrototypeKeys = (value: unknown): void => {
  const open: unknown[] = [value];
  while (open.length > 0) {
    const next = open.pop();
    if (typeof next !== "object" || next === null) continue;
    if (Object.hasOwn(next, "__proto__")) throw new TypeError("The text has the key __proto__");
    for (const item of Object.values(next)) open.push(item);
  }
};

const decodeJson = (text: string): unknown => {
  const value: unknown = JSON.parse(text);
  // The key may also hide behind escapes.
  if (text.includes("__proto__") || text.includes("\\u")) refusePrototypeKeys(value);
  return value;
};

/** Turns payloads into the text that is stored, and back. All adapters store that text unchanged. */
export interface Codec {
  readonly name: string;
  /**
   * Throws for a value that would not come back the same; `path` names the value in messages. Past `maxBytes` the
   * result is refused anyway, so a codec that notices early may throw `PayloadTooLargeError` instead of going on.
   */
  encode(value: unknown, path: string, maxBytes?: number): string;
  decode(text: string): unknown;
}

export const defaultMaxPayloadBytes: number = 1_024 * 1_024;

/** Inputs and outputs as JSON. The default. */
export const jsonCodec: Codec = { name: "json", encode: encodeJson, decode: decodeJson };

export interface EncodePayloadOptions {
  readonly codec: Codec;
  readonly value: unknown;
  /** Names the value in messages: `input`, `output`, `progress`. */
  readonly path: string;
  readonly maxBytes: number;
}

const requireStorableText = (codec: Codec, text: unknown, path: string): string => {
  if (typeof text !== "string") {
    throw new PayloadNotStorableError(path, `codec "${codec.name}" did not return a string`);
  }
  if (!isStorableText(text)) {
    throw new PayloadNotStorableError(
      path,
      `codec "${codec.name}" returned NUL characters or unpaired surrogates`,
    );
  }
  return text;
};

const requireSize = (text: string, path: string, maxBytes: number): void => {
  // UTF-8 takes one to three bytes for each UTF-16 unit, so most texts need no count.
  if (text.length * 3 <= maxBytes) return;
  const bytes = text.length > maxBytes ? text.length : Buffer.byteLength(text);
  if (bytes > maxBytes) throw new PayloadTooLargeError(path, bytes, maxBytes);
};

/** A handler that returns nothing has the output `null`, whatever the codec. */
export const encodePayload = ({ codec, value, path, maxBytes }: EncodePayloadOptions): string => {
  let text: unknown;
  try {
    text = codec.encode(value === undefined ? null : value, path, maxBytes);
  } catch (error) {
    if (isPayloadError(error)) throw error;
    throw new PayloadNotStorableError(path, `codec "${codec.name}" failed to encode it`, { cause: error });
  }
  // Size first: there is no use in scanning a text that is refused.
  if (typeof text === "string") requireSize(text, path, maxBytes);
  // JSON text escapes whatever a store could stumble over.
  return codec === jsonCodec ? (text as string) : requireStorableText(codec, text, path);
};

export const decodePayload = (codec: Codec, text: string, path: string): unknown => {
  try {
    return codec.decode(text);
  } catch (error) {
    throw new PayloadNotStorableError(path, `codec "${codec.name}" cannot read back what is stored`, {
      cause: error,
    });
  }
};

/** How a Leasehold encodes payloads and creates ids. */
export interface StorageOptions {
  readonly codec: Codec;
  readonly createId: () => string;
}

const storageOptions = new WeakMap<object, StorageOptions>();

export const setStorageOptions = (leasehold: object, { codec, createId }: StorageOptions): void => {
  storageOptions.set(leasehold, { codec, createId });
};

/** For a tool that stores jobs of its own next to those of a Leasehold, which must be able to read them. */
export const storageOptionsOf = (leasehold: object): StorageOptions | undefined =>
  storageOptions.get(leasehold);
