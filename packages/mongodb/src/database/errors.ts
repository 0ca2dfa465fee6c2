import { LeaseholdError } from "leasehold/adapter";

/** The server is no replica set, and so it has no transactions. */
export class StandaloneServerError extends LeaseholdError {
  constructor() {
    super(
      "StandaloneServer",
      "Leasehold needs a MongoDB replica set: a standalone server has no transactions.",
    );
  }
}

/** The document of a job would be larger than the server allows. Nothing was written. */
export class DocumentTooLargeError extends LeaseholdError {
  readonly jobId: string;
  readonly bytes: number;
  readonly maxBytes: number;

  constructor(jobId: string, bytes: number, maxBytes: number) {
    super(
      "DocumentTooLarge",
      `Job ${jobId} would take ${bytes} bytes in MongoDB, where a job may take ${maxBytes} with its input, output, progress, error and blockers. Store large data elsewhere and pass a reference.`,
    );
    this.jobId = jobId;
    this.bytes = bytes;
    this.maxBytes = maxBytes;
  }
}

const transientLabels = [
  "TransientTransactionError",
  "RetryableWriteError",
  "UnknownTransactionCommitResult",
];

const transientNames = new Set([
  "MongoNetworkError",
  "MongoNetworkTimeoutError",
  "MongoServerSelectionError",
  "MongoPoolClearedError",
  "MongoWaitQueueTimeoutError",
]);

/** Hosts and networks, elections, conflicts, time limits, and transactions that the server has given up. */
const transientCodes = new Set([
  6, 7, 24, 50, 64, 89, 91, 112, 134, 189, 246, 251, 262, 365, 9001, 10_107, 11_600, 11_602, 13_435, 13_436,
]);

const nodeCodes = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "EPIPE",
  "ETIMEDOUT",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ENOTFOUND",
  "EAI_AGAIN",
]);

interface ErrorParts {
  readonly name?: unknown;
  readonly code?: unknown;
  readonly cause?: unknown;
  /** Where a bulk write keeps the error of its connection. */
  readonly errorResponse?: unknown;
  readonly hasErrorLabel?: (label: string) => boolean;
}

const hasLabel = ({ hasErrorLabel }: ErrorParts, error: unknown, label: string): boolean =>
  typeof hasErrorLabel === "function" && hasErrorLabel.call(error, label);

const isDriverError = ({ name }: ErrorParts): boolean => typeof name === "string" && name.startsWith("Mongo");

const deepestCause = 8;

/** Whether the same call may succeed if it is made again. */
export const isTransientMongoError = (error: unknown, depth = 0): boolean => {
  if (typeof error !== "object" || error === null || depth > deepestCause) return false;
  const parts = error as ErrorParts;
  return (
    transientLabels.some((label) => hasLabel(parts, error, label)) ||
    (typeof parts.name === "string" && transientNames.has(parts.name)) ||
    (isDriverError(parts) && typeof parts.code === "number" && transientCodes.has(parts.code)) ||
    (typeof parts.code === "string" && nodeCodes.has(parts.code)) ||
    isConflict(error) ||
    isTransientMongoError(parts.cause, depth + 1) ||
    isTransientMongoError(parts.errorResponse, depth + 1)
  );
};

const writeConflict = 112;

const noSuchTransaction = 251;

/** A conflict that the server has reported as something else. */
class LostToOthers extends Error {}

export const lostToOthers = (cause: unknown): Error =>
  new LostToOthers("Another transaction has written the same document.", { cause });

/** Whether the server has aborted the transaction in favour of another, so that nothing of it was committed. */
export const isConflict = (error: unknown, depth = 0): boolean => {
  if (typeof error !== "object" || error === null || depth > deepestCause) return false;
  if (error instanceof LostToOthers) return true;
  const parts = error as ErrorParts;
  return (
    (isDriverError(parts) && (parts.code === writeConflict || parts.code === noSuchTransaction)) ||
    isConflict(parts.cause, depth + 1)
  );
};

const hasCode = (error: unknown, code: number): boolean =>
  typeof error === "object" && error !== null && (error as ErrorParts).code === code;

export const isMaxTimeExpired = (error: unknown): boolean => hasCode(error, 50);

export const isDuplicateKey = (error: unknown): boolean => hasCode(error, 11_000);
