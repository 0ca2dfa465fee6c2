import type { CompletedJobSequence, FailedJob, FailedJobSequence } from "./job-types/entities.ts";
import type { JobId, Runtime, TxContext, Union, UnionTypes } from "./job-types/job-types-fixture.test-d.ts";
import type { JobOf, JobSequenceOf } from "./job-types/navigation.ts";
import type { Equal, Expect } from "./job-types/type-equality.test-d.ts";
import type { Leasehold } from "./leasehold-api.ts";
import type { JobStatus } from "./store/contract/job.ts";
import type { AnyStateAdapter } from "./store/contract/state-adapter.ts";

declare const union: Union;

declare const runtime: Runtime;

declare const ctx: TxContext;

declare const wide: Leasehold<
  { cleanup: { input: null; output: null }; tidy: { input: null; output: null } },
  AnyStateAdapter
>;

declare const page: JobSequenceOf<JobId, UnionTypes, "fetch-page">;

// --- waiting -------------------------------------------------------------------------------------------------------

const finished = await union.waitForJobSequenceCompletion({
  id: "job-1",
  typeName: "fetch-page",
  timeoutMs: 5,
});

const fromSequence = await union.waitForJobSequenceCompletion(page);

await union.waitForJobSequenceCompletion(page, { timeoutMs: 5, signal: AbortSignal.timeout(5) });

// @ts-expect-error: no such setting
await union.waitForJobSequenceCompletion(page, { timeout: 5 });

const fromSpread = await runtime.waitForJobSequenceCompletion({ ...page, signal: AbortSignal.timeout(5) });

// @ts-expect-error no sequence starts with an internal type
await union.waitForJobSequenceCompletion({ id: "job-1", typeName: "index-page" });
// @ts-expect-error an option that does not exist
await union.waitForJobSequenceCompletion({ id: "job-1", typeName: "cleanup", timeout: 5 });

const short = await union.waitForJobSequenceCompletion(page);

const startedShort = await union.startJobSequence({ typeName: "cleanup" });

const startedLong = await union.startJobSequence({ typeName: "cleanup" });
// @ts-expect-error no such type
await union.startJobSequence({ typeName: "clean-up" });
// @ts-expect-error no sequence starts with an internal type
await union.waitForJobSequenceCompletion({ id: "job-1", typeName: "index-page" });

// --- reading -------------------------------------------------------------------------------------------------------

const anyJob = await union.jobs.get({ id: "job-1" });

const indexJob = await union.jobs.get({ ...ctx, id: "job-1", typeName: "index-page" });

const anySequence = await runtime.jobs.getSequence({ id: "job-1" });

const pageSequence = await runtime.jobs.getSequence({ id: "job-1", typeName: "fetch-page" });

const listing = await union.jobs.list();

const failedPages = await union.jobs.list({
  ...ctx,
  typeName: ["fetch-page"],
  status: "failed",
  limit: 5,
  cursor: null,
});

const open = await runtime.jobs.list({
  status: ["pending", "blocked"],
  createdFrom: new Date(0),
  order: "oldest",
});

const sequences = await union.jobs.listSequences();

const failedSequences = await union.jobs.listSequences({ ...ctx, typeName: "fetch-page", status: "failed" });

const runningSequences = await runtime.jobs.listSequences({ status: ["running"], rootsOnly: true });

const now: Date = await union.getTime(ctx);

void now;

const ofSequence = await union.jobs.listInSequence({ id: page.id, typeName: "fetch-page" });

const counts = await union.jobs.count({ queue: ["a", "b"], typeName: "cleanup" });

const explanation = await union.jobs.explain({ ...ctx, id: "job-1" });

// @ts-expect-error a job may not have completed
void anyJob?.output;
// @ts-expect-error there may be no such job
void anyJob.status;
// @ts-expect-error narrowing by type narrows the input
if (anyJob?.typeName === "index-page") void anyJob.input.url;

if (anyJob?.typeName === "index-page") void (anyJob.input.words satisfies string[]);
// @ts-expect-error no such type
await union.jobs.get({ id: "job-1", typeName: "fetch-pages" });
// @ts-expect-error no such status
await union.jobs.list({ status: "done" });
// @ts-expect-error a filter that does not exist
await union.jobs.list({ statuses: ["failed"] });
// @ts-expect-error no sequence starts with an internal type
await union.jobs.listSequences({ typeName: "index-page" });
// @ts-expect-error a filter of jobs, not of sequences
await union.jobs.listSequences({ queue: "default" });
// @ts-expect-error an option that does not exist
await union.close({ timeoutMs: 5 });
// @ts-expect-error a part of the context is not a context
await union.jobs.get({ tenant: "acme", id: "job-1" });

switch (explanation.state) {
  case "runnable":
    void (explanation.aheadInQueue satisfies number);
    break;
  case "blocked":
    void explanation.by.map(({ id }) => id satisfies JobId);
    break;
  case "failed":
    void (explanation.failure.blockerSequenceId satisfies JobId | null);
    break;
  default:
    // @ts-expect-error only a runnable job has a place in the queue
    void explanation.aheadInQueue;
}

void (explanation.summary satisfies string);

// --- operating -----------------------------------------------------------------------------------------------------

const cancelled = await union.jobs.cancel({ ids: ["job-1"], reason: "mistake" });

const redriven = await union.jobs.redrive({
  filter: { typeName: "cleanup", failureReason: "no_handler" },
  dryRun: true,
});

await union.jobs.redrive({ ...ctx, ids: ["job-1"], limit: 1 });

await union.deleteJobSequences({ rootSequenceIds: [page.rootSequenceId] });

await union.jobs.prune({ olderThanMs: 1, statuses: ["failed"], batchSize: 1 });

const three: number = await union.runInTransaction(async ({ client, tenant }) => {
  await union.startJobSequence({ client, tenant, typeName: "cleanup" });
  return 3;
});

const four: number = await union.withNotify(async () => three + 1);

void four;

const changed = await union.jobs.update({
  ...ctx,
  ids: ["job-1"],
  typeName: "fetch-page",
  input: { url: "/" },
  priority: 3,
});

void (changed.changed[0]?.scheduledAt satisfies Date | undefined);

void changed.skipped.map(({ reason }) => reason satisfies "not_found" | "not_waiting" | "other_type");

await union.jobs.update({ filter: { typeName: "cleanup" }, schedule: { afterMs: 1 }, dryRun: true });

await union.jobs.update({ ids: [page.id], schedule: { afterMs: 0 } });
// @ts-expect-error the input of another type
await union.jobs.update({ ids: ["job-1"], typeName: "fetch-page", input: { path: "/" } });
// @ts-expect-error an input is for a type
await union.jobs.update({ ids: ["job-1"], input: { url: "/" } });
// @ts-expect-error only jobs that wait can be changed
await union.jobs.update({ filter: { status: "running" }, priority: 1 });
// @ts-expect-error ids or a filter
await union.jobs.update({ priority: 1, dryRun: true });

await union.startJobSequence({
  typeName: "cleanup",
  expireAfterMs: 1_000,
  deduplication: { key: "k", strategy: "pending", onDuplicate: { debounce: { maxDelayMs: 5 } } },
});
const debounce = { key: "k", waitMs: 5, maxWaitMs: 50 };
await union.startJobSequence({ typeName: "cleanup", debounce });
await union.startJobSequence({
  typeName: "cleanup",
  debounce,
  schedule: undefined,
  deduplication: undefined,
});
await union.startJobSequence({ typeName: "cleanup", debounce: undefined, schedule: { afterMs: 5 } });
await union.startJobSequences({ sequences: [{ typeName: "cleanup", debounce }, { typeName: "cleanup" }] });
// An element whose type is one of several.
for (const typeName of ["cleanup", "tidy"] as const) {
  await wide.startJobSequences({ sequences: [{ typeName, debounce }] });
  await wide.startJobSequences({ sequences: [{ typeName, schedule: { afterMs: 5 } }] });
}
// @ts-expect-error debounce implies when the job runs
await union.startJobSequence({ typeName: "cleanup", debounce, schedule: { afterMs: 5 } });
// @ts-expect-error debounce implies how duplicates are treated
await union.startJobSequence({ typeName: "cleanup", debounce, deduplication: { key: "k" } });
// @ts-expect-error debounce implies when the job runs, also in bulk
await union.startJobSequences({ sequences: [{ typeName: "cleanup", debounce, schedule: { afterMs: 5 } }] });
// @ts-expect-error debounce has a bound
await union.startJobSequence({ typeName: "cleanup", debounce: { key: "k", waitMs: 5 } });
// @ts-expect-error debounce has a bound
await union.startJobSequence({ typeName: "cleanup", deduplication: { key: "k", onDuplicate: "debounce" } });

// @ts-expect-error ids or a filter
await union.jobs.redrive({ dryRun: true });
// @ts-expect-error not both
await union.jobs.redrive({ ids: ["job-1"], filter: {} });
// @ts-expect-error only failed jobs can be redriven
await union.jobs.redrive({ filter: { status: "running" } });
// @ts-expect-error ids are those of the adapter
await union.deleteJobSequences({ rootSequenceIds: ["1"] });

export type Tests = [
  Expect<Equal<typeof finished, CompletedJobSequence<typeof page>>>,
  Expect<Equal<typeof fromSequence, typeof finished>>,
  Expect<Equal<typeof fromSpread, typeof finished>>,
  Expect<Equal<typeof short, typeof finished>>,
  Expect<Equal<typeof startedShort, typeof startedLong>>,
  Expect<Equal<(typeof sequences)["sequences"][number], NonNullable<typeof anySequence>>>,
  Expect<Equal<(typeof failedSequences)["sequences"][number], FailedJobSequence<typeof page>>>,
  Expect<Equal<(typeof runningSequences)["sequences"][number]["status"], "blocked" | "pending" | "running">>,
  Expect<Equal<typeof anyJob, JobOf<JobId, UnionTypes, keyof UnionTypes> | undefined>>,
  Expect<Equal<typeof indexJob, JobOf<JobId, UnionTypes, "index-page"> | undefined>>,
  Expect<Equal<NonNullable<typeof anySequence>["typeName"], "fetch-page" | "cleanup" | "report">>,
  Expect<Equal<typeof pageSequence, typeof page | undefined>>,
  Expect<Equal<(typeof listing)["jobs"][number]["status"], JobStatus>>,
  Expect<Equal<(typeof failedPages)["jobs"][number], FailedJob<JobOf<JobId, UnionTypes, "fetch-page">>>>,
  Expect<Equal<(typeof open)["jobs"][number]["status"], "pending" | "blocked">>,
  Expect<Equal<(typeof ofSequence)["jobs"][number]["typeName"], "fetch-page" | "index-page" | "drop-page">>,
  Expect<Equal<(typeof counts)[number]["typeName"], "cleanup">>,
  Expect<
    Equal<
      (typeof cancelled)["skipped"][number]["reason"],
      "already_completed" | "already_failed" | "not_found"
    >
  >,
  Expect<Equal<(typeof redriven)["changed"][number]["revivedIds"], readonly JobId[]>>,
];

// --- a Leasehold of whatever types, as tools take it ---------------------------------------------------------------

// oxlint-disable-next-line typescript/no-explicit-any -- any set of job types
declare const anyLeasehold: Leasehold<any, AnyStateAdapter>;

await anyLeasehold.startJobSequence({ typeName: "whatever", input: { a: 1 }, client: 3 });

const { jobs } = await anyLeasehold.jobs.list({ typeName: "whatever", status: "failed" });

void jobs.map(({ id, failure }) => [id, failure.reason]);

void ([union, runtime] satisfies (typeof anyLeasehold)[]);
