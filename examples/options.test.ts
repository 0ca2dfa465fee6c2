import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { createDashboard } from "@leasehold/dashboard";
import {
  createMongoNotifyAdapter,
  createMongoStateProvider,
  createMongoStateAdapter,
} from "@leasehold/mongodb";
import { createNatsNotifyAdapter } from "@leasehold/nats";
import { LeaseholdModule } from "@leasehold/nestjs";
import { createOtelObservabilityAdapter } from "@leasehold/otel";
import {
  createPgNotifyAdapter,
  createPgPoolNotifyProvider,
  createPgPoolStateProvider,
  createPgStateAdapter,
  createPostgresJsNotifyProvider,
  createPostgresJsStateProvider,
} from "@leasehold/postgres";
import { createDrizzleStateProvider } from "@leasehold/postgres/drizzle";
import { createKnexStateProvider } from "@leasehold/postgres/knex";
import { createKyselyStateProvider } from "@leasehold/postgres/kysely";
import { createPGliteStateProvider } from "@leasehold/postgres/pglite";
import { createPrismaStateProvider } from "@leasehold/postgres/prisma";
import {
  createIoredisNotifyProvider,
  createNodeRedisNotifyProvider,
  createRedisNotifyAdapter,
} from "@leasehold/redis";
import {
  createBetterSqlite3StateProvider,
  createNodeSqliteStateProvider,
  createSqliteStateAdapter,
} from "@leasehold/sqlite";
import { createDrizzleStateProvider as createDrizzleSqliteStateProvider } from "@leasehold/sqlite/drizzle";
import { createKyselyStateProvider as createKyselySqliteStateProvider } from "@leasehold/sqlite/kysely";
import {
  createConsoleLog,
  createInProcessStateAdapter,
  createLeasehold,
  defineJobTypes,
  defineUnionJobTypes,
  LeaseholdError,
  rescheduleJob,
  stopOnSignals,
} from "leasehold";
import { checkStore } from "leasehold/doctor";
import { createDeterministicRuntime, createManualClock, createTestKit, withFaults } from "leasehold/testing";
import { describe, expect, it } from "vitest";

/*
 * Every options object that the documentation names, with how to pass it. Each has to refuse a name that it does not
 * have and say which one was probably meant; and each table of options has to be that of one of these objects.
 */

interface OptionsObject {
  readonly names: readonly string[];
  /** Passes these options, with whatever else the call needs. */
  readonly pass: (options: Record<string, unknown>) => unknown;
}

type AnyFunction = (...values: never[]) => unknown;
/** As JavaScript would call it. */
const untyped = (call: AnyFunction) => call as unknown as (...values: unknown[]) => unknown;

const stateAdapter = createInProcessStateAdapter();
const jobTypes = defineJobTypes({ task: {}, next: { internal: true }, step: { continuesTo: ["next"] } });
const leasehold = await createLeasehold({ stateAdapter, jobTypes });
type Methods = Record<string, (...values: unknown[]) => unknown>;
const prefixed = (namespace: "jobs" | "recurring" | "limits" | "history"): Methods =>
  Object.fromEntries(
    Object.entries(leasehold[namespace] as unknown as Methods).map(([name, method]) => [
      `${namespace}.${name}`,
      method,
    ]),
  );
const api: Methods = {
  ...(leasehold as unknown as Methods),
  ...prefixed("jobs"),
  ...prefixed("recurring"),
  ...prefixed("limits"),
  ...prefixed("history"),
};
const sequence = await leasehold.startJobSequence({ typeName: "step" });

const newWorker = () =>
  leasehold.createWorker().implementJobType({ typeName: "task", process: async () => null });
const stopWorker = async (options: Record<string, unknown>) => {
  const worker = await newWorker().start();
  try {
    await untyped(worker.stop)(options);
  } finally {
    await worker.stop();
  }
};
const startWorker = async (options: Record<string, unknown>) => {
  const worker = await newWorker().start(options);
  await worker.stop();
};
const continueWith = async (options: Record<string, unknown>) => {
  await untyped(leasehold.completeJobSequence as AnyFunction)({
    id: sequence.id,
    typeName: "step",
    complete: ({ job, complete }: { job: unknown; complete: (...values: unknown[]) => unknown }) =>
      complete(job, ({ continueWith: next }: { continueWith: (value: unknown) => unknown }) =>
        next({ typeName: "next", ...options }),
      ),
  });
};

/** Runs one job and answers with what its handler threw. */
interface HandlerTools {
  prepare(options: unknown): unknown;
  complete(callback: () => unknown, options: unknown): unknown;
}
const inHandler = async (use: (tools: HandlerTools) => unknown) => {
  let thrown: unknown;
  const kit = await createTestKit({ jobTypes });
  await kit.leasehold.startJobSequence({ typeName: "task", maxAttempts: 1 });
  await kit.drain(
    kit.leasehold.createWorker().implementJobType({
      typeName: "task",
      process: async (tools) => {
        try {
          await use(tools as never);
        } catch (error) {
          thrown = error;
        }
        return null;
      },
    }),
  );
  if (thrown !== undefined) throw thrown;
};

const retryFields = {
  exponential: { type: "exponential" },
  fixed: { type: "fixed", delayMs: 1 },
  linear: { type: "linear", stepMs: 1 },
};
const passRetry = (fields: object) => (options: Record<string, unknown>) =>
  api["createWorker"]!({ retry: { ...fields, ...options } });

const filters = [
  "id",
  "status",
  "queue",
  "typeName",
  "sequenceTypeName",
  "deduplicationKey",
  "failureReason",
  "fingerprint",
  "leasedBy",
  "sequenceId",
  "rootSequenceId",
  "createdFrom",
  "createdBefore",
  "finishedFrom",
  "finishedBefore",
];
const jobOptions = [
  "typeName",
  "input",
  "id",
  "queue",
  "priority",
  "maxAttempts",
  "timeoutMs",
  "group",
  "expireAfterMs",
  "schedule",
];
const settings = [
  "onBlockerFailure",
  "queue",
  "priority",
  "maxAttempts",
  "retry",
  "timeoutMs",
  "expireAfterMs",
  "leaseMs",
  "retention",
  "workerless",
  "group",
  "ordered",
];
const recurringTimes = ["cron", "timeZone", "everyMs", "anchorAt", "startAt", "endAt"];
const recurringOptions = [
  ...recurringTimes,
  "id",
  "job",
  "overlap",
  "catchUp",
  "catchUpWindowMs",
  "jitterMs",
  "paused",
  "expectedVersion",
];
const page = ["limit", "cursor"];
const pool = {
  connect: () => undefined,
  query: () => undefined,
  on: () => undefined,
  listenerCount: () => 1,
};
const sql = Object.assign(() => undefined, { begin: () => undefined, listen: () => undefined });
const subscriber = { subscribe: () => undefined };
const redisClient = {
  on: () => undefined,
  off: () => undefined,
  eval: () => undefined,
  duplicate: () => undefined,
};
const pgState = { stateProvider: { executeSql: () => undefined, runInTransaction: () => undefined } };

const objects: Record<string, OptionsObject> = {
  createLeasehold: {
    names: [
      "stateAdapter",
      "jobTypes",
      "notifyAdapter",
      "observabilityAdapter",
      "log",
      "deployment",
      "codec",
      "maxPayloadBytes",
      "storeDeadlineMs",
      "storeRetry",
      "defaults",
      "createId",
      "recurringJobs",
      "statistics",
      "runtime",
    ],
    pass: (options) => createLeasehold({ stateAdapter, jobTypes, ...options }),
  },
  storeRetry: {
    names: ["maxAttempts", "initialDelayMs", "maxDelayMs"],
    pass: (storeRetry) => createLeasehold({ stateAdapter, jobTypes, storeRetry }),
  },
  defaults: {
    names: ["maxAttempts", "retry", "timeoutMs", "expireAfterMs", "retention"],
    pass: (defaults) => createLeasehold({ stateAdapter, jobTypes, defaults }),
  },
  retention: {
    names: ["completedMs", "failedMs"],
    pass: (retention) => createLeasehold({ stateAdapter, jobTypes, defaults: { retention } }),
  },
  createInProcessStateAdapter: { names: ["clock"], pass: createInProcessStateAdapter },
  createConsoleLog: { names: ["level"], pass: createConsoleLog },
  defineJobTypes: {
    names: [...settings, "input", "output", "internal", "continuesTo", "blockers"],
    pass: (options) => untyped(defineJobTypes as AnyFunction)({ task: options }),
  },
  defineUnionJobTypes: {
    names: settings,
    pass: (options) => untyped(defineUnionJobTypes as AnyFunction)({ task: options }),
  },
  startJobSequence: {
    names: [...jobOptions, "deduplication", "debounce", "detached", "startBlockers"],
    pass: (options) => api["startJobSequence"]!({ typeName: "task", ...options }),
  },
  startJobSequences: { names: ["sequences"], pass: (options) => api["startJobSequences"]!(options) },
  "an element of startJobSequences": {
    names: [...jobOptions, "deduplication", "debounce", "detached", "startBlockers"],
    pass: (options) => api["startJobSequences"]!({ sequences: [{ typeName: "task", ...options }] }),
  },
  continueWith: { names: [...jobOptions, "startBlockers"], pass: continueWith },
  deduplication: {
    names: ["key", "strategy", "windowMs", "onDuplicate"],
    pass: (options) =>
      api["startJobSequence"]!({ typeName: "task", deduplication: { key: "k", ...options } }),
  },
  onDuplicate: {
    names: ["debounce"],
    pass: (onDuplicate) =>
      api["startJobSequence"]!({ typeName: "task", deduplication: { key: "k", onDuplicate } }),
  },
  debounce: {
    names: ["key", "waitMs", "maxWaitMs"],
    pass: (options) =>
      api["startJobSequence"]!({
        typeName: "task",
        debounce: { key: "k", waitMs: 1, maxWaitMs: 100, ...options },
      }),
  },
  "debounce of onDuplicate": {
    names: ["maxDelayMs"],
    pass: (debounce) =>
      api["startJobSequence"]!({
        typeName: "task",
        deduplication: { key: "k", onDuplicate: { debounce } },
      }),
  },
  "jobs.update": {
    names: ["ids", "filter", "dryRun", "limit", "cursor", "schedule", "priority", "typeName", "input"],
    pass: (options) => api["jobs.update"]!({ ids: [], priority: 1, ...options }),
  },
  schedule: {
    names: ["at", "afterMs"],
    pass: (schedule) => api["startJobSequence"]!({ typeName: "task", schedule }),
  },
  "the schedule of rescheduleJob": {
    names: ["at", "afterMs"],
    pass: (schedule) => untyped(rescheduleJob)(schedule),
  },
  createWorker: { names: ["retry"], pass: (options) => api["createWorker"]!(options) },
  implementJobType: {
    names: ["typeName", "process", "retry", "maxAttempts", "timeoutMs"],
    pass: (options) =>
      untyped(leasehold.createWorker().implementJobType as AnyFunction)({
        typeName: "task",
        process: () => null,
        ...options,
      }),
  },
  implementJobTypeBatch: {
    names: ["typeName", "process", "retry", "maxAttempts", "timeoutMs", "maxSize", "maxWaitMs", "sameGroup"],
    pass: (options) =>
      untyped(leasehold.createWorker().implementJobTypeBatch as AnyFunction)({
        typeName: "task",
        maxSize: 10,
        process: () => [],
        ...options,
      }),
  },
  start: {
    names: [
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
    ],
    pass: startWorker,
  },
  runUntilIdle: {
    names: [
      "deadlineMs",
      "workerId",
      "concurrency",
      "queues",
      "prefetch",
      "pollIntervalMs",
      "leaseMs",
      "maxAttempts",
      "abortGraceMs",
      "commitBatchSize",
      "commitLingerMs",
      "workerLoopRetryConfig",
    ],
    pass: (options) => untyped(newWorker().runUntilIdle as AnyFunction)({ deadlineMs: 100, ...options }),
  },
  workerLoopRetryConfig: {
    names: ["initialDelayMs", "maxDelayMs"],
    pass: (workerLoopRetryConfig) => startWorker({ workerLoopRetryConfig }),
  },
  "an entry of queues": {
    names: ["concurrency", "claimAllTypes"],
    pass: (options) => startWorker({ queues: { default: options } }),
  },
  stop: { names: ["deadlineMs"], pass: stopWorker },
  stopOnSignals: {
    names: ["deadlineMs", "onStopped", "process"],
    pass: (options) => untyped(stopOnSignals as AnyFunction)([], options),
  },
  prepare: {
    names: ["mode", "isolationLevel"],
    pass: (options) => inHandler(({ prepare }) => prepare({ mode: "staged", ...options })),
  },
  complete: {
    names: ["isolationLevel"],
    pass: (options) => inHandler(({ complete }) => complete(() => null, options)),
  },
  runInTransaction: {
    names: ["isolationLevel"],
    pass: (options) => api["runInTransaction"]!(async () => null, options),
  },
  "retry of type exponential": {
    names: ["type", "baseMs", "maxMs", "jitter"],
    pass: passRetry(retryFields.exponential),
  },
  "retry of type fixed": { names: ["type", "delayMs"], pass: passRetry(retryFields.fixed) },
  "retry of type linear": { names: ["type", "stepMs", "maxMs"], pass: passRetry(retryFields.linear) },
  waitForJobSequenceCompletion: {
    names: ["id", "typeName", "timeoutMs", "pollIntervalMs", "signal"],
    pass: (options) =>
      api["waitForJobSequenceCompletion"]!({
        id: sequence.id,
        typeName: "step",
        timeoutMs: 1,
        signal: AbortSignal.abort(),
        ...options,
      }),
  },
  "the second argument of waitForJobSequenceCompletion": {
    names: ["timeoutMs", "pollIntervalMs", "signal"],
    pass: (settings) =>
      api["waitForJobSequenceCompletion"]!(
        { id: sequence.id, typeName: "step", signal: AbortSignal.abort() },
        settings,
      ),
  },
  completeJobSequence: {
    names: ["id", "typeName", "complete"],
    pass: (options) =>
      api["completeJobSequence"]!({ id: sequence.id, typeName: "step", complete: () => null, ...options }),
  },
  "jobs.get": {
    names: ["id", "typeName"],
    pass: (options) => api["jobs.get"]!({ id: sequence.id, ...options }),
  },
  "jobs.getSequence": {
    names: ["id", "typeName"],
    pass: (options) => api["jobs.getSequence"]!({ id: sequence.id, ...options }),
  },
  "jobs.listBlockers": {
    names: ["id"],
    pass: (options) => api["jobs.listBlockers"]!({ id: sequence.id, ...options }),
  },
  "history.listCauses": {
    names: ["queue", "typeName", "scanLimit", "everyMs"],
    pass: (options) => api["history.listCauses"]!(options),
  },
  "history.listProcesses": { names: [], pass: (options) => api["history.listProcesses"]!(options) },
  "history.getStatistics": {
    names: ["from", "before", "queue", "typeName", "everyMs", "byType", "byDeployment"],
    pass: (options) => api["history.getStatistics"]!({ from: new Date(0), ...options }),
  },
  "jobs.explain": { names: ["id"], pass: (options) => api["jobs.explain"]!({ id: sequence.id, ...options }) },
  "jobs.list": {
    names: [...filters, ...page, "order", "after", "input"],
    pass: (options) => api["jobs.list"]!(options),
  },
  "jobs.listSequences": {
    names: [
      ...page,
      "typeName",
      "status",
      "rootsOnly",
      "rootSequenceId",
      "createdFrom",
      "createdBefore",
      "order",
    ],
    pass: (options) => api["jobs.listSequences"]!(options),
  },
  getTime: { names: [], pass: (options) => api["getTime"]!(options) },
  close: {
    names: ["deadlineMs"],
    pass: async (options) => (await createLeasehold({ stateAdapter, jobTypes })).close(options),
  },
  "input of jobs.list": {
    names: ["path", "equals", "contains"],
    pass: (input) => api["jobs.list"]!({ input }),
  },
  "jobs.listInSequence": {
    names: ["id", ...page],
    pass: (options) => api["jobs.listInSequence"]!({ id: sequence.id, ...options }),
  },
  "jobs.listBlocked": {
    names: ["id", ...page],
    pass: (options) => api["jobs.listBlocked"]!({ id: sequence.id, ...options }),
  },
  "history.listAttempts": {
    names: ["id"],
    pass: (options) => api["history.listAttempts"]!({ id: sequence.id, ...options }),
  },
  "jobs.count": { names: filters, pass: (options) => api["jobs.count"]!(options) },
  "jobs.redrive": {
    names: ["ids", "filter", "dryRun", "limit", "cursor", "schedule"],
    pass: (options) => api["jobs.redrive"]!({ filter: {}, ...options }),
  },
  "the filter of jobs.redrive": { names: filters, pass: (filter) => api["jobs.redrive"]!({ filter }) },
  "jobs.cancel": {
    names: ["ids", "filter", "dryRun", "limit", "cursor", "reason", "withChildren"],
    pass: (options) => api["jobs.cancel"]!({ ids: [], ...options }),
  },
  deleteJobSequences: {
    names: ["rootSequenceIds", "filter", "dryRun", "limit", "cursor", "onlyFinished"],
    pass: (options) => api["deleteJobSequences"]!({ rootSequenceIds: [], ...options }),
  },
  "jobs.prune": {
    names: ["olderThanMs", "statuses", "batchSize"],
    pass: (options) => api["jobs.prune"]!({ olderThanMs: 1, ...options }),
  },

  "limits.set": {
    names: [
      "queue",
      "typeName",
      "paused",
      "concurrency",
      "rate",
      "perGroup",
      "weights",
      "group",
      "expectedVersion",
    ],
    pass: (options) => api["limits.set"]!({ queue: "q", ...options }),
  },
  "rate of limits.set": {
    names: ["limit", "perMs", "burst"],
    pass: (rate) => api["limits.set"]!({ queue: "q", rate: { limit: 1, perMs: 1, ...rate } }),
  },
  "perGroup of limits.set": {
    names: ["concurrency", "rate"],
    pass: (perGroup) => api["limits.set"]!({ queue: "q", perGroup }),
  },
  "limits.pause": {
    names: ["queue", "typeName", "group", "until"],
    pass: (options) => api["limits.pause"]!({ queue: "q", ...options }),
  },
  "limits.resume": {
    names: ["queue", "typeName", "group"],
    pass: (options) => api["limits.resume"]!({ queue: "q", ...options }),
  },
  "limits.list": { names: ["queue"], pass: (options) => api["limits.list"]!(options) },
  "limits.listGroups": {
    names: ["queue", "typeName", "throttled", "order", "limit", "cursor"],
    pass: (options) => api["limits.listGroups"]!({ typeName: "task", ...options }),
  },
  "recurring.put": {
    names: recurringOptions,
    pass: (options) =>
      api["recurring.put"]!({ id: "nightly", cron: "@daily", job: { typeName: "task" }, ...options }),
  },
  "the job of recurring.put": {
    names: ["typeName", "input", "queue", "priority", "maxAttempts", "timeoutMs", "group"],
    pass: (options) =>
      api["recurring.put"]!({ id: "nightly", cron: "@daily", job: { typeName: "task", ...options } }),
  },
  recurringJobs: {
    names: ["jobs", "owner", "removeOthers"],
    pass: (options) => createLeasehold({ stateAdapter, jobTypes, recurringJobs: { jobs: [], ...options } }),
  },
  "recurring.list": { names: [...page, "owner"], pass: (options) => api["recurring.list"]!(options) },
  "recurring.preview": {
    names: [...recurringTimes, "id", "count", "from"],
    pass: (options) => api["recurring.preview"]!({ cron: "@daily", ...options }),
  },

  checkStore: {
    names: ["stalledMs", "transactionAgeMs", "depth", "repair", "workerless", "storeDeadlineMs"],
    pass: (options) => checkStore(stateAdapter, options as never),
  },

  createPgStateAdapter: {
    names: [
      "stateProvider",
      "readProvider",
      "schema",
      "idType",
      "idDefault",
      "migrate",
      "connectionRetryConfig",
      "isTransientError",
    ],
    pass: (options) =>
      untyped(createPgStateAdapter as AnyFunction)({ ...pgState, migrate: false, ...options }),
  },
  "connectionRetryConfig of createPgStateAdapter": {
    names: ["maxAttempts", "initialDelayMs", "maxDelayMs"],
    pass: (connectionRetryConfig) =>
      untyped(createPgStateAdapter as AnyFunction)({ ...pgState, migrate: false, connectionRetryConfig }),
  },
  createPgPoolStateProvider: {
    names: ["pool", "prepareStatements"],
    pass: (options) => untyped(createPgPoolStateProvider as AnyFunction)({ pool, ...options }),
  },
  createPostgresJsStateProvider: {
    names: ["sql", "prepareStatements"],
    pass: (options) => untyped(createPostgresJsStateProvider as AnyFunction)({ sql, ...options }),
  },
  createKyselyStateProvider: {
    names: ["db"],
    pass: (options) => untyped(createKyselyStateProvider as AnyFunction)({ db: {}, ...options }),
  },
  createDrizzleStateProvider: {
    names: ["db", "prepareStatements"],
    pass: (options) => untyped(createDrizzleStateProvider as AnyFunction)({ db: {}, ...options }),
  },
  createPrismaStateProvider: {
    names: ["prisma", "maxWaitMs", "timeoutMs"],
    pass: (options) => untyped(createPrismaStateProvider as AnyFunction)({ prisma: {}, ...options }),
  },
  createKnexStateProvider: {
    names: ["knex", "prepareStatements"],
    pass: (options) => untyped(createKnexStateProvider as AnyFunction)({ knex: {}, ...options }),
  },
  createPGliteStateProvider: {
    names: ["db"],
    pass: (options) => untyped(createPGliteStateProvider as AnyFunction)({ db: {}, ...options }),
  },
  createPgNotifyAdapter: {
    names: ["notifyProvider", "channelPrefix", "heartbeatMs", "onError"],
    // Wrong in another way, so that nothing is opened.
    pass: (options) =>
      untyped(createPgNotifyAdapter)({ notifyProvider: subscriber, heartbeatMs: 0, ...options }),
  },
  createPgPoolNotifyProvider: {
    names: ["pool", "createClient", "prepareStatements"],
    pass: (options) => untyped(createPgPoolNotifyProvider)({ pool, ...options }),
  },
  createPostgresJsNotifyProvider: {
    names: ["sql"],
    pass: (options) => untyped(createPostgresJsNotifyProvider)({ sql, ...options }),
  },
  createSqliteStateAdapter: {
    names: [
      "file",
      "driver",
      "stateProvider",
      "tablePrefix",
      "idType",
      "idGenerator",
      "connectionRetryConfig",
      "isTransientError",
      "migrate",
      "maxWalBytes",
      "clock",
    ],
    pass: async (options) => {
      const adapter = await createSqliteStateAdapter({ file: ":memory:", ...options });
      await adapter.close();
    },
  },
  "connectionRetryConfig of createSqliteStateAdapter": {
    names: ["initialDelayMs", "maxDelayMs", "maxWaitMs"],
    pass: async (connectionRetryConfig) => {
      const adapter = await createSqliteStateAdapter({ file: ":memory:", connectionRetryConfig });
      await adapter.close();
    },
  },
  createBetterSqlite3StateProvider: {
    names: ["database", "reader", "context", "file", "settings"],
    pass: (options) =>
      untyped(createBetterSqlite3StateProvider as AnyFunction)({
        database: {},
        settings: "unchanged",
        ...options,
      }),
  },
  "createKyselyStateProvider of SQLite": {
    names: ["db", "database", "reader", "file", "settings"],
    pass: (options) => untyped(createKyselySqliteStateProvider as AnyFunction)({ db: {}, ...options }),
  },
  "createDrizzleStateProvider of SQLite": {
    names: ["db", "database", "reader", "file", "settings"],
    pass: (options) => untyped(createDrizzleSqliteStateProvider as AnyFunction)({ db: {}, ...options }),
  },
  createNodeSqliteStateProvider: {
    names: ["database", "reader", "context", "file", "settings"],
    pass: (options) =>
      untyped(createNodeSqliteStateProvider as AnyFunction)({
        database: {},
        settings: "unchanged",
        ...options,
      }),
  },
  createMongoStateAdapter: {
    names: [
      "stateProvider",
      "collectionPrefix",
      "idGenerator",
      "migrate",
      "connectionRetryConfig",
      "isTransientError",
    ],
    pass: untyped(createMongoStateAdapter as AnyFunction),
  },
  createMongoStateProvider: { names: ["client", "database"], pass: untyped(createMongoStateProvider) },
  createMongoNotifyAdapter: {
    names: ["client", "database", "collectionPrefix", "heartbeatMs", "onError"],
    pass: untyped(createMongoNotifyAdapter),
  },
  createNodeRedisNotifyProvider: {
    names: ["client"],
    pass: (options) => untyped(createNodeRedisNotifyProvider)({ client: redisClient, ...options }),
  },
  createIoredisNotifyProvider: {
    names: ["client"],
    pass: (options) => untyped(createIoredisNotifyProvider)({ client: redisClient, ...options }),
  },
  createRedisNotifyAdapter: {
    names: ["notifyProvider", "channelPrefix", "heartbeatMs", "onError"],
    pass: untyped(createRedisNotifyAdapter),
  },
  createNatsNotifyAdapter: {
    names: ["nc", "kv", "subjectPrefix", "onError"],
    pass: untyped(createNatsNotifyAdapter),
  },
  createOtelObservabilityAdapter: {
    names: ["meter", "tracer", "metricPrefix", "messagingMetrics"],
    pass: createOtelObservabilityAdapter,
  },
  observeStore: {
    names: ["maxAgeMs", "timeoutMs", "scanLimit"],
    pass: (options) => createOtelObservabilityAdapter().observeStore(stateAdapter, options)(),
  },
  createDashboard: {
    names: [
      "leasehold",
      "stateAdapter",
      "authorize",
      "basePath",
      "mountPath",
      "readOnly",
      "redact",
      "environment",
      "traceUrl",
      "workerless",
      "allowedHosts",
    ],
    pass: (options) => createDashboard({ leasehold, stateAdapter, authorize: () => true, ...options }),
  },
  "LeaseholdModule.forRoot": {
    names: ["leasehold", "worker", "defineWorker", "onClosed", "isGlobal"],
    pass: (options) => LeaseholdModule.forRoot({ leasehold, ...options }),
  },
  createTestKit: {
    names: ["jobTypes", "log", "codec"],
    pass: (options) => createTestKit({ jobTypes, ...options }),
  },
  createManualClock: { names: ["startAt", "beforeTimePasses"], pass: createManualClock },
  createDeterministicRuntime: {
    names: ["seed", "clock"],
    pass: (options) => createDeterministicRuntime({ seed: 1, ...options }),
  },
  withFaults: {
    names: ["clock", "transient"],
    pass: (options) => withFaults(stateAdapter, () => undefined, options),
  },
};

const root = resolve(import.meta.dirname, "..");
const pages = [
  ...readdirSync(join(root, "docs")).map((name) => `docs/${name}`),
  ...readdirSync(join(root, "packages")).map((name) => `packages/${name}/README.md`),
].filter((path) => path.endsWith(".md") && existsSync(join(root, path)));

const words = new Set(pages.flatMap((path) => readFileSync(join(root, path), "utf8").match(/\w+/g)));

const cells = (line: string): string[] =>
  line
    .split("|")
    .slice(1, -1)
    .map((cell) => cell.trim());
const namesIn = (cell: string): string[] => [...cell.matchAll(/`(\w+)`/g)].map(([, name]) => name!);

/** The names of the options in each table of options: in its first column, or in the second, beside the call's name. */
const readTables = (path: string): [table: string, names: string[]][] => {
  const found = new Map<string, string[]>();
  let heading = "";
  let column: number | undefined;
  let call = "";
  for (const line of readFileSync(join(root, path), "utf8").split("\n")) {
    if (line.startsWith("#")) heading = line;
    if (!line.startsWith("|")) column = undefined;
    else if (column === undefined) {
      call = "";
      column = cells(line).findIndex((cell) => /^option\b/.test(cell));
    } else if (column !== -1) {
      const option = cells(line)[column]!;
      if (column === 1) call = cells(line)[0]! || call;
      const table = `${path} ${heading} ${call}`;
      // What stands behind the name says whose it is, or when it can be used.
      found.set(table, [...(found.get(table) ?? []), ...namesIn(option.replace(/ (of|\().*/, ""))]);
    }
  }
  return [...found].filter(([, names]) => names.length > 0);
};

const refusal = async (pass: OptionsObject["pass"], options: Record<string, unknown>): Promise<string> => {
  try {
    await pass(options);
  } catch (error) {
    return error instanceof LeaseholdError ? error.message : "";
  }
  return "";
};

describe.each(Object.entries(objects))("%s", (_name, { names, pass }) => {
  it("refuses an option that it does not have", async () => {
    const message = await refusal(pass, { zzzzzz: 1 });
    // Where a transaction's context may stand beside the options, it could be part of one.
    expect(message).toMatch(
      /`(\S+\.)?zzzzzz` is not an option of .* It has |"zzzzzz", which is neither one of its options nor an open/,
    );
  });

  it("says which option was probably meant", async () => {
    for (const name of names) {
      const misspelt = `${name}x`;
      const message = await refusal(pass, { [misspelt]: undefined });
      expect(message).toContain(`${misspelt}\` is not an option of`);
      expect(message).toMatch(new RegExp(`Did you mean \`(\\S+\\.)?${name}\`\\?$`));
    }
  });

  it("knows its options, and they are documented", async () => {
    for (const name of names) {
      expect(await refusal(pass, { [name]: undefined })).not.toContain("is not an option");
      expect(words.has(name), `${name} is documented`).toBe(true);
    }
  });
});

it.each(pages.flatMap(readTables))(
  "an object that is checked here has the options of %s",
  (_table, names) => {
    const known = Object.values(objects).filter((object) =>
      names.every((name) => object.names.includes(name)),
    );
    expect(known).not.toEqual([]);
  },
);
