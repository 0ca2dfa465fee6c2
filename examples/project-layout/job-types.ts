import { type DefinitionsOf, type JobTypes, mergeJobTypes } from "leasehold";
import { mailJobTypes } from "./mail/job-types.ts";
import { photoJobTypes } from "./photos/job-types.ts";

// #region merge
const merged = mergeJobTypes(mailJobTypes, photoJobTypes);

/** A name for all definitions: editors and errors show it instead of every type. */
export interface AppJobTypes extends DefinitionsOf<typeof merged> {}

export const jobTypes: JobTypes<AppJobTypes> = merged;
// #endregion
