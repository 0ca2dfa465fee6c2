import { LeaseholdError } from "leasehold/adapter";

/**
 * The snapshot of a transaction at REPEATABLE READ or SERIALIZABLE lacks rows that this call depends on. Roll the transaction
 * back and run it again, as after a serialisation failure.
 */
export class StaleSnapshotError extends LeaseholdError {
  constructor(reason: string) {
    super("StaleSnapshot", `The transaction's snapshot is too old for this call: ${reason}. Run it again.`);
  }
}

/** Nothing was committed: a statement of the transaction had failed, and its error was caught without a savepoint. */
export class TransactionRolledBackError extends LeaseholdError {
  constructor() {
    super(
      "TransactionRolledBack",
      "The transaction was rolled back, because a statement in it had failed. Let the error through, or run what may fail in a nested transaction.",
    );
  }
}

/**
 * The connection has other prepared statements than the client expects, because a pooler gives each transaction another
 * connection of the server. `cause` is the error of the client.
 */
export class PreparedStatementError extends LeaseholdError {
  constructor(cause: unknown) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    super(
      "PreparedStatement",
      `The connection does not have the prepared statements that the client expects (${reason}). Behind a pooler in transaction mode, such as PgBouncer, pass \`prepareStatements: false\` to the provider; with postgres.js also \`prepare: false\` to postgres().`,
      { cause },
    );
  }
}

// - 08: connection; 53: too few resources; 57P0x: the server is going down or coming up; 58: system error
// - 40001, 40P01, 55P03: rolled back in favour of another transaction (serialisation, deadlock, lock not available)
// - 57014, 25P03, 25P04: stopped by a timeout for statements, sessions or transactions
// - 25006: the server is a standby now, or read-only
const transientSqlState = /^(08...|53...|57P0[1-5]|57014|58...|40001|40P01|55P03|25006|25P0[34])$/;

// Certainly rolled back, so the same statement can be run again.
const rolledBackSqlState = /^(40001|40P01|55P03)$/;

const transientCodes = new Set([
  "ECONNRESET",
  "ECONNREFUSED",
  "ECONNABORTED",
  "EPIPE",
  "ETIMEDOUT",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOTFOUND",
  "EAI_AGAIN",
  // postgres.js
  "CONNECTION_CLOSED",
  "CONNECTION_ENDED",
  "CONNECTION_DESTROYED",
  "CONNECT_TIMEOUT",
  // Prisma
  "P1001",
  "P1002",
  "P1008",
  "P1017",
  "P2024",
  "P2028",
  "P2034",
  // How Prisma's driver adapters report errors without a code.
  "ConnectionClosed",
  "DatabaseNotReachable",
  "SocketTimeout",
]);

// `pg` and Knex report these without a code.
const transientMessage =
  /connection terminated|connection timeout|timeout exceeded when trying to connect|query read timeout|timeout acquiring a connection|client has encountered a connection error|client was closed|connection is closed|not queryable/i;

// The error of a standby for a SERIALIZABLE transaction. Its code otherwise means a missing feature.
const unsupportedOnStandby = /hot standby/i;

const longestChain = 10;

const codeOf = (error: object): string | undefined => {
  const { code, originalCode, kind } = error as { code?: unknown; originalCode?: unknown; kind?: unknown };
  // Prisma wraps the code of PostgreSQL, and has kinds for errors without a code.
  for (const value of [originalCode, code, kind]) if (typeof value === "string") return value;
  return undefined;
};

/** Prisma has the error of its driver adapter in `meta`, not in `cause`. */
const causeOf = (error: object): unknown => {
  const { cause, meta } = error as { cause?: unknown; meta?: { driverAdapterError?: unknown } | null };
  return cause ?? meta?.driverAdapterError;
};

/** The error and its causes: query builders wrap what the driver threw. */
function* chainOf(error: unknown): Iterable<object> {
  let next = error;
  for (let depth = 0; depth < longestChain && typeof next === "object" && next !== null; depth += 1) {
    yield next;
    if (next instanceof AggregateError) for (const inner of next.errors) if (inner) yield inner as object;
    next = causeOf(next);
  }
}

const some = (error: unknown, holds: (link: object) => boolean): boolean => {
  for (const link of chainOf(error)) if (holds(link)) return true;
  return false;
};

const isStandbyRefusal = (link: object): boolean => {
  const code = codeOf(link);
  return code === "25006" || (code === "0A000" && unsupportedOnStandby.test((link as Error).message));
};

/** Whether the server of this connection is read-only. After a failover, that does not change while it is open. */
export const isFromReadOnlyServer = (error: unknown): boolean => some(error, isStandbyRefusal);

/** Whether the same call may succeed when it is retried. */
export const isTransientPgError = (error: unknown): boolean =>
  some(error, (link) => {
    if (isStandbyRefusal(link)) return true;
    const code = codeOf(link);
    if (code !== undefined) return transientSqlState.test(code) || transientCodes.has(code);
    return link instanceof Error && transientMessage.test(link.message);
  });

/** Whether PostgreSQL rolled the statement back in favour of another transaction. */
export const isConflictRollback = (error: unknown): boolean =>
  some(error, (link) => rolledBackSqlState.test(codeOf(link) ?? ""));

export const hasSqlState = (error: unknown, sqlState: string): boolean =>
  some(error, (link) => codeOf(link) === sqlState);

// "prepared statement … already exists", "prepared statement … does not exist"
const preparedStatementSqlState = /^(42P05|26000)$/;

/** Throws the error, or in place of one about prepared statements an error that names the option to set. */
export const explainPreparedStatements = (error: unknown): never => {
  const isAbout = some(error, (link) => preparedStatementSqlState.test(codeOf(link) ?? ""));
  throw isAbout && !(error instanceof PreparedStatementError) ? new PreparedStatementError(error) : error;
};
