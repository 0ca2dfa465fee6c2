import type { HeldLease } from "leasehold/adapter";
import type { Document } from "mongodb";
import { randomUUID } from "node:crypto";
import type { Store } from "../database/database.ts";
import { isMaxTimeExpired } from "../database/errors.ts";
import type { JobDocument } from "../database/job-document.ts";

/** A write to one job, under its lease. */
export interface FencedWrite {
  readonly lease: HeldLease;
  /** Further conditions. */
  readonly filter?: Document | undefined;
  readonly changes: Document;
}

export interface FencedOptions {
  readonly now: unknown;
  readonly maxTimeMS: number;
  /** The field that the call puts its mark into. A renewal must not wipe out the mark of an outcome. */
  readonly markField: "mark" | "renewal";
}

/** The lease, checked by the server as it writes. */
const fence = ({ jobId, leaseToken }: HeldLease, now: unknown): Document => ({
  _id: { $eq: jobId },
  status: "running",
  leaseToken: { $eq: leaseToken },
  $expr: { $gt: ["$dueAt", now] },
});

const seenFields = ["status", "leaseToken", "leasedUntil", "failureReason", "mark", "renewal"] as const;

const projection = Object.fromEntries(seenFields.map((field) => [field, 1]));

type Seen = Pick<JobDocument, "_id" | (typeof seenFields)[number]>;

export interface FencedResult {
  /** The server took no longer than it was given. */
  readonly isFinished: boolean;
  /** All of them were applied. */
  readonly isComplete: boolean;
  /** The jobs as they are now. Asks the server. */
  look(): Promise<ReadonlyMap<string, Seen & { readonly isApplied: boolean }>>;
}

/**
 * Writes to many jobs in one command without a transaction: each write is atomic, checks its own lease, and stands for itself. A
 * write to a job that an open transaction holds waits for it, and so do those behind it; hence the limit.
 */
export const writeFenced = async (
  { collections: { jobs } }: Store,
  writes: readonly FencedWrite[],
  { now, maxTimeMS, markField }: FencedOptions,
): Promise<FencedResult> => {
  const mark = randomUUID();
  const look: FencedResult["look"] = async () => {
    const ids = writes.map(({ lease }) => lease.jobId);
    const found = await jobs.find<Seen>({ _id: { $in: ids } }, { projection }).toArray();
    return new Map(found.map((job) => [job._id, { ...job, isApplied: job[markField] === mark }]));
  };
  try {
    const updates = writes.map(({ lease, filter, changes }) => ({
      updateOne: {
        filter: { ...fence(lease, now), ...filter },
        update: [{ $set: { ...changes, [markField]: { $literal: mark } } }],
      },
    }));
    const { matchedCount } = await jobs.bulkWrite(updates, { ordered: false, maxTimeMS });
    return { isFinished: true, isComplete: matchedCount === writes.length, look };
  } catch (error) {
    if (!isMaxTimeExpired(error)) throw error;
    return { isFinished: false, isComplete: false, look };
  }
};
