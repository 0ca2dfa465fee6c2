import type { JobTypes } from "../job-types/define.ts";
import type {
  Adapter,
  JobId,
  Runtime,
  TxContext,
  Union,
  UnionTypes,
} from "../job-types/job-types-fixture.test-d.ts";
import type { Equal, Expect } from "../job-types/type-equality.test-d.ts";
import { createLeasehold } from "../leasehold.ts";
import type { RecurringJob, TriggeredRecurringJob } from "./api.ts";

declare const union: Union;

declare const runtime: Runtime;

declare const ctx: TxContext;

declare const stateAdapter: Adapter;

declare const jobTypes: JobTypes<UnionTypes>;

const job = { typeName: "cleanup" } as const;

// --- recurring jobs that compile -----------------------------------------------------------------------------------

const put = await union.recurring.put({ id: "nightly", cron: "30 2 * * *", job });

const triggered = await union.recurring.trigger({ id: "nightly", ...ctx });

export type Answers = [
  Expect<Equal<typeof put, RecurringJob<JobId>>>,
  Expect<Equal<typeof triggered, TriggeredRecurringJob<JobId>>>,
];

await union.recurring.put({
  ...ctx,
  id: "pages",
  cron: "*/5 * * * *",
  timeZone: "Europe/Berlin",
  startAt: new Date(),
  endAt: null,
  overlap: "queue_one",
  catchUp: "none",
  catchUpWindowMs: 60_000,
  jitterMs: 100,
  paused: true,
  expectedVersion: 0,
  job: {
    typeName: "fetch-page",
    input: { url: "/" },
    queue: "slow",
    priority: 1,
    maxAttempts: 2,
    group: "a",
  },
});

await runtime.recurring.put({
  id: "pages",
  everyMs: 60_000,
  anchorAt: new Date(),
  job: { typeName: "fetch-page", input: { url: "/" } },
});

await union.recurring.preview({ cron: "@daily", count: 3, from: new Date() });

await union.recurring.preview({ id: "pages" });

await union.recurring.pause({ id: "pages", expectedVersion: 3, ...ctx });

await union.recurring.list({ owner: "shop", limit: 10 });

await createLeasehold({
  stateAdapter,
  jobTypes,
  recurringJobs: {
    owner: "shop",
    removeOthers: true,
    jobs: [
      { id: "nightly", cron: "30 2 * * *", timeZone: "Europe/Berlin", job },
      {
        id: "pages",
        everyMs: 60_000,
        job: { typeName: "fetch-page", input: { url: "/" } },
        overlap: "allow",
      },
    ],
  },
});

// --- the job -------------------------------------------------------------------------------------------------------

const daily = { id: "daily", cron: "@daily" } as const;

// @ts-expect-error there is no such type
await union.recurring.put({ ...daily, job: { typeName: "clean-up" } });
// @ts-expect-error nor in the runtime form
await runtime.recurring.put({ ...daily, job: { typeName: "clean-up" } });
// @ts-expect-error an internal type is only reached by `continueWith`
await union.recurring.put({ ...daily, job: { typeName: "index-page", input: { words: [] } } });
// @ts-expect-error nor in the runtime form
await runtime.recurring.put({ ...daily, job: { typeName: "index-page", input: { words: [] } } });
// @ts-expect-error a type with blockers cannot recur
await union.recurring.put({ ...daily, job: { typeName: "report", input: { title: "" } } });
// @ts-expect-error nor in the runtime form
await runtime.recurring.put({ ...daily, job: { typeName: "report", input: { title: "" } } });
// @ts-expect-error nobody starts blockers of a recurring job
await union.recurring.put({ ...daily, job: { ...job, startBlockers: () => [] } });
// @ts-expect-error input is missing
await union.recurring.put({ ...daily, job: { typeName: "fetch-page" } });
// @ts-expect-error input of the wrong type
await union.recurring.put({ ...daily, job: { typeName: "fetch-page", input: { url: 1 } } });
// @ts-expect-error input of the wrong type
await runtime.recurring.put({ ...daily, job: { typeName: "fetch-page", input: { url: 1 } } });
// @ts-expect-error this type has no input
await union.recurring.put({ ...daily, job: { typeName: "cleanup", input: { url: "/" } } });
// @ts-expect-error the times decide when it runs
await union.recurring.put({ ...daily, job: { ...job, schedule: { afterMs: 5 } } });
// @ts-expect-error and the overlap policy whether there are two
await union.recurring.put({ ...daily, job: { ...job, deduplication: { key: "a" } } });
// @ts-expect-error each run has an id of its own
await union.recurring.put({ ...daily, job: { ...job, id: "job-1" } });

// --- its times and policies ----------------------------------------------------------------------------------------

// @ts-expect-error no times
await union.recurring.put({ id: "daily", job });
// @ts-expect-error two kinds of times
await union.recurring.put({ ...daily, everyMs: 1_000, job });
// @ts-expect-error an interval has no time zone
await union.recurring.put({ id: "daily", everyMs: 1_000, timeZone: "UTC", job });
// @ts-expect-error a cron expression has no anchor
await union.recurring.put({ ...daily, anchorAt: new Date(), job });
// @ts-expect-error moments are dates
await union.recurring.put({ ...daily, startAt: "2030-01-01", job });
// @ts-expect-error an id is required
await union.recurring.put({ cron: "@daily", job });
// @ts-expect-error the option is `timeZone`
await union.recurring.put({ ...daily, timezone: "UTC", job });
// @ts-expect-error there is no such policy
await union.recurring.put({ ...daily, overlap: "queue", job });
// @ts-expect-error there is no such policy
await union.recurring.put({ ...daily, catchUp: "first", job });
// @ts-expect-error `owner` is for `recurringJobs`
await union.recurring.put({ ...daily, owner: "shop", job });
// @ts-expect-error two kinds of times
await union.recurring.preview({ cron: "@daily", everyMs: 1_000 });
// @ts-expect-error an id, not a string
await union.recurring.pause("daily");

// --- declared in code ----------------------------------------------------------------------------------------------

const options = { stateAdapter, jobTypes };

// @ts-expect-error there is no such type
await createLeasehold({ ...options, recurringJobs: { jobs: [{ ...daily, job: { typeName: "clean-up" } }] } });

await createLeasehold({
  ...options,
  // @ts-expect-error an internal type is only reached by `continueWith`
  recurringJobs: { jobs: [{ ...daily, job: { typeName: "index-page", input: { words: [] } } }] },
});

await createLeasehold({
  ...options,
  // @ts-expect-error a type with blockers cannot recur
  recurringJobs: { jobs: [{ ...daily, job: { typeName: "report", input: { title: "" } } }] },
});

await createLeasehold({
  ...options,
  // @ts-expect-error input of the wrong type
  recurringJobs: { jobs: [{ ...daily, job: { typeName: "fetch-page", input: { url: 1 } } }] },
});

await createLeasehold({
  ...options,
  // @ts-expect-error input is missing
  recurringJobs: { jobs: [{ ...daily, job: { typeName: "fetch-page" } }] },
});
// @ts-expect-error the option is `everyMs`
await createLeasehold({ ...options, recurringJobs: { jobs: [{ id: "a", every: 1_000, job }] } });
// @ts-expect-error versions are for calls at run time
await createLeasehold({ ...options, recurringJobs: { jobs: [{ ...daily, job, expectedVersion: 1 }] } });
// @ts-expect-error the option is `removeOthers`
await createLeasehold({ ...options, recurringJobs: { jobs: [], removeOther: true } });
// @ts-expect-error the jobs are a list
await createLeasehold({ ...options, recurringJobs: { jobs: { daily: { ...daily, job } } } });
