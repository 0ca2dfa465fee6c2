import type { RedriveResult } from "../../contracts/state-adapter.ts";
import type { StateJob } from "../../model/job.ts";
import { redriveJobs as redrive } from "../../rules/redrive.ts";
import { revived } from "../../rules/transitions.ts";
import { runSync } from "../../rules/walk.ts";
import { findBlockerCycle, hasFailedBlocker } from "../dependants.ts";
import { forgetFingerprint } from "../job-history.ts";
import type { JobStore } from "../job-store.ts";
import { liftStop } from "./resume-group.ts";

/** `from` is the earliest that they may run. */
export const redriveJobs = (
  store: JobStore,
  jobIds: readonly string[],
  from: number,
  now: number,
): RedriveResult[] => {
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
            liftStop(store, job, now);
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
