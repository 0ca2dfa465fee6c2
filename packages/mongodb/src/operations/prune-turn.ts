import type { Collection, Document } from "mongodb";
import type { Collections, PruneTurn } from "../collections.ts";
import { isDuplicateKey } from "../transient-errors.ts";

/** A process that dies while it prunes holds others up for so long. */
const turnMs = 60_000;

/** Runs alone among all processes, or not at all: then the answer is null. */
export const takeTurn = async <T>({ keys }: Collections, run: () => Promise<T>): Promise<T | null> => {
  const turns = keys as unknown as Collection<PruneTurn>;
  const isFree: Document = { $lte: [{ $ifNull: ["$until", "$$NOW"] }, "$$NOW"] };
  try {
    // While it is taken the filter finds nothing, and the upsert runs into the document that is there.
    await turns.updateOne(
      { _id: "prune", $expr: isFree },
      [{ $set: { until: { $add: ["$$NOW", turnMs] } } }],
      { upsert: true },
    );
  } catch (error) {
    if (isDuplicateKey(error)) return null;
    throw error;
  }
  try {
    return await run();
  } finally {
    await turns.updateOne({ _id: "prune" }, [{ $set: { until: "$$NOW" } }]);
  }
};
