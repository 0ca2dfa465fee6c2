import { fieldOf, isDocument } from "./types.ts";
import type { Value } from "./types.ts";

export const isArrayIndex = (part: string): boolean => /^(0|[1-9]\d*)$/.test(part);

/**
 * Whether `visit` accepts one of the values a path of a filter leads to. Arrays on the way are entered; an array at the
 * end is visited whole and, with `expandLast`, by element. A path that leads nowhere is visited as `undefined`.
 */
export const somePathValue = (
  start: Value,
  parts: readonly string[],
  expandLast: boolean,
  visit: (value: Value) => boolean,
): boolean => {
  const walk = (current: Value, at: number): boolean => {
    const part = parts[at];
    if (part === undefined) {
      if (visit(current)) return true;
      return expandLast && Array.isArray(current) && current.some((element) => visit(element));
    }
    if (Array.isArray(current)) {
      if (isArrayIndex(part) && Number(part) < current.length && walk(current[Number(part)], at + 1))
        return true;
      return current.some((element) => isDocument(element) && walk(element, at));
    }
    return isDocument(current) ? walk(fieldOf(current, part), at + 1) : visit(undefined);
  };
  return walk(start, 0);
};

/** What `"$a.b"` means in an expression: over an array it is the array of what its documents have there. */
export const expressionPath = (value: Value, parts: readonly string[], at = 0): Value => {
  const part = parts[at];
  if (part === undefined) return value;
  if (isDocument(value)) return expressionPath(fieldOf(value, part), parts, at + 1);
  if (!Array.isArray(value)) return undefined;
  const found: Value[] = [];
  for (const element of value) {
    if (!isDocument(element)) continue;
    const inner = expressionPath(element, parts, at);
    if (inner !== undefined) found.push(inner);
  }
  return found;
};
