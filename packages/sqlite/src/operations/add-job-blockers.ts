import { BlockerCycleError, failureBy, JobNotFoundError, type StateJob } from "leasehold/adapter";
import type { Blockers } from "../blockers.ts";
import type { Dependants } from "../dependants.ts";
import type { Lines } from "../flow/lines.ts";
import type { Operation } from "../operation.ts";
import type { Tables } from "../tables.ts";
import type { JobLookup } from "./get-jobs.ts";

export const prepareAddJobBlockers = (
  { job, blocker }: Tables,
  lookup: JobLookup,
  blockers: Blockers,
  dependants: Dependants,
  lines: Lines,
): Operation<"addJobBlockers"> => {
  const insert = `INSERT INTO ${blocker} (job_id, position, sequence_id) VALUES (?, ?, ?)`;
  const setBlockers = `UPDATE ${job} SET blocker_count = ?, open_blockers = ?, status = ? WHERE id = ?`;

  return (db, { jobId, blockerSequenceIds }, now) => {
    const found = lookup.find(db, jobId);
    if (found === undefined) throw new JobNotFoundError(jobId);
    if (found.status !== "blocked") throw new Error(`Job ${jobId} was not created to wait for blockers.`);
    const { sequenceId } = found;

    let openBlockers = 0;
    let failedBlocker: StateJob | undefined;
    for (const blockerId of blockerSequenceIds) {
      const current = lookup.current(db, blockerId);
      if (current === undefined) throw new JobNotFoundError(blockerId, "job sequence");
      if (current.status !== "completed") openBlockers += 1;
      if (current.status === "failed") failedBlocker ??= current;
    }
    const cycle = blockers.findCycle(db, sequenceId, blockerSequenceIds);
    if (cycle !== undefined) throw new BlockerCycleError(jobId, cycle);

    for (const [position, blockerId] of blockerSequenceIds.entries())
      db.run(insert, [jobId, position, blockerId]);
    const status = openBlockers > 0 ? "blocked" : "pending";
    db.run(setBlockers, [blockerSequenceIds.length, openBlockers, status, jobId]);
    if (status === "pending" && lines.areUsed(db)) lines.enter(db, [jobId], now);
    if (failedBlocker !== undefined && found.onBlockerFailure === "fail") {
      dependants.failByBlocker(db, failureBy(found, failedBlocker), now);
      dependants.failDependants(db, sequenceId, now);
    }
    return lookup.find(db, jobId) ?? found;
  };
};
