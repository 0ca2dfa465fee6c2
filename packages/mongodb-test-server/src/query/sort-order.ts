import { CommandError } from "../errors.ts";
import { compareValues } from "../bson-values/compare.ts";
import { isNumeric, toNumber } from "../bson-values/numbers.ts";
import { somePathValue } from "../bson-values/paths.ts";
import type { Document, Value } from "../bson-values/types.ts";

export type Direction = 1 | -1;

export interface SortPart {
  readonly path: string;
  readonly direction: Direction;
}

export const parseSort = (spec: Document): SortPart[] =>
  Object.entries(spec).map(([path, value]) => {
    const direction = isNumeric(value) ? toNumber(value) : 0;
    if (direction !== 1 && direction !== -1) {
      throw new CommandError(15975, "$sort key ordering must be 1 (for ascending) or -1 (for descending)");
    }
    return { path, direction };
  });

/** The value a document is sorted by: of an array its least element going up, its greatest going down. */
const sortValue = (document: Value, parts: readonly string[], direction: Direction): Value => {
  const candidates: Value[] = [];
  somePathValue(document, parts, false, (value) => {
    if (Array.isArray(value)) candidates.push(...(value.length === 0 ? [undefined] : (value as Value[])));
    else candidates.push(value ?? null);
    return false;
  });
  if (candidates.length === 0) return null;
  return candidates.reduce((best, value) => (direction * compareValues(value, best) < 0 ? value : best));
};

export interface SortOrder {
  compare(a: Value, b: Value): number;
  /** Stable. */
  sort<TItem>(items: readonly TItem[], documentOf: (item: TItem) => Value): TItem[];
}

export const createSortOrder = (spec: Document): SortOrder => {
  const parts = parseSort(spec).map(({ path, direction }) => ({ parts: path.split("."), direction }));
  const keyOf = (document: Value): Value[] =>
    parts.map(({ parts, direction }) => sortValue(document, parts, direction));
  const compareKeys = (a: readonly Value[], b: readonly Value[]): number => {
    for (const [i, { direction }] of parts.entries()) {
      const order = direction * compareValues(a[i], b[i]);
      if (order !== 0) return order;
    }
    return 0;
  };
  return {
    compare: (a, b) => compareKeys(keyOf(a), keyOf(b)),
    sort: (items, documentOf) =>
      items
        .map((item) => ({ item, key: keyOf(documentOf(item)) }))
        .sort((a, b) => compareKeys(a.key, b.key))
        .map(({ item }) => item),
  };
};
