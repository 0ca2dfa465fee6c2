import type { Limits } from "../../store/contract/limits.ts";
import type { NewJob } from "../../store/contract/creation.ts";
import type { Recurring, NewRecurringJob } from "../../store/contract/recurring.ts";
import type { AttemptNote, Reports } from "../../store/contract/history.ts";
import type { StateAdapter } from "../../store/contract/state-adapter.ts";
import type { StateJob } from "../../store/contract/job.ts";
import { newJob } from "../state-fixture.ts";

/** A call of an optional part of the contract, or of a claim that depends on one. All times and ids are given. */
export interface PartOperation {
  readonly name: string;
  prepare(adapter: StateAdapter): Promise<unknown>;
  call(adapter: StateAdapter, isRepeat: boolean): Promise<unknown>;
  /** For a call whose effects a later claim may complete: that claim. */
  settle?(adapter: StateAdapter): Promise<unknown>;
}

const now = 1_700_000_000_000;

const idOf = (n: number): string => `00000000-0000-4000-8000-${String(n).padStart(12, "0")}`;

const limitsOf = (adapter: StateAdapter): Limits<never> => adapter.limits as Limits<never>;

const recurringOf = (adapter: StateAdapter): Recurring<object> =>
  adapter.recurring as unknown as Recurring<object>;

const reportsOf = (adapter: StateAdapter): Reports<never> => adapter.history as unknown as Reports<never>;

const newWork = (overrides: Partial<NewJob>): NewJob =>
  newJob({ queue: "default", typeName: "work", ...overrides });

const create = (
  adapter: StateAdapter,
  count: number,
  overrides: Partial<NewJob> = {},
  first = 1,
): Promise<unknown> =>
  adapter.createJobs({
    jobs: Array.from({ length: count }, (_, n) => newWork({ id: idOf(first + n), ...overrides })),
    now,
  });

const claim = (adapter: StateAdapter, isRepeat: boolean, at: number = now): Promise<StateJob[]> =>
  adapter.claimJobs({
    workerId: "worker",
    leaseToken: "token",
    leaseMs: 1_000,
    requests: [{ queue: "default", typeNames: null, limit: 2 }],
    limit: 2,
    isRepeat,
    now: at,
  });

const settle = (adapter: StateAdapter, at: number = now + 500): Promise<StateJob[]> =>
  adapter.claimJobs({
    workerId: "later",
    leaseToken: "later",
    leaseMs: 1_000,
    requests: [{ queue: "default", typeNames: null, limit: 10 }],
    limit: 10,
    now: at,
  });

const setRule = (adapter: StateAdapter, change: object, typeName: string | null = null): Promise<unknown> =>
  limitsOf(adapter).setRule({ queue: "default", typeName, change, now });

const rate = { limit: 5, perMs: 1_000, burst: 5 };

/** Two jobs of each of three groups, under a rule of the queue, the type and its groups. */
const createGroups = async (adapter: StateAdapter, overrides: Partial<NewJob> = {}): Promise<void> => {
  await setRule(adapter, { concurrency: 4, rate });
  await setRule(adapter, { perGroup: { concurrency: 1, rate: null } }, "work");
  for (const [index, group] of ["a", "b", "c"].entries())
    await create(adapter, 2, { group, ...overrides }, 1 + 2 * index);
};

const newRecurring = (id: string, overrides: Partial<NewRecurringJob> = {}): NewRecurringJob => ({
  id,
  definition: "{}",
  owner: null,
  paused: false,
  version: 1,
  nextNominalAt: now,
  runsAt: now,
  lastSequenceId: null,
  tickHistory: "{}",
  timeZoneVersion: "",
  computedAt: now,
  ...overrides,
});

const put = (adapter: StateAdapter, job: NewRecurringJob): Promise<unknown> =>
  adapter.runInTransaction(async (ctx) => {
    await recurringOf(adapter).lockRecurring({ ctx, ids: [job.id], now });
    await recurringOf(adapter).putRecurring({ ctx, jobs: [job], now });
  });

const advance = async (adapter: StateAdapter, ctx: object, ids: readonly string[]): Promise<void> => {
  const jobs = ids.map((id, n) => ({
    ...newRecurring(id),
    lastSequenceId: idOf(100 + n),
    nextNominalAt: now + 60_000,
    runsAt: now + 60_000,
    tickHistory: '{"started":1}',
  }));
  const started = jobs.map(({ id, lastSequenceId }) =>
    newWork({ id: lastSequenceId, recurrence: JSON.stringify({ id }), group: "recurring" }),
  );
  await adapter.createJobs({ ctx, jobs: started, now });
  await recurringOf(adapter).advanceRecurring({ ctx, jobs, now });
};

/** What core does in a tick. */
const tick = (adapter: StateAdapter): Promise<unknown> =>
  adapter.runInTransaction(async (ctx) => {
    const due = await recurringOf(adapter).lockDueRecurring({ ctx, limit: 10, timeZoneVersion: null, now });
    const ids = due.jobs.map(({ id }) => id).sort();
    if (ids.length > 0) await advance(adapter, ctx, ids);
  });

const trigger = (adapter: StateAdapter, id: string): Promise<unknown> =>
  adapter.runInTransaction(async (ctx) => {
    const [job] = await recurringOf(adapter).lockRecurring({ ctx, ids: [id], now });
    if (job?.lastSequenceId === null) await advance(adapter, ctx, [id]);
  });

const bucket = (from: number, processId: string, counts: string, bucketMs = 10_000) => ({
  bucketMs,
  from,
  queue: "default",
  typeName: "work",
  deployment: "1.0.0",
  processId,
  counts,
});

const minute = now - (now % 60_000);

const report = (adapter: StateAdapter, id: string): Promise<unknown> =>
  reportsOf(adapter).writeReport({
    reporter: { id, deployment: "1.0.0", startedAt: now - 5_000, info: "{}" },
    buckets: [bucket(minute, id, "[1]"), bucket(minute + 10_000, id, "[2]")],
    causes: [
      { fingerprint: "0123456789abcdef", name: "Error", message: "broken", frame: null, deployment: null },
    ],
    maxAgeMs: 600_000,
    now,
  });

/** Ends the two claimed jobs with details of their attempts: one is retried, one fails. */
const endAttempts = async (adapter: StateAdapter): Promise<void> => {
  const lease = (n: number) => ({ jobId: idOf(n), leaseToken: "token" });
  const note: AttemptNote = {
    attempt: 1,
    leaseVersion: 1,
    workerId: "worker",
    deployment: null,
    dueAt: now,
    startedAt: now,
    fingerprint: "0123456789abcdef",
    error: "broken",
    log: '[[1,"one"]]',
  };
  await adapter.commitOutcomes({
    outcomes: [
      { ...lease(1), kind: "retry", error: "broken", schedule: { afterMs: 5_000 }, note },
      { ...lease(2), kind: "fail", error: "broken", reason: "attempts_exhausted", note },
    ],
    now: now + 10,
  });
};

export const partOperations: readonly PartOperation[] = [
  {
    name: "setRule: on a busy queue",
    settle: (adapter) => settle(adapter),
    prepare: async (adapter) => {
      await create(adapter, 4);
      await claim(adapter, false);
    },
    call: (adapter) => setRule(adapter, { concurrency: 3, rate }),
  },
  {
    name: "setRule: per group",
    settle: (adapter) => settle(adapter),
    prepare: createGroups,
    call: (adapter) => setRule(adapter, { perGroup: { concurrency: 2, rate }, weights: { a: 3 } }, "work"),
  },
  {
    name: "setRule: pause",
    settle: async (adapter) => {
      await setRule(adapter, { paused: false });
      await settle(adapter);
    },
    prepare: createGroups,
    call: (adapter) => setRule(adapter, { paused: true }),
  },
  {
    name: "setRule: resume",
    settle: (adapter) => settle(adapter),
    prepare: async (adapter) => {
      await createGroups(adapter);
      await setRule(adapter, { paused: true });
    },
    call: (adapter) => setRule(adapter, { paused: false }),
  },
  {
    name: "resumeGroup",
    settle: (adapter) => settle(adapter, now + 3_000),
    prepare: async (adapter) => {
      await createGroups(adapter, { ordered: "stop", maxAttempts: 1 });
      await claim(adapter, false);
      await adapter.reapExpiredLeases({ limit: 10, error: "expired", now: now + 1_000 });
    },
    call: (adapter) =>
      limitsOf(adapter).resumeGroup({ queue: "default", typeName: "work", group: "a", now: now + 2_000 }),
  },
  { name: "claimJobs: under rules", prepare: createGroups, call: claim },
  {
    name: "claimJobs: under rules, after expired leases",
    prepare: async (adapter) => {
      await createGroups(adapter);
      await claim(adapter, false);
    },
    call: (adapter, isRepeat) => claim(adapter, isRepeat, now + 5_000),
  },
  {
    name: "reapExpiredLeases: in groups",
    prepare: async (adapter) => {
      await createGroups(adapter);
      await claim(adapter, false);
    },
    call: (adapter) => adapter.reapExpiredLeases({ limit: 10, error: "expired", now: now + 5_000 }),
  },
  {
    name: "repairCounters",
    prepare: async (adapter) => {
      await createGroups(adapter);
      await claim(adapter, false);
    },
    call: (adapter) => limitsOf(adapter).repairCounters({ repair: true, now }),
  },
  { name: "putRecurring", prepare: async () => {}, call: (adapter) => put(adapter, newRecurring("nightly")) },
  {
    name: "putRecurring: pause",
    prepare: (adapter) => put(adapter, newRecurring("nightly")),
    call: (adapter) => put(adapter, newRecurring("nightly", { paused: true, version: 2 })),
  },
  {
    name: "advanceRecurring: tick",
    prepare: async (adapter) => {
      for (const id of ["hourly", "nightly"]) await put(adapter, newRecurring(id));
    },
    call: tick,
  },
  {
    name: "advanceRecurring: trigger",
    prepare: (adapter) => put(adapter, newRecurring("nightly", { paused: true })),
    call: (adapter) => trigger(adapter, "nightly"),
  },
  {
    name: "deleteRecurring",
    prepare: (adapter) => put(adapter, newRecurring("nightly")),
    call: (adapter) => recurringOf(adapter).deleteRecurring({ ids: ["nightly"], now }),
  },
  { name: "writeReport", prepare: async () => {}, call: (adapter) => report(adapter, "one") },
  {
    name: "writeReport: again",
    prepare: async (adapter) => {
      await report(adapter, "one");
      await report(adapter, "two");
    },
    call: (adapter) => report(adapter, "one"),
  },
  {
    name: "commitOutcomes: attempts and causes",
    prepare: async (adapter) => {
      await report(adapter, "one");
      await create(adapter, 2);
      await claim(adapter, false);
    },
    call: endAttempts,
  },
  {
    name: "rollUpBuckets",
    prepare: async (adapter) => {
      await report(adapter, "one");
      await report(adapter, "two");
    },
    call: (adapter) =>
      reportsOf(adapter).rollUpBuckets({
        remove: ["one", "two"].flatMap((id) => [
          bucket(minute, id, "[1]"),
          bucket(minute + 10_000, id, "[2]"),
        ]),
        put: [bucket(minute, "", "[6]", 60_000)],
        now,
      }),
  },
  {
    name: "deleteOldReports",
    prepare: (adapter) => report(adapter, "one"),
    call: (adapter) =>
      reportsOf(adapter).deleteOldReports({
        processesBefore: now + 1,
        causesBefore: now + 1,
        buckets: [{ bucketMs: 10_000, before: minute + 10_000 }],
        limit: 100,
        now,
      }),
  },
];
