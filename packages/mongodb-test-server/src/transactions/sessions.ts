import type { Binary } from "bson";
import { isDocument } from "../bson-values/types.ts";
import type { Value } from "../bson-values/types.ts";
import { createSession } from "./session.ts";
import type { Session, SessionTransaction, Transactions } from "./session.ts";

export interface Sessions {
  find(lsid: Value): Session | undefined;
  /** The session of this id; it begins with its first command. */
  open(lsid: Value): Session | undefined;
  remove(lsid: Value): void;
  openTransactions(): SessionTransaction[];
  abortAll(): number;
  /** Aborts what has been open for longer than the limit. */
  abortExpired(now: number, limitMs: number): void;
}

const idOf = (lsid: Value): string | undefined =>
  isDocument(lsid) ? (lsid["id"] as Binary | undefined)?.toString("hex") : undefined;

export const createSessions = (transactions: Transactions): Sessions => {
  const sessions = new Map<string, Session>();
  const openTransactions = () =>
    [...sessions.values()]
      .map(({ transaction }) => transaction)
      .filter((transaction) => transaction !== undefined)
      .filter(({ state }) => state === "open");
  const find = (lsid: Value) => sessions.get(idOf(lsid) ?? "");

  return {
    find,
    open: (lsid) => {
      const id = idOf(lsid);
      if (id === undefined) return undefined;
      const session = sessions.get(id) ?? createSession(id);
      sessions.set(id, session);
      return session;
    },
    remove: (lsid) => {
      const session = find(lsid);
      if (session?.transaction !== undefined) transactions.abort(session.transaction);
      sessions.delete(session?.id ?? "");
    },
    openTransactions,
    abortAll: () => {
      const open = openTransactions();
      for (const transaction of open) transactions.abort(transaction);
      return open.length;
    },
    abortExpired: (now, limitMs) => {
      for (const transaction of openTransactions()) {
        if (now - transaction.startedAt >= limitMs) transactions.abort(transaction);
      }
    },
  };
};
