import { BSONRegExp, Int32 } from "bson";
import { CommandError } from "../errors.ts";
import { compareStrings } from "../bson-values/compare.ts";
import { toNumber } from "../bson-values/numbers.ts";
import { isNullish, typeOf } from "../bson-values/types.ts";
import type { Value } from "../bson-values/types.ts";
import { createRegExp } from "../query/regular-expression.ts";
import { binary, namedParts, unary, variadic, withArguments } from "./arguments.ts";
import { textOf } from "./conversion.ts";
import type { OperatorCompiler, OperatorTable } from "./scope.ts";

const requireString = (name: string, value: Value): string => {
  if (typeof value === "string") return value;
  throw new CommandError(16702, `${name} only supports strings, not ${typeOf(value)}`);
};

const regexMatch: OperatorCompiler = (argument, compile) => {
  const parts = namedParts("$regexMatch", argument, ["input", "regex"], ["options"]);
  const [input, regex] = [compile(parts["input"]), compile(parts["regex"])];
  return (scope) => {
    const text = input(scope);
    if (isNullish(text)) return false;
    const pattern = regex(scope);
    const options = typeof parts["options"] === "string" ? parts["options"] : undefined;
    const expression =
      pattern instanceof BSONRegExp
        ? createRegExp(pattern.pattern, options ?? pattern.options)
        : createRegExp(requireString("$regexMatch", pattern), options ?? "");
    return expression.test(requireString("$regexMatch", text));
  };
};

const substring = ([value, start, count]: Value[]): Value => {
  const points = Array.from(isNullish(value) ? "" : textOf(value));
  const from = toNumber(start);
  const most = toNumber(count);
  return points.slice(from, most < 0 ? undefined : from + most).join("");
};

export const stringOperators: OperatorTable = {
  $concat: variadic("$concat", (values) =>
    values.some(isNullish) ? null : values.map((value) => requireString("$concat", value)).join(""),
  ),
  $toLower: unary("$toLower", (value) => (isNullish(value) ? "" : textOf(value).toLowerCase())),
  $toUpper: unary("$toUpper", (value) => (isNullish(value) ? "" : textOf(value).toUpperCase())),
  $strLenCP: unary("$strLenCP", (value) => new Int32(Array.from(requireString("$strLenCP", value)).length)),
  $strLenBytes: unary(
    "$strLenBytes",
    (value) => new Int32(Buffer.byteLength(requireString("$strLenBytes", value))),
  ),
  $strcasecmp: binary("$strcasecmp", (a, b) => {
    const upper = (value: Value) => (isNullish(value) ? "" : textOf(value).toUpperCase());
    return new Int32(compareStrings(upper(a), upper(b)));
  }),
  $substrCP: withArguments("$substrCP", [3, 3], substring),
  $split: binary("$split", (text, by) =>
    isNullish(text) ? null : requireString("$split", text).split(requireString("$split", by)),
  ),
  $indexOfCP: binary("$indexOfCP", (text, part) =>
    isNullish(text)
      ? null
      : new Int32(requireString("$indexOfCP", text).indexOf(requireString("$indexOfCP", part))),
  ),
  $indexOfBytes: binary("$indexOfBytes", (text, part) => {
    if (isNullish(text)) return null;
    const [bytes, wanted] = [requireString("$indexOfBytes", text), requireString("$indexOfBytes", part)];
    return new Int32(Buffer.from(bytes).indexOf(wanted));
  }),
  $trim: (argument, compile) => {
    const { input } = namedParts("$trim", argument, ["input"]);
    const evaluate = compile(input);
    return (scope) => {
      const value = evaluate(scope);
      return isNullish(value) ? null : requireString("$trim", value).trim();
    };
  },
  $regexMatch: regexMatch,
};
