import { InvalidOptionError } from "../errors.ts";
import { requireId, requireNumber } from "./option-checks.ts";

/** Where a page of a listing ended. */
export interface PagePosition {
  readonly createdAt: number;
  readonly id: string;
}

const version = 1;
const longestCursor = 4_096;
const requirement = "must be a cursor returned by an earlier page of the same listing";

/** `kind` names the listing, so that a cursor of one is not mistaken for a place in another. */
export const encodeCursor = (kind: string, { createdAt, id }: PagePosition): string =>
  Buffer.from(JSON.stringify([version, kind, createdAt, id])).toString("base64url");

const readPosition = (kind: string, cursor: string): PagePosition => {
  const content: unknown = JSON.parse(Buffer.from(cursor, "base64url").toString());
  if (!Array.isArray(content) || content.length !== 4 || content[0] !== version || content[1] !== kind) {
    throw new TypeError("not a cursor of this kind");
  }
  return { createdAt: requireNumber(content[2], "createdAt"), id: requireId(content[3], "id") };
};

/** `undefined` is the beginning. Cursors travel through URLs, so anything may come back. */
export const decodeCursor = (kind: string, cursor: unknown): PagePosition | null => {
  if (cursor === undefined) return null;
  if (typeof cursor !== "string" || cursor.length > longestCursor) {
    throw new InvalidOptionError("cursor", requirement, typeof cursor === "object" ? {} : cursor);
  }
  try {
    const position = readPosition(kind, cursor);
    // Base64 and JSON can spell one thing in many ways; only the spelling we made is accepted.
    if (encodeCursor(kind, position) === cursor) return position;
  } catch {
    // Not one of ours, whichever step found out.
  }
  throw new InvalidOptionError("cursor", requirement, cursor);
};
