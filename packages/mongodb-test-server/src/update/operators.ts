import { Timestamp } from "bson";
import { CommandError, notImplemented } from "../errors.ts";
import { compareValues, compareStrings } from "../bson-values/compare.ts";
import { arithmetic, isNumeric } from "../bson-values/numbers.ts";
import { isDocument, toBsonNumber, typeOf } from "../bson-values/types.ts";
import type { Document, Value } from "../bson-values/types.ts";
import type { Variables } from "../query/matches.ts";
import { addToSet, pop, pull, pullAll, push } from "./array-operators.ts";
import { modifyPath, readPath, removePath } from "./modify-path.ts";
import { expandPath } from "./positional.ts";
import type { PositionalContext } from "./positional.ts";

/** What an operator makes of the present value; `undefined` leaves a missing field missing. */
type FieldOperator = (current: Value, argument: Value, variables: Variables) => Value;

const number = (operator: string, value: Value): Value => {
  if (isNumeric(value)) return value;
  throw new CommandError(
    "TypeMismatch",
    `Cannot apply ${operator} to a value of non-numeric type ${typeOf(value)}`,
  );
};

const currentDate = (argument: Value, variables: Variables): Value => {
  const type = isDocument(argument) ? argument["$type"] : "date";
  const now = variables["NOW"] as Date;
  if (type === "date") return now;
  if (type === "timestamp") return new Timestamp({ t: Math.floor(now.getTime() / 1000), i: 1 });
  throw new CommandError("BadValue", "The '$type' string field is required to be 'date' or 'timestamp'");
};

const fieldOperators: Readonly<Record<string, FieldOperator>> = {
  $set: (_, argument) => argument,
  $inc: (current, argument) =>
    current === undefined
      ? number("$inc", argument)
      : arithmetic("add", number("$inc", current), number("$inc", argument), "error"),
  $mul: (current, argument) =>
    arithmetic(
      "multiply",
      current === undefined ? toBsonNumber(0) : number("$mul", current),
      number("$mul", argument),
      "error",
    ),
  $min: (current, argument) =>
    current === undefined || compareValues(argument, current) < 0 ? argument : current,
  $max: (current, argument) =>
    current === undefined || compareValues(argument, current) > 0 ? argument : current,
  $currentDate: (_, argument, variables) => currentDate(argument, variables),
  $push: push,
  $addToSet: addToSet,
  $pull: pull,
  $pullAll: pullAll,
  $pop: pop,
};

export interface Modification {
  readonly operator: string;
  readonly path: string;
  readonly argument: Value;
}

const checkConflicts = (paths: readonly string[]): void => {
  const sorted = paths.toSorted(compareStrings);
  for (const [i, path] of sorted.entries()) {
    const next = sorted[i + 1];
    if (next === path || next?.startsWith(`${path}.`) === true) {
      throw new CommandError(
        "ConflictingUpdateOperators",
        `Updating the path '${next}' would create a conflict at '${path}'`,
      );
    }
  }
};

/** Reads `{ $set: { a: 1 }, $inc: { b: 1 } }`; what it does not know is an error that names it. */
export const parseModifications = (update: Document): Modification[] => {
  const result: Modification[] = [];
  for (const [operator, argument] of Object.entries(update)) {
    if (operator === "$bit") throw notImplemented("the update operator $bit");
    const isKnown =
      operator === "$unset" ||
      operator === "$rename" ||
      operator === "$setOnInsert" ||
      operator in fieldOperators;
    if (!isKnown) {
      throw new CommandError(
        "FailedToParse",
        `Unknown modifier: ${operator}. Expected a valid update modifier`,
      );
    }
    if (!isDocument(argument)) {
      throw new CommandError(
        "FailedToParse",
        `Modifiers operate on fields but we found type ${typeOf(argument)} instead`,
      );
    }
    for (const [path, value] of Object.entries(argument)) {
      if (path.split(".").includes("")) {
        throw new CommandError("EmptyFieldName", `The update path '${path}' contains an empty field name`);
      }
      result.push({ operator, path, argument: value });
    }
  }
  const targets = result
    .filter(({ operator }) => operator === "$rename")
    .map(({ argument }) => String(argument));
  checkConflicts([...result.map(({ path }) => path), ...targets]);
  // The server adds new fields in the order of their names.
  return result.toSorted((a, b) => compareStrings(a.path, b.path));
};

const rename = (document: Document, from: string, to: Value): Document => {
  if (typeof to !== "string")
    throw new CommandError("BadValue", "The 'to' field for $rename must be a string");
  const value = readPath(document, from.split("."));
  if (value === undefined) return document;
  return modifyPath(removePath(document, from.split(".")), to.split("."), () => value);
};

const applyOne = (
  document: Document,
  { operator, path, argument }: Modification,
  context: PositionalContext,
): Document => {
  if (operator === "$rename") return rename(document, path, argument);
  let result = document;
  for (const parts of expandPath(document, path.split("."), context)) {
    if (operator === "$unset") {
      result = removePath(result, parts);
      continue;
    }
    const apply = fieldOperators[operator === "$setOnInsert" ? "$set" : operator];
    if (apply === undefined) throw notImplemented(`the update operator ${operator}`);
    const current = readPath(result, parts);
    const changed = apply(current, argument, context.variables);
    if (changed !== undefined) result = modifyPath(result, parts, () => changed);
  }
  return result;
};

export const applyModifications = (
  document: Document,
  modifications: readonly Modification[],
  isInsert: boolean,
  context: PositionalContext,
): Document => {
  let result = document;
  for (const modification of modifications) {
    if (modification.operator === "$setOnInsert" && !isInsert) continue;
    result = applyOne(result, modification, context);
  }
  return result;
};
