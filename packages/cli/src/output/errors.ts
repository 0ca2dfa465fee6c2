import type { CommanderError } from "commander";
import { resolve } from "node:path";
import { CliError, type ExitCode, exitCodes } from "./exit-codes.ts";
import { oneLine, shorten } from "./text.ts";

export interface ErrorDescription {
  readonly code: string;
  readonly message: string;
  readonly hint: string | undefined;
  readonly exitCode: ExitCode;
}

type Advice = readonly [exitCode: ExitCode, hint: string];

const unreachable: Advice = [
  exitCodes.store,
  "Check that the server runs, and that host and port in the address are right.",
];

/** By the `code` that Leasehold, Node, PostgreSQL and SQLite give their errors, or the name of one of MongoDB's. */
const adviceByCode: Readonly<Record<string, Advice>> = {
  JobNotFound: [exitCodes.notFound, "Look for it with `leasehold list`."],
  RecurringJobNotFound: [exitCodes.notFound, "Look for it with `leasehold recurring list`."],
  StorePartMissing: [exitCodes.usage, "This store cannot do it; the message names stores that can."],
  InvalidOption: [exitCodes.usage, "See the command's --help."],
  PayloadNotStorable: [exitCodes.usage, "Payloads are JSON."],
  PayloadTooLarge: [exitCodes.usage, "Store the data elsewhere and pass a reference to it."],
  SchemaValidation: [exitCodes.usage, "Change --input to fit the schema of the job type."],
  QueueRequired: [exitCodes.usage, "Pass --queue."],
  UnknownJobType: [exitCodes.usage, "The config module's jobTypes say which there are; check the spelling."],
  JobAlreadyCompleted: [exitCodes.error, "See `leasehold inspect` with its id."],
  JobAlreadyFailed: [exitCodes.error, "Redrive it first: `leasehold failed redrive` with its id."],
  JobAlreadyExists: [
    exitCodes.error,
    "A job with this --id was started before; leave --id out for a new one.",
  ],
  StoreCallTimeout: [
    exitCodes.store,
    "The store is slow or blocked: try `leasehold doctor`, or a longer --timeout.",
  ],
  JobSequenceFailed: [exitCodes.finding, "See `leasehold inspect` with its id."],
  WaitForJobSequenceCompletionTimeout: [
    exitCodes.finding,
    "It goes on; see `leasehold inspect` with its id.",
  ],
  SqliteBusy: [exitCodes.store, "Another process holds a lock on the database for long; try again."],
  NetworkFileSystem: [exitCodes.store, "Put the database on a local disk, or use PostgreSQL."],
  ECONNREFUSED: unreachable,
  ENOTFOUND: unreachable,
  EAI_AGAIN: unreachable,
  EHOSTUNREACH: unreachable,
  ENETUNREACH: unreachable,
  ETIMEDOUT: unreachable,
  ECONNRESET: unreachable,
  "22P02": [exitCodes.usage, "Ids in this store are UUIDs."],
  "28P01": [exitCodes.store, "User name or password is wrong."],
  "28000": [exitCodes.store, "The server does not let this user in; check user name and password."],
  "3D000": [exitCodes.store, "Create the database, or check its name in the address."],
  "42501": [exitCodes.store, "Grant this user the rights it needs, or connect as another."],
  "3F000": [exitCodes.store, "Run `leasehold migrate`."],
  "42P01": [exitCodes.store, "Run `leasehold migrate`."],
  "53300": [exitCodes.store, "The server has no free connections: try again, or raise max_connections."],
  "57P03": [exitCodes.store, "The server is starting up: try again."],
  StandaloneServer: [exitCodes.store, "Make the server a replica set; one member is enough."],
  MongoServerSelectionError: unreachable,
  MongoNetworkError: unreachable,
  MongoNetworkTimeoutError: unreachable,
  AuthenticationFailed: [exitCodes.store, "User name, password or `authSource` is wrong."],
  Unauthorized: [
    exitCodes.store,
    "Grant this user the role readWrite on the database, or connect as another.",
  ],
  SQLITE_NOTADB: [exitCodes.store, "The file is not an SQLite database: check the path."],
  SQLITE_CANTOPEN: [exitCodes.store, "Check the path, and that you may write to its folder."],
  SQLITE_READONLY: [exitCodes.store, "You may not write to this file."],
};

const property = (value: unknown, name: string): unknown =>
  typeof value === "object" && value !== null ? (value as Record<string, unknown>)[name] : undefined;

/** Node tries several addresses of a host, and reports the failures of all of them in one error without a text. */
const unwrap = (error: unknown): unknown =>
  error instanceof AggregateError && error.message === "" ? (error.errors[0] ?? error) : error;

/** pg has no code for this one. */
const isConnectTimeout = (message: string): boolean => /timeout (expired|exceeded)/i.test(message);

/** MongoDB's errors have numbers for codes. The server names them; the driver names its own by their class. */
const mongoName = (error: unknown): unknown => {
  const name = property(error, "name");
  if (typeof name !== "string" || !name.startsWith("Mongo")) return undefined;
  return property(error, "codeName") ?? name;
};

const codeOf = (error: unknown): string => {
  const code = [property(error, "code"), mongoName(error)].find((value) => typeof value === "string");
  return typeof code === "string" ? code : "Error";
};

/** Finds words, advice and an exit code for anything thrown. */
export const describeError = (thrown: unknown): ErrorDescription => {
  const error = unwrap(thrown);
  const message = error instanceof Error && error.message !== "" ? error.message : String(error);
  if (error instanceof CliError) {
    return { code: error.code, message, hint: error.hint, exitCode: error.exitCode };
  }
  const code = codeOf(error);
  // SQLite has codes for details of codes, such as SQLITE_READONLY_DBMOVED.
  const family = /^SQLITE_[A-Z]+/.exec(code)?.[0] ?? code;
  const [exitCode, hint] = adviceByCode[family] ?? (isConnectTimeout(message) ? unreachable : []);
  return { code, message, hint, exitCode: exitCode ?? exitCodes.error };
};

const deepestCause = 5;

/**
 * Where an error was thrown, and what caused it. Only messages and frames: the other properties of a driver's error hold
 * the row that it was about, and so a job's input, and a stack may begin with a line of the config module.
 */
export const stackOf = (thrown: unknown): string => {
  const stacks: string[] = [];
  let error = thrown;
  while (error instanceof Error && stacks.length < deepestCause) {
    const frames = (error.stack ?? "").split("\n").filter((line) => /^\s+at /.test(line));
    stacks.push(
      [`${stacks.length === 0 ? "" : "caused by "}${error.name}: ${error.message}`, ...frames].join("\n"),
    );
    error = error.cause;
  }
  return stacks.join("\n");
};

const longestQuote = 60;

/** An address in the wrong place is not repeated: any part of it may be the password. */
const quote = (given: string): string =>
  /\/\/|@/.test(given) ? "what was given" : `"${shorten(oneLine(given), longestQuote)}"`;

const optionName = (flags: string): string => /--[\w-]+/.exec(flags)?.[0] ?? flags;

interface Wording {
  readonly message: string;
  readonly hint?: string | undefined;
}

type Rewrite = (...parts: string[]) => Wording;

/** Commander's words, and ours. */
const rewrites: readonly (readonly [RegExp, Rewrite])[] = [
  [
    /^option '(.+?)' argument '([^]*)' is invalid\. ([^]*)$/,
    (flags, given, hint) => ({ message: `${optionName(flags)} cannot be ${quote(given)}.`, hint }),
  ],
  [
    /^command-argument value '([^]*)' is invalid for argument '(.+?)'\. ([^]*)$/,
    (given, name, hint) => ({ message: `<${name}> cannot be ${quote(given)}.`, hint }),
  ],
  [
    /^unknown option '([^]*?)'(?:\n\((.*)\))?$/,
    (given, hint) => ({ message: `There is no option ${quote(given).replaceAll('"', "")}.`, hint }),
  ],
  [
    /^unknown command '([^]*?)'(?:\n\((.*)\))?$/,
    (given, hint) => ({ message: `There is no command ${quote(given)}.`, hint }),
  ],
  [
    /^option '(.+?)' argument missing$/,
    (flags) => ({ message: `${optionName(flags)} needs a value: ${flags}.` }),
  ],
  [/^missing required argument '(.+?)'$/, (name) => ({ message: `<${name}> is missing.` })],
];

const reword = (text: string): Wording => {
  for (const [pattern, rewrite] of rewrites) {
    const match = pattern.exec(text);
    if (match !== null) return rewrite(...match.slice(1));
  }
  return { message: `${text.slice(0, 1).toUpperCase()}${text.slice(1)}` };
};

/** Wrong arguments in the same words and with the same advice as any other error. `usage` names the command. */
export const describeUsageError = (error: CommanderError, usage: string): ErrorDescription => {
  const { message, hint } = reword(error.message.replace(/^error: /, ""));
  return {
    code: "Usage",
    message,
    hint: hint ?? `See \`${usage} --help\`.`,
    exitCode: exitCodes.usage,
  };
};

const mostFrames = 5;

const ownFolder = resolve(import.meta.dirname, "../..");

/** Where in the user's own files an error was thrown. */
export const ownFrames = (stack: string): string[] =>
  stack
    .split("\n")
    .filter((line) => /^\s+at /.test(line) && !/node:|node_modules/.test(line) && !line.includes(ownFolder))
    .slice(0, mostFrames)
    .map((line) => line.trim().replace("file://", ""));
