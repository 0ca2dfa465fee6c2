import type { ClientSession } from "mongodb";

/** What the adapter knows about the sessions of open transactions. */
export interface Sessions {
  /** One statement at a time: the driver allows no more in a transaction. */
  enqueue<T>(session: ClientSession, run: () => Promise<T>): Promise<T>;
  /** A call in the transaction has failed: nothing of it can be undone alone. */
  spoil(session: ClientSession, reason: unknown): void;
  /** Throws the reason if the transaction has been spoiled. */
  assertSound(session: ClientSession): void;
  /** The transaction of the session has written to these jobs. */
  noteLocked(session: ClientSession, ids: Iterable<string>): void;
  /** The jobs that open transactions of this process have written to. Writing to them would mean waiting for ourselves. */
  lockedIds(): ReadonlySet<string>;
}

/** The driver makes a new object for every transaction of a session; its types do not mention it. */
const transactionOf = (session: ClientSession): object =>
  (session as { readonly transaction?: object }).transaction ?? session;

export const createSessions = (): Sessions => {
  const queues = new WeakMap<ClientSession, Promise<unknown>>();
  const spoiled = new WeakMap<object, { readonly reason: unknown }>();
  const open = new Map<object, { readonly session: ClientSession; readonly ids: Set<string> }>();

  /** Nobody says when a transaction ends that the user has opened. */
  const dropEnded = (): void => {
    for (const [transaction, { session }] of open)
      if (!session.inTransaction() || transactionOf(session) !== transaction) open.delete(transaction);
  };

  return {
    enqueue: (session, run) => {
      const result = (queues.get(session) ?? Promise.resolve()).then(run);
      queues.set(
        session,
        result.catch(() => undefined),
      );
      return result;
    },
    spoil: (session, reason) => {
      const transaction = transactionOf(session);
      if (!spoiled.has(transaction)) spoiled.set(transaction, { reason });
    },
    assertSound: (session) => {
      const found = spoiled.get(transactionOf(session));
      if (found !== undefined) throw found.reason;
    },
    noteLocked: (session, ids) => {
      dropEnded();
      const transaction = transactionOf(session);
      const locked = open.get(transaction) ?? { session, ids: new Set() };
      for (const id of ids) locked.ids.add(id);
      open.set(transaction, locked);
    },
    lockedIds: () => {
      dropEnded();
      return new Set([...open.values()].flatMap(({ ids }) => [...ids]));
    },
  };
};
