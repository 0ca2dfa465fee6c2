import { createdStateJob, JobAlreadyExistsError, type NewJob, type StateJob } from "leasehold/adapter";
import type { Document } from "mongodb";
import { assertStorable } from "./document-size.ts";
import { fromDocument, toDocument } from "./job-document.ts";
import { scheduledExpression } from "./runnable.ts";
import type { Store } from "./store.ts";

/** The times of a new job, by the server's clock. */
const creationTimes = (job: NewJob): Document => {
  const scheduledAt = scheduledExpression(job.schedule, "$$NOW");
  return {
    createdAt: "$$NOW",
    ...(job.sequenceCreatedAt === null ? { sequenceCreatedAt: "$$NOW" } : {}),
    scheduledAt,
    dueAt: scheduledAt,
  };
};

/** A single job that nothing else depends on is created in one command, without a transaction. */
export const createAlone = async (store: Store, job: NewJob): Promise<StateJob> => {
  const stored = { row: createdStateJob(job, 0), blockerIds: [], hasWaiters: false };
  const document = toDocument({ ...stored, position: store.nextPosition() });
  assertStorable(document);
  const isNew = { $eq: [{ $type: "$createdAt" }, "missing"] };
  const created = { $mergeObjects: [{ $literal: document }, creationTimes(job)] };
  const { value, lastErrorObject } = await store.collections.jobs.findOneAndUpdate(
    { _id: { $eq: job.id } },
    [{ $replaceWith: { $cond: [isNew, created, "$$ROOT"] } }],
    { upsert: true, returnDocument: "after", includeResultMetadata: true },
  );
  if (value === null || lastErrorObject?.["updatedExisting"] === true)
    throw new JobAlreadyExistsError([job.id]);
  return fromDocument(value).row;
};
