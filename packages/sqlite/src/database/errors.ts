import { LeaseholdError } from "leasehold/adapter";

/** Another process held the database's write lock for longer than a call may wait. Nothing was written. */
export class SqliteBusyError extends LeaseholdError {
  readonly waitedMs: number;
  constructor(waitedMs: number, options?: ErrorOptions) {
    super(
      "SqliteBusy",
      `The database stayed locked by another connection for ${Math.round(waitedMs)} ms.`,
      options,
    );
    this.waitedMs = waitedMs;
  }
}

/** SQLite needs locks and shared memory that network file systems do not offer reliably. */
export class NetworkFileSystemError extends LeaseholdError {
  readonly fileSystem: string;
  constructor(fileSystem: string) {
    super(
      "NetworkFileSystem",
      `The database file is on a network file system (${fileSystem}), where SQLite can lose or damage data. Use a local disk, or a database server.`,
    );
    this.fileSystem = fileSystem;
  }
}

const driverRemedy = (
  driver: string,
  cause: { readonly code?: unknown; readonly message?: unknown },
): string => {
  if (driver === "node:sqlite") return "it needs Node.js 22.13 or newer";
  // The message of esbuild's output when a module of a native driver calls `require`.
  if (String(cause.message).startsWith("Dynamic require of")) {
    return `it cannot be bundled, so mark "${driver}" as external`;
  }
  if (String(cause.code).endsWith("MODULE_NOT_FOUND")) return `run \`npm install ${driver}\``;
  return `reinstall it for this machine with \`npm install ${driver}\``;
};

/** The driver that the options name cannot be loaded. `cause` has the reason. */
export class DriverUnavailableError extends LeaseholdError {
  readonly driver: string;
  constructor(driver: string, options: { readonly cause: unknown }) {
    const cause = options.cause instanceof Error ? options.cause : new Error(String(options.cause));
    super(
      "DriverUnavailable",
      `The SQLite driver "${driver}" cannot be loaded (${cause.message}): ${driverRemedy(driver, cause)}.`,
      options,
    );
    this.driver = driver;
  }
}

// A lock, memory, a disk that is full or temporarily unavailable.
const transientCodes: Readonly<Record<string, number>> = {
  SQLITE_BUSY: 5,
  SQLITE_LOCKED: 6,
  SQLITE_NOMEM: 7,
  SQLITE_INTERRUPT: 9,
  SQLITE_IOERR: 10,
  SQLITE_FULL: 13,
  SQLITE_CANTOPEN: 14,
  SQLITE_PROTOCOL: 15,
};

/** The file is not what SQLite wrote. */
const damageCodes: Readonly<Record<string, number>> = { SQLITE_CORRUPT: 11, SQLITE_NOTADB: 26 };

const resultCodes: Readonly<Record<string, number>> = { ...transientCodes, ...damageCodes };

const isAmong = (codes: Readonly<Record<string, number>>, error: unknown): boolean =>
  Object.values(codes).includes(resultCodeOf(error) ?? 0);

interface DriverError {
  readonly code?: unknown;
  /** `node:sqlite` gives SQLite's extended result code here. */
  readonly errcode?: unknown;
}

/** The primary result code of an error of SQLite, 1 for codes that do not matter here, undefined for other errors. */
const resultCodeOf = (error: unknown): number | undefined => {
  if (!(error instanceof Error)) return undefined;
  const { code, errcode } = error as DriverError;
  if (code === "ERR_SQLITE_ERROR" && typeof errcode === "number") return errcode & 0xff;
  if (typeof code !== "string" || !code.startsWith("SQLITE_")) return undefined;
  // An extended code is the primary one with a suffix, as in SQLITE_BUSY_SNAPSHOT.
  const primary = /^SQLITE_[A-Z]+/.exec(code)?.[0] ?? "";
  return resultCodes[primary] ?? 1;
};

export const isSqliteError = (error: unknown): boolean => resultCodeOf(error) !== undefined;

export const isBusy = (error: unknown): boolean => {
  const code = resultCodeOf(error);
  return code === resultCodes["SQLITE_BUSY"] || code === resultCodes["SQLITE_LOCKED"];
};

export const isTransient = (error: unknown): boolean =>
  error instanceof SqliteBusyError || isAmong(transientCodes, error);

export const isDamage = (error: unknown): boolean => isAmong(damageCodes, error);
