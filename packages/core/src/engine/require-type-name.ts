import { InvalidOptionError } from "../errors.ts";

/** Throws unless the type that the caller names is that of the job or sequence found. */
export const requireTypeName = (named: string, found: string, of: "id" | "sequence"): void => {
  if (named !== found) throw new InvalidOptionError("typeName", `must be "${found}" for this ${of}`, named);
};
