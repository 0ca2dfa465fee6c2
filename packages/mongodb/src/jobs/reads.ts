import type { LockSequenceCall, StateJob, StateSequence } from "leasehold/adapter";
import { inSession } from "../database/collections.ts";
import type { Store, StoreCall } from "../database/database.ts";
import { fromDocument, type JobDocument } from "../database/job-document.ts";
import type { Work } from "../database/transactions.ts";

/** The sequences as one statement finds them. */
const readOnce = async (work: Work, sequenceIds: readonly string[]): Promise<Map<string, StateSequence>> => {
  const { collections, session } = work;
  const found = await collections.jobs
    .aggregate<{ _id: string; first: JobDocument; current: JobDocument }>(
      [
        { $match: { sequenceId: { $in: [...new Set(sequenceIds)] } } },
        { $sort: { sequenceId: 1, sequenceIndex: 1 } },
        { $group: { _id: "$sequenceId", first: { $first: "$$ROOT" }, current: { $last: "$$ROOT" } } },
      ],
      inSession(session),
    )
    .toArray();
  return new Map(
    found.map(({ _id, first, current }) => [
      _id,
      { first: fromDocument(first).row, current: fromDocument(current).row },
    ]),
  );
};

const tries = 20;

/**
 * Outside a transaction the server may show a job after a commit and miss another of the same commit. A current job
 * that was continued shows this: then the read is repeated.
 */
const readSequences = async (
  work: Work,
  sequenceIds: readonly string[],
): Promise<Map<string, StateSequence>> => {
  if (sequenceIds.length === 0) return new Map();
  let sequences = await readOnce(work, sequenceIds);
  for (let attempt = 1; attempt < tries; attempt++) {
    const isWhole = [...sequences.values()].every(({ current }) => current.continuedToId === null);
    if (isWhole) break;
    sequences = await readOnce(work, sequenceIds);
  }
  return sequences;
};

export const getJobs = (
  store: Store,
  call: StoreCall & { readonly jobIds: readonly string[] },
): Promise<(StateJob | undefined)[]> =>
  store.read(call, async (work) => {
    const jobs = await work.findMany(call.jobIds);
    return call.jobIds.map((id) => jobs.get(id)?.row);
  });

export const getSequences = (
  store: Store,
  call: StoreCall & { readonly sequenceIds: readonly string[] },
): Promise<(StateSequence | undefined)[]> =>
  store.read(call, async (work) => {
    const sequences = await readSequences(work, call.sequenceIds);
    return call.sequenceIds.map((id) => sequences.get(id));
  });

export const getBlockers = (
  store: Store,
  call: StoreCall & { readonly jobIds: readonly string[] },
): Promise<StateSequence[][]> =>
  store.read(call, async (work) => {
    const jobs = await work.findMany(call.jobIds);
    const ids = [...jobs.values()].flatMap(({ blockerIds }) => blockerIds);
    const sequences = await readSequences(work, ids);
    return call.jobIds.map((id) =>
      (jobs.get(id)?.blockerIds ?? []).flatMap((blocker) => sequences.get(blocker) ?? []),
    );
  });

export const lockSequence = (
  store: Store,
  call: StoreCall & LockSequenceCall,
): Promise<StateSequence | undefined> =>
  store.work(call, async (work) => {
    const sequence = (await readSequences(work, [call.sequenceId])).get(call.sequenceId);
    // A change since then conflicts with this write.
    if (sequence !== undefined) await work.touch([sequence.current.id]);
    return sequence;
  });
