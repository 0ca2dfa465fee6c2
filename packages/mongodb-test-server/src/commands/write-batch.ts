import { CommandError, errorCodes } from "../errors.ts";
import { isNumeric, toNumber } from "../bson-values/numbers.ts";
import type { Document, Value } from "../bson-values/types.ts";
import { HeldByTransaction } from "../storage/transaction.ts";
import { labelsOf } from "../transactions/labels.ts";
import type { CommandContext } from "./command.ts";

/** What one statement of a batch did. */
export interface StatementResult {
  readonly n: number;
  readonly nModified?: number;
  readonly upsertedId?: Value;
}

/** Repeats a write outside transactions until the transaction that holds its document is over. */
export const whenFree = async <TResult>(
  { deadline, server }: CommandContext,
  write: () => TResult | Promise<TResult>,
): Promise<TResult> => {
  for (;;) {
    deadline.check();
    if (!server.topology.isPrimary()) {
      throw new CommandError("InterruptedDueToReplStateChange", "operation was interrupted");
    }
    try {
      return await write();
    } catch (error) {
      if (!(error instanceof HeldByTransaction)) throw error;
      await deadline.wait(error.transaction.ended);
    }
  }
};

const documentsBetween = 8;

/** Lets other connections in now and then, as the server does between the documents of a long write. */
export const letOthersIn = async (index: number): Promise<void> => {
  if (index % documentsBetween !== 0) return;
  await new Promise((resolve) => {
    setImmediate(resolve);
  });
};

const statementIdOf = (command: Document, index: number): number => {
  const ids = command["stmtIds"];
  const id: Value = Array.isArray(ids) ? ids[index] : undefined;
  if (isNumeric(id)) return toNumber(id);
  return (isNumeric(command["stmtId"]) ? toNumber(command["stmtId"]) : 0) + index;
};

/** Errors that end the command itself, not one statement of it. */
const endsCommand = (error: CommandError, { transaction }: CommandContext): boolean => {
  if (error.code === errorCodes.MaxTimeMSExpired || error.code === errorCodes.InterruptedDueToReplStateChange)
    return true;
  if (error.code === errorCodes.NotWritablePrimary || error.code === errorCodes.NoSuchTransaction)
    return true;
  if (transaction === undefined) return false;
  const labels = labelsOf({
    code: error.code,
    writeConcernCode: undefined,
    isInTransaction: true,
    isCommitOrAbort: false,
    isRetryableWrite: false,
  });
  return labels.includes("TransientTransactionError");
};

/** Carries out the statement, or answers what it answered the first time. */
export const runOnce = async <TResult>(
  { session, isRetryable, server, cutConnection }: CommandContext,
  statementId: number,
  run: () => Promise<TResult>,
): Promise<{ result: TResult; isRepeated: boolean }> => {
  if (!isRetryable || session === undefined) return { result: await run(), isRepeated: false };
  const known = session.statements.get(statementId);
  if (known !== undefined) return { result: known as TResult, isRepeated: true };
  const hit = server.failPoints.hit("onPrimaryTransactionalWrite", () => true);
  // Unlike `failCommand` it cuts the connection unless it is told not to.
  if (hit !== undefined && hit.data["closeConnection"] !== false) cutConnection();
  if (hit?.errorCode !== undefined) throw new CommandError(hit.errorCode, "Failing write via a fail point");
  const result = await run();
  session.statements.set(statementId, result);
  return { result, isRepeated: false };
};

/** Runs the statements of insert, update or delete one after the other and sums up what they did. */
export const runWriteBatch = async (
  context: CommandContext,
  count: number,
  run: (index: number) => Promise<StatementResult>,
): Promise<Document> => {
  const ordered = context.command["ordered"] !== false;
  const upserted: Document[] = [];
  const writeErrors: Document[] = [];
  const retriedStmtIds: number[] = [];
  let n = 0;
  let nModified = 0;
  for (let index = 0; index < count; index++) {
    try {
      const id = statementIdOf(context.command, index);
      const { result, isRepeated } = await runOnce(context, id, () => whenFree(context, () => run(index)));
      n += result.n;
      nModified += result.nModified ?? 0;
      if (result.upsertedId !== undefined) upserted.push({ index, _id: result.upsertedId });
      if (isRepeated) retriedStmtIds.push(id);
    } catch (error) {
      if (!(error instanceof CommandError) || endsCommand(error, context)) throw error;
      writeErrors.push({ index, code: error.code, errmsg: error.message, ...error.details });
      if (ordered || context.transaction !== undefined) break;
    }
  }
  return {
    n,
    ...(context.name === "update" ? { nModified } : {}),
    ...(upserted.length > 0 ? { upserted } : {}),
    ...(writeErrors.length > 0 ? { writeErrors } : {}),
    ...(retriedStmtIds.length > 0 ? { retriedStmtIds } : {}),
    electionId: context.server.topology.electionId(),
    ok: 1,
  };
};
