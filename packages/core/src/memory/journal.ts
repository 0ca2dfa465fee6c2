import type { StateJob } from "../model/job.ts";
import type { JobRecord } from "./job-record.ts";

/** A job as it was before a transaction first touched it; a null row means that it did not exist. */
export interface BeforeImage {
  readonly record: JobRecord;
  readonly row: StateJob | null;
  readonly order: number;
  readonly blockerIds: readonly string[];
}

/** What a transaction would have to put back, by job id, in the order of first touch. */
export type Journal = Map<string, BeforeImage>;

/** Puts the images of an inner journal under the outer one; where both have one, the outer is the older. */
export const mergeJournal = (inner: Journal, outer: Journal): void => {
  for (const [id, image] of inner) if (!outer.has(id)) outer.set(id, image);
};
