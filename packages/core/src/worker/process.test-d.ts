import type { StoredError } from "../base/stored-error.ts";
import type { CompletedJobOf } from "../jobs/api/complete.ts";
import type { JobId, Runtime, Union, UnionTypes } from "../job-types/job-types-fixture.test-d.ts";
import type { Equal, Expect } from "../job-types/type-equality.test-d.ts";
import type { RunningWorker, StopResult } from "./api.ts";
import type { Middleware } from "./handler-api.ts";

declare const union: Union;

declare const runtime: Runtime;

const logging: Middleware = async ({ job, signal, workerId }, next) => {
  const leasedUntil: Date = job.leasedUntil;
  const lastError: StoredError | null = job.lastError;
  void [leasedUntil, lastError, signal.reason === "timeout", workerId];
  return next();
};

// --- handlers that compile -----------------------------------------------------------------------------------------

for (const worker of [union.createWorker(), runtime.createWorker({ retry: { type: "fixed", delayMs: 5 } })]) {
  void worker;
}

const started: RunningWorker = await union
  .createWorker()
  .use(logging)
  .implementJobType({
    typeName: "fetch-page",
    retry: ({ attempt }) => attempt * 100,
    maxAttempts: 2,
    timeoutMs: 1_000,
    process: async ({ job, signal, prepare, complete, reportProgress }) => {
      const url: string = job.input.url;
      const seen = await prepare({ mode: "staged" }, async ({ client }) => {
        await client.query("select 1");
        return 3;
      });
      const nothing: void = await prepare({ mode: "atomic" });
      await reportProgress({ percent: seen });
      if (signal.aborted && signal.reason === "shutdown") return { skipped: true };
      void [url, nothing];
      return complete(async ({ client, tenant, continueWith }) => {
        await client.query(tenant);
        if (job.attempt > 1) return { skipped: true };
        return continueWith({ typeName: "index-page", input: { words: [url] }, schedule: { afterMs: 5 } });
      });
    },
  })
  .implementJobType({
    typeName: "index-page",
    // The simple handler.
    process: async ({ job }) => ({ indexed: job.input.words.length }),
  })
  .implementJobType({
    typeName: "drop-page",
    process: async ({ job, complete }) => {
      const output: null = job.blockers[0].output;
      const sequenceTypeName: "fetch-page" = job.sequenceTypeName;
      void [output, sequenceTypeName];
      return complete(({ continueWith }) => continueWith({ typeName: "index-page", input: { words: [] } }));
    },
  })
  .implementJobType({
    typeName: "cleanup",
    // Where the output is null, nothing need be returned.
    process: async () => {},
  })
  .implementJobType({
    typeName: "report",
    process: async ({ job, complete }) => {
      const [page, cleanup] = job.blockers;
      const outcome: { skipped: true } | { indexed: number } = page.output;
      const cleaned: null = cleanup.output;
      void [outcome, cleaned];
      return complete(() => job.input.title);
    },
  })
  .start({
    workerId: "w1",
    concurrency: 10,
    queues: { default: 5, slow: { concurrency: 1, claimAllTypes: true } },
    leaseMs: 30_000,
  });

const stopped: StopResult = await started.stop({ deadlineMs: 5_000 });

void stopped;

runtime
  .createWorker()
  .implementJobType({
    typeName: "fetch-page",
    process: async ({ job, complete }) =>
      complete(async ({ continueWith, tenant }) =>
        continueWith({
          typeName: "drop-page",
          startBlockers: async ({ job: dropping, client }) => {
            const originId: JobId | null = dropping.originId;
            void originId;
            return [
              await runtime.startJobSequence({ client, tenant, typeName: "cleanup", queue: job.input.url }),
            ];
          },
        }),
      ),
  })
  .implementJobType({ typeName: "cleanup", process: async ({ complete }) => complete(() => {}) })
  .implementJobType({ typeName: "report", process: async () => "text" });

// --- what `complete` and `continueWith` return ---------------------------------------------------------------------

union
  .createWorker()
  .implementJobType({
    typeName: "fetch-page",
    process: async ({ complete }) => {
      const done = await complete(async ({ continueWith }) => {
        const next = await continueWith({ typeName: "index-page", input: { words: ["a"] } });
        const fields: [JobId, "index-page", string[], Date] = [
          next.id,
          next.typeName,
          next.input.words,
          next.scheduledAt,
        ];
        const sequenceTypeName: "fetch-page" = next.sequenceTypeName;
        const status: "pending" | "blocked" | "failed" = next.status;
        // @ts-expect-error: its blockers are not read
        void next.blockers;
        void [fields, sequenceTypeName, status];
        return next;
      });
      const fields: ["completed", JobId, "fetch-page", string, Date, string | null] = [
        done.status,
        done.id,
        done.typeName,
        done.input.url,
        done.completedAt,
        done.completedBy,
      ];
      if (done.continuedToId === null) {
        const output: { skipped: true } = done.output;
        void output;
      } else {
        const continuedToId: JobId = done.continuedToId;
        const output: undefined = done.output;
        void [continuedToId, output];
      }
      // @ts-expect-error: it has no lease any more
      void done.leasedBy;
      void fields;
      return done;
    },
  })
  .implementJobType({
    typeName: "report",
    process: async ({ complete }) => {
      const done = await complete(() => "text");
      const output: string = done.output;
      void output;
      return done;
    },
  })
  .implementJobType({
    typeName: "cleanup",
    // @ts-expect-error: the completed job of another type
    process: async () => {
      const done = undefined as unknown as CompletedJobOf<UnionTypes, JobId, "report">;
      return done;
    },
  });

// --- outputs -------------------------------------------------------------------------------------------------------

union.createWorker().implementJobType({
  typeName: "index-page",
  // @ts-expect-error an output of the wrong type
  process: async () => ({ indexed: "3" }),
});

runtime.createWorker().implementJobType({
  typeName: "index-page",
  // @ts-expect-error an output of the wrong type
  process: async () => ({ indexed: "3" }),
});

union.createWorker().implementJobType({
  typeName: "index-page",
  // @ts-expect-error no output
  process: async () => {},
});

union.createWorker().implementJobType({
  typeName: "cleanup",
  // @ts-expect-error an output where there is none
  process: async () => 5,
});

union.createWorker().implementJobType({
  typeName: "index-page",
  // @ts-expect-error an output of the wrong type
  process: async ({ complete }) => complete(() => ({ index: 3 })),
});

union.createWorker().implementJobType({
  typeName: "drop-page",
  // @ts-expect-error this type always continues
  process: async () => null,
});

union.createWorker().implementJobType({
  typeName: "drop-page",
  // @ts-expect-error this type always continues
  process: async ({ complete }) => complete(() => null),
});

union.createWorker().implementJobType({
  typeName: "fetch-page",
  // @ts-expect-error a continuation is made inside `complete`, not returned from the handler
  process: async ({ complete }) => {
    let leaked;
    await complete(async ({ continueWith }) => {
      leaked = continueWith({ typeName: "index-page", input: { words: [] } });
      return leaked;
    });
    return leaked;
  },
});

// @ts-expect-error there is no such type
union.createWorker().implementJobType({ typeName: "fetch-pages", process: async () => {} });

// --- continuations -------------------------------------------------------------------------------------------------

union.createWorker().implementJobType({
  typeName: "fetch-page",
  process: async ({ complete }) =>
    // @ts-expect-error "report" is not a continuation of "fetch-page"
    complete(async ({ continueWith }) => continueWith({ typeName: "report", input: { title: "" } })),
});

union.createWorker().implementJobType({
  typeName: "fetch-page",
  process: async ({ complete }) =>
    // @ts-expect-error the wrong input
    complete(async ({ continueWith }) => continueWith({ typeName: "index-page", input: { words: [1] } })),
});

runtime.createWorker().implementJobType({
  typeName: "fetch-page",
  process: async ({ complete }) =>
    // @ts-expect-error the wrong input
    complete(async ({ continueWith }) => continueWith({ typeName: "index-page", input: { words: [1] } })),
});

runtime.createWorker().implementJobType({
  typeName: "fetch-page",
  process: async ({ complete }) =>
    // @ts-expect-error startBlockers is missing
    complete(async ({ continueWith }) => continueWith({ typeName: "drop-page" })),
});

union.createWorker().implementJobType({
  typeName: "drop-page",
  process: async ({ complete }) =>
    complete(async ({ continueWith }) =>
      // @ts-expect-error "index-page" has no blockers
      continueWith({ typeName: "index-page", input: { words: [] }, startBlockers: async () => [] }),
    ),
});

union.createWorker().implementJobType({
  typeName: "report",
  process: async ({ complete }) =>
    // @ts-expect-error this type continues with nothing
    complete(async ({ continueWith }) => continueWith({ typeName: "cleanup" })),
});

// --- the job -------------------------------------------------------------------------------------------------------

union.createWorker().implementJobType({
  typeName: "fetch-page",
  process: async ({ job, signal }) => {
    // @ts-expect-error no such part of the input
    void job.input.path;
    // @ts-expect-error a running job has no output
    void job.output;
    // @ts-expect-error no such reason
    void (signal.reason === "bored");
    return { skipped: true };
  },
});

export type Tests = [
  Expect<Equal<Parameters<Middleware>[0]["job"]["status"], "running">>,
  Expect<Equal<ReturnType<RunningWorker["health"]>["healthy"], boolean>>,
];
