import type { Binary, ObjectId, Timestamp } from "bson";
import { numberKey } from "./numbers.ts";
import { typeOf } from "./types.ts";
import type { Document, Value } from "./types.ts";

/** The same text for values that compare as equal: the key of a Map that holds BSON values. */
export const equalityKey = (value: Value): string => {
  const type = typeOf(value);
  switch (type) {
    case "int":
    case "long":
    case "double":
    case "decimal":
      return `n${numberKey(value)}`;
    case "string":
    case "symbol":
      return `s${JSON.stringify(String(value))}`;
    case "object": {
      const fields = Object.entries(value as Document);
      return `{${fields.map(([name, field]) => `${JSON.stringify(name)}:${equalityKey(field)}`).join(",")}}`;
    }
    case "array":
      return `[${(value as Value[]).map(equalityKey).join(",")}]`;
    case "objectId":
      return `o${(value as ObjectId).toHexString()}`;
    case "binData":
      return `b${(value as Binary).sub_type}:${(value as Binary).toString("hex")}`;
    case "bool":
      return value === true ? "t" : "f";
    case "date":
      return `d${(value as Date).getTime()}`;
    case "timestamp":
      return `T${(value as Timestamp).toBigInt()}`;
    case "missing":
    case "undefined":
      return "u";
    default:
      return `${type}:${JSON.stringify(value)}`;
  }
};
