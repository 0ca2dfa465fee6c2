import type { ClientSession, Collection, Db } from "mongodb";
import type { JobDocument } from "./job-document.ts";

/** One document per deduplication key, only there to be written to by whoever decides about the key. */
export interface KeyDocument {
  readonly _id: string;
  readonly touched: number;
}

/** The right to prune, in the same collection: while it runs, others with `alone` do nothing. */
export interface PruneTurn {
  readonly _id: "prune";
  readonly until: Date;
}

export interface Collections {
  readonly jobs: Collection<JobDocument>;
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
    keys: database.collection<KeyDocument>(`${prefix}keys`, options),
  };
};

export interface InSession {
  readonly session?: ClientSession;
}

export const inSession = (session: ClientSession | undefined): InSession =>
  session === undefined ? {} : { session };
