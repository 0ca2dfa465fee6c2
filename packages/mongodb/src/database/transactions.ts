import type { StateJob } from "leasehold/adapter";
import type { ClientSession, Document, Filter } from "mongodb";
import { type Collections, inSession } from "./collections.ts";
import {
  assertStorable,
  fromDocument,
  type JobDocument,
  type StoredJob,
  toDocument,
} from "./job-document.ts";

/**
 * The jobs as one transaction sees them. What it has read or written it keeps: the server would return the same,
 * since the transaction reads one snapshot and no other transaction can change what it has written.
 */
export interface Work {
  readonly session: ClientSession | undefined;
  readonly collections: Collections;
  readonly now: number;
  findMany(ids: readonly string[]): Promise<Map<string, StoredJob>>;
  find(id: string): Promise<StoredJob | undefined>;
  query(filter: Filter<JobDocument>, sort?: Record<string, 1 | -1>): Promise<StoredJob[]>;
  /** The latest job of each sequence. */
  currents(sequenceIds: readonly string[]): Promise<Map<string, StoredJob>>;
  /** The jobs that were given one of these sequences as blocker. */
  dependants(sequenceIds: readonly string[]): Promise<StoredJob[]>;
  /** The change is sent with the next `flush`, together with others. */
  save(stored: StoredJob, row: StateJob, blockerIds?: readonly string[]): StoredJob;
  /** Sends the saved documents; called before every read from the server. */
  flush(): Promise<void>;
  insert(jobs: readonly StoredJob[]): Promise<void>;
  /** Locks jobs that a decision depends on: a concurrent change conflicts. */
  touch(ids: readonly string[]): Promise<void>;
  /** The same for the current jobs of sequences that a new job waits for. */
  touchBlockers(ids: readonly string[]): Promise<void>;
  remove(ids: readonly string[]): Promise<void>;
}

/** Not read with the job, so what is stored is left as it is. */
const unchangedFields = new Set(["_id", "touched", "mark", "renewal"]);

const changedFields = (before: JobDocument, after: JobDocument): Document => {
  const changed: Document = {};
  for (const [name, value] of Object.entries(after)) {
    if (unchangedFields.has(name)) continue;
    const old = before[name as keyof JobDocument];
    const isSame =
      old instanceof Date && value instanceof Date ? old.getTime() === value.getTime() : old === value;
    if (!isSame) changed[name] = value;
  }
  return changed;
};

export const createWork = (
  collections: Collections,
  session: ClientSession | undefined,
  now: number,
  /** Called with the jobs that the transaction is about to write. */
  noteLocked: (ids: Iterable<string>) => void = () => undefined,
): Work => {
  const { jobs } = collections;
  const options = inSession(session);
  const known = new Map<string, StoredJob>();
  /** Jobs as the server has them, where they have been changed here. */
  const unsent = new Map<string, StoredJob>();

  const flush: Work["flush"] = async () => {
    const updates = [...unsent].flatMap(([id, before]) => {
      const after = known.get(id);
      if (after === undefined) return [];
      const document = toDocument(after);
      const changed = changedFields(toDocument(before), document);
      if (Object.keys(changed).length === 0) return [];
      assertStorable(document);
      return [{ updateOne: { filter: { _id: id }, update: { $set: changed, $inc: { touched: 1 } } } }];
    });
    noteLocked(unsent.keys());
    unsent.clear();
    if (updates.length > 0) await jobs.bulkWrite(updates, { ...options, ordered: true });
  };

  const query: Work["query"] = async (filter, sort = {}) => {
    await flush();
    const found = await jobs.find(filter, { ...options, sort }).toArray();
    return found.map((document) => {
      const stored = known.get(document._id) ?? fromDocument(document);
      known.set(document._id, stored);
      return stored;
    });
  };

  const findMany: Work["findMany"] = async (ids) => {
    const missing = [...new Set(ids)].filter((id) => !known.has(id));
    if (missing.length > 0) await query({ _id: { $in: missing } });
    return new Map(
      ids.flatMap((id) => {
        const stored = known.get(id);
        return stored === undefined ? [] : [[id, stored] as const];
      }),
    );
  };

  return {
    session,
    collections,
    now,
    flush,
    query,
    findMany,
    find: async (id) => known.get(id) ?? (await findMany([id])).get(id),
    currents: async (sequenceIds) => {
      if (sequenceIds.length === 0) return new Map();
      await flush();
      const found = await jobs
        .aggregate<{ _id: string; id: string }>(
          [
            { $match: { sequenceId: { $in: [...new Set(sequenceIds)] } } },
            { $sort: { sequenceId: 1, sequenceIndex: 1 } },
            { $group: { _id: "$sequenceId", id: { $last: "$_id" } } },
          ],
          options,
        )
        .toArray();
      const stored = await findMany(found.map(({ id }) => id));
      return new Map(found.map(({ _id, id }) => [_id, stored.get(id)!]));
    },
    dependants: (sequenceIds) =>
      query(
        { blockerIds: { $in: [...sequenceIds] }, blockerCount: { $gt: 0 } },
        { createdAt: 1, position: 1 },
      ),
    save: (stored, row, blockerIds = stored.blockerIds) => {
      const next = { ...stored, row, blockerIds };
      if (!unsent.has(row.id)) unsent.set(row.id, known.get(row.id) ?? stored);
      known.set(row.id, next);
      return next;
    },
    insert: async (stored) => {
      if (stored.length === 0) return;
      await flush();
      const documents = stored.map(toDocument);
      for (const document of documents) assertStorable(document);
      await jobs.insertMany(documents, options);
      for (const job of stored) known.set(job.row.id, job);
    },
    touch: async (ids) => {
      if (ids.length === 0) return;
      await flush();
      noteLocked(ids);
      await jobs.updateMany({ _id: { $in: [...ids].sort() } }, { $inc: { touched: 1 } }, options);
    },
    touchBlockers: async (ids) => {
      await flush();
      noteLocked(ids);
      const update = { $set: { hasWaiters: true }, $inc: { touched: 1 } };
      await jobs.updateMany({ _id: { $in: [...ids].sort() } }, update, options);
    },
    remove: async (ids) => {
      await flush();
      await jobs.deleteMany({ _id: { $in: [...ids] } }, options);
      for (const id of ids) known.delete(id);
    },
  };
};
