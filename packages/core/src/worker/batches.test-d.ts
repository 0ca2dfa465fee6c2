import type { JobId, Runtime, Union } from "../job-types/job-types-fixture.test-d.ts";
import type { BatchMiddleware } from "./handler-api.ts";
import { failJob } from "./outcome.ts";

declare const union: Union;

declare const runtime: Runtime;

const logging: BatchMiddleware = async ({ jobs, signal, signalOf, workerId }, next) => {
  const leasedUntil: Date[] = jobs.map((job) => job.leasedUntil);
  void [leasedUntil, signal.reason === "timeout", signalOf(jobs[0]!).aborted, workerId];
  return next();
};

// --- batch handlers that compile -----------------------------------------------------------------------------------

union
  .createWorker()
  .useForBatches(logging)
  .implementJobTypeBatch({
    typeName: "index-page",
    maxSize: 50,
    maxWaitMs: 10,
    retry: ({ attempt }) => attempt * 100,
    maxAttempts: 2,
    timeoutMs: 1_000,
    process: async ({ jobs, signal, signalOf }) =>
      jobs.map((job) => {
        const id: JobId = job.id;
        if (signal.aborted || signalOf(job).reason === "cancelled") return failJob(id);
        return { indexed: job.input.words.length };
      }),
  })
  .implementJobTypeBatch({
    typeName: "fetch-page",
    maxSize: 50,
    process: async ({ complete }) =>
      complete(async ({ jobs, client, tenant, continueWith }) => {
        await client.query(tenant);
        return jobs.map(({ input, attempt }) => {
          if (attempt > 1) return { skipped: true };
          if (attempt > 2) return failJob(new Error("enough"));
          return continueWith({ typeName: "index-page", input: { words: [input.url] } });
        });
      }),
  })
  .implementJobTypeBatch({
    typeName: "drop-page",
    maxSize: 5,
    process: async ({ complete }) =>
      complete(({ jobs, continueWith }) =>
        jobs.map((job) => {
          const output: null = job.blockers[0].output;
          void output;
          return continueWith({ typeName: "index-page", input: { words: [] } });
        }),
      ),
  })
  // Where the output is null, nothing need be returned.
  .implementJobTypeBatch({ typeName: "cleanup", maxSize: 5, process: async () => {} });

runtime
  .createWorker()
  .implementJobTypeBatch({
    typeName: "cleanup",
    maxSize: 5,
    process: async ({ complete }) => complete(() => {}),
  })
  .implementJobTypeBatch({
    typeName: "report",
    maxSize: 5,
    process: async ({ jobs }) => jobs.map(({ input }) => input.title),
  });

// --- outputs -------------------------------------------------------------------------------------------------------

union.createWorker().implementJobTypeBatch({
  typeName: "index-page",
  maxSize: 5,
  // @ts-expect-error outputs of the wrong type
  process: async ({ jobs }) => jobs.map(() => ({ indexed: "3" })),
});

runtime.createWorker().implementJobTypeBatch({
  typeName: "index-page",
  maxSize: 5,
  // @ts-expect-error outputs of the wrong type
  process: async ({ jobs }) => jobs.map(() => ({ indexed: "3" })),
});

union.createWorker().implementJobTypeBatch({
  typeName: "index-page",
  maxSize: 5,
  // @ts-expect-error one output for all
  process: async () => ({ indexed: 3 }),
});

union.createWorker().implementJobTypeBatch({
  typeName: "index-page",
  maxSize: 5,
  // @ts-expect-error no outputs
  process: async () => {},
});

union.createWorker().implementJobTypeBatch({
  typeName: "index-page",
  maxSize: 5,
  // @ts-expect-error outputs of the wrong type
  process: async ({ complete }) => complete(({ jobs }) => jobs.map(() => ({ index: 3 }))),
});

union.createWorker().implementJobTypeBatch({
  typeName: "drop-page",
  maxSize: 5,
  // @ts-expect-error this type always continues
  process: async ({ jobs }) => jobs.map(() => null),
});

union.createWorker().implementJobTypeBatch({
  typeName: "drop-page",
  maxSize: 5,
  // @ts-expect-error this type always continues
  process: async () => {},
});

// --- continuations -------------------------------------------------------------------------------------------------

union.createWorker().implementJobTypeBatch({
  typeName: "fetch-page",
  maxSize: 5,
  process: async ({ complete }) =>
    complete(({ jobs, continueWith }) =>
      // @ts-expect-error "report" is not a continuation of "fetch-page"
      jobs.map(() => continueWith({ typeName: "report", input: { title: "" } })),
    ),
});

union.createWorker().implementJobTypeBatch({
  typeName: "fetch-page",
  maxSize: 5,
  process: async ({ complete }) =>
    complete(({ jobs, continueWith }) =>
      // @ts-expect-error the wrong input
      jobs.map(() => continueWith({ typeName: "index-page", input: { words: [1] } })),
    ),
});

union.createWorker().implementJobTypeBatch({
  typeName: "report",
  maxSize: 5,
  // @ts-expect-error this type continues with nothing
  process: async ({ complete }) => complete(({ continueWith }) => [continueWith({ typeName: "cleanup" })]),
});

// --- options -------------------------------------------------------------------------------------------------------

// @ts-expect-error maxSize is missing
union.createWorker().implementJobTypeBatch({ typeName: "cleanup", process: async () => {} });

// @ts-expect-error there is no such type
union.createWorker().implementJobTypeBatch({ typeName: "clean", maxSize: 5, process: async () => {} });

union.createWorker().implementJobTypeBatch({
  typeName: "cleanup",
  maxSize: 5,
  // @ts-expect-error a batch has no `prepare`, and no single `job`
  process: async ({ prepare, job }) => void [prepare, job],
});

union.createWorker().implementJobType({
  typeName: "index-page",
  // @ts-expect-error `failJob` is for batches: a handler of one job throws
  process: async () => failJob(new Error("no")),
});
