import {
  isTerminal,
  type RedriveCall,
  redriveJobs as redrive,
  type RedriveResult,
  resolveSchedule,
  revived,
  runAsync,
  type StateJob,
} from "leasehold/adapter";
import type { Store, StoreCall } from "../database/database.ts";
import type { StoredJob } from "../database/job-document.ts";
import type { Work } from "../database/transactions.ts";
import { keyId, lockKeys } from "./deduplication.ts";
import { findBlockerCycle } from "./dependants.ts";

const storedOf = async (work: Work, { id }: StateJob): Promise<StoredJob> => (await work.find(id))!;

const hasFailedBlocker = async (work: Work, job: StateJob): Promise<boolean> => {
  const currents = await work.currents((await storedOf(work, job)).blockerIds);
  await work.touch([...currents.values()].map(({ row }) => row.id));
  return [...currents.values()].some(({ row }) => row.status === "failed");
};

const hasLiveDuplicate = async (work: Work, { sequenceId }: StateJob): Promise<boolean> => {
  const first = (await work.find(sequenceId))?.row;
  if (first === undefined || first.deduplicationKey === null) return false;
  const { sequenceTypeName, deduplicationKey } = first;
  await lockKeys(work, [keyId(sequenceTypeName, deduplicationKey)]);
  const firsts = await work.query({
    sequenceTypeName: { $eq: sequenceTypeName },
    deduplicationKey: { $eq: deduplicationKey },
    _id: { $ne: sequenceId },
  });
  const currents = await work.currents(firsts.map(({ row }) => row.id));
  return [...currents.values()].some(({ row }) => !isTerminal(row.status));
};

export const redriveJobs = (store: Store, call: StoreCall & RedriveCall): Promise<RedriveResult[]> =>
  store.work(call, async (work) => {
    const from = resolveSchedule(call.schedule ?? { afterMs: 0 }, work.now);
    const decisions = await runAsync(
      redrive<StateJob>(
        {
          find: async (ids) => new Map([...(await work.findMany(ids))].map(([id, { row }]) => [id, row])),
          isAlone: () => false,
          hasFailedBlocker: (job) => hasFailedBlocker(work, job),
          hasLiveDuplicate: (job) => hasLiveDuplicate(work, job),
          waitsForItself: async (job) =>
            (await findBlockerCycle(work, job.sequenceId, (await storedOf(work, job)).blockerIds)) !==
            undefined,
          dependants: async (sequenceId) => (await work.dependants([sequenceId])).map(({ row }) => row),
          revive: async (jobs) => {
            for (const job of jobs) work.save(await storedOf(work, job), revived(job, from));
          },
        },
        call.jobIds,
      ),
    );
    const jobs = await work.findMany(call.jobIds);
    return call.jobIds.map((jobId) => ({
      jobId,
      ...decisions.get(jobId)!,
      job: jobs.get(jobId)?.row ?? null,
    }));
  });
