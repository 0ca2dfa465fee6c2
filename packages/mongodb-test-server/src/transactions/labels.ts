import { errorCodes } from "../errors.ts";
import type { ErrorName } from "../errors.ts";

const codesOf = (...names: ErrorName[]): ReadonlySet<number> =>
  new Set(names.map((name) => errorCodes[name]));

/** After these the same command may succeed, on this server or on the next primary. */
const retriable = codesOf(
  "HostUnreachable",
  "HostNotFound",
  "NetworkTimeout",
  "ShutdownInProgress",
  "ReadConcernMajorityNotAvailableYet",
  "PrimarySteppedDown",
  "ExceededTimeLimit",
  "SocketException",
  "NotWritablePrimary",
  "InterruptedAtShutdown",
  "InterruptedDueToReplStateChange",
  "NotPrimaryNoSecondaryOk",
  "NotPrimaryOrSecondary",
);

const transientInTransactions = codesOf(
  "WriteConflict",
  "LockTimeout",
  "SnapshotUnavailable",
  "PreparedTransactionInProgress",
);

export interface LabelContext {
  readonly code: number | undefined;
  readonly writeConcernCode: number | undefined;
  readonly isInTransaction: boolean;
  readonly isCommitOrAbort: boolean;
  readonly isRetryableWrite: boolean;
}

const isTransientTransactionError = ({ code, writeConcernCode, isCommitOrAbort }: LabelContext): boolean => {
  if (code === undefined) return false;
  if (transientInTransactions.has(code)) return true;
  if (isCommitOrAbort) return code === errorCodes.NoSuchTransaction && writeConcernCode === undefined;
  return retriable.has(code) || code === errorCodes.NoSuchTransaction;
};

/** The labels that follow from a code and from what the command was. */
export const labelsOf = (context: LabelContext): string[] => {
  const labels: string[] = [];
  if (context.isInTransaction && isTransientTransactionError(context))
    labels.push("TransientTransactionError");
  const isRetryable = context.isRetryableWrite || (context.isInTransaction && context.isCommitOrAbort);
  const code = context.code ?? context.writeConcernCode;
  if (isRetryable && code !== undefined && retriable.has(code)) labels.push("RetryableWriteError");
  return labels;
};

/** Beside the retriable ones: codes of a sharded cluster, and of a history that has moved on. */
const resumable: ReadonlySet<number> = new Set([63, 133, 150, 234, 13388]);

/** Whoever reads a stream of changes resumes it after these. */
export const changeStreamLabels = (code: number): string[] =>
  retriable.has(code) || resumable.has(code) ? ["ResumableChangeStreamError"] : [];
