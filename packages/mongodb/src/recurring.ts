import {
  type AdvancedRecurringJob,
  clockToleranceMs,
  type DueRecurringJobs,
  type ListRecurringCall,
  type LockDueRecurringCall,
  type NewRecurringJob,
  type RecurringJobProgress,
  type StateRecurringJob,
} from "leasehold/adapter";
import type { ClientSession, Filter } from "mongodb";
import { inSession, type RecurringDocument } from "./database/collections.ts";
import { divide } from "./database/contention.ts";
import type { Store, StoreCall } from "./database/database.ts";
import { isDuplicateKey, lostToOthers } from "./database/errors.ts";

const toDate = (time: number | null): Date | null => (time === null ? null : new Date(time));

const toTime = (date: Date | null): number | null => date?.getTime() ?? null;

const fromDocument = (document: RecurringDocument): StateRecurringJob => ({
  id: document._id,
  definition: document.definition,
  owner: document.owner,
  paused: document.paused,
  version: document.version,
  nextNominalAt: toTime(document.nextNominalAt),
  runsAt: toTime(document.runsAt),
  lastSequenceId: document.lastSequenceId,
  tickHistory: document.tickHistory,
  timeZoneVersion: document.timeZoneVersion,
  computedAt: document.computedAt.getTime(),
  createdAt: document.createdAt.getTime(),
  updatedAt: document.updatedAt.getTime(),
});

const progressFields = (
  progress: RecurringJobProgress,
): Pick<RecurringDocument, keyof RecurringJobProgress> => ({
  nextNominalAt: toDate(progress.nextNominalAt),
  runsAt: toDate(progress.runsAt),
  lastSequenceId: progress.lastSequenceId,
  tickHistory: progress.tickHistory,
  timeZoneVersion: progress.timeZoneVersion,
  computedAt: new Date(progress.computedAt),
});

/** The document in `keys` that stands for an id without a recurring job. Ids of deduplication keys begin with a number. */
const lockId = (id: string): string => `recurring:${id}`;

const epoch = new Date(0);

/** In the index of recurring jobs by time: not paused, and with a next time. */
const scheduled: Filter<RecurringDocument> = { paused: false, runsAt: { $gt: epoch } };

export const getRecurring = async (
  { collections: { recurring } }: Store,
  { session, ids }: StoreCall & { readonly ids: readonly string[] },
): Promise<(StateRecurringJob | undefined)[]> => {
  const found = await recurring.find({ _id: { $in: [...ids] } }, inSession(session)).toArray();
  const byId = new Map(found.map((document) => [document._id, fromDocument(document)]));
  return ids.map((id) => byId.get(id));
};

export const listRecurring = async (
  { collections: { recurring } }: Store,
  { session, limit, after, owner }: StoreCall & ListRecurringCall,
): Promise<StateRecurringJob[]> => {
  const filter: Filter<RecurringDocument> = {
    ...(after === null ? {} : { _id: { $gt: after } }),
    ...(owner === undefined ? {} : { owner: { $eq: owner } }),
  };
  const found = await recurring.find(filter, { ...inSession(session), sort: { _id: 1 }, limit }).toArray();
  return found.map(fromDocument);
};

export const nextRecurringIn = async (
  { collections: { recurring }, clock }: Store,
  call: StoreCall,
): Promise<number | null> => {
  const options = { ...inSession(call.session), sort: { runsAt: 1 }, projection: { runsAt: 1 } } as const;
  const next = await recurring.findOne(scheduled, options);
  if (next === null) return null;
  return Math.max(0, next.runsAt!.getTime() - (call.now ?? (await clock.ask())));
};

const lock = async (
  { collections: { recurring } }: Store,
  session: ClientSession | undefined,
  ids: readonly string[],
): Promise<void> => {
  await recurring.updateMany({ _id: { $in: [...ids] } }, { $inc: { touched: 1 } }, inSession(session));
};

const lockMissing = async (
  { collections: { keys } }: Store,
  session: ClientSession | undefined,
  ids: readonly string[],
): Promise<void> => {
  if (ids.length === 0) return;
  const updates = ids.map((id) => ({
    updateOne: { filter: { _id: lockId(id) }, update: { $inc: { touched: 1 } }, upsert: true },
  }));
  try {
    await keys.bulkWrite(updates, inSession(session));
  } catch (error) {
    // Another transaction has made the document since this one began: a conflict like any other.
    throw isDuplicateKey(error) ? lostToOthers(error) : error;
  }
};

/** A concurrent lock or change of the same recurring job conflicts, and the server rolls one of the two back. */
export const lockRecurring = async (
  store: Store,
  call: StoreCall & { readonly ids: readonly string[] },
): Promise<(StateRecurringJob | undefined)[]> => {
  const { session, ids } = call;
  await lock(store, session, ids);
  const found = await getRecurring(store, call);
  const missing = ids.filter((_id, index) => found[index] === undefined);
  await lockMissing(store, session, missing);
  const existing = ids.filter((_id, index) => found[index] !== undefined);
  store.sessions.noteLocked(session!, existing.map(lockId));
  return found;
};

/**
 * Finds the recurring jobs that no other transaction has locked. A conflict would roll the caller's transaction back, so
 * a transaction of its own tries the locks first; it is always rolled back.
 */
const findUnlocked = async (store: Store, ids: readonly string[]): Promise<ReadonlySet<string>> => {
  const rollBack = new Error("The locks were only tried.");
  const tryLocks = async (some: readonly string[]): Promise<readonly string[]> => {
    try {
      await store.attempt(async (session) => {
        await lock(store, session, some);
        throw rollBack;
      });
    } catch (error) {
      if (error !== rollBack) throw error;
    }
    return some;
  };
  const found = await divide<string, string | undefined>(ids, tryLocks, () => undefined);
  return new Set(found.filter((id) => id !== undefined));
};

export const lockDueRecurring = async (
  store: Store,
  { session, now: given, limit, timeZoneVersion }: StoreCall & LockDueRecurringCall,
): Promise<DueRecurringJobs> => {
  const { collections, clock, sessions } = store;
  const now = given ?? (await clock.ask());
  const isDue = { runsAt: { $gt: epoch, $lte: new Date(now) } };
  const filter: Filter<RecurringDocument> =
    timeZoneVersion === null
      ? { ...scheduled, ...isDue }
      : {
          ...scheduled,
          $or: [
            isDue,
            { timeZoneVersion: { $gt: "", $lt: timeZoneVersion } },
            { computedAt: { $gt: new Date(now + clockToleranceMs) } },
          ],
        };
  const options = { ...inSession(session), sort: { runsAt: 1, _id: 1 }, limit } as const;
  const due = (await collections.recurring.find(filter, options).toArray()).map(fromDocument);
  const own = sessions.lockedBy(session!);
  const isOwn = ({ id }: StateRecurringJob): boolean => own.has(lockId(id));
  const others = due.filter((job) => !isOwn(job)).map(({ id }) => id);
  const unlocked = await findUnlocked(store, others);
  if (unlocked.size > 0) {
    await lock(store, session, [...unlocked]);
    sessions.noteLocked(session!, [...unlocked].map(lockId));
  }
  return { now, jobs: due.filter((job) => isOwn(job) || unlocked.has(job.id)) };
};

export const putRecurring = async (
  store: Store,
  call: StoreCall & { readonly jobs: readonly NewRecurringJob[] },
): Promise<StateRecurringJob[]> => {
  if (call.jobs.length === 0) return [];
  const { collections, clock, sessions } = store;
  const { session } = call;
  const now = new Date(call.now ?? (await clock.ask()));
  const ids = call.jobs.map(({ id }) => id);
  sessions.noteLocked(session!, ids.map(lockId));
  const updates = call.jobs.map(({ id, definition, owner, paused, version, ...progress }) => ({
    updateOne: {
      filter: { _id: { $eq: id } },
      update: {
        $set: { definition, owner, paused, version, ...progressFields(progress), updatedAt: now },
        $setOnInsert: { createdAt: now },
        $inc: { touched: 1 },
      },
      upsert: true,
    },
  }));
  try {
    await collections.recurring.bulkWrite(updates, inSession(session));
  } catch (error) {
    throw isDuplicateKey(error) ? lostToOthers(error) : error;
  }
  return (await getRecurring(store, { ...call, ids })) as StateRecurringJob[];
};

export const advanceRecurring = async (
  { collections: { recurring } }: Store,
  { session, jobs }: StoreCall & { readonly jobs: readonly AdvancedRecurringJob[] },
): Promise<void> => {
  if (jobs.length === 0) return;
  const updates = jobs.map((job) => ({
    updateOne: { filter: { _id: { $eq: job.id } }, update: { $set: progressFields(job) } },
  }));
  await recurring.bulkWrite(updates, inSession(session));
};

export const deleteRecurring = (
  store: Store,
  call: StoreCall & { readonly ids: readonly string[] },
): Promise<string[]> =>
  store.work(call, async ({ collections, session }) => {
    const filter = { _id: { $in: [...call.ids] } };
    const options = { ...inSession(session), projection: { _id: 1 } } as const;
    const found = new Set(
      (await collections.recurring.find(filter, options).toArray()).map(({ _id }) => _id),
    );
    if (found.size === 0) return [];
    await collections.recurring.deleteMany(filter, inSession(session));
    await collections.keys.deleteMany({ _id: { $in: call.ids.map(lockId) } }, inSession(session));
    return call.ids.filter((id) => found.has(id));
  });
