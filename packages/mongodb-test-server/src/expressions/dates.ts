import { Long } from "bson";
import { CommandError, notImplemented } from "../errors.ts";
import { toNumber } from "../bson-values/numbers.ts";
import { isNullish, typeOf } from "../bson-values/types.ts";
import type { Value } from "../bson-values/types.ts";
import { namedParts } from "./arguments.ts";
import type { OperatorCompiler, OperatorTable } from "./scope.ts";

const lengths: Record<string, number> = {
  millisecond: 1,
  second: 1_000,
  minute: 60_000,
  hour: 3_600_000,
  day: 86_400_000,
  week: 604_800_000,
};

/** Only units of one length, in UTC: calendars are not this server's business. */
const lengthOf = (unit: Value): number => {
  const length = typeof unit === "string" ? lengths[unit] : undefined;
  if (length === undefined) throw notImplemented(`the unit of time ${String(unit)}`);
  return length;
};

const timeOf = (name: string, value: Value): number => {
  if (value instanceof Date) return value.getTime();
  throw new CommandError(5166403, `${name} requires a date, not ${typeOf(value)}`);
};

const shift =
  (name: string, direction: 1 | -1): OperatorCompiler =>
  (argument, compile) => {
    const parts = namedParts(name, argument, ["startDate", "unit", "amount"]);
    const [start, unit, amount] = [
      compile(parts["startDate"]),
      compile(parts["unit"]),
      compile(parts["amount"]),
    ];
    return (scope) => {
      const date = start(scope);
      const count = amount(scope);
      if (isNullish(date) || isNullish(count)) return null;
      return new Date(timeOf(name, date) + direction * toNumber(count) * lengthOf(unit(scope)));
    };
  };

const difference: OperatorCompiler = (argument, compile) => {
  const parts = namedParts("$dateDiff", argument, ["startDate", "endDate", "unit"]);
  const [start, end, unit] = [compile(parts["startDate"]), compile(parts["endDate"]), compile(parts["unit"])];
  return (scope) => {
    const [from, to] = [start(scope), end(scope)];
    if (isNullish(from) || isNullish(to)) return null;
    const length = lengthOf(unit(scope));
    const boundary = (value: Value) => Math.floor(timeOf("$dateDiff", value) / length);
    return Long.fromNumber(boundary(to) - boundary(from));
  };
};

export const dateOperators: OperatorTable = {
  $dateAdd: shift("$dateAdd", 1),
  $dateSubtract: shift("$dateSubtract", -1),
  $dateDiff: difference,
};
