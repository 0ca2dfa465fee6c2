import type { Document } from "./bson-values/types.ts";

/** The codes of the server's errors, by the name it gives them. */
export const errorCodes = {
  InternalError: 1,
  BadValue: 2,
  HostUnreachable: 6,
  HostNotFound: 7,
  FailedToParse: 9,
  Unauthorized: 13,
  TypeMismatch: 14,
  Overflow: 15,
  IllegalOperation: 20,
  LockTimeout: 24,
  NamespaceNotFound: 26,
  IndexNotFound: 27,
  PathNotViable: 28,
  ConflictingUpdateOperators: 40,
  CursorNotFound: 43,
  NamespaceExists: 48,
  MaxTimeMSExpired: 50,
  DollarPrefixedFieldName: 52,
  InvalidIdField: 53,
  EmptyFieldName: 56,
  CommandNotFound: 59,
  WriteConcernFailed: 64,
  ImmutableField: 66,
  CannotCreateIndex: 67,
  InvalidOptions: 72,
  InvalidNamespace: 73,
  IndexOptionsConflict: 85,
  IndexKeySpecsConflict: 86,
  NetworkTimeout: 89,
  ShutdownInProgress: 91,
  WriteConflict: 112,
  ConflictingOperationInProgress: 117,
  DocumentValidationFailure: 121,
  ReadConcernMajorityNotAvailableYet: 134,
  InvalidIndexSpecificationOption: 197,
  PrimarySteppedDown: 189,
  TransactionTooOld: 225,
  CannotIndexParallelArrays: 171,
  NotImplemented: 238,
  ConversionFailure: 241,
  SnapshotUnavailable: 246,
  NoSuchTransaction: 251,
  TransactionCommitted: 256,
  TransactionTooLarge: 257,
  InvalidResumeToken: 260,
  ExceededTimeLimit: 262,
  PreparedTransactionInProgress: 267,
  OperationNotSupportedInTransaction: 263,
  ChangeStreamFatalError: 280,
  ChangeStreamHistoryLost: 286,
  NotPrimaryNoSecondaryOk: 13435,
  NotPrimaryOrSecondary: 13436,
  SocketException: 9001,
  NotWritablePrimary: 10107,
  BSONObjectTooLarge: 10334,
  DuplicateKey: 11000,
  InterruptedAtShutdown: 11600,
  Interrupted: 11601,
  InterruptedDueToReplStateChange: 11602,
} as const;

export type ErrorName = keyof typeof errorCodes;

const names = new Map<number, string>(Object.entries(errorCodes).map(([name, code]) => [code, name]));

export const errorNameOf = (code: number): string => names.get(code) ?? `Location${code}`;

const stateChanges: ReadonlySet<number> = new Set([
  errorCodes.ShutdownInProgress,
  errorCodes.PrimarySteppedDown,
  errorCodes.NotWritablePrimary,
  errorCodes.InterruptedAtShutdown,
  errorCodes.InterruptedDueToReplStateChange,
  errorCodes.NotPrimaryNoSecondaryOk,
  errorCodes.NotPrimaryOrSecondary,
]);

/** Whether drivers conclude from the error that the server's role has changed, and look for a primary. */
export const isStateChange = (code: number): boolean => stateChanges.has(code);

/** What a command or a single write of it answers when it fails. */
export class CommandError extends Error {
  readonly code: number;
  readonly codeName: string;
  /** Further fields of the reply, e.g. `keyPattern` of a duplicate key. */
  readonly details: Document;
  /** Labels beyond those that follow from the code. */
  readonly labels: readonly string[];

  constructor(
    name: ErrorName | number,
    message: string,
    details: Document = {},
    labels: readonly string[] = [],
  ) {
    super(message);
    this.code = typeof name === "number" ? name : errorCodes[name];
    this.codeName = errorNameOf(this.code);
    this.details = details;
    this.labels = labels;
  }
}

export const notImplemented = (what: string): CommandError =>
  new CommandError("NotImplemented", `this test server does not know ${what}`);
