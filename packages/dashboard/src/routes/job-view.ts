import type { AnyJob } from "leasehold";
import type { JobRow, StoredError } from "../answers.ts";
import type { Viewer } from "../server/rights.ts";
import type { Services } from "../server/services.ts";

const iso = (date: Date | null | undefined): string | null => date?.toISOString() ?? null;

const endOf = (job: AnyJob): Date | null => {
  if (job.status === "completed") return job.completedAt;
  return job.status === "failed" ? job.failure.at : null;
};

export const viewJobRow = ({ redact }: Services, viewer: Viewer, job: AnyJob): JobRow => {
  const { id, typeName, queue } = job;
  const error = job.status === "failed" ? job.failure.error : job.lastError;
  return {
    id,
    typeName,
    queue,
    status: job.status,
    sequenceId: job.sequenceId,
    sequenceTypeName: job.sequenceTypeName,
    rootSequenceId: job.rootSequenceId,
    originId: job.originId,
    priority: job.priority,
    attempt: job.attempt,
    createdAt: job.createdAt.toISOString(),
    scheduledAt: job.scheduledAt.toISOString(),
    startedAt: iso(job.lastAttemptAt),
    endedAt: iso(endOf(job)),
    failureReason: job.status === "failed" ? job.failure.reason : null,
    error: error === null ? null : viewError({ redact }, viewer, { id, typeName, queue }, error),
    leasedBy: job.status === "running" ? job.leasedBy : null,
    group: job.group,
    deduplicationKey: viewer.can.has("payloads") ? job.deduplicationKey : null,
  };
};

/** The kind of an error is for everybody; its words may contain anything. */
export const viewError = (
  { redact }: Pick<Services, "redact">,
  viewer: Viewer,
  job: { readonly id: string; readonly typeName: string; readonly queue: string },
  error: NonNullable<AnyJob["lastError"]>,
): StoredError => {
  const { name, message, stack, code, cause } = error;
  const show = (value: unknown): unknown => redact.payload(viewer, job, "error", value);
  return {
    name,
    message: show(message),
    ...(code !== undefined && { code }),
    ...(stack !== undefined && { stack: show(stack) }),
    ...(cause !== undefined && { cause: viewError({ redact }, viewer, job, cause) }),
  };
};

/** What a job carries, for those who may see it. */
export const viewPayloads = (
  { redact }: Services,
  viewer: Viewer,
  job: AnyJob,
): Readonly<Record<"input" | "output" | "progress", unknown>> => ({
  input: redact.payload(viewer, job, "input", job.input),
  output: redact.payload(viewer, job, "output", job.status === "completed" ? job.output : null),
  progress: redact.payload(viewer, job, "progress", job.progress),
});
