import { NotifyTimeoutError, type HintCounting, withDeadline } from "leasehold/adapter";
import type { Collection, Db } from "mongodb";

/**
 * A notification, and with `left` its counter: one document, so a process that receives it also finds the counter.
 */
export interface HintDocument {
  readonly _id: string;
  readonly channel: string;
  readonly message: string;
  /** When it was sent, by the sender's clock; only for the index that removes it. */
  readonly at: Date;
  /** How many of the jobs no worker has taken the hint for. */
  readonly left?: number;
}

export interface Hints {
  readonly collection: Collection<HintDocument>;
  /** Makes the index by which the server removes old hints. */
  prepare(): Promise<void>;
  publish(channel: string, messages: readonly string[]): Promise<void>;
  readonly counting: HintCounting;
}

/** Hints older than this are ignored. */
const keptSeconds = 60;
/** A driver without a server waits for half a minute by default; a hint is worthless by then. */
const sendDeadlineMs = 1_000;
/** When it fails, every worker polls, which slows a busy server down further. So it has a longer deadline. */
const takeDeadlineMs = 3_000;

const newHint = (channel: string, message: string, _id: string = crypto.randomUUID()): HintDocument => ({
  _id,
  channel,
  message,
  at: new Date(),
});

const within = <T>(what: string, deadlineMs: number, call: Promise<T>): Promise<T> =>
  withDeadline(call, deadlineMs, () => new NotifyTimeoutError(what, deadlineMs));

/** While a batch is on its way, what follows is collected for the next: a burst takes one connection, not hundreds. */
const inBatches = <T>(
  send: (items: readonly T[]) => Promise<void>,
): ((items: readonly T[]) => Promise<void>) => {
  let previous: Promise<void> = Promise.resolve();
  let next: { readonly items: T[]; readonly sent: Promise<void> } | undefined;
  const open = (): { readonly items: T[]; readonly sent: Promise<void> } => {
    const items: T[] = [];
    const sent = previous.then(() => {
      next = undefined;
      return send(items);
    });
    previous = sent.catch(() => {});
    return { items, sent };
  };
  return (items) => {
    next ??= open();
    next.items.push(...items);
    return next.sent;
  };
};

export const openHints = (database: Db, prefix: string): Hints => {
  // A hint may be lost, so there is no need to wait for other members to have it.
  const collection = database.collection<HintDocument>(`${prefix}hints`, {
    readPreference: "primary",
    readConcern: { level: "local" },
    writeConcern: { w: 1 },
  });
  const insert = inBatches(async (hints: readonly HintDocument[]): Promise<void> => {
    // Drivers before 6.11 do not know `timeoutMS`: there, a hint that was given up may still arrive later.
    const sending = collection.insertMany([...hints], { timeoutMS: sendDeadlineMs });
    await within("Sending hints through MongoDB", sendDeadlineMs, sending);
  });

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
        const taking = collection.findOneAndUpdate(
          { _id: hintId, left: { $gt: 0 } },
          [{ $set: { left: { $max: [0, { $subtract: ["$left", wanted] }] } } }],
          { timeoutMS: takeDeadlineMs, returnDocument: "before", projection: { left: 1 } },
        );
        const before = await within("Taking from a hint's counter in MongoDB", takeDeadlineMs, taking);
        return Math.min(before?.left ?? 0, wanted);
      },
    },
  };
};
