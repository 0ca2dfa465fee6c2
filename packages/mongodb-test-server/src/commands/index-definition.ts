import { CommandError, notImplemented } from "../errors.ts";
import { isNumeric, toNumber } from "../bson-values/numbers.ts";
import { isDocument } from "../bson-values/types.ts";
import type { Document } from "../bson-values/types.ts";
import { parseFilter } from "../query/parse.ts";
import type { SortPart } from "../query/sort-order.ts";
import type { IndexDefinition } from "../storage/collection-index.ts";
import { checkCollation, flagField, requiredDocument } from "./fields.ts";

const known = new Set([
  "key",
  "name",
  "unique",
  "sparse",
  "partialFilterExpression",
  "expireAfterSeconds",
  "background",
  "hidden",
  "collation",
  "v",
]);

const parseFields = (key: Document): SortPart[] => {
  const fields = Object.entries(key).map(([path, value]): SortPart => {
    if (typeof value === "string") throw notImplemented(`indexes of the kind ${value}`);
    if (path.includes("$**")) throw notImplemented("wildcard indexes");
    const direction = isNumeric(value) ? Math.sign(toNumber(value)) : 0;
    if (direction === 0)
      throw new CommandError("CannotCreateIndex", "Values in the index key pattern cannot be 0");
    return { path, direction: direction < 0 ? -1 : 1 };
  });
  if (fields.length === 0)
    throw new CommandError("CannotCreateIndex", "Index keys cannot be an empty object");
  return fields;
};

/** Reads one entry of `createIndexes`; TTL is accepted and remembered, but nothing expires. */
export const parseIndexDefinition = (given: Document): IndexDefinition => {
  for (const option of Object.keys(given)) {
    if (!known.has(option)) {
      throw new CommandError(
        "InvalidIndexSpecificationOption",
        `The field '${option}' is not valid for an index specification`,
      );
    }
  }
  checkCollation(given);
  const key = requiredDocument(given, "key");
  const name = given["name"];
  if (typeof name !== "string" || name === "") {
    throw new CommandError(
      "FailedToParse",
      "The 'name' field is a required property of an index specification",
    );
  }
  const partial = given["partialFilterExpression"];
  const unique = flagField(given, "unique");
  const sparse = flagField(given, "sparse");
  return {
    name,
    fields: parseFields(key),
    unique,
    sparse,
    partial: isDocument(partial) ? parseFilter(partial) : undefined,
    spec: {
      v: 2,
      key,
      name,
      ...(unique ? { unique } : {}),
      ...(sparse ? { sparse } : {}),
      ...(isDocument(partial) ? { partialFilterExpression: partial } : {}),
      ...("expireAfterSeconds" in given ? { expireAfterSeconds: given["expireAfterSeconds"] } : {}),
      ...(flagField(given, "hidden") ? { hidden: true } : {}),
    },
  };
};
