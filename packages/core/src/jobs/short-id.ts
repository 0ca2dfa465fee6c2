import type { AnyJob } from "../job-types/entities.ts";

const headLength = 13;

const tailLength = 6;

/**
 * An id for people: the beginning of a UUID of version 7 is its time to the millisecond, and the end is random. `findByShortId`
 * finds the job again.
 */
export const shortId = (id: string): string =>
  id.length <= headLength + 1 + tailLength ? id : `${id.slice(0, headLength)}…${id.slice(-tailLength)}`;

// Also with dots, for keyboards.
const form = /^(\S{8,}?)(?:…|\.{2,3})(\S{4,})$/;

/** Whether a text is the beginning and the end of an id, as narrow terminals show it. */
export const isShortId = (text: string): boolean => form.test(text);

/** What `findByShortId` needs of a Leasehold. */
interface JobLister {
  readonly jobs: {
    list(options: {
      readonly idPrefix: string;
      readonly limit: number;
      readonly cursor: string | null;
    }): Promise<{ readonly jobs: readonly AnyJob[]; readonly cursor: string | null }>;
  };
}

const pageSize = 1_000;

// Many more jobs than are started in a millisecond.
const mostPages = 20;

/** The jobs with this short id: usually one, and never more than two. None for a text that is no short id. */
export const findByShortId = async (leasehold: JobLister, text: string): Promise<readonly AnyJob[]> => {
  const [, idPrefix = "", tail = ""] = form.exec(text) ?? [];
  if (idPrefix === "") return [];
  const found: AnyJob[] = [];
  let cursor: string | null = null;
  for (let page = 0; page < mostPages && found.length < 2; page += 1) {
    const listing: Awaited<ReturnType<JobLister["jobs"]["list"]>> = await leasehold.jobs.list({
      idPrefix,
      limit: pageSize,
      cursor,
    });
    found.push(...listing.jobs.filter(({ id }) => id.endsWith(tail)));
    cursor = listing.cursor;
    if (cursor === null) break;
  }
  return found.slice(0, 2);
};
