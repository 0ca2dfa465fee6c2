import type { AnyJob } from "leasehold";
import type { AnyLeasehold } from "./store.ts";

// PostgreSQL's for text that does not fit a column's type, such as a word where ids are UUIDs.
const notOfThatType = "22P02";

/** A job by its id; undefined when there is none, or could not be one of that id. */
export const findJob = async (leasehold: AnyLeasehold, id: string): Promise<AnyJob | undefined> => {
  try {
    return await leasehold.getJob({ id });
  } catch (error) {
    if ((error as { readonly code?: unknown }).code === notOfThatType) return undefined;
    throw error;
  }
};
