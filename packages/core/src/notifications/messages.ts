/** `count` jobs of a type became runnable. */
export interface ScheduledHint {
  readonly typeName: string;
  readonly count: number;
  /** Names the counter that says how many listeners may still take it; absent where the transport cannot count. */
  readonly hintId?: string;
  /** The counter's revision when the hint was sent, where the counter has revisions. */
  readonly revision?: number;
}

/** Transports limit a message; many ids go out in several. */
const largestMessageBytes = 32_768;
const longestName = 200;
const hintIdShape = /^[A-Za-z0-9-]{1,64}$/;

export const encodeScheduled = ({ typeName, count, hintId, revision }: ScheduledHint): string =>
  JSON.stringify({ type: typeName, count, hint: hintId, revision });

/** About as few messages as the limit allows, each of at least one id. */
export const encodeIds = (ids: readonly string[], largestBytes: number = largestMessageBytes): string[] => {
  const messages: string[] = [];
  let begin = 0;
  let length = 0;
  const flush = (end: number): void => {
    if (end > begin) messages.push(...encodeAsNeeded(ids.slice(begin, end), largestBytes));
    begin = end;
    length = 0;
  };
  for (let index = 0; index < ids.length; index++) {
    const added = ids[index]!.length + '"",'.length;
    if (length + added > largestBytes - '{"ids":[]}'.length) flush(index);
    length += added;
  }
  flush(ids.length);
  return messages;
};

/** Characters that take more than one byte make a message longer than it was reckoned; it is then cut in half. */
const encodeAsNeeded = (ids: readonly string[], largestBytes: number): string[] => {
  const message = JSON.stringify({ ids });
  if (ids.length === 1 || Buffer.byteLength(message) <= largestBytes) return [message];
  const middle = ids.length >> 1;
  return [
    ...encodeAsNeeded(ids.slice(0, middle), largestBytes),
    ...encodeAsNeeded(ids.slice(middle), largestBytes),
  ];
};

const parse = (message: string): Partial<Record<string, unknown>> => {
  // Longer than any of ours: not worth parsing.
  if (message.length > largestMessageBytes) return {};
  try {
    const value: unknown = JSON.parse(message);
    return typeof value === "object" && value !== null ? value : {};
  } catch {
    // Anyone may publish to the channel; what is no hint is nothing.
    return {};
  }
};

const isName = (value: unknown): value is string =>
  typeof value === "string" && value.length > 0 && value.length <= longestName;

const isPositiveInteger = (value: unknown): value is number =>
  Number.isSafeInteger(value) && Number(value) > 0;

/** Undefined for anything that is no hint. */
export const decodeScheduled = (message: string): ScheduledHint | undefined => {
  const { type, count, hint, revision } = parse(message);
  if (!isName(type) || !isPositiveInteger(count)) return undefined;
  if (hint === undefined) return { typeName: type, count };
  if (typeof hint !== "string" || !hintIdShape.test(hint)) return undefined;
  if (revision === undefined) return { typeName: type, count, hintId: hint };
  if (!isPositiveInteger(revision)) return undefined;
  return { typeName: type, count, hintId: hint, revision };
};

/** Empty for anything that is no list of ids. */
export const decodeIds = (message: string): string[] => {
  const { ids } = parse(message);
  return Array.isArray(ids) ? ids.filter(isName) : [];
};
