import type { RedriveResult } from "../../store/contract/outcomes.ts";
import type { StateJob } from "../../store/contract/job.ts";
import { redriveJobs as redrive } from "../../store/rules/redrive.ts";
import { revived } from "../../store/rules/transitions.ts";
import { runSync } from "../../store/rules/walk.ts";
import { findBlockerCycle, hasFailedBlocker } from "../dependants.ts";
import { forgetFingerprint } from "../job-history.ts";
import type { JobStore } from "../job-store.ts";
import { liftStop } from "./resume-group.ts";

/** `from` is the earliest that they may run. */
export const redriveJobs = (store: JobStore, jobIds: readonly string[], from: number): RedriveResult[] => {
  const recordOf = ({ id }: StateJob) => store.find(id)!;
  const decisions = runSync(
    redrive(
      {
        find: (ids) => new Map(ids.flatMap((id) => store.find(id)?.row ?? []).map((row) => [row.id, row])),
        isAlone: () => false,
        hasFailedBlocker: (job) => hasFailedBlocker(store, recordOf(job)),
        hasLiveDuplicate: ({ sequenceId }) => {
          const first = store.find(sequenceId);
          return first !== undefined && store.deduplication.hasOtherLive(first);
        },
        waitsForItself: (job) =>
          findBlockerCycle(store, job.sequenceId, recordOf(job).blockerIds) !== undefined,
        dependants: (sequenceId) => Array.from(store.dependants(sequenceId), ({ row }) => row),
        revive: (jobs) => {
          for (const job of jobs) {
            store.update(recordOf(job), revived(job, from));
            forgetFingerprint(store, recordOf(job));
            liftStop(store, job);
          }
        },
      },
      jobIds,
    ),
  );
  return jobIds.map((jobId) => ({
    jobId,
    ...decisions.get(jobId)!,
    job: store.find(jobId)?.row ?? null,
  }));
};
