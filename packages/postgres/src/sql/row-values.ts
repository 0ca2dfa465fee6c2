import type { JobStatus } from "leasehold/adapter";

// Drivers return the same value in different forms: a 64-bit integer, for instance, as text, as number or as bigint.

export const isNull = (value: unknown): value is null | undefined => value === null || value === undefined;

export const text = (value: unknown): string => (typeof value === "string" ? value : String(value));

export const textOrNull = (value: unknown): string | null => (isNull(value) ? null : text(value));

export const numberOrNull = (value: unknown): number | null => (isNull(value) ? null : Number(value));

/** The type of the column allows nothing else. */
export const jobStatus = (value: unknown): JobStatus => value as JobStatus;

/** A list that a statement returns as JSON: drivers do not agree on how to read an array. */
export const textList = (value: unknown): string[] => JSON.parse(text(value)) as string[];
