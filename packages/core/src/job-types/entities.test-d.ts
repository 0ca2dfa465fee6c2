import type { StoredError } from "../base/stored-error.ts";
import type { FailureReason, JobStatus } from "../store/contract/job.ts";
import type {
  AnyJob,
  AnyJobSequence,
  BlockedJob,
  CompletedJob,
  CompletedJobSequence,
  CreatedJob,
  FailedJob,
  FailedJobSequence,
  Job,
  JobAbortReason,
  JobSequence,
  JobWithoutBlockers,
  PendingJob,
  RunningJob,
  TypedAbortSignal,
} from "./entities.ts";
import type { Equal, Expect } from "./type-equality.test-d.ts";

type Scan = JobSequence<string, "scan", { path: string }, { clean: boolean }>;

type Upload = Job<string, "upload", { path: string }, readonly [Scan], "upload", { url: string }, false>;

declare const upload: Upload;

declare const scan: Scan;

declare const anyJob: AnyJob;

declare const signal: TypedAbortSignal<JobAbortReason>;

// @ts-expect-error the job may not have completed
void upload.output;
// @ts-expect-error nor may it have failed
void upload.failure;
// @ts-expect-error nor be running
void upload.leasedUntil;
// @ts-expect-error the sequence may not have completed
void scan.output;
// @ts-expect-error jobs are read, not written
upload.priority = 3;

switch (upload.status) {
  case "completed": {
    const url: string = upload.output.url;
    const by: string | null = upload.completedBy;
    void [url, by];
    break;
  }
  case "failed": {
    const reason: FailureReason = upload.failure.reason;
    const error: StoredError | null = upload.failure.error;
    const blockerId: string | null = upload.failure.blockerSequenceId;
    void [reason, error, blockerId];
    break;
  }
  case "running": {
    const until: Date = upload.leasedUntil;
    // All blockers of a running job have completed.
    const clean: boolean = upload.blockers[0].output.clean;
    void [until, clean];
    break;
  }
  default:
    // @ts-expect-error a blocker of a job that waits need not have completed
    void upload.blockers[0].output;
}

if (anyJob.status === "completed" && anyJob.continuedToId === null) {
  const output: unknown = anyJob.output;
  void output;
}

if (scan.status === "completed") {
  const clean: boolean = scan.output.clean;
  void clean;
}

// A job or sequence of some type is one of whatever type.
const asAnyJob: AnyJob = upload;

const asAnySequence: AnyJobSequence = scan;

void [asAnyJob, asAnySequence];

// @ts-expect-error not a reason
void (signal.reason === "bored");

fetch("https://example.com", { signal }).catch(() => {});

AbortSignal.any([signal]);

export type Tests = [
  Expect<Equal<Upload["status"], JobStatus>>,
  Expect<Equal<AnyJobSequence["status"], JobStatus>>,
  Expect<Equal<PendingJob<Upload>["status"], "pending">>,
  Expect<Equal<BlockedJob<Upload>["status"], "blocked">>,
  Expect<Equal<RunningJob<Upload>["leasedBy"], string>>,
  Expect<Equal<CompletedJob<Upload>["output"], { url: string }>>,
  Expect<Equal<FailedJob<Upload>["status"], "failed">>,
  Expect<Equal<CreatedJob<Upload>["status"], "pending" | "blocked" | "failed">>,
  Expect<Equal<FailedJob<CreatedJob<Upload>>["failure"]["reason"], "blocker_failed">>,
  Expect<Equal<"blockers" & keyof JobWithoutBlockers<PendingJob<Upload>>, never>>,
  Expect<Equal<JobWithoutBlockers<PendingJob<Upload>>["input"], { path: string }>>,
  Expect<Equal<CompletedJobSequence<Scan>["output"], { clean: boolean }>>,
  Expect<Equal<FailedJobSequence<Scan>["failure"]["attempt"], number>>,
];
