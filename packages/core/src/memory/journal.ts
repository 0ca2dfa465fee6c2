import type { StateJob } from "../store/contract/job.ts";
import { type FlowJournal, mergeFlowJournal } from "./flow-cells.ts";
import type { JobHistory } from "./job-history.ts";
import type { JobRecord } from "./job-record.ts";

/** A job as it was before a transaction first touched it; a null row means that it did not exist. */
export interface BeforeImage {
  readonly record: JobRecord;
  readonly row: StateJob | null;
  readonly order: number;
  readonly blockerIds: readonly string[];
  readonly history: JobHistory | null;
}

/** Jobs by id, in the order of first touch. */
export type JobImages = Map<string, BeforeImage>;

/** What a transaction would have to put back. */
export interface Journal {
  readonly jobs: JobImages;
  readonly flow: FlowJournal;
}

export const createJournal = (): Journal => ({ jobs: new Map(), flow: new Map() });

/** Puts the images of an inner journal under the outer one; where both have one, the outer is the older. */
export const mergeJobImages = (inner: JobImages, outer: JobImages): void => {
  for (const [id, image] of inner) if (!outer.has(id)) outer.set(id, image);
};

export const mergeJournal = (inner: Journal, outer: Journal): void => {
  mergeJobImages(inner.jobs, outer.jobs);
  mergeFlowJournal(inner.flow, outer.flow);
};
