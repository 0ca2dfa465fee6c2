import { CommandError } from "../errors.ts";
import type { Store } from "../storage/store.ts";
import type { StoreTransaction } from "../storage/transaction.ts";

/**
 * A session has at most one transaction or one retryable write, the one of its highest number:
 *
 *   none ── startTransaction ──▶ open ── commitTransaction ──▶ committed
 *                                 └── abort, error, timeout ──▶ aborted
 */
export interface Session {
  readonly id: string;
  number: bigint;
  /** What the statements of a retryable write answered, by their statement id. */
  statements: Map<number, unknown>;
  transaction: SessionTransaction | undefined;
  /** Commands of one session that have a transaction number run one after the other. */
  runExclusively<TResult>(run: () => Promise<TResult>): Promise<TResult>;
}

export interface SessionTransaction {
  readonly number: bigint;
  readonly store: StoreTransaction;
  readonly startedAt: number;
  state: "open" | "committed" | "aborted";
}

export const createSession = (id: string): Session => {
  let last: Promise<unknown> = Promise.resolve();
  return {
    id,
    number: -1n,
    statements: new Map(),
    transaction: undefined,
    runExclusively: (run) => {
      const result = last.then(run);
      last = result.catch(() => {});
      return result;
    },
  };
};

const tooOld = (session: Session, number: bigint): CommandError =>
  new CommandError(
    "TransactionTooOld",
    `Cannot start transaction ${number} on session ${session.id} because a newer transaction ${session.number} has already started.`,
  );

const noSuchTransaction = (number: bigint, why: string): CommandError =>
  new CommandError("NoSuchTransaction", `Transaction ${number} ${why}`);

/** Takes the session to a number it has not had; whatever ran under an older one is over. */
const advance = (
  session: Session,
  number: bigint,
  abort: (transaction: SessionTransaction) => void,
): void => {
  if (number < session.number) throw tooOld(session, number);
  if (number === session.number) return;
  if (session.transaction?.state === "open") abort(session.transaction);
  session.number = number;
  session.statements = new Map();
  session.transaction = undefined;
};

/** How the store runs transactions. */
export interface Transactions {
  beginRetryableWrite(session: Session, number: bigint): void;
  begin(session: Session, number: bigint): SessionTransaction;
  /** The open transaction of that number. */
  resume(session: Session, number: bigint): SessionTransaction;
  commit(session: Session, number: bigint): void;
  abort(transaction: SessionTransaction): void;
}

export const createTransactions = (store: Store, now: () => number): Transactions => {
  const abort = (transaction: SessionTransaction): void => {
    if (transaction.state !== "open") return;
    transaction.state = "aborted";
    store.abort(transaction.store);
  };

  const current = (session: Session, number: bigint): SessionTransaction => {
    if (number < session.number) throw tooOld(session, number);
    const { transaction } = session;
    if (number > session.number || transaction === undefined) {
      throw new CommandError(
        "NoSuchTransaction",
        `Given transaction number ${number} does not match any in-progress transactions. The active transaction number is ${session.number}`,
      );
    }
    return transaction;
  };

  return {
    abort,
    beginRetryableWrite: (session, number) => {
      advance(session, number, abort);
      if (session.transaction !== undefined) {
        throw new CommandError(
          50911,
          `Cannot start a retryable write with the number of a transaction: ${number}`,
        );
      }
    },
    begin: (session, number) => {
      if (number === session.number) {
        throw new CommandError(
          "ConflictingOperationInProgress",
          `Only servers in a sharded cluster can start a new transaction at the active transaction number`,
        );
      }
      advance(session, number, abort);
      session.transaction = { number, store: store.begin(), startedAt: now(), state: "open" };
      return session.transaction;
    },
    resume: (session, number) => {
      const transaction = current(session, number);
      if (transaction.state === "aborted") throw noSuchTransaction(number, "has been aborted.");
      if (transaction.state === "committed") {
        throw new CommandError("TransactionCommitted", `Transaction ${number} has been committed.`);
      }
      return transaction;
    },
    commit: (session, number) => {
      const transaction = current(session, number);
      if (transaction.state === "committed") return;
      if (transaction.state === "aborted") throw noSuchTransaction(number, "has been aborted.");
      transaction.state = "committed";
      store.commit(transaction.store);
    },
  };
};
