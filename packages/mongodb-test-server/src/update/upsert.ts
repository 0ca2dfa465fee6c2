import { ObjectId } from "bson";
import { fieldOf } from "../bson-values/types.ts";
import type { Document } from "../bson-values/types.ts";
import type { Filter } from "../query/filter.ts";
import type { Variables } from "../query/matches.ts";
import type { Update } from "./compile.ts";
import { modifyPath } from "./modify-path.ts";

/** What the equalities of a filter say about a document that has to be created. */
const fromFilter = (filter: Filter, document: Document): Document => {
  if (filter.kind === "and")
    return filter.filters.reduce((result, inner) => fromFilter(inner, result), document);
  if (filter.kind === "or" && filter.filters.length === 1 && filter.filters[0] !== undefined) {
    return fromFilter(filter.filters[0], document);
  }
  if (filter.kind !== "field") return document;
  const { test, parts } = filter;
  if (test.operator === "eq") return modifyPath(document, parts, () => test.value);
  const [only] = test.operator === "in" && test.patterns.length === 0 ? test.values : [];
  if (test.operator === "in" && test.values.length === 1) return modifyPath(document, parts, () => only);
  return document;
};

/** `_id` comes first in every stored document. */
export const withIdFirst = (document: Document): Document => {
  const { _id: id = new ObjectId(), ...fields } = document;
  return { _id: id, ...fields };
};

export const documentToUpsert = (filter: Filter, update: Update, variables: Variables): Document => {
  const base = fromFilter(filter, {});
  const id = fieldOf(base, "_id");
  const start = update.kind === "replacement" ? (id === undefined ? {} : { _id: id }) : base;
  return withIdFirst(update.apply(start, variables, true));
};
