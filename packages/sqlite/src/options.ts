import { InvalidOptionError } from "leasehold/adapter";
import type { ConnectionRetryConfig } from "./busy-retry.ts";

const optionNames = new Set([
  "file",
  "driver",
  "stateProvider",
  "tablePrefix",
  "idType",
  "idGenerator",
  "connectionRetryConfig",
  "isTransientError",
  "migrate",
  "maxWalBytes",
  "clock",
]);

export const assertKnownOptions = (options: unknown): void => {
  if (typeof options !== "object" || options === null) {
    throw new InvalidOptionError("options", "must be an object", options);
  }
  for (const name of Object.keys(options)) {
    if (!optionNames.has(name)) throw new InvalidOptionError(name, "does not exist");
  }
};

const readNumber = (value: unknown, option: string, fallback: number, min: number): number => {
  if (value === undefined) return fallback;
  if (typeof value !== "number" || !Number.isFinite(value) || value < min) {
    throw new InvalidOptionError(option, `must be a number of at least ${min}`, value);
  }
  return value;
};

export const readRetryConfig = (value: Partial<ConnectionRetryConfig> | undefined): ConnectionRetryConfig => {
  const given: unknown = value ?? {};
  if (typeof given !== "object" || given === null) {
    throw new InvalidOptionError("connectionRetryConfig", "must be an object", given);
  }
  const { initialDelayMs, maxDelayMs, maxWaitMs } = given as Record<keyof ConnectionRetryConfig, unknown>;
  return {
    initialDelayMs: readNumber(initialDelayMs, "connectionRetryConfig.initialDelayMs", 1, 0.1),
    maxDelayMs: readNumber(maxDelayMs, "connectionRetryConfig.maxDelayMs", 20, 1),
    maxWaitMs: readNumber(maxWaitMs, "connectionRetryConfig.maxWaitMs", 8_000, 0),
  };
};

// Twice the size at which SQLite cuts the log back by itself.
const defaultWalBytes = 32 * 1024 * 1024;

export const readWalBytes = (value: unknown): number =>
  readNumber(value, "maxWalBytes", defaultWalBytes, 64 * 1024);

/** Ids are text: a type of another affinity would turn "007" into 7. */
export const readIdType = (value: unknown): string => {
  if (value === undefined) return "TEXT";
  const isTextType =
    typeof value === "string" &&
    /^[A-Za-z]{1,30}(?:\([0-9]{1,4}\))?$/.test(value) &&
    /char|clob|text/i.test(value) &&
    !/int/i.test(value);
  if (!isTextType) {
    throw new InvalidOptionError(
      "idType",
      "must be an SQL type for text, such as TEXT or VARCHAR(64)",
      value,
    );
  }
  return value;
};

export const readFunction = <TFunction extends (...parameters: never[]) => unknown>(
  value: TFunction | undefined,
  option: string,
): TFunction | undefined => {
  if (value !== undefined && typeof value !== "function") {
    throw new InvalidOptionError(option, "must be a function", value);
  }
  return value;
};

export const readFlag = (value: unknown, option: string, fallback: boolean): boolean => {
  if (value === undefined) return fallback;
  if (typeof value !== "boolean") throw new InvalidOptionError(option, "must be true or false", value);
  return value;
};
