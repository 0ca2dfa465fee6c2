import { CommandError } from "../errors.ts";
import { isNumeric, toNumber } from "../bson-values/numbers.ts";
import type { TypeName, Value } from "../bson-values/types.ts";

const byNumber: Record<number, TypeName> = {
  [-1]: "minKey",
  1: "double",
  2: "string",
  3: "object",
  4: "array",
  5: "binData",
  6: "undefined",
  7: "objectId",
  8: "bool",
  9: "date",
  10: "null",
  11: "regex",
  12: "dbPointer",
  13: "javascript",
  14: "symbol",
  15: "javascriptWithScope",
  16: "int",
  17: "timestamp",
  18: "long",
  19: "decimal",
  127: "maxKey",
};

const numbers: readonly TypeName[] = ["int", "long", "double", "decimal"];
const names = new Set<string>(Object.values(byNumber));
const isTypeName = (name: string): name is TypeName => names.has(name);

/** The types that `$type: value` names. */
export const parseTypes = (value: Value): ReadonlySet<TypeName> => {
  const list: readonly Value[] = Array.isArray(value) ? value : [value];
  return new Set(
    list.flatMap((item) => {
      if (item === "number") return numbers;
      if (typeof item === "string" && isTypeName(item)) return [item];
      const type = isNumeric(item) ? byNumber[toNumber(item)] : undefined;
      if (type === undefined) throw new CommandError("BadValue", `Unknown type name alias: ${String(item)}`);
      return [type];
    }),
  );
};
