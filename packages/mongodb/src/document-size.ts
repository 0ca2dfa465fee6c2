import { DocumentTooLargeError } from "./errors.ts";
import type { JobDocument } from "./job-document.ts";

/** The server refuses documents of more than 16 MB, which leaves some room for what it takes itself. */
const mostBytes = 15 * 1024 * 1024;
const bytesPerField = 48;

const bytesOf = (value: unknown): number => {
  if (typeof value === "string") return Buffer.byteLength(value) + bytesPerField;
  if (Array.isArray(value)) return value.reduce<number>((sum, item) => sum + bytesOf(item), bytesPerField);
  return bytesPerField;
};

/** A little more than it really takes. */
export const assertStorable = (document: JobDocument): void => {
  const bytes = Object.values(document).reduce<number>((sum, value) => sum + bytesOf(value), 0);
  if (bytes > mostBytes) throw new DocumentTooLargeError(document._id, bytes, mostBytes);
};
