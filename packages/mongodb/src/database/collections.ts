import { InvalidOptionError } from "leasehold/adapter";
import type { ClientSession, Collection, Db, IndexDescription } from "mongodb";
import type { JobDocument } from "./job-document.ts";

export const checkCollectionPrefix = (prefix: unknown): string => {
  if (typeof prefix === "string" && /^[A-Za-z0-9_.-]{0,60}$/.test(prefix)) return prefix;
  throw new InvalidOptionError(
    "collectionPrefix",
    "must be up to 60 letters, digits, dots, dashes and underscores",
    prefix,
  );
};

/**
 * One document per deduplication key, written by each transaction that decides about the key, so that two of them
 * conflict.
 */
export interface KeyDocument {
  readonly _id: string;
  readonly touched: number;
}

/** The right to prune, in the same collection: while it runs, others with `alone` do nothing. */
export interface PruneTurn {
  readonly _id: "prune";
  readonly until: Date;
}

/** How a recurring job is stored: the fields of `StateRecurringJob`, times as dates. */
export interface RecurringDocument {
  readonly _id: string;
  readonly definition: string;
  readonly owner: string | null;
  readonly paused: boolean;
  readonly version: number;
  readonly nextNominalAt: Date | null;
  readonly runsAt: Date | null;
  readonly lastSequenceId: string | null;
  readonly tickHistory: string;
  readonly timeZoneVersion: string;
  readonly computedAt: Date;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  /** Raised to lock the recurring job. */
  readonly touched: number;
}

export interface Collections {
  readonly jobs: Collection<JobDocument>;
  readonly recurring: Collection<RecurringDocument>;
  readonly keys: Collection<KeyDocument>;
}

/** Whatever the client's defaults: reads from the primary, writes that survive its loss. */
export const openCollections = (database: Db, prefix: string): Collections => {
  const options = {
    readPreference: "primary",
    readConcern: { level: "local" },
    writeConcern: { w: "majority" },
  } as const;
  return {
    jobs: database.collection<JobDocument>(`${prefix}jobs`, options),
    recurring: database.collection<RecurringDocument>(`${prefix}recurring_jobs`, options),
    keys: database.collection<KeyDocument>(`${prefix}keys`, options),
  };
};

const guard = <T extends object>(collection: T, assertOngoing: () => void): T =>
  new Proxy(collection, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      return (...args: unknown[]): unknown => {
        assertOngoing();
        return Reflect.apply(value, target, args);
      };
    },
  });

/** The same collections, which call `assertOngoing` before every command. */
export const guardCollections = (
  { jobs, recurring, keys }: Collections,
  assertOngoing: () => void,
): Collections => ({
  jobs: guard(jobs, assertOngoing),
  recurring: guard(recurring, assertOngoing),
  keys: guard(keys, assertOngoing),
});

export interface InSession {
  readonly session?: ClientSession;
}

export const inSession = (session: ClientSession | undefined): InSession =>
  session === undefined ? {} : { session };

/** All indexes of the collection of jobs. */
export const jobIndexes: readonly IndexDescription[] = [
  {
    name: "claim",
    key: { queue: 1, typeName: 1, priority: -1, dueAt: 1, position: 1 },
    partialFilterExpression: { live: true },
  },
  { name: "next", key: { queue: 1, typeName: 1, dueAt: 1 }, partialFilterExpression: { live: true } },
  { name: "expired", key: { dueAt: 1 }, partialFilterExpression: { status: "running" } },
  { name: "held", key: { leaseToken: 1 }, partialFilterExpression: { status: "running" } },
  { name: "sequence", key: { sequenceId: 1, sequenceIndex: 1 }, unique: true },
  { name: "tree", key: { rootSequenceId: 1, createdAt: 1, _id: 1 } },
  { name: "created", key: { createdAt: 1, _id: 1 } },
  { name: "status", key: { status: 1, createdAt: 1, _id: 1 } },
  { name: "blockers", key: { blockerIds: 1 }, partialFilterExpression: { blockerCount: { $gt: 0 } } },
  {
    name: "key",
    key: { sequenceTypeName: 1, deduplicationKey: 1, createdAt: -1, position: -1 },
    partialFilterExpression: { deduplicationKey: { $type: "string" } },
  },
  { name: "roots", key: { _id: 1, isRoot: 1 }, partialFilterExpression: { isRoot: true } },
  { name: "blocked", key: { queue: 1, typeName: 1 }, partialFilterExpression: { status: "blocked" } },
  {
    name: "expiring",
    key: { expiresAt: 1 },
    partialFilterExpression: { expiresAt: { $gt: new Date(0) } },
  },
  {
    name: "recurring",
    key: { recurringJobId: 1, createdAt: 1, _id: 1 },
    partialFilterExpression: { recurringJobId: { $gt: "" } },
  },
  { name: "replaced", key: { replacedBy: 1 }, partialFilterExpression: { replacedBy: { $gt: "" } } },
];

export const recurringIndexes: readonly IndexDescription[] = [
  { name: "due", key: { runsAt: 1, _id: 1 }, partialFilterExpression: { paused: false } },
];
