import { Int32 } from "bson";
import { compareValues } from "../bson-values/compare.ts";
import { binary } from "./arguments.ts";
import type { OperatorTable } from "./scope.ts";

/** Unlike a filter's, these compare across types: `null` is less than every date. */
export const comparisonOperators: OperatorTable = {
  $eq: binary("$eq", (a, b) => compareValues(a, b) === 0),
  $ne: binary("$ne", (a, b) => compareValues(a, b) !== 0),
  $gt: binary("$gt", (a, b) => compareValues(a, b) > 0),
  $gte: binary("$gte", (a, b) => compareValues(a, b) >= 0),
  $lt: binary("$lt", (a, b) => compareValues(a, b) < 0),
  $lte: binary("$lte", (a, b) => compareValues(a, b) <= 0),
  $cmp: binary("$cmp", (a, b) => new Int32(compareValues(a, b))),
};
