import { createHash } from "node:crypto";
import type { HistoryEvent } from "./history.ts";

const stackInText = /"stack":"(?:[^"\\]|\\.)*"/g;

/** Leaves out what is no part of the story: the handle of a transaction, and stacks, which name the caller's files. */
const traceable = (key: string, value: unknown): unknown => {
  if (key === "ctx") return undefined;
  if ((key === "error" || key === "lastError") && typeof value === "string")
    return value.replaceAll(stackInText, "");
  return typeof value === "bigint" || value === Infinity ? String(value) : value;
};

/** Two runs with the same hash went the same way, to the last row. */
export const traceHash = (events: readonly HistoryEvent[]): string => {
  const hash = createHash("sha256");
  for (const event of events) hash.update(JSON.stringify(event, traceable));
  return hash.digest("hex").slice(0, 16);
};
