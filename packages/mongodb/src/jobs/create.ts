import {
  assertIdsGiven,
  createdStateJob,
  type CreatedStateJob,
  type CreateJobsCall,
  isTerminal,
  isWaiting,
  JobAlreadyExistsError,
  JobNotFoundError,
  type NewJob,
  replaced,
  type StateJob,
} from "leasehold/adapter";
import type { Document } from "mongodb";
import type { Store, StoreCall } from "../database/database.ts";
import { assertStorable, fromDocument, type StoredJob, toDocument } from "../database/job-document.ts";
import type { Work } from "../database/transactions.ts";
import { keyId, lockKeys } from "./deduplication.ts";
import { expiryExpression, scheduledExpression } from "./runnable.ts";

/** The times of a new job, by the server's clock. */
const creationTimes = (job: NewJob): Document => {
  const scheduledAt = scheduledExpression(job.schedule, "$$NOW");
  return {
    createdAt: "$$NOW",
    ...(job.sequenceCreatedAt === null ? { sequenceCreatedAt: "$$NOW" } : {}),
    scheduledAt,
    dueAt: scheduledAt,
    expiresAt: expiryExpression(scheduledAt, { $literal: job.expireAfterMs ?? null }),
  };
};

/** A single job that nothing else depends on is created in one command, without a transaction. */
const createAlone = async (store: Store, job: NewJob): Promise<StateJob> => {
  const stored = { row: createdStateJob(job, 0), blockerIds: [], hasWaiters: false };
  const document = toDocument({ ...stored, position: store.nextPosition() });
  assertStorable(document);
  const isNew = { $eq: [{ $type: "$createdAt" }, "missing"] };
  const created = { $mergeObjects: [{ $literal: document }, creationTimes(job)] };
  const { value, lastErrorObject } = await store.collections.jobs.findOneAndUpdate(
    { _id: { $eq: job.id } },
    [{ $replaceWith: { $cond: [isNew, created, "$$ROOT"] } }],
    { upsert: true, returnDocument: "after", includeResultMetadata: true },
  );
  if (value === null || lastErrorObject?.["updatedExisting"] === true)
    throw new JobAlreadyExistsError([job.id]);
  return fromDocument(value).row;
};

const keyIds = (jobs: readonly NewJob[]): string[] =>
  jobs.flatMap(({ sequenceTypeName, deduplication }) =>
    deduplication === null ? [] : [keyId(sequenceTypeName, deduplication.key)],
  );

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
): Promise<StoredJob | undefined> => {
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
    scope === "unfinished"
      ? await work.currents(stored.map(({ row }) => row.id))
      : new Map<string, StoredJob>();
  const counts = ({ row }: StoredJob): boolean => {
    if (scope === "pending") return isWaiting(row.status);
    return scope === "all" || !isTerminal((currents.get(row.id)?.row ?? row).status);
  };
  const earlier = firsts.find(counts);
  if (earlier === undefined || (windowMs !== null && earlier.row.createdAt <= work.now - windowMs))
    return undefined;
  return earlier;
};

/** The jobs that these starts have replaced already, by the ids of the starts: their replies were lost. */
const findReplacedBy = async (
  work: Work,
  jobs: readonly NewJob[],
): Promise<ReadonlyMap<string, StateJob>> => {
  const ids = jobs.filter(({ deduplication }) => deduplication?.onDuplicate).map(({ id }) => id);
  if (ids.length === 0) return new Map();
  const found = await work.query({ replacedBy: { $in: ids } });
  return new Map(found.map(({ row }) => [row.replacedBy!, row]));
};

/** What a start gets that has a duplicate: the duplicate as it is, or with the start in its place. */
const meetDuplicate = async (
  work: Work,
  duplicate: StoredJob,
  start: NewJob,
  created: StoredJob[],
): Promise<CreatedStateJob> => {
  const row = replaced(duplicate.row, start, work.now);
  const place = created.indexOf(duplicate);
  if (row !== undefined) {
    if (place < 0) work.save(duplicate, row);
    else created[place] = { ...duplicate, row };
    return { job: row, deduplicated: true, replaced: true };
  }
  // A waiting duplicate is to run after this transaction, and so to see what it has written.
  if (start.deduplication?.scope === "pending" && place < 0) await work.touch([duplicate.row.id]);
  return { job: duplicate.row, deduplicated: true };
};

const createInTransaction = async (
  store: Store,
  work: Work,
  jobs: readonly NewJob[],
): Promise<CreatedStateJob[]> => {
  await lockKeys(work, keyIds(jobs));
  const predecessors = await assertCreatable(work, jobs);
  const earlier = await findReplacedBy(work, jobs);
  const created: StoredJob[] = [];
  const results: CreatedStateJob[] = [];
  for (const job of jobs) {
    const replacedJob = earlier.get(job.id);
    if (replacedJob !== undefined) {
      results.push({ job: replacedJob, deduplicated: true, replaced: true });
      continue;
    }
    const duplicate = await findDuplicate(work, job, created);
    if (duplicate !== undefined) {
      results.push(await meetDuplicate(work, duplicate, job, created));
      continue;
    }
    const row = createdStateJob(job, work.now);
    // Jobs that wait for the sequence now wait for its next job.
    const hasWaiters = predecessors.get(job.sequenceId)?.hasWaiters ?? false;
    created.push({ row, position: store.nextPosition(), blockerIds: [], hasWaiters });
    results.push({ job: row, deduplicated: false });
  }
  await work.insert(created);
  return results;
};

const isAlone = ({ session, now, jobs }: StoreCall & CreateJobsCall): boolean =>
  session === undefined &&
  now === undefined &&
  jobs.length === 1 &&
  jobs.every(
    ({ deduplication, sequenceIndex, awaitsBlockers }) =>
      deduplication === null && sequenceIndex === 0 && !awaitsBlockers,
  );

export const createJobs = async (
  store: Store,
  call: StoreCall & CreateJobsCall,
): Promise<CreatedStateJob[]> => {
  assertIdsGiven(call.jobs);
  if (isAlone(call)) return [{ job: await createAlone(store, call.jobs[0]!), deduplicated: false }];
  const create = () => store.work(call, (work) => createInTransaction(store, work, call.jobs));
  // Inside a transaction, do not wait for other calls of this process: they may be waiting for this transaction.
  return call.session === undefined ? store.inTurn(keyIds(call.jobs), create) : create();
};
