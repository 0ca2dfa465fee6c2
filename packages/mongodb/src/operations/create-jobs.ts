import {
  type CreatedStateJob,
  createdStateJob,
  type CreateJobsCall,
  isTerminal,
  JobAlreadyExistsError,
  JobNotFoundError,
  type NewJob,
  type StateJob,
} from "leasehold/adapter";
import { inSession } from "../collections.ts";
import type { StoredJob } from "../job-document.ts";
import type { Store, StoreCall } from "../store.ts";
import type { Work } from "../work.ts";

// The length keeps a type name that ends like another's key begins apart from it.
const keyId = ({ sequenceTypeName, deduplication }: NewJob): string =>
  `${sequenceTypeName.length}:${sequenceTypeName}${deduplication?.key ?? ""}`;

/** Writes to the documents of all keys first: of transactions that decide about one key, only one can commit. */
const lockKeys = async ({ collections, session }: Work, jobs: readonly NewJob[]): Promise<void> => {
  const ids = new Set(jobs.filter(({ deduplication }) => deduplication !== null).map(keyId));
  for (const _id of [...ids].sort()) {
    await collections.keys.updateOne(
      { _id },
      { $inc: { touched: 1 } },
      { ...inSession(session), upsert: true },
    );
  }
};

/** Returns the current jobs of the sequences that are continued. */
const assertCreatable = async (
  work: Work,
  jobs: readonly NewJob[],
): Promise<ReadonlyMap<string, StoredJob>> => {
  const existing = await work.findMany(jobs.map(({ id }) => id));
  const continuations = jobs.filter(({ sequenceIndex }) => sequenceIndex > 0);
  const currents = await work.currents(continuations.map(({ sequenceId }) => sequenceId));
  const given = new Set<string>();
  const positions = new Set<string>();
  const taken = new Set<string>();
  for (const { id, sequenceId, sequenceIndex } of jobs) {
    if (given.has(id) || existing.has(id)) taken.add(id);
    given.add(id);
    if (sequenceIndex === 0) continue;
    // A job has one continuation: a second one in the same place is as good as the same job again.
    const position = `${sequenceIndex} ${sequenceId}`;
    const latest = currents.get(sequenceId);
    if (positions.has(position) || (latest !== undefined && latest.row.sequenceIndex >= sequenceIndex))
      taken.add(id);
    positions.add(position);
  }
  if (taken.size > 0) throw new JobAlreadyExistsError([...taken]);
  for (const { sequenceId } of continuations) {
    if (!given.has(sequenceId) && !currents.has(sequenceId))
      throw new JobNotFoundError(sequenceId, "job sequence");
  }
  return currents;
};

const findDuplicate = async (
  work: Work,
  job: NewJob,
  created: readonly StoredJob[],
): Promise<StateJob | undefined> => {
  if (job.deduplication === null) return undefined;
  const { key, scope, windowMs } = job.deduplication;
  const isSame = ({ row }: StoredJob) =>
    row.sequenceTypeName === job.sequenceTypeName && row.deduplicationKey === key;
  const stored = await work.query(
    { sequenceTypeName: { $eq: job.sequenceTypeName }, deduplicationKey: { $eq: key } },
    { createdAt: -1, position: -1 },
  );
  const firsts = [...created.filter(isSame).toReversed(), ...stored];
  const currents =
    scope === "all" ? new Map<string, StoredJob>() : await work.currents(stored.map(({ row }) => row.id));
  const earlier = firsts.find(
    ({ row }) => scope === "all" || !isTerminal((currents.get(row.id)?.row ?? row).status),
  )?.row;
  if (earlier === undefined || (windowMs !== null && earlier.createdAt <= work.now - windowMs))
    return undefined;
  return earlier;
};

export const createJobs = (store: Store, call: StoreCall & CreateJobsCall): Promise<CreatedStateJob[]> =>
  store.work(call, async (work) => {
    await lockKeys(work, call.jobs);
    const predecessors = await assertCreatable(work, call.jobs);
    const created: StoredJob[] = [];
    const results: CreatedStateJob[] = [];
    for (const job of call.jobs) {
      const duplicate = await findDuplicate(work, job, created);
      if (duplicate !== undefined) {
        results.push({ job: duplicate, deduplicated: true });
        continue;
      }
      const row = createdStateJob(job, work.now);
      // Whoever waits for the sequence waits for its next job now.
      const hasWaiters = predecessors.get(job.sequenceId)?.hasWaiters ?? false;
      created.push({ row, position: store.nextPosition(), blockerIds: [], hasWaiters });
      results.push({ job: row, deduplicated: false });
    }
    await work.insert(created);
    return results;
  });
