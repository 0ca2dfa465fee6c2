import { BrokerTimeoutError, type HintCounting, withDeadline } from "leasehold/adapter";
import type { Collection, Db } from "mongodb";

/** A notification, and with `left` its counter as well: whoever hears of the one finds the other. */
export interface HintDocument {
  readonly _id: string;
  readonly channel: string;
  readonly message: string;
  /** When it was sent, by the sender's clock; only for the index that removes it. */
  readonly at: Date;
  /** How many jobs nobody looks for yet. */
  readonly left?: number;
}

export interface Hints {
  readonly collection: Collection<HintDocument>;
  /** Makes the index by which the server removes old hints. */
  prepare(): Promise<void>;
  publish(channel: string, messages: readonly string[]): Promise<void>;
  readonly counting: HintCounting;
}

/** Nobody acts on a hint as old as this. */
const keptSeconds = 60;
/** A driver without a server waits for half a minute by default; a hint is worthless by then. */
const deadlineMs = 1_000;

const newHint = (channel: string, message: string, _id: string = crypto.randomUUID()): HintDocument => ({
  _id,
  channel,
  message,
  at: new Date(),
});

const within = <T>(what: string, call: Promise<T>): Promise<T> =>
  withDeadline(call, deadlineMs, () => new BrokerTimeoutError(what, deadlineMs));

export const openHints = (database: Db, prefix: string): Hints => {
  // A hint may be lost, so there is no need to wait for other members to have it.
  const collection = database.collection<HintDocument>(`${prefix}hints`, {
    readPreference: "primary",
    readConcern: { level: "local" },
    writeConcern: { w: 1 },
  });
  // Drivers before 6.11 do not know `timeoutMS`: there, a write that was given up may still arrive later.
  const options = { timeoutMS: deadlineMs };
  const insert = async (hints: readonly HintDocument[]): Promise<void> => {
    await within("Sending hints through MongoDB", collection.insertMany([...hints], options));
  };

  return {
    collection,
    prepare: async () => {
      await collection.createIndex({ at: 1 }, { name: "expiry", expireAfterSeconds: keptSeconds });
    },
    publish: (channel, messages) => insert(messages.map((message) => newHint(channel, message))),
    counting: {
      publish: (channel, count, encode) => {
        const hintId = crypto.randomUUID();
        return insert([{ ...newHint(channel, encode({ hintId }), hintId), left: count }]);
      },
      take: async ({ hintId }, _count, wanted) => {
        const before = await within(
          "Taking from a hint's counter in MongoDB",
          collection.findOneAndUpdate(
            { _id: hintId, left: { $gt: 0 } },
            [{ $set: { left: { $max: [0, { $subtract: ["$left", wanted] }] } } }],
            { ...options, returnDocument: "before", projection: { left: 1 } },
          ),
        );
        return Math.min(before?.left ?? 0, wanted);
      },
    },
  };
};
