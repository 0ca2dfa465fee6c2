import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { LeaseholdError } from "./base/errors.ts";
import { defineJobTypes, typeOnly } from "./job-types/define.ts";
import { createLeasehold } from "./leasehold.ts";
import { createInProcessStateAdapter, type InProcessStateAdapter } from "./memory/state-adapter.ts";
import { facadeMethods } from "./testing/facade-methods.ts";
import { rescheduleJob } from "./worker/outcome.ts";

/** The façade as a caller without types sees it. */
type Untyped = Record<string, (...args: unknown[]) => unknown>;

const jobTypes = defineJobTypes({
  work: { input: typeOnly<unknown>(), output: typeOnly<unknown>() },
  wait: { blockers: ["work"] },
  step: { input: typeOnly<unknown>(), output: typeOnly<unknown>(), internal: true },
});

const id = "01900000-0000-7000-8000-000000000000";

const names = ["", "x".repeat(201), "nul\0", "\ud800", 7, null, {}, [], true, () => {}, Symbol("s"), 3n];

const integers = (min: number, max: number): unknown[] => [
  min - 1,
  max + 1,
  1.5,
  Number.NaN,
  Number.POSITIVE_INFINITY,
  "1",
  null,
  {},
  5n,
];

const largestInt = 2 ** 31 - 1;

const year = 366 * 24 * 3_600_000;

const notObjects = [null, "text", 7, [], () => {}, Symbol("s"), new Map()];

const notFunctions = ["text", 7, {}, [], null];

const notDates = ["2030-01-01", 0, new Date(Number.NaN), {}];

const unstorable = [
  () => {},
  Symbol("s"),
  1n,
  Number.NaN,
  new Date(),
  new Map(),
  [undefined],
  "\0",
  "\ud800",
];

/** Option named in the error → values it must refuse → how to call with that value. */
type Case = readonly [
  option: string,
  values: readonly unknown[],
  call: (value: unknown) => readonly unknown[],
];

const start = (extra: object): object => ({ typeName: "work", input: null, ...extra });

const wait = (extra: object): object => ({ typeName: "wait", ...extra });

const page: readonly Case[] = [
  ["limit", integers(1, 1_000), (limit) => [{ id, limit }]],
  ["cursor", ["garbage", 7, {}, "x".repeat(5_000)], (cursor) => [{ id, cursor }]],
];

const filter = (wrap: (filter: object) => object, prefix = ""): readonly Case[] => [
  [`${prefix}status`, ["unknown", 7, {}], (status) => [wrap({ status })]],
  [`${prefix}status[0]`, ["unknown", 7], (status) => [wrap({ status: [status] })]],
  [`${prefix}queue`, ["", 7], (queue) => [wrap({ queue })]],
  [`${prefix}typeName`, ["", 7], (typeName) => [wrap({ typeName })]],
  [`${prefix}failureReason`, ["bad luck", 7], (failureReason) => [wrap({ failureReason })]],
  [`${prefix}fingerprint`, ["", 7, {}], (fingerprint) => [wrap({ fingerprint })]],
  [`${prefix}leasedBy[0]`, ["", 7], (leasedBy) => [wrap({ leasedBy: [leasedBy] })]],
  [`${prefix}createdFrom`, notDates, (createdFrom) => [wrap({ createdFrom })]],
  [`${prefix}scheduledBefore`, notDates, (scheduledBefore) => [wrap({ scheduledBefore })]],
  [`${prefix}finishedBefore`, notDates, (finishedBefore) => [wrap({ finishedBefore })]],
];

const debounced = { key: "k", waitMs: 10, maxWaitMs: 100 };

const startCases: readonly Case[] = [
  ["options", [undefined, ...notObjects], (options) => [options]],
  ["typeName", [undefined, ...names], (typeName) => [{ typeName, input: null }]],
  ["id", names, (value) => [start({ id: value })]],
  ["queue", names, (queue) => [start({ queue })]],
  ["priority", integers(-largestInt, largestInt), (priority) => [start({ priority })]],
  ["maxAttempts", integers(1, largestInt), (maxAttempts) => [start({ maxAttempts })]],
  ["timeoutMs", integers(1, year), (timeoutMs) => [start({ timeoutMs })]],
  ["group", [...names, "x".repeat(10_000)], (group) => [start({ group })]],
  ["schedule", [...notObjects, {}, { at: new Date(), afterMs: 1 }], (schedule) => [start({ schedule })]],
  ["schedule.at", notDates, (at) => [start({ schedule: { at } })]],
  ["schedule.afterMs", [-1, Number.NaN, Infinity, "1", {}], (afterMs) => [start({ schedule: { afterMs } })]],
  ["deduplication", notObjects, (deduplication) => [start({ deduplication })]],
  [
    "deduplication.key",
    [undefined, "", "x".repeat(501), 7, "\0"],
    (key) => [start({ deduplication: { key } })],
  ],
  ["deduplication.strategy", ["some", 7], (strategy) => [start({ deduplication: { key: "k", strategy } })]],
  [
    "deduplication.onDuplicate",
    ["swap", 7, null],
    (onDuplicate) => [start({ deduplication: { key: "k", onDuplicate } })],
  ],
  [
    "deduplication.onDuplicate.debounce",
    [undefined, 7, "soon"],
    (debounce) => [start({ deduplication: { key: "k", onDuplicate: { debounce } } })],
  ],
  [
    "deduplication.onDuplicate.debounce.maxDelayMs",
    [undefined, 0, 1.5, -1, Number.NaN, "1", 10 ** 18],
    (maxDelayMs) => [start({ deduplication: { key: "k", onDuplicate: { debounce: { maxDelayMs } } } })],
  ],
  ["debounce", notObjects, (debounce) => [start({ debounce })]],
  [
    "debounce.key",
    [undefined, "", "x".repeat(501), 7, "\0"],
    (key) => [start({ debounce: { ...debounced, key } })],
  ],
  [
    "debounce.waitMs",
    [undefined, ...integers(1, year)],
    (waitMs) => [start({ debounce: { ...debounced, waitMs } })],
  ],
  [
    "debounce.maxWaitMs",
    [undefined, ...integers(debounced.waitMs, year)],
    (maxWaitMs) => [start({ debounce: { ...debounced, maxWaitMs } })],
  ],
  ["schedule", [{ afterMs: 1 }], (schedule) => [start({ debounce: debounced, schedule })]],
  ["deduplication", [{ key: "k" }], (deduplication) => [start({ debounce: debounced, deduplication })]],
  ["expireAfterMs", [0, -1, 1.5, Number.NaN, "1", 10 ** 18], (expireAfterMs) => [start({ expireAfterMs })]],
  [
    "deduplication.windowMs",
    integers(1, Number.MAX_SAFE_INTEGER),
    (windowMs) => [start({ deduplication: { key: "k", windowMs } })],
  ],
  ["startBlockers", [undefined, ...notFunctions], (startBlockers) => [wait({ startBlockers })]],
  ["startBlockers", [() => []], (startBlockers) => [start({ startBlockers })]],
  ["startBlockers", [undefined, {}, "text", []], (returned) => [wait({ startBlockers: () => returned })]],
  ["startBlockers[0].id", [undefined, 7, ""], (value) => [wait({ startBlockers: () => [{ id: value }] })]],
];

const manyWeights = Object.fromEntries(Array.from({ length: 1_001 }, (_, n) => [`group-${n}`, 1]));

const limitedScope = (rule: object = {}): readonly Case[] => [
  ["options", [undefined, ...notObjects], (options) => [options]],
  ["queue", [undefined, ...names], (queue) => [{ queue, ...rule }]],
  ["typeName", names, (typeName) => [{ typeName, ...rule }]],
];

const waitCases: readonly Case[] = [
  ["options", [undefined, ...notObjects], (options) => [options]],
  ["id", [undefined, ...names], (value) => [{ id: value, typeName: "work" }]],
  ["typeName", [undefined, ...names], (typeName) => [{ id, typeName }]],
  [
    "timeoutMs",
    integers(1, Number.MAX_SAFE_INTEGER).slice(2, 5),
    (timeoutMs) => [{ id, typeName: "work", timeoutMs }],
  ],
  ["pollIntervalMs", [0, -1, 0.5, "1"], (pollIntervalMs) => [{ id, typeName: "work", pollIntervalMs }]],
  ["signal", [{}, "text", { aborted: true }], (signal) => [{ id, typeName: "work", signal }]],
];

const recurring = (extra: object): object => ({
  id: "nightly",
  cron: "30 2 * * *",
  job: { typeName: "work", input: null },
  ...extra,
});

const recurringIds: readonly Case[] = [
  ["options", [undefined, ...notObjects], (options) => [options]],
  ["id", [undefined, ...names], (value) => [{ id: value }]],
];

const cases: Record<string, readonly Case[]> = {
  startJobSequence: startCases,
  startJobSequences: [
    ["options", [undefined, ...notObjects], (options) => [options]],
    ["sequences", [undefined, "text", {}, 7], (sequences) => [{ sequences }]],
    ["sequences[1]", notObjects, (item) => [{ sequences: [start({}), item] }]],
    ["sequences[1].colour", [1], (colour) => [{ sequences: [start({}), start({ colour })] }]],
    [
      "sequences[0].startBlockers",
      [() => []],
      (startBlockers) => [{ sequences: [start({ startBlockers })] }],
    ],
  ],
  completeJobSequence: [
    ["options", [undefined, ...notObjects], (options) => [options]],
    ["id", [undefined, ...names], (value) => [{ id: value, typeName: "work", complete: () => {} }]],
    ["typeName", [undefined, ...names], (typeName) => [{ id, typeName, complete: () => {} }]],
    ["complete", [undefined, ...notFunctions], (complete) => [{ id, typeName: "work", complete }]],
  ],
  waitForJobSequenceCompletion: waitCases,
  "jobs.cancel": [
    ["options", [undefined, ...notObjects], (options) => [options]],
    ["ids", [undefined, "text", {}], (ids) => [{ ids }]],
    ["ids[0]", names, (value) => [{ ids: [value] }]],
    ["reason", ["", 7, "x".repeat(2_001)], (reason) => [{ ids: [id], reason }]],
  ],
  "jobs.redrive": [
    ["options", [undefined, ...notObjects], (options) => [options]],
    ["ids", [undefined, "text", {}], (ids) => [{ ids }]],
    ["ids[0]", names, (value) => [{ ids: [value] }]],
    ["filter", ["text", 7, []], (value) => [{ filter: value }]],
    ["filter.colour", ["red"], (colour) => [{ filter: { colour } }]],
    ["dryRun", ["yes", 1], (dryRun) => [{ ids: [id], dryRun }]],
    ["limit", integers(1, 100_000), (limit) => [{ filter: {}, limit }]],
    ...filter((value) => ({ filter: value }), "filter."),
  ],
  "jobs.update": [
    ["options", [undefined, ...notObjects], (options) => [options]],
    ["ids", [undefined, "text", {}], (ids) => [{ ids, priority: 1 }]],
    ["ids[0]", names, (value) => [{ ids: [value], priority: 1 }]],
    ["filter", ["text", 7, []], (value) => [{ filter: value, priority: 1 }]],
    ["dryRun", ["yes", 1], (dryRun) => [{ ids: [id], priority: 1, dryRun }]],
    ["limit", integers(1, 100_000), (limit) => [{ filter: {}, priority: 1, limit }]],
    ["priority", ["1", 1.5, Number.NaN, 2 ** 31, null], (priority) => [{ ids: [id], priority }]],
    ["schedule", ["soon", 7, {}], (schedule) => [{ ids: [id], schedule }]],
    ["typeName", names.slice(1), (typeName) => [{ ids: [id], typeName, input: null }]],
    ["input", [undefined], (input) => [{ ids: [id], typeName: "work", input }]],
    ...filter((value) => ({ filter: value, priority: 1 }), "filter."),
  ],
  deleteJobSequences: [
    ["options", [undefined, ...notObjects], (options) => [options]],
    ["rootSequenceIds", [undefined, "text", {}], (rootSequenceIds) => [{ rootSequenceIds }]],
    ["rootSequenceIds[0]", names, (value) => [{ rootSequenceIds: [value] }]],
  ],
  "jobs.prune": [
    ["options", [undefined, ...notObjects], (options) => [options]],
    ["olderThanMs", [undefined, -1, 0.5, "1", Number.NaN], (olderThanMs) => [{ olderThanMs }]],
    ["batchSize", integers(1, 100_000), (batchSize) => [{ olderThanMs: 0, batchSize }]],
    ["statuses[0]", ["pending", 7], (status) => [{ olderThanMs: 0, statuses: [status] }]],
  ],
  "limits.set": [
    ...limitedScope({ paused: true }),
    ["options", [{}], () => [{ queue: "q" }]],
    ["paused", [null, 1, "yes"], (paused) => [{ queue: "q", paused }]],
    ["concurrency", [0, -1, 1.5, Number.NaN, "1", 1e18], (concurrency) => [{ queue: "q", concurrency }]],
    ["rate", notObjects.slice(1), (rate) => [{ queue: "q", rate }]],
    [
      "rate.limit",
      [undefined, 0, -1, 1e18, 1_000_001],
      (limit) => [{ queue: "q", rate: { limit, perMs: 1_000 } }],
    ],
    ["rate.perMs", [undefined, ...integers(1, year)], (perMs) => [{ queue: "q", rate: { limit: 1, perMs } }]],
    ["rate.burst", [0, 6, "1"], (burst) => [{ queue: "q", rate: { limit: 5, perMs: 1_000, burst } }]],
    ["perGroup", notObjects.slice(1), (perGroup) => [{ queue: "q", perGroup }]],
    ["perGroup.concurrency", [0, -1, "1"], (concurrency) => [{ queue: "q", perGroup: { concurrency } }]],
    ["weights", [...notObjects.slice(1), manyWeights], (weights) => [{ queue: "q", weights }]],
    ["group", names, (group) => [{ typeName: "work", group, concurrency: 1 }]],
    ["typeName", [undefined], () => [{ queue: "q", group: "a", concurrency: 1 }]],
    ["paused", [true], (paused) => [{ typeName: "work", group: "a", paused }]],
    ["perGroup", [null, {}], (perGroup) => [{ typeName: "work", group: "a", perGroup }]],
    ["options", [{}], () => [{ typeName: "work", group: "a" }]],
    ['weights["a"]', [0, 0.0009, 1_001, Number.NaN, "1"], (a) => [{ queue: "q", weights: { a } }]],
    [
      "expectedVersion",
      [null, -1, 0.5],
      (expectedVersion) => [{ queue: "q", paused: true, expectedVersion }],
    ],
  ],
  "limits.pause": [
    ...limitedScope(),
    ["group", names, (group) => [{ typeName: "work", group }]],
    ["until", [1, {}, "1m"], (until) => [{ queue: "q", until }]],
    ["until.afterMs", [-1, Number.NaN, "1"], (afterMs) => [{ queue: "q", until: { afterMs } }]],
  ],
  "limits.resume": [...limitedScope(), ["group", names, (group) => [{ typeName: "work", group }]]],
  "limits.list": [
    ["options", notObjects, (options) => [options]],
    ["queue", names, (queue) => [{ queue }]],
  ],
  "limits.listGroups": [
    ["options", [undefined, ...notObjects], (options) => [options]],
    ["typeName", [undefined, ...names], (typeName) => [{ typeName }]],
    ["queue", names, (queue) => [{ typeName: "work", queue }]],
    ["throttled", [null, 1, "yes"], (throttled) => [{ typeName: "work", throttled }]],
    ["order", ["sideways", 7], (order) => [{ typeName: "work", order }]],
    ["limit", integers(1, 1_000), (limit) => [{ typeName: "work", limit }]],
    ["cursor", [7, "", "nonsense", {}], (cursor) => [{ typeName: "work", cursor }]],
  ],
  runInTransaction: [["callback", [undefined, ...notFunctions], (callback) => [callback]]],
  withNotify: [["callback", [undefined, ...notFunctions], (callback) => [callback]]],
  "jobs.get": [
    ["options", [undefined, ...notObjects], (options) => [options]],
    ["id", [undefined, ...names], (value) => [{ id: value }]],
  ],
  "jobs.getSequence": [["id", [undefined, ...names], (value) => [{ id: value }]]],
  "jobs.list": [
    ["options", notObjects, (options) => [options]],
    ["order", ["sideways", 7], (order) => [{ order }]],
    ["limit", integers(1, 1_000), (limit) => [{ limit }]],
    ["cursor", ["garbage", 7, {}], (cursor) => [{ cursor }]],
    ...filter((value) => value),
  ],
  "jobs.listSequences": [
    ["options", notObjects, (options) => [options]],
    ["status[0]", ["unknown", 7], (status) => [{ status: [status] }]],
    ["typeName", ["", 7], (typeName) => [{ typeName }]],
    ["rootsOnly", ["yes", 1, null], (rootsOnly) => [{ rootsOnly }]],
    ["rootSequenceId", names, (rootSequenceId) => [{ rootSequenceId }]],
    ["createdFrom", notDates, (createdFrom) => [{ createdFrom }]],
    ["createdBefore", notDates, (createdBefore) => [{ createdBefore }]],
    ["order", ["sideways", 7], (order) => [{ order }]],
    ["limit", integers(1, 1_000), (limit) => [{ limit }]],
    ["cursor", ["garbage", 7, {}], (cursor) => [{ cursor }]],
  ],
  "jobs.listInSequence": [["id", [undefined, ...names], (value) => [{ id: value }]], ...page],
  "jobs.listBlockers": [["id", [undefined, ...names], (value) => [{ id: value }]]],
  "jobs.listBlocked": [["id", [undefined, ...names], (value) => [{ id: value }]], ...page],
  "history.listAttempts": [["id", [undefined, ...names], (value) => [{ id: value }]]],
  "jobs.count": [["options", notObjects, (options) => [options]], ...filter((value) => value)],
  "history.listCauses": [
    ["options", notObjects, (options) => [options]],
    ["queue", ["", 7], (queue) => [{ queue }]],
    ["typeName[0]", ["", 7], (typeName) => [{ typeName: [typeName] }]],
    ["scanLimit", integers(1, 100_000), (scanLimit) => [{ scanLimit }]],
    ["everyMs", [59_999, 60_000.5, "1h", null], (everyMs) => [{ everyMs }]],
  ],
  "history.listProcesses": [["options", notObjects, (options) => [options]]],
  "history.getStatistics": [
    ["options", [undefined, ...notObjects], (options) => [options]],
    ["from", [undefined, ...notDates, new Date(1)], (from) => [{ from, before: new Date(1) }]],
    ["before", notDates, (before) => [{ from: new Date(0), before }]],
    ["queue", ["", 7], (queue) => [{ from: new Date(0), queue }]],
    ["typeName", ["", 7], (typeName) => [{ from: new Date(0), typeName }]],
    ["everyMs", [...integers(10_000, year), 10_000], (everyMs) => [{ from: new Date(0), everyMs }]],
    ["byType", ["yes", 1, null], (byType) => [{ from: new Date(0), byType }]],
    ["byDeployment", ["yes", 1, null], (byDeployment) => [{ from: new Date(0), byDeployment }]],
  ],
  "jobs.explain": [["id", [undefined, ...names], (value) => [{ id: value }]]],
  "recurring.put": [
    ["options", [undefined, ...notObjects], (options) => [options]],
    ["id", [undefined, ...names], (value) => [recurring({ id: value })]],
    ["cron", [undefined, "", "* * *", "61 * * * *", "30 2 31 2 *", 7], (cron) => [recurring({ cron })]],
    ["timeZone", ["", "Mars/Olympus", "+02:00", 7], (timeZone) => [recurring({ timeZone })]],
    ["everyMs", integers(1_000, year), (everyMs) => [recurring({ cron: undefined, everyMs })]],
    ["anchorAt", notDates, (anchorAt) => [recurring({ cron: undefined, everyMs: 1_000, anchorAt })]],
    ["startAt", notDates, (startAt) => [recurring({ startAt })]],
    ["endAt", notDates, (endAt) => [recurring({ endAt })]],
    ["job", [undefined, ...notObjects], (job) => [recurring({ job })]],
    ["job.typeName", [undefined, "wait", ...names], (typeName) => [recurring({ job: { typeName } })]],
    ["overlap", ["never", 7, {}], (overlap) => [recurring({ overlap })]],
    ["catchUp", ["never", 7, "all"], (catchUp) => [recurring({ catchUp })]],
    ["catchUpWindowMs", integers(60_000, year), (catchUpWindowMs) => [recurring({ catchUpWindowMs })]],
    ["jitterMs", integers(0, 86_400_000), (jitterMs) => [recurring({ jitterMs })]],
    ["paused", ["yes", 1, null], (paused) => [recurring({ paused })]],
    ["expectedVersion", integers(0, largestInt), (expectedVersion) => [recurring({ expectedVersion })]],
  ],
  "recurring.update": [
    ...recurringIds,
    ["cron", [undefined], (cron) => [{ id: "nightly", cron }]],
    [
      "expectedVersion",
      integers(0, largestInt),
      (expectedVersion) => [{ id: "nightly", jitterMs: 1, expectedVersion }],
    ],
  ],
  "recurring.pause": recurringIds,
  "recurring.resume": recurringIds,
  "recurring.delete": recurringIds,
  "recurring.trigger": recurringIds,
  "recurring.get": recurringIds,
  "recurring.list": [
    ["options", notObjects, (options) => [options]],
    ["owner", names, (owner) => [{ owner }]],
    ["limit", integers(1, 1_000), (limit) => [{ limit }]],
    ["cursor", ["garbage", 7, {}], (cursor) => [{ cursor }]],
  ],
  "recurring.preview": [
    ["options", [undefined, ...notObjects], (options) => [options]],
    ["cron", [undefined, "* * *"], (cron) => [{ cron }]],
    ["id", names, (value) => [{ id: value }]],
    ["count", integers(1, 1_000), (count) => [{ cron: "@daily", count }]],
    ["from", notDates, (from) => [{ cron: "@daily", from }]],
  ],
  getTime: [["options", notObjects, (options) => [options]]],
  close: [
    ["options", notObjects, (options) => [options]],
    ["deadlineMs", integers(0, year), (deadlineMs) => [{ deadlineMs }]],
  ],
  createWorker: [
    ["options", notObjects, (options) => [options]],
    ["colour", ["red"], (colour) => [{ colour }]],
    ["retry", ["often", 7], (retry) => [{ retry }]],
  ],
};

const show = (value: unknown): string => `${typeof value} ${String(value)}`.slice(0, 40);

const rejection = async (call: () => unknown): Promise<unknown> => {
  try {
    await call();
  } catch (error) {
    return error;
  }
  return undefined;
};

let stateAdapter: InProcessStateAdapter;

let leasehold: Untyped;

beforeEach(async () => {
  stateAdapter = createInProcessStateAdapter();
  leasehold = facadeMethods(await createLeasehold({ stateAdapter, jobTypes }));
});

afterEach(async () => {
  const written = await stateAdapter.countJobs({ filter: {} });
  expect(written, "nothing may be written").toEqual([]);
});

const expectRefusal = (error: unknown, option: string, value: unknown): void => {
  expect(error, `${show(value)} as ${option}`).toBeInstanceOf(LeaseholdError);
  expect(error).toMatchObject({ code: "InvalidOption", option });
  expect((error as Error).message).toContain(option);
};

describe("bad input to", () => {
  for (const [method, options] of Object.entries(cases)) {
    it(`${method} names the option`, async () => {
      for (const [option, values, args] of options) {
        for (const value of values) {
          expectRefusal(await rejection(() => leasehold[method]!(...args(value))), option, value);
        }
      }
    });
  }

  it("every function of the façade is covered", () => {
    expect(Object.keys(cases).sort()).toEqual(Object.keys(leasehold).sort());
  });

  it("startJobSequence names an unknown or internal type", async () => {
    for (const typeName of ["nothing", "step", "__proto__", "constructor"]) {
      const error = await rejection(() => leasehold["startJobSequence"]!({ typeName, input: null }));
      expect(error).toMatchObject({ code: "UnknownJobType", typeName });
    }
  });

  it("startJobSequence names the path of what cannot be stored", async () => {
    for (const value of unstorable) {
      const error = await rejection(() =>
        leasehold["startJobSequence"]!(start({ input: { deep: [value] } })),
      );
      expect(error, show(value)).toMatchObject({ code: "PayloadNotStorable" });
      expect((error as { path: string }).path).toMatch(/^input\.deep\[0\]/);
    }
  });

  it("startJobSequence refuses what is too large before anything is sent", async () => {
    const error = await rejection(() =>
      leasehold["startJobSequence"]!(start({ input: "x".repeat(2 ** 20) })),
    );
    expect(error).toMatchObject({ code: "PayloadTooLarge", maxBytes: 2 ** 20 });
  });

  it("every method refuses an option that does not exist, and names those that do", async () => {
    const valid: Record<string, object> = {
      startJobSequence: start({}),
      startJobSequences: { sequences: [] },
      completeJobSequence: { id, typeName: "work", complete: () => {} },
      waitForJobSequenceCompletion: { id, typeName: "work" },
      deleteJobSequences: { rootSequenceIds: [id] },
      createWorker: {},
      getTime: {},
      close: {},
      "jobs.get": { id },
      "jobs.list": {},
      "jobs.count": {},
      "jobs.explain": { id },
      "jobs.getSequence": { id },
      "jobs.listSequences": {},
      "jobs.listInSequence": { id },
      "jobs.listBlockers": { id },
      "jobs.listBlocked": { id },
      "jobs.cancel": { ids: [id] },
      "jobs.redrive": { ids: [id] },
      "jobs.update": { ids: [id], priority: 1 },
      "jobs.prune": {},
      "recurring.put": { id: "nightly", everyMs: 1_000, job: { typeName: "work", input: 1 } },
      "recurring.update": { id: "nightly", jitterMs: 1 },
      "recurring.pause": { id: "nightly" },
      "recurring.resume": { id: "nightly" },
      "recurring.delete": { id: "nightly" },
      "recurring.trigger": { id: "nightly" },
      "recurring.get": { id: "nightly" },
      "recurring.list": {},
      "recurring.preview": { everyMs: 1_000 },
      "limits.set": { queue: "default", concurrency: 1 },
      "limits.pause": { queue: "default" },
      "limits.resume": { queue: "default" },
      "limits.list": {},
      "limits.listGroups": { typeName: "work" },
      "history.listAttempts": { id },
      "history.listCauses": {},
      "history.listProcesses": {},
      "history.getStatistics": { from: new Date(0) },
    };
    const takeCallbacks = ["runInTransaction", "withNotify"];
    expect(Object.keys(leasehold).filter((name) => !(name in valid))).toEqual(takeCallbacks);
    for (const [method, options] of Object.entries(valid)) {
      for (const value of [100, "text", undefined, {}, () => {}]) {
        const error = await rejection(() => leasehold[method]!({ ...options, nonsense: value }));
        expect(error, method).toMatchObject({ code: "InvalidOption", option: "nonsense" });
        expect((error as Error).message, method).toContain("is not an option of");
      }
    }
    const error = await rejection(() => leasehold["runInTransaction"]!(async () => {}, { nonsense: 1 }));
    expect(error).toMatchObject({ code: "InvalidOption", option: "nonsense" });
  });
});

describe("bad input to a worker", () => {
  const valid = { typeName: "work", process: async () => null };
  type Method = "implementJobType" | "implementJobTypeBatch" | "use" | "useForBatches" | "start";
  type Builder = { [method in Method]: (options?: unknown) => unknown };
  const builder = (): Builder => leasehold["createWorker"]!() as Builder;

  it("implementJobType names the option", async () => {
    const options: readonly Case[] = [
      ["options", [undefined, ...notObjects], (value) => [value]],
      ["typeName", [undefined, ...names], (typeName) => [{ ...valid, typeName }]],
      ["process", [undefined, ...notFunctions], (process) => [{ ...valid, process }]],
      ["retry", ["often", {}, { type: "sometimes" }], (retry) => [{ ...valid, retry }]],
      ["maxAttempts", integers(1, largestInt), (maxAttempts) => [{ ...valid, maxAttempts }]],
      ["timeoutMs", integers(1, year), (timeoutMs) => [{ ...valid, timeoutMs }]],
      ["colour", ["red"], (colour) => [{ ...valid, colour }]],
    ];
    for (const [option, values, args] of options) {
      for (const value of values) {
        const error = await rejection(() => builder().implementJobType(...(args(value) as [unknown])));
        expect(error, `${show(value)} as ${option}`).toMatchObject({ code: "InvalidOption" });
        expect((error as { option: string }).option.startsWith(option), (error as Error).message).toBe(true);
      }
    }
    const twice = builder();
    twice.implementJobType(valid);
    expectRefusal(await rejection(() => twice.implementJobType(valid)), "typeName", "work");
    const unknown = await rejection(() => builder().implementJobType({ ...valid, typeName: "nothing" }));
    expect(unknown).toMatchObject({ code: "UnknownJobType" });
    for (const value of notFunctions)
      expectRefusal(await rejection(() => builder().use(value)), "middleware", value);
  });

  it("implementJobTypeBatch names the option", async () => {
    const batch = { ...valid, maxSize: 5, process: async () => [] };
    const options: readonly Case[] = [
      ["options", [undefined, ...notObjects], (value) => [value]],
      ["typeName", [undefined, ...names], (typeName) => [{ ...batch, typeName }]],
      ["process", [undefined, ...notFunctions], (process) => [{ ...batch, process }]],
      ["maxSize", [undefined, ...integers(1, 10_000)], (maxSize) => [{ ...batch, maxSize }]],
      ["maxWaitMs", integers(0, year), (maxWaitMs) => [{ ...batch, maxWaitMs }]],
      ["sameGroup", [null, 1, "yes"], (sameGroup) => [{ ...batch, sameGroup }]],
      ["maxAttempts", integers(1, largestInt), (maxAttempts) => [{ ...batch, maxAttempts }]],
      ["timeoutMs", integers(1, year), (timeoutMs) => [{ ...batch, timeoutMs }]],
      ["retry", ["often", {}, { type: "sometimes" }], (retry) => [{ ...batch, retry }]],
      ["prefetch", [1], (prefetch) => [{ ...batch, prefetch }]],
    ];
    for (const [option, values, args] of options) {
      for (const value of values) {
        const error = await rejection(() => builder().implementJobTypeBatch(...(args(value) as [unknown])));
        expect(error, `${show(value)} as ${option}`).toMatchObject({ code: "InvalidOption" });
        expect((error as { option: string }).option.startsWith(option), (error as Error).message).toBe(true);
      }
    }
    const twice = builder();
    twice.implementJobType(valid);
    expectRefusal(await rejection(() => twice.implementJobTypeBatch(batch)), "typeName", "work");
    for (const value of notFunctions)
      expectRefusal(await rejection(() => builder().useForBatches(value)), "middleware", value);
  });

  it("start names the option", async () => {
    const startOptions: readonly (readonly [string, readonly unknown[]])[] = [
      ["workerId", names],
      ["concurrency", integers(1, 10_000)],
      ["prefetch", integers(0, 10_000)],
      ["pollIntervalMs", integers(1, year)],
      ["maxAttempts", integers(1, largestInt)],
      ["reapIntervalMs", integers(1, year)],
      ["pruneIntervalMs", integers(1, year)],
      ["idleSleepMs", integers(1, year)],
      ["abortGraceMs", integers(0, year)],
      ["stopDeadlineMs", integers(0, year)],
      ["commitBatchSize", integers(1, 10_000)],
      ["commitLingerMs", integers(0, 1_000)],
      ["leaseMs", [5, 1.5, Number.NaN, "1", {}]],
      ["queues", ["text", 7, [], {}]],
      ["colour", ["red"]],
    ];
    for (const [option, values] of startOptions) {
      for (const value of values) {
        const worker = builder();
        worker.implementJobType(valid);
        expectRefusal(await rejection(() => worker.start({ [option]: value })), option, value);
      }
    }
    const worker = builder();
    worker.implementJobType(valid);
    for (const leaseMs of [0, -1]) {
      expect(await rejection(() => worker.start({ leaseMs }))).toMatchObject({
        code: "InvalidLeaseDuration",
      });
    }
    const queue = (settings: unknown) => rejection(() => worker.start({ queues: { mail: settings } }));
    expectRefusal(await queue(0), 'queues["mail"]', 0);
    expectRefusal(await queue("5"), 'queues["mail"]', "5");
    expectRefusal(await queue({ concurrency: 0 }), 'queues["mail"].concurrency', 0);
    expectRefusal(await queue({ claimAllTypes: 1 }), 'queues["mail"].claimAllTypes', 1);
    expectRefusal(await queue({ colour: 1 }), 'queues["mail"].colour', 1);
    expectRefusal(await rejection(() => builder().start()), "implementJobType", undefined);
  });
});

describe("bad input to createLeasehold", () => {
  it("names the option", async () => {
    const valid = { stateAdapter, jobTypes };
    const options: readonly (readonly [string, readonly unknown[]])[] = [
      ["stateAdapter", [undefined, null, {}, "text", 7]],
      ["jobTypes", [undefined, null, {}, "text"]],
      ["notifyAdapter", [{}, "text"]],
      ["log", ["text", {}]],
      ["codec", [{}, "text"]],
      ["maxPayloadBytes", [0, -1, 1.5, "1"]],
      ["statistics", ["text", 7, null]],
      ["deployment", ["", "x".repeat(101), "nul\0", 7, null]],
      ["storeDeadlineMs", [0, -1, 1.5, "1"]],
      ["storeRetry", ["text", 7]],
      ["defaults", ["text", 7]],
      ["colour", ["red"]],
    ];
    const create = createLeasehold as unknown as (options: unknown) => Promise<unknown>;
    for (const [option, values] of options) {
      for (const value of values) {
        expectRefusal(await rejection(() => create({ ...valid, [option]: value })), option, value);
      }
    }
    for (const value of notObjects) expectRefusal(await rejection(() => create(value)), "options", value);
  });
});

describe("bad input to rescheduleJob", () => {
  it("names the option", () => {
    for (const schedule of [{}, "soon", { afterMs: -1 }, { at: "tomorrow" }]) {
      expect(() => rescheduleJob(schedule as never)).toThrow(
        expect.objectContaining({ code: "InvalidOption" }),
      );
    }
  });
});
