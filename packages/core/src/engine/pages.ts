import type { Clock } from "../clock.ts";
import type { JobPage } from "../contracts/state-adapter.ts";
import { decodeCursor, type PagePosition } from "../model/cursor.ts";
import { optionalInteger, requireOneOf } from "../model/option-checks.ts";

export const pageOptions = { limit: true, cursor: true } as const;

const defaultPageSize = 50;
const largestPage = 1_000;
const mostLooks = 4;
// After that, those who wait for a page get what was found.
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

export interface Search {
  readonly limit: number;
  readonly start: PagePosition | null;
  readonly clock: Pick<Clock, "monotonic">;
  /** How often to look. */
  readonly most?: number;
  look(most: number, from: PagePosition | null): Promise<JobPage>;
}

/** A store looks at a bounded number of jobs at a time; a filter that few of them match is worth some more looks. */
export const fillPage = async ({ limit, start, clock, most = mostLooks, look }: Search): Promise<JobPage> => {
  const end = clock.monotonic() + longestSearchMs;
  let page = await look(limit, start);
  for (let looks = 1; page.next !== null && page.jobs.length < limit && looks < most; looks += 1) {
    if (clock.monotonic() >= end) break;
    const { jobs, next } = page;
    const rest = await look(limit - jobs.length, next);
    page = { jobs: [...jobs, ...rest.jobs], next: rest.next };
  }
  return page;
};
