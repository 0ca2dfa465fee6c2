import * as fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { LeaseholdError } from "./base/errors.ts";
import { defineJobTypes, typeOnly } from "./job-types/define.ts";
import { createLeasehold } from "./leasehold.ts";
import { createInProcessStateAdapter, type InProcessStateAdapter } from "./memory/state-adapter.ts";
import { facadeMethods } from "./testing/facade-methods.ts";
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
  facade = facadeMethods(await createLeasehold({ stateAdapter: store, jobTypes }));
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
    (value) => facade["startJobSequence"]!({ typeName: "work", debounce: value }),
    (value) =>
      facade["startJobSequence"]!({
        typeName: "work",
        debounce: { key: value, waitMs: value, maxWaitMs: value },
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
  waitForJobSequenceCompletion: () =>
    withOptions(method("waitForJobSequenceCompletion"), { id, typeName: "work" }, waitOptions),
  "jobs.cancel": () => [
    ...withOptions(method("jobs.cancel"), { ids: [id] }, ["ids", "reason", "dryRun", "filter"]),
    (value) => facade["jobs.cancel"]!({ ids: [id, value] }),
  ],
  "jobs.redrive": () => [
    ...withOptions(method("jobs.redrive"), { ids: [id] }, ["ids", "dryRun", "filter"]),
    ...withOptions((filter) => facade["jobs.redrive"]!({ filter }), {}, filterOptions),
    (value) => facade["jobs.redrive"]!({ filter: {}, limit: value }),
  ],
  "jobs.update": () => [
    ...withOptions(method("jobs.update"), { ids: [id], priority: 1 }, [
      "ids",
      "dryRun",
      "filter",
      "priority",
      "schedule",
      "typeName",
      "input",
    ]),
    ...withOptions((filter) => facade["jobs.update"]!({ filter, priority: 1 }), {}, filterOptions),
    (value) => facade["jobs.update"]!({ ids: [id], typeName: "work", input: value }),
    (value) => facade["jobs.update"]!({ filter: {}, priority: 1, limit: value }),
  ],
  deleteJobSequences: () => [
    ...withOptions(method("deleteJobSequences"), {}, ["rootSequenceIds"]),
    (value) => facade["deleteJobSequences"]!({ rootSequenceIds: [value] }),
  ],
  "jobs.prune": () =>
    withOptions(method("jobs.prune"), { olderThanMs: 0 }, ["olderThanMs", "statuses", "batchSize"]),
  runInTransaction: () => [
    asCallback(method("runInTransaction")),
    (value) =>
      facade["runInTransaction"]!(async (ctx: object) =>
        facade["startJobSequence"]!({ ...ctx, typeName: "work", input: value }),
      ),
  ],
  withNotify: () => [asCallback(method("withNotify"))],
  "jobs.get": () => withOptions(method("jobs.get"), { id }, ["id", "typeName"]),
  "jobs.getSequence": () => withOptions(method("jobs.getSequence"), { id }, ["id", "typeName"]),
  "jobs.list": () => withOptions(method("jobs.list"), {}, [...filterOptions, ...page, "order"]),
  "jobs.listSequences": () =>
    withOptions(method("jobs.listSequences"), {}, [
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
      const opened = facadeMethods(await createLeasehold({ stateAdapter: store, jobTypes }));
      return opened["close"]!(options);
    };
    return withOptions(close, {}, ["deadlineMs"]);
  },
  "jobs.listInSequence": () => withOptions(method("jobs.listInSequence"), { id }, [...page, "typeName"]),
  "jobs.listBlockers": () => withOptions(method("jobs.listBlockers"), { id }, ["id"]),
  "jobs.listBlocked": () => withOptions(method("jobs.listBlocked"), { id }, page),
  "history.listAttempts": () => withOptions(method("history.listAttempts"), { id }, ["id"]),
  "jobs.count": () => withOptions(method("jobs.count"), {}, filterOptions),
  "history.listCauses": () =>
    withOptions(method("history.listCauses"), {}, ["queue", "typeName", "scanLimit"]),
  "history.listProcesses": () => withOptions(method("history.listProcesses"), {}, ["from"]),
  "history.getStatistics": () =>
    withOptions(method("history.getStatistics"), { from: new Date(0), before: new Date(1) }, [
      "from",
      "before",
      "queue",
      "typeName",
      "everyMs",
      "byType",
      "byDeployment",
    ]),
  "jobs.explain": () => withOptions(method("jobs.explain"), { id }, ["id"]),
  "limits.set": () => [
    ...withOptions(method("limits.set"), { queue: "q", concurrency: 5 }, [
      "queue",
      "typeName",
      "paused",
      "concurrency",
      "rate",
      "perGroup",
      "weights",
      "group",
      "expectedVersion",
    ]),
    ...withOptions((rate) => facade["limits.set"]!({ queue: "q", rate }), { limit: 1, perMs: 1 }, [
      "limit",
      "perMs",
      "burst",
    ]),
  ],
  "limits.pause": () =>
    withOptions(method("limits.pause"), { typeName: "work" }, ["queue", "typeName", "group", "until"]),
  "limits.resume": () =>
    withOptions(method("limits.resume"), { typeName: "work" }, ["queue", "typeName", "group"]),
  "limits.list": () => withOptions(method("limits.list"), {}, ["queue"]),
  "limits.listGroups": () =>
    withOptions(method("limits.listGroups"), { typeName: "work" }, [
      "queue",
      "throttled",
      "order",
      "limit",
      "cursor",
    ]),
  "recurring.put": () => {
    const job = { typeName: "work", input: null };
    const put = method("recurring.put");
    const settings = ["typeName", "input", "queue", "priority", "maxAttempts", "timeoutMs"];
    return [
      ...withOptions(put, { id: "r", cron: "@daily", job }, recurringOptions),
      ...withOptions(put, { id: "r", everyMs: 60_000, job }, ["everyMs", "anchorAt"]),
      ...withOptions((given) => put({ id: "r", cron: "@daily", job: given }), job, settings),
    ];
  },
  "recurring.update": () =>
    withOptions(method("recurring.update"), { id, jitterMs: 1 }, [
      "id",
      "cron",
      "timeZone",
      "everyMs",
      "anchorAt",
      "startAt",
      "endAt",
      "overlap",
      "catchUp",
      "catchUpWindowMs",
      "jitterMs",
      "input",
      "expectedVersion",
    ]),
  "recurring.pause": () => withOptions(method("recurring.pause"), { id }, ["id", "expectedVersion"]),
  "recurring.resume": () => withOptions(method("recurring.resume"), { id }, ["id", "expectedVersion"]),
  "recurring.delete": () => withOptions(method("recurring.delete"), { id }, ["id"]),
  "recurring.trigger": () => withOptions(method("recurring.trigger"), { id }, ["id"]),
  "recurring.get": () => withOptions(method("recurring.get"), { id }, ["id"]),
  "recurring.list": () => withOptions(method("recurring.list"), {}, ["owner", "limit", "cursor"]),
  "recurring.preview": () =>
    withOptions(method("recurring.preview"), { cron: "@daily" }, [
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
        "idleSleepMs",
        "abortGraceMs",
        "stopDeadlineMs",
        "commitBatchSize",
        "commitLingerMs",
        "workerLoopRetryConfig",
      ]),
      (value) => start({ workerLoopRetryConfig: { initialDelayMs: value } }),
      (value) => start({ workerLoopRetryConfig: { maxDelayMs: value } }),
      (value) => start({ queues: { queue: value } }),
      (value) => start({ queues: { queue: { concurrency: value } } }),
    ];
  },
  "worker.runUntilIdle": () => {
    const run = async (options: unknown): Promise<void> => {
      const builder = facade["createWorker"]!() as Untyped;
      builder["implementJobType"]!({ typeName: "work", process: async () => null });
      await builder["runUntilIdle"]!(options);
    };
    return withOptions(run, { deadlineMs: 1_000 }, ["deadlineMs", "abortGraceMs", "concurrency", "queues"]);
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
