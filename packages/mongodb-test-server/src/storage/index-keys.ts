import { CommandError } from "../errors.ts";
import { compareValues } from "../bson-values/compare.ts";
import { isArrayIndex } from "../bson-values/paths.ts";
import { fieldOf, isDocument } from "../bson-values/types.ts";
import type { Document, Value } from "../bson-values/types.ts";

/** One value per field of the index; `undefined` stands for an empty array. */
export type IndexKey = readonly Value[];

interface FieldKeys {
  readonly values: readonly Value[];
  readonly isMissing: boolean;
  readonly throughArray: boolean;
}

const keysOfField = (document: Document, parts: readonly string[]): FieldKeys => {
  const values: Value[] = [];
  let isMissing = true;
  let throughArray = false;
  const walk = (current: Value, at: number): void => {
    const part = parts[at];
    if (part === undefined) {
      if (current !== undefined) isMissing = false;
      if (!Array.isArray(current)) {
        values.push(current ?? null);
        return;
      }
      throughArray = true;
      if (current.length === 0) values.push(undefined);
      values.push(...(current as Value[]));
    } else if (Array.isArray(current)) {
      throughArray = true;
      if (isArrayIndex(part) && Number(part) < current.length) walk(current[Number(part)], at + 1);
      else for (const element of current) walk(isDocument(element) ? element : undefined, at);
      if (current.length === 0) values.push(null);
    } else {
      walk(
        isDocument(current) ? fieldOf(current, part) : undefined,
        isDocument(current) ? at + 1 : parts.length,
      );
    }
  };
  walk(document, 0);
  const distinct = values
    .toSorted(compareValues)
    .filter((value, i, sorted) => i === 0 || compareValues(value, sorted[i - 1]) !== 0);
  return { values: throughArray ? distinct : values, isMissing, throughArray };
};

export interface DocumentKeys {
  readonly keys: readonly IndexKey[];
  readonly isMultikey: boolean;
}

/** The entries of a document in an index over these paths; with `sparse` none when it has none of the fields. */
export const indexKeysOf = (
  document: Document,
  paths: readonly (readonly string[])[],
  sparse: boolean,
): DocumentKeys => {
  const fields = paths.map((parts) => keysOfField(document, parts));
  if (sparse && fields.every(({ isMissing }) => isMissing)) return { keys: [], isMultikey: false };
  const arrays = fields.filter(({ throughArray }) => throughArray);
  const roots = new Set(paths.filter((_, i) => fields[i]?.throughArray).map(([first]) => first));
  if (arrays.length > 1 && roots.size > 1) {
    throw new CommandError("CannotIndexParallelArrays", "cannot index parallel arrays");
  }
  let keys: IndexKey[] = [[]];
  for (const { values } of fields) keys = keys.flatMap((key) => values.map((value) => [...key, value]));
  return { keys, isMultikey: arrays.length > 0 };
};
