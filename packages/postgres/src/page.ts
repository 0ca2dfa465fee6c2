import type { JobPage, PagePosition, StateJob } from "leasehold/adapter";
import type { Call } from "./database.ts";

export interface PageCall extends Call {
  readonly limit: number;
  readonly after: PagePosition | null;
}

export const toPage = (jobs: readonly StateJob[], limit: number): JobPage => {
  const page = jobs.slice(0, limit);
  const last = page.at(-1);
  const next = jobs.length > limit && last !== undefined ? { createdAt: last.createdAt, id: last.id } : null;
  return { jobs: page, next };
};
