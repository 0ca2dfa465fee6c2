import { CliError } from "../cli-error.ts";

export type StoreAddress =
  | { readonly kind: "sqlite"; readonly file: string }
  | { readonly kind: "postgres"; readonly url: string };

const secretParameters = /([?&](?:password|sslpassword|token|secret)=)[^&#\s]*/gi;
// Up to the last "@" before the host ends: a password may itself contain one that nobody escaped.
const userInformation = /\b([a-z][a-z0-9+.-]*:\/\/)([^\s/?#'"<>]*)@/gi;

/** Takes passwords out of every URL in a text. */
export const redactUrls = (text: string): string =>
  text
    .replaceAll(userInformation, (_all, scheme: string, user: string) => {
      const colon = user.indexOf(":");
      return colon === -1 ? `${scheme}${user}@` : `${scheme}${user.slice(0, colon)}:***@`;
    })
    .replaceAll(secretParameters, "$1***");

/** The passwords in a URL as they may turn up elsewhere: as written, and decoded. */
export const secretsOf = (url: string): string[] => {
  const secrets: string[] = [];
  const add = (secret: string | undefined | null): void => {
    if (secret === undefined || secret === null || secret === "") return;
    secrets.push(secret);
    try {
      secrets.push(decodeURIComponent(secret));
    } catch {
      // Not an escaped text: then it stands for itself.
    }
  };
  for (const [, , user = ""] of url.matchAll(userInformation)) {
    const colon = user.indexOf(":");
    if (colon !== -1) add(user.slice(colon + 1));
  }
  for (const [match, name = ""] of url.matchAll(secretParameters)) add(match.slice(name.length));
  return [...new Set(secrets)];
};

/** Reads `sqlite:./jobs.db` or `postgres://…`. `source` says where the text came from. */
export const parseStoreAddress = (text: string, source: string): StoreAddress => {
  if (/^postgres(ql)?:\/\//i.test(text)) {
    if (!URL.canParse(text)) {
      throw new CliError("InvalidStore", `The address in ${source} is not a valid URL: ${redactUrls(text)}`, {
        hint: "Write it as postgres://user:password@host:5432/database, with special characters of the password escaped.",
      });
    }
    return { kind: "postgres", url: text };
  }
  const file = /^sqlite:(?:\/\/(?=[/.]))?(.+)$/is.exec(text)?.[1];
  if (file !== undefined) return { kind: "sqlite", file };
  throw new CliError(
    "InvalidStore",
    `The store in ${source} is not one this command knows: ${redactUrls(text)}`,
    {
      hint: "Use sqlite:./jobs.db or postgres://user@host/database. For any other store, export its adapter from leasehold.config.ts.",
    },
  );
};
