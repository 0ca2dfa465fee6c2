import { Long } from "bson";
import { CommandError, notImplemented } from "../errors.ts";
import { isNumeric, toNumber } from "../bson-values/numbers.ts";
import { isDocument } from "../bson-values/types.ts";
import type { Document } from "../bson-values/types.ts";
import { createDeadline } from "../deadline.ts";
import { compileExpression } from "../expressions/compile.ts";
import type { Variables } from "../query/matches.ts";
import type { ServerState } from "../server-state.ts";
import { tickToTimestamp } from "../storage/ticks.ts";
import type { SessionTransaction } from "../transactions/session.ts";
import type { Command, CommandContext } from "./command.ts";
import { checkFields, documentField, numberField } from "./fields.ts";

/** A command as it came, with the documents of its sequences put in. */
export interface Request {
  readonly name: string;
  readonly database: string;
  readonly document: Document;
}

export const isInTransaction = ({ document }: Request): boolean => document["autocommit"] === false;
export const isEndOfTransaction = ({ name }: Request): boolean =>
  name === "commitTransaction" || name === "abortTransaction";

const numberOf = ({ document }: Request): bigint | undefined => {
  const number = document["txnNumber"];
  return number instanceof Long
    ? number.toBigInt()
    : isNumeric(number)
      ? BigInt(toNumber(number))
      : undefined;
};

const variablesOf = (server: ServerState, command: Document): Variables => {
  const fixed = { NOW: server.store.now(), CLUSTER_TIME: tickToTimestamp(server.store.time()) };
  const given = Object.entries(documentField(command, "let") ?? {});
  const scope = { root: {}, variables: fixed };
  return {
    ...fixed,
    ...Object.fromEntries(given.map(([name, value]) => [name, compileExpression(value)(scope)])),
  };
};

const checkRole = ({ topology }: ServerState, definition: Command, request: Request): void => {
  if (topology.isPrimary() || definition.kind === "check") return;
  if (definition.kind === "write" || isInTransaction(request)) {
    throw new CommandError("NotWritablePrimary", "not primary");
  }
  const preference = documentField(request.document, "$readPreference");
  if (preference === undefined || preference["mode"] === "primary") {
    throw new CommandError("NotPrimaryNoSecondaryOk", "not primary and secondaryOk=false");
  }
};

const checkConcerns = (definition: Command, request: Request): void => {
  const { document, name } = request;
  const readConcern = documentField(document, "readConcern");
  const isTransaction = isInTransaction(request);
  if (isTransaction && definition.inTransactions !== true) {
    throw new CommandError(
      "OperationNotSupportedInTransaction",
      `Cannot run '${name}' in a multi-document transaction.`,
    );
  }
  if (isTransaction && document["startTransaction"] !== true && readConcern !== undefined) {
    throw new CommandError(
      "InvalidOptions",
      "Only the first command in a transaction may specify a readConcern",
    );
  }
  if (isTransaction && !isEndOfTransaction(request) && "writeConcern" in document) {
    throw new CommandError(
      "InvalidOptions",
      `${name} is not allowed to specify a writeConcern in a transaction`,
    );
  }
  if (!isTransaction && readConcern?.["level"] === "snapshot") {
    throw notImplemented("the read concern snapshot outside transactions");
  }
};

const openTransaction = (server: ServerState, request: Request): SessionTransaction | undefined => {
  if (!isInTransaction(request) || isEndOfTransaction(request)) return undefined;
  const session = server.sessions.open(request.document["lsid"]);
  const number = numberOf(request);
  if (session === undefined || number === undefined) {
    throw new CommandError("InvalidOptions", "a transaction needs a session and a number");
  }
  return request.document["startTransaction"] === true
    ? server.transactions.begin(session, number)
    : server.transactions.resume(session, number);
};

/** Refuses a write concern that a single node can never fulfil, after the write as the server does. */
const writeConcernError = (document: Document): Document | undefined => {
  const concern = isDocument(document["writeConcern"]) ? document["writeConcern"] : {};
  if (!isNumeric(concern["w"]) || toNumber(concern["w"]) <= 1) return undefined;
  return { code: 100, codeName: "UnsatisfiableWriteConcern", errmsg: "Not enough data-bearing nodes" };
};

const run = async (
  server: ServerState,
  definition: Command,
  request: Request,
  cutConnection: () => void,
): Promise<Document> => {
  const { name, database, document } = request;
  server.sessions.abortExpired(server.now(), server.transactionLifetimeMs());
  const session = server.sessions.open(document["lsid"]);
  const number = numberOf(request);
  const isRetryable = session !== undefined && number !== undefined && !isInTransaction(request);
  if (isRetryable) server.transactions.beginRetryableWrite(session, number);
  const transaction = openTransaction(server, request);
  // In `getMore` it says how long to wait for the next change.
  const hasDeadline = server.enforcesMaxTime && name !== "getMore";
  const context: CommandContext = {
    server,
    name,
    database,
    command: document,
    target: document[name],
    session,
    transaction: transaction?.store,
    isRetryable,
    cutConnection,
    deadline: createDeadline(hasDeadline ? (numberField(document, "maxTimeMS") ?? 0) : 0),
    variables: variablesOf(server, document),
  };
  try {
    const reply = await definition.run(context);
    // An error of a single write ends the transaction as well.
    if (transaction !== undefined && "writeErrors" in reply) server.transactions.abort(transaction);
    const concernError = definition.kind === "write" ? writeConcernError(document) : undefined;
    return concernError === undefined ? reply : { ...reply, writeConcernError: concernError };
  } catch (error) {
    if (transaction !== undefined) server.transactions.abort(transaction);
    throw error;
  }
};

/** Carries out a command within its session and transaction. */
export const execute = async (
  server: ServerState,
  definition: Command,
  request: Request,
  cutConnection: () => void,
): Promise<Document> => {
  checkFields(request.name, request.document, definition.fields);
  checkRole(server, definition, request);
  checkConcerns(definition, request);
  const session = server.sessions.open(request.document["lsid"]);
  if (session === undefined || numberOf(request) === undefined)
    return run(server, definition, request, cutConnection);
  return session.runExclusively(() => run(server, definition, request, cutConnection));
};
