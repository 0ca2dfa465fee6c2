import { randomUUID } from "node:crypto";
import { startMongoTestServer, type MongoTestServer } from "@leasehold/mongodb-test-server";
import {
  createLeasehold,
  type DefineBlocker,
  defineUnionJobTypes,
  type Leasehold,
  StoreCallTimeoutError,
} from "leasehold";
import { createDeterministicRuntime, createManualClock } from "leasehold/testing";
import { type Collection, type Db, MongoClient } from "mongodb";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createMongoStateProvider, type MongoTransactionContext } from "./database/provider.ts";
import { createMongoStateAdapter, type MongoStateAdapter } from "./state-adapter.ts";

interface Types {
  work: { input: { n: number }; output: number };
  after: { input: null; output: null; blockers: [DefineBlocker<"work">] };
}

const jobTypes = defineUnionJobTypes<Types>();

type TestLeasehold = Leasehold<Types, MongoStateAdapter<MongoTransactionContext>>;

type Call = (leasehold: TestLeasehold, ctx: MongoTransactionContext) => Promise<unknown>;

const work = { typeName: "work", input: { n: 1 } } as const;

const start = async (leasehold: TestLeasehold): Promise<string> =>
  (await leasehold.startJobSequence(work)).id;

const startBlocked = async (leasehold: TestLeasehold): Promise<string> => {
  const blocker = await leasehold.startJobSequence(work);
  await leasehold.startJobSequence({ typeName: "after", startBlockers: () => [blocker] });
  return blocker.id;
};

const putRecurring = async (leasehold: TestLeasehold): Promise<string> => {
  const id = randomUUID();
  await leasehold.recurring.put({ id, everyMs: 3_600_000, job: work });
  return id;
};

/** Calls with more than one command: what each works on is created first. */
const operations: Readonly<Record<string, (healthy: TestLeasehold) => Promise<Call>>> = {
  "a start with a key": async () => {
    const deduplication = { key: randomUUID() };
    return (leasehold, ctx) => leasehold.startJobSequence({ ...ctx, ...work, deduplication });
  },
  "a start that replaces a duplicate": async (healthy) => {
    const deduplication = { key: randomUUID(), onDuplicate: "replace" } as const;
    await healthy.startJobSequence({ ...work, deduplication });
    return (leasehold, ctx) =>
      leasehold.startJobSequence({ ...ctx, typeName: "work", input: { n: 2 }, deduplication });
  },
  "a start with blockers": async () => (leasehold, ctx) =>
    leasehold.startJobSequence({
      ...ctx,
      typeName: "after",
      startBlockers: async ({ session }) => [await leasehold.startJobSequence({ session, ...work })],
    }),
  "a completion": async (healthy) => {
    const id = await startBlocked(healthy);
    return (leasehold, ctx) =>
      leasehold.completeJobSequence({
        ...ctx,
        id,
        typeName: "work",
        complete: async ({ job, complete }) => {
          await complete(job, () => 1);
        },
      });
  },
  "a cancellation": async (healthy) => {
    const id = await startBlocked(healthy);
    return (leasehold, ctx) => leasehold.jobs.cancel({ ...ctx, ids: [id] });
  },
  "a redrive": async (healthy) => {
    const id = await startBlocked(healthy);
    await healthy.jobs.cancel({ ids: [id] });
    return (leasehold, ctx) => leasehold.jobs.redrive({ ...ctx, ids: [id] });
  },
  "an update": async (healthy) => {
    const id = await start(healthy);
    return (leasehold, ctx) => leasehold.jobs.update({ ...ctx, ids: [id], priority: 3 });
  },
  "a deletion": async (healthy) => {
    const id = await start(healthy);
    return (leasehold, ctx) => leasehold.deleteJobSequences({ ...ctx, rootSequenceIds: [id] });
  },
  "a recurring job": async () => {
    const id = randomUUID();
    return (leasehold, ctx) => leasehold.recurring.put({ ...ctx, id, everyMs: 3_600_000, job: work });
  },
  "a run of a recurring job": async (healthy) => {
    const id = await putRecurring(healthy);
    return (leasehold, ctx) => leasehold.recurring.trigger({ ...ctx, id });
  },
  "the deletion of a recurring job": async (healthy) => {
    const id = await putRecurring(healthy);
    return (leasehold, ctx) => leasehold.recurring.delete({ ...ctx, id });
  },
};

const storeDeadlineMs = 10_000;

let server: MongoTestServer;
let client: MongoClient;
let healthy: TestLeasehold;
let instances = 0;

const openLeasehold = async (wrap: (db: Db) => Db = (db) => db) => {
  instances += 1;
  const provider = createMongoStateProvider({ client, database: "given_up" });
  const db = wrap(provider.getDatabase());
  const stateAdapter = await createMongoStateAdapter({
    stateProvider: { ...provider, getDatabase: () => db },
    migrate: instances === 1,
  });
  const runtime = createDeterministicRuntime({ seed: instances, clock: createManualClock() });
  const leasehold = await createLeasehold({ stateAdapter, jobTypes, runtime, storeDeadlineMs });
  return { leasehold, clock: runtime.clock };
};

beforeAll(async () => {
  server = await startMongoTestServer();
  client = new MongoClient(server.uri);
  ({ leasehold: healthy } = await openLeasehold());
});

afterAll(async () => {
  await client.close();
  await server.stop();
});

/** A database that holds back one answer, and lists the commands that are sent after `end`. */
const holdAnswer = (nth: number) => {
  let reach = (): void => {};
  let answer = (): void => {};
  const reached = new Promise<void>((resolve) => (reach = resolve));
  const answered = new Promise<void>((resolve) => (answer = resolve));
  const late: string[] = [];
  let count = 0;
  let isOver = false;
  const hold = async <T>(command: string, result: Promise<T>): Promise<T> => {
    if (isOver) late.push(command);
    const value = await result;
    count += 1;
    if (count === nth) {
      reach();
      await answered;
    }
    return value;
  };
  /** Answers come from promises, and from `toArray` of cursors. */
  const wrap = <T extends object>(target: T, name = ""): T =>
    new Proxy(target, {
      get: (_target, key) => {
        const value: unknown = Reflect.get(target, key, target);
        if (typeof value !== "function") return value;
        return (...args: unknown[]): unknown => {
          const result: unknown = Reflect.apply(value, target, args);
          if (result instanceof Promise) return hold(`${name}${String(key)}`, result);
          return key === "find" || key === "aggregate" ? wrap(result as object, `${key} `) : result;
        };
      },
    });
  return {
    wrap: (db: Db): Db =>
      new Proxy(db, {
        get: (target, key) => {
          const value: unknown = Reflect.get(target, key, target);
          if (typeof value !== "function") return value;
          const collection = (...args: never[]): Collection => wrap(Reflect.apply(value, target, args));
          return key === "collection" ? collection : value.bind(target);
        },
      }),
    reached,
    late,
    end: () => {
      isOver = true;
      answer();
    },
  };
};

const everything = async (): Promise<unknown> => {
  const db = client.db("given_up");
  const collections = await db.collections();
  const sorted = collections.map(({ collectionName }) => collectionName).sort();
  return Promise.all(
    sorted.map((name) =>
      db
        .collection(name)
        .find({}, { sort: { _id: 1 } })
        .toArray(),
    ),
  );
};

const settle = async (): Promise<void> => {
  for (let turn = 0; turn < 3; turn += 1) {
    await new Promise((resolve) => setImmediate(resolve));
    await client.db("given_up").command({ ping: 1 });
  }
};

it.each(Object.entries(operations))(
  "%s that is given up leaves nothing behind, whichever of its answers is late",
  { timeout: 60_000 },
  async (_name, prepare) => {
    for (let nth = 1, isReached = true; isReached; nth += 1) {
      const call = await prepare(healthy);
      const held = holdAnswer(nth);
      const { leasehold, clock } = await openLeasehold(held.wrap);
      const before = await everything();
      const session = client.startSession();
      session.startTransaction({ readConcern: { level: "snapshot" }, writeConcern: { w: "majority" } });
      const outcome = call(leasehold, { session }).then(
        () => "done",
        (error: unknown) => error,
      );
      isReached = await Promise.race([held.reached.then(() => true), outcome.then(() => false)]);
      if (isReached) {
        await clock.advanceBy(storeDeadlineMs);
        expect(await outcome, `answer ${nth}`).toBeInstanceOf(StoreCallTimeoutError);
      } else expect(await outcome).toBe("done");
      await session.abortTransaction();
      held.end();
      await settle();
      expect(held.late, `sent after the end, when answer ${nth} was late`).toEqual([]);
      expect(await everything(), `when answer ${nth} was late`).toEqual(before);
      await session.endSession();
    }
  },
);
