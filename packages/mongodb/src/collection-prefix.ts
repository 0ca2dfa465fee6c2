import { InvalidOptionError } from "leasehold/adapter";

export const checkCollectionPrefix = (prefix: unknown): string => {
  if (typeof prefix === "string" && /^[A-Za-z0-9_.-]{0,60}$/.test(prefix)) return prefix;
  throw new InvalidOptionError(
    "collectionPrefix",
    "must be up to 60 letters, digits, dots, dashes and underscores",
    prefix,
  );
};
