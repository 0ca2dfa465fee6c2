import type { Blockers } from "../blockers.ts";
import type { Operation } from "../operation.ts";
import type { JobLookup } from "./get-jobs.ts";

export const prepareGetBlockers =
  (lookup: JobLookup, blockers: Blockers): Operation<"getBlockers"> =>
  (db, { jobIds }) =>
    jobIds.map((jobId) =>
      lookup.getSequences(db, blockers.of(db, jobId)).filter((sequence) => sequence !== undefined),
    );
