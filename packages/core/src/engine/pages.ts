import { InvalidOptionError } from "../base/errors.ts";
import { optionalInteger, requireId, requireNumber, requireOneOf } from "../base/options.ts";
import type { Clock } from "../base/runtime.ts";
import type { JobPage, PagePosition } from "../store/contract/reads.ts";

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

export const pageOptions = { limit: true, cursor: true } as const;

const defaultPageSize = 50;

const largestPage = 1_000;

const mostReads = 4;
// After that, the caller gets the jobs found so far.
const longestSearchMs = 1_000;

/** `kind` is the listing that the cursor must come from. */
export const parsePage = (
  kind: string,
  options: Record<string, unknown>,
): { limit: number; after: PagePosition | null } => ({
  limit: optionalInteger(options["limit"], "limit", defaultPageSize, { min: 1, max: largestPage }),
  after: decodeCursor(kind, options["cursor"] ?? undefined),
});

export const parseOrder = (order: unknown): "newest" | "oldest" =>
  order === undefined ? "newest" : requireOneOf(order, "order", ["newest", "oldest"]);

export interface PageQuery {
  readonly limit: number;
  readonly start: PagePosition | null;
  readonly clock: Pick<Clock, "monotonic">;
  /** The largest number of reads. */
  readonly most?: number;
  look(most: number, from: PagePosition | null): Promise<JobPage>;
}

/** A store reads a bounded number of jobs at a time; a filter that few jobs match is worth some more reads. */
export const fillPage = async ({
  limit,
  start,
  clock,
  most = mostReads,
  look,
}: PageQuery): Promise<JobPage> => {
  const end = clock.monotonic() + longestSearchMs;
  let page = await look(limit, start);
  for (let reads = 1; page.next !== null && page.jobs.length < limit && reads < most; reads += 1) {
    if (clock.monotonic() >= end) break;
    const { jobs, next } = page;
    const rest = await look(limit - jobs.length, next);
    page = { jobs: [...jobs, ...rest.jobs], next: rest.next };
  }
  return page;
};
