import { InvalidOptionError } from "leasehold/adapter";

const identifierPattern = /^[a-z_][a-z0-9_]{0,30}$/;
const idTypePattern = /^[a-z][a-z0-9_]{0,30}(\([0-9]{1,4}\))?$/;

/** Quotes a name for use in SQL. Only short and plain names are allowed, so there is nothing to escape. */
export const quoteIdentifier = (value: unknown, option: string): string => {
  if (typeof value !== "string" || !identifierPattern.test(value)) {
    throw new InvalidOptionError(
      option,
      "must be a lower-case name of letters, digits and underscores, at most 31 characters",
      value,
    );
  }
  return `"${value}"`;
};

/** An SQL type such as `uuid`, `text` or `varchar(64)`. */
export const checkIdType = (value: unknown): string => {
  if (typeof value !== "string" || !idTypePattern.test(value)) {
    throw new InvalidOptionError(
      "idType",
      'must be the name of an SQL type, such as "uuid" or "text"',
      value,
    );
  }
  return value;
};

/** An SQL expression, used as it is: it comes from the program, never from its users. */
export const checkIdDefault = (value: unknown): string => {
  if (typeof value !== "string" || value.trim() === "" || value.includes(";") || value.includes("\0")) {
    throw new InvalidOptionError(
      "idDefault",
      'must be an SQL expression, such as "gen_random_uuid()"',
      value,
    );
  }
  return value;
};
