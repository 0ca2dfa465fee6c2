import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { LeaseholdError } from "./base/errors.ts";
import { defineJobTypes, typeOnly } from "./job-types/define.ts";
import { createLeasehold } from "./leasehold.ts";
import { createInProcessStateAdapter, type InProcessStateAdapter } from "./memory/state-adapter.ts";
import { watchGlobals } from "./testing/global-watch.ts";
import { hostileValues, ThrownByCallback } from "./testing/hostile-values.ts";
import { createTestKit } from "./testing/test-kit.ts";
import { failJob, rescheduleJob } from "./worker/outcome.ts";
import { stopOnSignals } from "./worker/stop-on-signals.ts";

type Call = (value: unknown) => unknown;
/** The functions under test as a caller without types sees them. */
type Untyped = Record<string, (...args: unknown[]) => unknown>;

// `npm run test:fuzz` raises it.
const valuesPerFunction = Number(process.env["LEASEHOLD_FUZZ_VALUES"] ?? 600);

const seed = 20_300_101;

// Makers of values, not values: fast-check itself looks into those.
const makers = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom(...hostileValues) },
  {
    weight: 2,
    arbitrary: fc
      .anything({
        maxDepth: 2,
        withBigInt: true,
        withDate: true,
        withMap: true,
        withSet: true,
        withNullPrototype: true,
        withObjectString: true,
        withSparseArray: true,
        withTypedArray: true,
      })
      .map((value) => () => value),
  },
  // Some that are right, so that what lies behind the first check is reached too.
  {
    weight: 1,
    arbitrary: fc
      .oneof(
        fc.integer({ min: -1, max: 50 }),
        fc.constantFrom("work", "completed", "failed", "oldest", "all", "queue", true, {}, []),
        fc.date({ min: new Date(0), max: new Date(4e12), noInvalidDate: true }),
        fc.constant({ key: "key" }),
        fc.constant({ afterMs: 1 }),
      )
      .map((value) => () => value as unknown),
  },
);

const sampled = fc.sample(makers, { numRuns: valuesPerFunction, seed });

const id = "01900000-0000-7000-8000-000000000000";

const recurringOptions = [
  "id",
  "cron",
  "timeZone",
  "everyMs",
  "anchorAt",
  "startAt",
  "endAt",
  "job",
  "overlap",
  "catchUp",
  "catchUpWindowMs",
  "jitterMs",
  "paused",
  "expectedVersion",
];

/** For each option a call with that option as given and all others right; the first takes the whole argument. */
const withOptions = (
  call: (...args: unknown[]) => unknown,
  valid: Record<string, unknown>,
  options: readonly string[],
): Call[] => [
  (value) => call(value),
  ...options.map(
    (option): Call =>
      (value) =>
        call({ ...valid, [option]: value }),
  ),
  // A key of the caller's choosing, too.
  (value) => call({ ...valid, [typeof value === "string" ? value.slice(0, 20) : "__proto__"]: value }),
];

const watch = watchGlobals();

let store: InProcessStateAdapter;

let facade: Untyped;

const jobTypes = defineJobTypes({ work: { input: typeOnly<unknown>(), output: typeOnly<unknown>() } });

beforeAll(async () => {
  watch.start();
  store = createInProcessStateAdapter();
  facade = (await createLeasehold({ stateAdapter: store, jobTypes })) as unknown as Untyped;
});

afterAll(async () => {
  await store.close();
  watch.stop();
});

const countJobs = async (): Promise<number> =>
  (await store.countJobs({ filter: {} })).reduce((sum, { count }) => sum + count, 0);

const removeJobs = async (): Promise<void> => {
  const { jobs } = await store.listJobs({ filter: {}, order: "oldest", limit: 1_000_000, after: null });
  await store.deleteSequences({ rootSequenceIds: jobs.map(({ rootSequenceId }) => rootSequenceId) });
};

/** Says which value it was without touching it: some would take for ever to print. */
const show = (make: () => unknown): string => {
  const place = hostileValues.indexOf(make);
  return place >= 0 ? `hostile value ${place}, ${make.toString().slice(0, 80)}` : fc.stringify(make());
};

const patienceMs = 10_000;

const settles = async (call: () => unknown): Promise<void> => {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const hang = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Error("It hangs.")), patienceMs);
  });
  try {
    await Promise.race([call(), hang]);
  } finally {
    clearTimeout(timer);
  }
};

/** Makes every call with its share of the values; each succeeds, or throws a typed error and has written nothing. */
const fuzz = async (calls: readonly Call[]): Promise<void> => {
  const problems = new Set<string>();
  await removeJobs();
  let before = 0;
  for (const [index, make] of sampled.entries()) {
    const place = index % calls.length;
    const value = make();
    try {
      await settles(() => calls[place]!(value));
      before = await countJobs();
    } catch (error) {
      const typed = error instanceof LeaseholdError || error instanceof ThrownByCallback;
      if (!typed) problems.add(`call ${place} with ${show(make)}: ${String(error)}`);
      if ((await countJobs()) !== before) problems.add(`call ${place} with ${show(make)} has written`);
    }
    if (before > 50) {
      await removeJobs();
      before = 0;
    }
  }
  expect([...problems].slice(0, 20)).toEqual([]);
  watch.check();
};

/** What goes wrong in a function of the caller's is the caller's own. */
const asCallback =
  (call: Call): Call =>
  async (value) => {
    try {
      await call(value);
    } catch (error) {
      throw typeof value === "function" ? new ThrownByCallback() : error;
    }
  };

const method = (name: string) => (passed: unknown) => facade[name]!(passed);

const filterOptions = [
  "status",
  "queue",
  "typeName",
  "failureReason",
  "createdFrom",
  "scheduledFrom",
  "finishedBefore",
  "id",
  "fingerprint",
];

const page = ["id", "limit", "cursor"];

const startOptions = [
  "typeName",
  "input",
  "id",
  "queue",
  "priority",
  "maxAttempts",
  "timeoutMs",
  "schedule",
  "deduplication",
];

const waitOptions = ["id", "typeName", "timeoutMs", "pollIntervalMs", "signal"];

const functions: Record<string, () => Call[]> = {
  start: () => withOptions(method("start"), { typeName: "work", input: null }, startOptions),
  startJobSequence: () => [
    ...withOptions(method("startJobSequence"), { typeName: "work", input: null }, startOptions),
    asCallback((value) => facade["startJobSequence"]!({ typeName: "work", startBlockers: value })),
    (value) => facade["startJobSequence"]!({ typeName: "work", startBlockers: () => [value] }),
    (value) => facade["startJobSequence"]!({ typeName: "work", startBlockers: () => [{ id: value }] }),
    (value) => facade["startJobSequence"]!({ typeName: "work", schedule: { at: value } }),
    (value) =>
      facade["startJobSequence"]!({ typeName: "work", deduplication: { key: "k", windowMs: value } }),
    (value) =>
      facade["startJobSequence"]!({ typeName: "work", deduplication: { key: "k", onDuplicate: value } }),
    (value) =>
      facade["startJobSequence"]!({
        typeName: "work",
        deduplication: { key: "k", onDuplicate: { debounce: { maxDelayMs: value } } },
      }),
    (value) => facade["startJobSequence"]!({ typeName: "work", input: { deep: [{ value }] } }),
  ],
  startJobSequences: () => [
    ...withOptions(method("startJobSequences"), {}, ["sequences"]),
    (value) => facade["startJobSequences"]!({ sequences: [{ typeName: "work", input: null }, value] }),
    (value) =>
      facade["startJobSequences"]!({ sequences: [{ typeName: "work" }, { typeName: "work", input: value }] }),
  ],
  completeJobSequence: () =>
    withOptions(method("completeJobSequence"), { id, typeName: "work", complete: () => undefined }, [
      "id",
      "typeName",
      "complete",
    ]),
  waitFor: () => withOptions(method("waitFor"), { id, typeName: "work" }, waitOptions),
  waitForJobSequenceCompletion: () =>
    withOptions(method("waitForJobSequenceCompletion"), { id, typeName: "work" }, waitOptions),
  cancelJobSequences: () => [
    ...withOptions(method("cancelJobSequences"), { ids: [id] }, ["ids", "reason"]),
    (value) => facade["cancelJobSequences"]!({ ids: [id, value] }),
  ],
  redriveJobs: () => [
    ...withOptions(method("redriveJobs"), { ids: [id] }, ["ids", "dryRun", "filter"]),
    ...withOptions((filter) => facade["redriveJobs"]!({ filter }), {}, filterOptions),
    (value) => facade["redriveJobs"]!({ filter: {}, limit: value }),
  ],
  updateWaitingJobs: () => [
    ...withOptions(method("updateWaitingJobs"), { ids: [id], priority: 1 }, [
      "ids",
      "dryRun",
      "filter",
      "priority",
      "schedule",
      "typeName",
      "input",
    ]),
    ...withOptions((filter) => facade["updateWaitingJobs"]!({ filter, priority: 1 }), {}, filterOptions),
    (value) => facade["updateWaitingJobs"]!({ ids: [id], typeName: "work", input: value }),
    (value) => facade["updateWaitingJobs"]!({ filter: {}, priority: 1, limit: value }),
  ],
  runJobsNow: () => [
    ...withOptions(method("runJobsNow"), { ids: [id] }, ["ids", "dryRun", "filter"]),
    (value) => facade["runJobsNow"]!({ filter: {}, cursor: value }),
  ],
  deleteJobSequences: () => [
    ...withOptions(method("deleteJobSequences"), {}, ["rootSequenceIds"]),
    (value) => facade["deleteJobSequences"]!({ rootSequenceIds: [value] }),
  ],
  pruneJobSequences: () =>
    withOptions(method("pruneJobSequences"), { olderThanMs: 0 }, ["olderThanMs", "statuses", "batchSize"]),
  runInTransaction: () => [
    asCallback(method("runInTransaction")),
    (value) =>
      facade["runInTransaction"]!(async (ctx: object) =>
        facade["startJobSequence"]!({ ...ctx, typeName: "work", input: value }),
      ),
  ],
  withNotify: () => [asCallback(method("withNotify"))],
  getJob: () => withOptions(method("getJob"), { id }, ["id", "typeName"]),
  getJobSequence: () => withOptions(method("getJobSequence"), { id }, ["id", "typeName"]),
  listJobs: () => withOptions(method("listJobs"), {}, [...filterOptions, ...page, "order"]),
  listJobSequences: () =>
    withOptions(method("listJobSequences"), {}, [
      "status",
      "typeName",
      "rootsOnly",
      "rootSequenceId",
      "createdFrom",
      "createdBefore",
      "limit",
      "cursor",
      "order",
    ]),
  getTime: () => [method("getTime")],
  close: () => {
    const close = async (options: unknown): Promise<unknown> => {
      const opened = (await createLeasehold({ stateAdapter: store, jobTypes })) as unknown as Untyped;
      return opened["close"]!(options);
    };
    return withOptions(close, {}, ["deadlineMs"]);
  },
  listSequenceJobs: () => withOptions(method("listSequenceJobs"), { id }, [...page, "typeName"]),
  getJobBlockers: () => withOptions(method("getJobBlockers"), { id }, ["id"]),
  listBlockedJobs: () => withOptions(method("listBlockedJobs"), { id }, page),
  listJobAttempts: () => withOptions(method("listJobAttempts"), { id }, ["id"]),
  countJobs: () => withOptions(method("countJobs"), {}, filterOptions),
  listFailureCauses: () => withOptions(method("listFailureCauses"), {}, ["queue", "typeName", "scanLimit"]),
  listProcesses: () => withOptions(method("listProcesses"), {}, ["from"]),
  getStatistics: () =>
    withOptions(method("getStatistics"), { from: new Date(0), before: new Date(1) }, [
      "from",
      "before",
      "queue",
      "typeName",
      "everyMs",
      "byType",
      "byDeployment",
    ]),
  explainJob: () => withOptions(method("explainJob"), { id }, ["id"]),
  setFlow: () => [
    ...withOptions(method("setFlow"), { queue: "q", concurrency: 5 }, [
      "queue",
      "typeName",
      "paused",
      "concurrency",
      "rate",
      "perGroup",
      "weights",
      "expectedVersion",
    ]),
    ...withOptions((rate) => facade["setFlow"]!({ queue: "q", rate }), { limit: 1, perMs: 1 }, [
      "limit",
      "perMs",
      "burst",
    ]),
  ],
  pause: () => withOptions(method("pause"), { queue: "q" }, ["queue", "typeName"]),
  resume: () => withOptions(method("resume"), { typeName: "work" }, ["queue", "typeName", "group"]),
  getFlow: () => withOptions(method("getFlow"), {}, ["queue"]),
  listGroups: () =>
    withOptions(method("listGroups"), { typeName: "work" }, ["queue", "held", "order", "limit"]),
  putRecurringJob: () => {
    const job = { typeName: "work", input: null };
    const put = method("putRecurringJob");
    const settings = ["typeName", "input", "queue", "priority", "maxAttempts", "timeoutMs"];
    return [
      ...withOptions(put, { id: "r", cron: "@daily", job }, recurringOptions),
      ...withOptions(put, { id: "r", everyMs: 60_000, job }, ["everyMs", "anchorAt"]),
      ...withOptions((given) => put({ id: "r", cron: "@daily", job: given }), job, settings),
    ];
  },
  pauseRecurringJob: () => withOptions(method("pauseRecurringJob"), { id }, ["id", "expectedVersion"]),
  resumeRecurringJob: () => withOptions(method("resumeRecurringJob"), { id }, ["id", "expectedVersion"]),
  deleteRecurringJob: () => withOptions(method("deleteRecurringJob"), { id }, ["id"]),
  triggerRecurringJob: () => withOptions(method("triggerRecurringJob"), { id }, ["id"]),
  getRecurringJob: () => withOptions(method("getRecurringJob"), { id }, ["id"]),
  listRecurringJobs: () => withOptions(method("listRecurringJobs"), {}, ["owner", "limit", "cursor"]),
  previewRecurringJob: () =>
    withOptions(method("previewRecurringJob"), { cron: "@daily" }, [
      "cron",
      "timeZone",
      "startAt",
      "endAt",
      "everyMs",
      "anchorAt",
      "id",
      "count",
      "from",
    ]),
  createWorker: () => withOptions(method("createWorker"), {}, ["retry"]),
};

const retryFields = ["type", "delayMs", "stepMs", "baseMs", "maxMs", "jitter"];

const otherFunctions: Record<string, () => Call[]> = {
  createLeasehold: () => {
    const create = createLeasehold as unknown as (options: unknown) => unknown;
    return withOptions(create, { stateAdapter: store, jobTypes }, [
      "stateAdapter",
      "jobTypes",
      "notifyAdapter",
      "observabilityAdapter",
      "log",
      "codec",
      "maxPayloadBytes",
      "storeDeadlineMs",
      "storeRetry",
      "defaults",
      "recurringJobs",
      "runtime",
    ]);
  },
  createTestKit: () => {
    const create = createTestKit as unknown as (options: unknown) => unknown;
    const options = ["jobTypes", "codec", "log", "storeRetry", "maxPayloadBytes"];
    return withOptions(create, { jobTypes }, options).slice(1);
  },
  defineJobTypes: () => {
    const define = defineJobTypes as unknown as (options: unknown) => unknown;
    const options = ["input", "output", "internal", "continuesTo", "blockers", "onBlockerFailure", "queue"];
    const numbers = ["priority", "maxAttempts", "timeoutMs", "leaseMs", "retry", "retention"];
    return [
      (value) => define(value),
      ...withOptions((work) => define({ work }), {}, [...options, ...numbers]),
      ...withOptions((retry) => define({ work: { retry } }), { type: "exponential" }, retryFields),
    ];
  },
  "worker.use": () => [(value) => (facade["createWorker"]!() as Untyped)["use"]!(value)],
  "worker.implementJobType": () => {
    const implement = (options: unknown) =>
      (facade["createWorker"]!() as Untyped)["implementJobType"]!(options);
    const valid = { typeName: "work", process: async () => null };
    const options = ["typeName", "process", "retry", "maxAttempts", "timeoutMs"];
    return withOptions(implement, valid, options);
  },
  "worker.useForBatches": () => [(value) => (facade["createWorker"]!() as Untyped)["useForBatches"]!(value)],
  "worker.implementJobTypeBatch": () => {
    const implement = (options: unknown) =>
      (facade["createWorker"]!() as Untyped)["implementJobTypeBatch"]!(options);
    const valid = { typeName: "work", maxSize: 5, process: async () => [] };
    const options = [
      "typeName",
      "process",
      "retry",
      "maxAttempts",
      "timeoutMs",
      "maxSize",
      "maxWaitMs",
      "sameGroup",
    ];
    return withOptions(implement, valid, options);
  },
  "worker.start": () => {
    const start = async (options: unknown): Promise<void> => {
      const builder = facade["createWorker"]!() as Untyped;
      builder["implementJobType"]!({ typeName: "work", process: async () => null });
      await ((await builder["start"]!(options)) as Untyped)["stop"]!();
    };
    return [
      ...withOptions(start, {}, [
        "workerId",
        "concurrency",
        "queues",
        "prefetch",
        "pollIntervalMs",
        "leaseMs",
        "maxAttempts",
        "reapIntervalMs",
        "pruneIntervalMs",
        "abortGraceMs",
        "stopDeadlineMs",
        "commitBatchSize",
        "commitLingerMs",
      ]),
      (value) => start({ queues: { queue: value } }),
      (value) => start({ queues: { queue: { concurrency: value } } }),
    ];
  },
  "worker.stop": () => [
    async (value) => {
      const builder = facade["createWorker"]!() as Untyped;
      builder["implementJobType"]!({ typeName: "work", process: async () => null });
      const running = (await builder["start"]!()) as Untyped;
      try {
        await running["stop"]!(value);
        await running["stop"]!({ deadlineMs: value });
      } finally {
        await running["stop"]!();
      }
    },
  ],
  failJob: () => [(value) => failJob(value)],
  rescheduleJob: () => [
    (value) => rescheduleJob(value as never),
    (value) => rescheduleJob({ at: value } as never),
    (value) => rescheduleJob({ afterMs: value } as never),
    (value) => rescheduleJob({ afterMs: 1 }, value),
  ],
  stopOnSignals: () => {
    const host = { on: () => host, off: () => host, exit: () => undefined };
    const install = (workers: unknown, options: unknown): void =>
      stopOnSignals(workers as never, options as never)();
    return [
      (value) => install(value, { process: host }),
      (value) => install([value], { process: host }),
      (value) => install([], value),
      (value) => install([], { process: host, deadlineMs: value }),
      (value) => install([], { process: host, onStopped: value }),
      (value) => install([], { process: value }),
    ];
  },
};

describe.each(Object.entries({ ...functions, ...otherFunctions }))("%s", (_name, calls) => {
  it("answers anything with success, or with a typed error and nothing written", () => fuzz(calls()), 60_000);
});

it("covers every function of the façade", () => {
  expect(Object.keys(functions).sort()).toEqual(Object.keys(facade).sort());
});
