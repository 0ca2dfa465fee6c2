import { CommandError } from "../errors.ts";
import type { Long } from "bson";
import type { Session } from "../transactions/session.ts";
import type { Command, CommandContext } from "./command.ts";

const fields = ["recoveryToken", "coordinator"];

const sessionOf = ({ session, command, name }: CommandContext): { session: Session; number: bigint } => {
  const number = command["txnNumber"] as Long | undefined;
  if (session === undefined || number === undefined || command["autocommit"] !== false) {
    throw new CommandError("InvalidOptions", `${name} must be run within a transaction`);
  }
  return { session, number: number.toBigInt() };
};

export const commitTransaction: Command = {
  kind: "write",
  inTransactions: true,
  fields,
  run: (context) => {
    const { session, number } = sessionOf(context);
    context.server.transactions.commit(session, number);
    return { ok: 1 };
  },
};

export const abortTransaction: Command = {
  kind: "write",
  inTransactions: true,
  fields,
  run: (context) => {
    const { session, number } = sessionOf(context);
    const { transactions } = context.server;
    transactions.abort(transactions.resume(session, number));
    return { ok: 1 };
  },
};
