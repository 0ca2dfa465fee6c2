import { randomUUID } from "node:crypto";
import { defineUnionJobTypes, type JobTypes } from "../job-types/define.ts";
import type {
  DefineBlocker,
  DefineContinuationInput,
  DefineContinuationOutput,
} from "../job-types/markers.ts";
import type { LeaseholdApi } from "../leasehold-api.ts";

interface OperationTypes {
  work: { input: { n: number }; output: number };
  step: { input: { n: number }; output: number };
  approve: { input: null; output: DefineContinuationOutput<"ship"> };
  ship: { input: DefineContinuationInput<null>; output: null };
  assemble: { input: null; output: null; blockers: [DefineBlocker<"work">, DefineBlocker<"work">] };
}

const operationTypes: JobTypes<OperationTypes> = defineUnionJobTypes<OperationTypes>({
  step: { ordered: { onFailure: "stop" } },
});

/** The API that the operations of the suites call. */
export type ApiUnderTest = LeaseholdApi<OperationTypes, { readonly [key: string]: unknown }, string>;

/** A method of the API that takes a transaction, called with something to work on. */
export interface ApiOperation {
  /** The method, and what is special about this call. */
  readonly name: `${string}${"" | `: ${string}`}`;
  /** Creates what the call works on. Returns the call. */
  prepare(leasehold: ApiUnderTest): Promise<OperationCall>;
}

export type OperationCall = (leasehold: ApiUnderTest, ctx: object) => Promise<unknown>;

type Ctx = { readonly [key: string]: never };

/** A queue that no other call uses. */
const newQueue = (): string => `queue-${randomUUID()}`;

const work = (n: number, queue: string) => ({ typeName: "work" as const, queue, input: { n } });

const startWork = async (leasehold: ApiUnderTest, options: object = {}): Promise<string> => {
  const started = await leasehold.startJobSequence({ ...work(1, newQueue()), ...options });
  return started.id;
};

const startAssembly = async (
  leasehold: ApiUnderTest,
): Promise<{ readonly id: string; readonly parts: readonly string[] }> => {
  const parts = [await startWork(leasehold), await startWork(leasehold)] as const;
  const { id } = await leasehold.startJobSequence({
    typeName: "assemble",
    startBlockers: () => [
      { id: parts[0], typeName: "work" },
      { id: parts[1], typeName: "work" },
    ],
  });
  return { id, parts };
};

const putRecurring = async (leasehold: ApiUnderTest): Promise<string> => {
  const id = randomUUID();
  await leasehold.recurring.put({ id, everyMs: 3_600_000, job: work(1, newQueue()) });
  return id;
};

/** A call that needs nothing to work on. */
const alone =
  (call: (leasehold: ApiUnderTest, ctx: Ctx) => Promise<unknown>): ApiOperation["prepare"] =>
  async () =>
  (leasehold, ctx) =>
    call(leasehold, ctx as Ctx);

/** A call with the id of something that `create` makes. */
const withId =
  <T>(
    create: (leasehold: ApiUnderTest) => Promise<T>,
    call: (leasehold: ApiUnderTest, ctx: Ctx, created: T) => Promise<unknown>,
  ): ApiOperation["prepare"] =>
  async (healthy) => {
    const created = await create(healthy);
    return (leasehold, ctx) => call(leasehold, ctx as Ctx, created);
  };

const start = (settings: object): ApiOperation["prepare"] =>
  alone((leasehold, ctx) =>
    leasehold.startJobSequence({ ...ctx, ...work(1, newQueue()), ...settings } as never),
  );

/** A start that finds a job under its key. */
const startAgain = (deduplication: object): ApiOperation["prepare"] =>
  withId(
    async (healthy) => {
      const again = { queue: newQueue(), deduplication: { key: randomUUID(), ...deduplication } };
      await startWork(healthy, again);
      return again;
    },
    (leasehold, ctx, again) =>
      leasehold.startJobSequence({ ...ctx, ...again, typeName: "work", input: { n: 2 } } as never),
  );

const approval = (healthy: ApiUnderTest): Promise<string> =>
  healthy.startJobSequence({ typeName: "approve" }).then(({ id }) => id);

const failed = async (healthy: ApiUnderTest): Promise<string> => {
  const id = await startWork(healthy);
  await healthy.jobs.cancel({ ids: [id] });
  return id;
};

const stoppedAssembly = async (healthy: ApiUnderTest): Promise<string> => {
  const { parts } = await startAssembly(healthy);
  await healthy.jobs.cancel({ ids: [parts[0]!] });
  return parts[0]!;
};

const writes: readonly ApiOperation[] = [
  { name: "startJobSequence", prepare: start({}) },
  {
    name: "startJobSequence: later, and expires",
    prepare: start({ schedule: { afterMs: 60_000 }, expireAfterMs: 90_000 }),
  },
  { name: "startJobSequence: first of a group", prepare: start({ group: "a" }) },
  { name: "startJobSequence: first of an ordered group", prepare: start({ group: "a", typeName: "step" }) },
  { name: "startJobSequence: key", prepare: start({ deduplication: { key: "fresh" } }) },
  {
    name: "startJobSequence: key and group",
    prepare: start({ group: "a", deduplication: { key: "grouped" } }),
  },
  { name: "startJobSequence: duplicate", prepare: startAgain({}) },
  { name: "startJobSequence: replaced duplicate", prepare: startAgain({ onDuplicate: "replace" }) },
  {
    name: "startJobSequence: new blockers",
    prepare: alone((leasehold, ctx) =>
      leasehold.startJobSequence({
        ...ctx,
        typeName: "assemble",
        startBlockers: async (inner: object) => [
          await leasehold.startJobSequence({ ...pickContext(inner, ctx), ...work(1, "default") }),
          await leasehold.startJobSequence({ ...pickContext(inner, ctx), ...work(2, "default") }),
        ],
      } as never),
    ),
  },
  {
    name: "startJobSequence: known blockers",
    prepare: withId(
      async (healthy) => [await startWork(healthy), await failed(healthy)],
      (leasehold, ctx, [first, second]) =>
        leasehold.startJobSequence({
          ...ctx,
          typeName: "assemble",
          startBlockers: () => [
            { id: first!, typeName: "work" },
            { id: second!, typeName: "work" },
          ],
        } as never),
    ),
  },
  {
    name: "startJobSequences",
    prepare: alone((leasehold, ctx) => {
      const queue = newQueue();
      const sequences = [
        work(1, queue),
        { ...work(2, queue), group: "a" },
        { ...work(3, queue), deduplication: { key: randomUUID() } },
      ];
      return leasehold.startJobSequences({ ...ctx, sequences });
    }),
  },
  {
    name: "startJobSequences: 2,500 jobs",
    prepare: alone((leasehold, ctx) => {
      const queue = newQueue();
      return leasehold.startJobSequences({
        ...ctx,
        sequences: Array.from({ length: 2_500 }, (_, n) => work(n, queue)),
      });
    }),
  },
  {
    name: "completeJobSequence",
    prepare: withId(approval, (leasehold, ctx, id) =>
      leasehold.completeJobSequence({
        ...ctx,
        id,
        typeName: "approve",
        complete: async ({ job, complete }: never) => {
          const finish = complete as (job: unknown, callback: (options: never) => unknown) => Promise<void>;
          await finish(job, ({ continueWith }: { continueWith: (options: object) => unknown }) =>
            continueWith({ typeName: "ship", group: "a" }),
          );
        },
      } as never),
    ),
  },
  {
    name: "completeJobSequence: last blocker",
    prepare: withId(
      async (healthy) => (await startAssembly(healthy)).parts[0]!,
      (leasehold, ctx, id) =>
        leasehold.completeJobSequence({
          ...ctx,
          id,
          typeName: "work",
          complete: async ({ job, complete }: never) => {
            const finish = complete as (job: unknown, callback: () => unknown) => Promise<void>;
            await finish(job, () => 1);
          },
        } as never),
    ),
  },
  {
    name: "deleteJobSequences",
    prepare: withId(startWork, (leasehold, ctx, id) =>
      leasehold.deleteJobSequences({ ...ctx, rootSequenceIds: [id] }),
    ),
  },
  {
    name: "deleteJobSequences: by filter, in a group",
    prepare: withId(
      async (healthy) => {
        const queue = newQueue();
        await startWork(healthy, { queue, group: "a" });
        return queue;
      },
      (leasehold, ctx, queue) => leasehold.deleteJobSequences({ ...ctx, filter: { queue } }),
    ),
  },
  {
    name: "jobs.cancel",
    prepare: withId(startWork, (leasehold, ctx, id) => leasehold.jobs.cancel({ ...ctx, ids: [id] })),
  },
  {
    name: "jobs.cancel: a blocker",
    prepare: withId(startAssembly, (leasehold, ctx, { parts }) =>
      leasehold.jobs.cancel({ ...ctx, ids: parts }),
    ),
  },
  {
    name: "jobs.cancel: by filter, in an ordered group",
    prepare: withId(
      async (healthy) => {
        const queue = newQueue();
        await startWork(healthy, { queue, group: "a", typeName: "step" });
        return queue;
      },
      (leasehold, ctx, queue) => leasehold.jobs.cancel({ ...ctx, filter: { queue } }),
    ),
  },
  {
    name: "jobs.redrive",
    prepare: withId(failed, (leasehold, ctx, id) => leasehold.jobs.redrive({ ...ctx, ids: [id] })),
  },
  {
    name: "jobs.redrive: a blocker",
    prepare: withId(stoppedAssembly, (leasehold, ctx, id) => leasehold.jobs.redrive({ ...ctx, ids: [id] })),
  },
  {
    name: "jobs.update",
    prepare: withId(startWork, (leasehold, ctx, id) =>
      leasehold.jobs.update({ ...ctx, ids: [id], typeName: "work", input: { n: 7 }, priority: 3 }),
    ),
  },
  {
    name: "recurring.put",
    prepare: alone((leasehold, ctx) =>
      leasehold.recurring.put({ ...ctx, id: randomUUID(), everyMs: 3_600_000, job: work(1, newQueue()) }),
    ),
  },
  {
    name: "recurring.put: changed",
    prepare: withId(putRecurring, (leasehold, ctx, id) =>
      leasehold.recurring.put({ ...ctx, id, everyMs: 7_200_000, job: work(2, newQueue()) }),
    ),
  },
  {
    name: "recurring.update",
    prepare: withId(putRecurring, (leasehold, ctx, id) =>
      leasehold.recurring.update({ ...ctx, id, everyMs: 7_200_000 }),
    ),
  },
  {
    name: "recurring.pause",
    prepare: withId(putRecurring, (leasehold, ctx, id) => leasehold.recurring.pause({ ...ctx, id })),
  },
  {
    name: "recurring.resume",
    prepare: withId(
      async (healthy) => {
        const id = await putRecurring(healthy);
        await healthy.recurring.pause({ id });
        return id;
      },
      (leasehold, ctx, id) => leasehold.recurring.resume({ ...ctx, id }),
    ),
  },
  {
    name: "recurring.delete",
    prepare: withId(putRecurring, (leasehold, ctx, id) => leasehold.recurring.delete({ ...ctx, id })),
  },
  {
    name: "recurring.trigger",
    prepare: withId(putRecurring, (leasehold, ctx, id) => leasehold.recurring.trigger({ ...ctx, id })),
  },
  {
    name: "limits.set",
    prepare: alone((leasehold, ctx) =>
      leasehold.limits.set({ ...ctx, queue: newQueue(), concurrency: 3, rate: { limit: 1, perMs: 1_000 } }),
    ),
  },
  {
    name: "limits.set: per group",
    prepare: withId(
      async (healthy) => {
        const queue = newQueue();
        await healthy.limits.set({ queue, typeName: "work", perGroup: { rate: { limit: 1, perMs: 1_000 } } });
        await startWork(healthy, { queue, group: "a" });
        return queue;
      },
      (leasehold, ctx, queue) =>
        leasehold.limits.set({ ...ctx, queue, typeName: "work", perGroup: { concurrency: 2 } }),
    ),
  },
  {
    name: "limits.pause",
    prepare: alone((leasehold, ctx) => leasehold.limits.pause({ ...ctx, queue: newQueue() })),
  },
  {
    name: "limits.pause: a group",
    prepare: alone((leasehold, ctx) =>
      leasehold.limits.pause({
        ...ctx,
        queue: newQueue(),
        typeName: "work",
        group: "a",
        until: { afterMs: 1_000 },
      }),
    ),
  },
  {
    name: "limits.resume",
    prepare: withId(
      async (healthy) => {
        const queue = newQueue();
        await healthy.limits.pause({ queue });
        return queue;
      },
      (leasehold, ctx, queue) => leasehold.limits.resume({ ...ctx, queue }),
    ),
  },
  {
    name: "limits.resume: a group",
    prepare: withId(
      async (healthy) => {
        const queue = newQueue();
        await startWork(healthy, { queue, group: "a", typeName: "step" });
        return queue;
      },
      (leasehold, ctx, queue) => leasehold.limits.resume({ ...ctx, queue, typeName: "step", group: "a" }),
    ),
  },
];

const reads: readonly ApiOperation[] = [
  { name: "getTime", prepare: alone((leasehold, ctx) => leasehold.getTime(ctx)) },
  {
    name: "jobs.get",
    prepare: withId(startWork, (leasehold, ctx, id) => leasehold.jobs.get({ ...ctx, id })),
  },
  { name: "jobs.list", prepare: alone((leasehold, ctx) => leasehold.jobs.list({ ...ctx, limit: 1 })) },
  {
    name: "jobs.count",
    prepare: alone((leasehold, ctx) => leasehold.jobs.count({ ...ctx, status: "failed" })),
  },
  {
    name: "jobs.explain",
    prepare: withId(
      (healthy) => startWork(healthy, { group: "a" }),
      (leasehold, ctx, id) => leasehold.jobs.explain({ ...ctx, id }),
    ),
  },
  {
    name: "jobs.getSequence",
    prepare: withId(startWork, (leasehold, ctx, id) => leasehold.jobs.getSequence({ ...ctx, id })),
  },
  {
    name: "jobs.listSequences",
    prepare: alone((leasehold, ctx) => leasehold.jobs.listSequences({ ...ctx, limit: 1 })),
  },
  {
    name: "jobs.listInSequence",
    prepare: withId(startWork, (leasehold, ctx, id) => leasehold.jobs.listInSequence({ ...ctx, id })),
  },
  {
    name: "jobs.listBlockers",
    prepare: withId(startAssembly, (leasehold, ctx, { id }) => leasehold.jobs.listBlockers({ ...ctx, id })),
  },
  {
    name: "jobs.listBlocked",
    prepare: withId(startAssembly, (leasehold, ctx, { parts }) =>
      leasehold.jobs.listBlocked({ ...ctx, id: parts[0]! }),
    ),
  },
  {
    name: "recurring.get",
    prepare: withId(putRecurring, (leasehold, ctx, id) => leasehold.recurring.get({ ...ctx, id })),
  },
  { name: "recurring.list", prepare: alone((leasehold, ctx) => leasehold.recurring.list({ ...ctx })) },
  {
    name: "recurring.preview",
    prepare: withId(putRecurring, (leasehold, ctx, id) => leasehold.recurring.preview({ ...ctx, id })),
  },
  { name: "limits.list", prepare: alone((leasehold, ctx) => leasehold.limits.list({ ...ctx })) },
  {
    name: "limits.listGroups",
    prepare: alone((leasehold, ctx) =>
      leasehold.limits.listGroups({ ...ctx, queue: "default", typeName: "work" }),
    ),
  },
  {
    name: "history.listAttempts",
    prepare: withId(startWork, (leasehold, ctx, id) => leasehold.history.listAttempts({ ...ctx, id })),
  },
  {
    name: "history.listCauses",
    prepare: alone((leasehold, ctx) => leasehold.history.listCauses({ ...ctx })),
  },
  {
    name: "history.listProcesses",
    prepare: alone((leasehold, ctx) => leasehold.history.listProcesses({ ...ctx })),
  },
  {
    name: "history.getStatistics",
    prepare: alone((leasehold, ctx) =>
      leasehold.history.getStatistics({ ...ctx, from: new Date(Date.now() - 60_000) } as never),
    ),
  },
];

/** Methods that take no transaction. */
const withoutTransaction: readonly string[] = [
  "waitForJobSequenceCompletion",
  "runInTransaction",
  "withNotify",
  "createWorker",
  "close",
  "jobs.prune",
];

const pickContext = (options: object, ctx: object): Ctx =>
  Object.fromEntries(Object.entries(options).filter(([key]) => key in ctx)) as Ctx;

/** The names of all methods, those of the namespaces with its name before them. */
const methodNames = (leasehold: object, prefix = ""): string[] =>
  Object.entries(leasehold).flatMap(([key, value]: [string, unknown]) => {
    if (typeof value === "function") return [`${prefix}${key}`];
    return typeof value === "object" && value !== null ? methodNames(value, `${key}.`) : [];
  });

const methodOf = ({ name }: ApiOperation): string => name.split(":")[0]!;

interface ApiOperations {
  readonly jobTypes: JobTypes<OperationTypes>;
  readonly writes: readonly ApiOperation[];
  readonly reads: readonly ApiOperation[];
  readonly withoutTransaction: readonly string[];
  methodNames(leasehold: object): string[];
  methodOf(operation: ApiOperation): string;
}

/** Every method of the API that takes a transaction, to be tried in every situation. */
export const apiOperations: ApiOperations = {
  jobTypes: operationTypes,
  writes,
  reads,
  withoutTransaction,
  methodNames,
  methodOf,
};
