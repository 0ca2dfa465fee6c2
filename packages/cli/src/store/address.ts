import { CliError } from "../output/exit-codes.ts";

export type StoreAddress =
  | { readonly kind: "sqlite"; readonly file: string }
  | { readonly kind: "postgres"; readonly url: string }
  | { readonly kind: "mongodb"; readonly url: string; readonly label: string };

/** As it may be printed: who, where and which database, and nothing that was not understood. */
export const labelOf = (url: string): string => {
  const { username, host, pathname } = new URL(url);
  return `postgres://${username === "" ? "" : `${username}@`}${host}${pathname}`;
};

const special = "with special characters of the password escaped: %2F for /, %40 for @, %3A for :, %23 for #";

const postgresParameters = /^(user|password|host|port|database|options|application_name|ssl\w*|target_\w+)$/i;

/**
 * A password with a slash, question mark or hash in it ends the host early, and what follows of it passes for a database
 * or a parameter. The "@" that should have come before the host gives it away.
 */
const hasMisplacedAt = ({ username, pathname, searchParams, hash }: URL): boolean =>
  pathname.includes("@") ||
  hash !== "" ||
  (username === "" &&
    [...searchParams].some(
      ([name, value]) => !postgresParameters.test(name) && `${name}${value}`.includes("@"),
    ));

/** It may name several hosts, which a URL cannot. An "@" that is not escaped fits nowhere else. */
const mongoAddress =
  /^mongodb(?<srv>\+srv)?:\/\/(?:(?<user>[^:@/?#]*)(?::[^:@/?#]*)?@)?(?<hosts>[^@/?#]+)\/(?<database>[^@/?#]+)(?:\?[^#]*)?$/i;

const parseMongoAddress = (text: string, source: string): StoreAddress => {
  const { srv = "", user, hosts, database } = mongoAddress.exec(text)?.groups ?? {};
  if (hosts === undefined || database === undefined) {
    throw new CliError("InvalidStore", `The address in ${source} is not one of a MongoDB database.`, {
      hint: `Write it as mongodb://user:password@host:27017/database?replicaSet=name, ${special}.`,
    });
  }
  return {
    kind: "mongodb",
    url: text,
    label: `mongodb${srv}://${user === undefined ? "" : `${user}@`}${hosts}/${database}`,
  };
};

/**
 * Reads `sqlite:./jobs.db`, `postgres://…` or `mongodb://…`. `source` is where the text came from. Text that cannot
 * be parsed is never repeated in an error: any part of it may be the password.
 */
export const parseStoreAddress = (text: string, source: string): StoreAddress => {
  if (/^postgres(ql)?:\/\//i.test(text)) {
    if (!URL.canParse(text) || hasMisplacedAt(new URL(text))) {
      throw new CliError("InvalidStore", `The address in ${source} is not a valid URL.`, {
        hint: `Write it as postgres://user:password@host:5432/database, ${special}.`,
      });
    }
    return { kind: "postgres", url: text };
  }
  if (/^mongodb(\+srv)?:\/\//i.test(text)) return parseMongoAddress(text, source);
  const file = /^sqlite:(?:\/\/(?=[/.]))?(.+)$/is.exec(text)?.[1];
  if (file !== undefined) return { kind: "sqlite", file };
  throw new CliError("InvalidStore", `The address in ${source} is not one of a store this command knows.`, {
    hint: "Use sqlite:./jobs.db, postgres://user@host/database or mongodb://user@host/database. For any other store, export its adapter from leasehold.config.ts.",
  });
};
