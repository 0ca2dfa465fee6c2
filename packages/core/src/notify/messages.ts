import type { HintCounter } from "./contract.ts";

/**
 * The two formats of messages, of a name with its count and of a list of names. They are released: a new version reads
 * what older ones send, and the other way round. Unknown properties are ignored.
 *
 *   {"type":"mail","count":3,"hint":"…","revision":7}     hint and revision only with a counter
 *   {"ids":["…","…"]}                                     no ids: a question
 */
export interface CountedMessage {
  readonly name: string;
  readonly count: number;
  /** Says how many listeners may still act on it; absent where the transport cannot count. */
  readonly counter?: HintCounter;
}

/** Transports limit a message, so many names go out in several. */
export const largestMessageBytes = 32_768;

const longestName = 200;

const hintIdShape = /^[A-Za-z0-9-]{1,64}$/;

export const encodeCounted = ({ name, count, counter }: CountedMessage): string =>
  JSON.stringify({ type: name, count, hint: counter?.hintId, revision: counter?.revision });

/** About as few messages as the limit allows, each of at least one name. */
export const encodeNames = (
  names: readonly string[],
  largestBytes: number = largestMessageBytes,
): string[] => {
  const messages: string[] = [];
  let begin = 0;
  let length = 0;
  const flush = (end: number): void => {
    if (end > begin) messages.push(...encodeAsNeeded(names.slice(begin, end), largestBytes));
    begin = end;
    length = 0;
  };
  for (let index = 0; index < names.length; index++) {
    const added = names[index]!.length + '"",'.length;
    if (length + added > largestBytes - '{"ids":[]}'.length) flush(index);
    length += added;
  }
  flush(names.length);
  return messages;
};

/** Characters that take several bytes make a message longer than estimated. It is then cut in half. */
const encodeAsNeeded = (names: readonly string[], largestBytes: number): string[] => {
  const message = JSON.stringify({ ids: names });
  if (names.length === 1 || Buffer.byteLength(message) <= largestBytes) return [message];
  const middle = names.length >> 1;
  return [
    ...encodeAsNeeded(names.slice(0, middle), largestBytes),
    ...encodeAsNeeded(names.slice(middle), largestBytes),
  ];
};

const parse = (message: string): Partial<Record<string, unknown>> => {
  // Longer than any of ours: not worth parsing.
  if (message.length > largestMessageBytes) return {};
  try {
    const value: unknown = JSON.parse(message);
    return typeof value === "object" && value !== null ? value : {};
  } catch {
    // Anyone may publish to the channel. What is not ours is ignored.
    return {};
  }
};

const isName = (value: unknown): value is string =>
  typeof value === "string" && value.length > 0 && value.length <= longestName;

const isPositiveInteger = (value: unknown): value is number =>
  Number.isSafeInteger(value) && Number(value) > 0;

/** Undefined for anything else. */
export const decodeCounted = (message: string): CountedMessage | undefined => {
  const { type, count, hint, revision } = parse(message);
  if (!isName(type) || !isPositiveInteger(count)) return undefined;
  if (hint === undefined) return { name: type, count };
  if (typeof hint !== "string" || !hintIdShape.test(hint)) return undefined;
  if (revision === undefined) return { name: type, count, counter: { hintId: hint } };
  if (!isPositiveInteger(revision)) return undefined;
  return { name: type, count, counter: { hintId: hint, revision } };
};

/** The question which sequences the other processes await. */
export const awaitedQuestion: string = JSON.stringify({ ids: [] });

/** Empty for anything else. */
export const decodeNames = (message: string): string[] => {
  const { ids } = parse(message);
  return Array.isArray(ids) ? ids.filter(isName) : [];
};
