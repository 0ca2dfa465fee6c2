import { CommandError } from "../errors.ts";
import { isArrayIndex } from "../bson-values/paths.ts";
import { fieldOf, isDocument, setField } from "../bson-values/types.ts";
import type { Document, Value } from "../bson-values/types.ts";

/** Gets the present value; what it returns takes its place, `undefined` removes it. */
export type Change = (current: Value) => Value;

const notViable = (part: string): CommandError =>
  new CommandError("PathNotViable", `Cannot create field '${part}' in an element that is no document`);

const changeElement = (array: readonly Value[], part: string, changeInner: Change): Value => {
  if (!isArrayIndex(part)) throw notViable(part);
  const index = Number(part);
  const changed = changeInner(array[index]);
  if (changed === array[index] && index < array.length) return array;
  if (changed === undefined && index >= array.length) return array;
  if (index - array.length > 1_500_000) throw new CommandError("BadValue", "the array would grow too much");
  const result = Array.from({ length: Math.max(array.length, index + 1) }, (_, i) => array[i] ?? null);
  result[index] = changed ?? null;
  return result;
};

const changeField = (document: Document, part: string, changeInner: Change): Value => {
  const current = fieldOf(document, part);
  const changed = changeInner(current);
  if (changed === current) return document;
  const result = { ...document };
  if (changed === undefined) delete result[part];
  else setField(result, part, changed);
  return result;
};

/** A copy with the change made; whatever lies beside the path is shared with the original. */
const change = (value: Value, parts: readonly string[], at: number, leaf: Change, create: boolean): Value => {
  const part = parts[at];
  if (part === undefined) return leaf(value);
  const changeInner: Change = (inner) => change(inner, parts, at + 1, leaf, create);
  if (Array.isArray(value)) {
    if (!create && !isArrayIndex(part)) return value;
    return changeElement(value, part, changeInner);
  }
  if (isDocument(value)) return changeField(value, part, changeInner);
  if (!create) return value;
  if (value !== undefined) throw notViable(part);
  return changeField({}, part, changeInner);
};

export const modifyPath = (document: Document, parts: readonly string[], leaf: Change): Document =>
  change(document, parts, 0, leaf, true) as Document;

/** Removes what a path leads to; an array keeps its length, with null in the place. */
export const removePath = (document: Document, parts: readonly string[]): Document =>
  change(document, parts, 0, () => undefined, false) as Document;

export const readPath = (value: Value, parts: readonly string[]): Value => {
  let current = value;
  for (const part of parts) {
    if (Array.isArray(current)) current = isArrayIndex(part) ? current[Number(part)] : undefined;
    else if (isDocument(current)) current = fieldOf(current, part);
    else return undefined;
  }
  return current;
};
