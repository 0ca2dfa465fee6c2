import { isContinuedPlace, isFailedPlace } from "../engine/batch-places.ts";
import { encodeOutput } from "../engine/complete.ts";
import { JobAttemptEndedError, ProcessMisuseError } from "../errors.ts";
import type { BatchMember } from "./batch-member.ts";
import type { CompletedBatch } from "./batch-transaction.ts";
import type { Ending } from "./judge-ending.ts";

// How a call of a batch handler ended for each of its jobs.

const continuedWithoutComplete =
  "`continueWith` creates jobs in the transaction of `complete`. Return what it gives you from the callback of `complete`";

/** By what the handler has returned in the place of the job. */
export const endingOfPlace = ({ worker, held }: BatchMember, place: unknown): Ending | Promise<Ending> => {
  if (isFailedPlace(place)) return { kind: "threw", error: place.error };
  try {
    if (isContinuedPlace(place)) throw new ProcessMisuseError(continuedWithoutComplete);
    const output = encodeOutput(worker.engine, held.job, place);
    if (typeof output === "string") return { kind: "returned", output };
    return output.then(
      (encoded): Ending => ({ kind: "returned", output: encoded }),
      (error: unknown): Ending => ({ kind: "threw", error }),
    );
  } catch (error) {
    return { kind: "threw", error };
  }
};

const failureOf = ({ held }: BatchMember, committed: CompletedBatch | undefined): Ending | undefined => {
  const { id } = held.job;
  return committed?.failures.has(id) ? { kind: "threw", error: committed.failures.get(id) } : undefined;
};

/** `complete` has committed: a job was completed, or had failed, or was lost before. */
export const endingsWhenCommitted = (
  members: readonly BatchMember[],
  committed: CompletedBatch,
): readonly Ending[] =>
  members.map((member) => {
    if (member.completed) return { kind: "returned", output: undefined };
    const error = new JobAttemptEndedError(member.held.job.id, member.abortReason ?? "it was left out");
    return failureOf(member, committed) ?? { kind: "threw", error };
  });

/** Nobody knows which of several jobs the error is about. What has been committed before it stands. */
export const endingsWhenThrown = (
  members: readonly BatchMember[],
  committed: CompletedBatch | undefined,
  error: unknown,
): readonly Ending[] => {
  const shared = members.length > 1;
  return members.map((member) => failureOf(member, committed) ?? { kind: "threw", error, shared });
};
