import { serialize } from "bson";
import { compareValues } from "../bson-values/compare.ts";
import { fieldOf, isDocument } from "../bson-values/types.ts";
import type { Document, Value } from "../bson-values/types.ts";

const isSame = (a: Value, b: Value): boolean =>
  compareValues(a, b) === 0 && Buffer.compare(serialize({ v: a }), serialize({ v: b })) === 0;

/** What changed between two states of a document, in dotted paths. */
export const describeUpdate = (before: Document, after: Document): Document => {
  const updatedFields: Document = {};
  const removedFields: string[] = [];
  const truncatedArrays: Document[] = [];

  const compareArrays = (from: readonly Value[], to: readonly Value[], path: string): void => {
    const shared = Math.min(from.length, to.length);
    if (to.length < from.length) truncatedArrays.push({ field: path, newSize: to.length });
    for (let i = 0; i < shared; i++) compareAt(from[i], to[i], `${path}.${i}`);
    for (let i = shared; i < to.length; i++) updatedFields[`${path}.${i}`] = to[i];
  };
  const compareAt = (from: Value, to: Value, path: string): void => {
    if (isSame(from, to)) return;
    if (isDocument(from) && isDocument(to)) compareFields(from, to, `${path}.`);
    else if (Array.isArray(from) && Array.isArray(to) && to.length > 0) compareArrays(from, to, path);
    else updatedFields[path] = to;
  };
  const compareFields = (from: Document, to: Document, prefix: string): void => {
    for (const name of Object.keys(from))
      if (!Object.hasOwn(to, name)) removedFields.push(`${prefix}${name}`);
    for (const [name, value] of Object.entries(to)) {
      const old = fieldOf(from, name);
      if (old === undefined) updatedFields[`${prefix}${name}`] = value;
      else compareAt(old, value, `${prefix}${name}`);
    }
  };
  compareFields(before, after, "");
  return { updatedFields, removedFields, truncatedArrays };
};
