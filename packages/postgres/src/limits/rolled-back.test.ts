import { PGlite } from "@electric-sql/pglite";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { createPGliteStateProvider } from "../providers/pglite.ts";
import { createPgPoolStateProvider } from "../providers/pg-pool.ts";
import { createPgStateAdapter, type PgStateAdapter } from "../state-adapter.ts";
import { dropSchema, newSchemaName } from "../testing/fixtures.ts";
import { claim, newJob } from "../testing/test-jobs.ts";

const url = inject("postgres15Url");

/** A store that several processes use. */
interface Store {
  open(): Promise<PgStateAdapter>;
  destroy(): Promise<void>;
}

const openPool = async (): Promise<Store> => {
  const pool = new pg.Pool({ connectionString: url, max: 3 });
  const schema = newSchemaName();
  return {
    open: async () =>
      (await createPgStateAdapter({
        stateProvider: createPgPoolStateProvider({ pool }),
        schema,
      })) as unknown as PgStateAdapter,
    destroy: async () => {
      await pool.end();
      await dropSchema(url, schema);
    },
  };
};

const openPGlite = async (): Promise<Store> => {
  const client = await PGlite.create();
  return {
    open: async () =>
      (await createPgStateAdapter({
        stateProvider: createPGliteStateProvider({ db: client }),
      })) as unknown as PgStateAdapter,
    destroy: () => client.close(),
  };
};

class Undo extends Error {}

type Work = (adapter: PgStateAdapter, queue: string, ctx: never) => Promise<unknown>;

const rolledBack: Record<string, Work> = {
  "a rule": (adapter, queue, ctx) =>
    adapter.limits.setRule({ queue: `other than ${queue}`, typeName: null, change: { concurrency: 1 }, ctx }),
  "a first group": (adapter, queue, ctx) =>
    adapter.createJobs({ jobs: [newJob({ queue, group: "a" })], ctx }),
  "a claim under a new rule": async (adapter, queue, ctx) => {
    await adapter.createJobs({ jobs: [newJob({ queue }), newJob({ queue, group: "a" })], ctx });
    await adapter.limits.setRule({ queue, typeName: null, change: { concurrency: 1 }, ctx });
    const requests = [{ queue, typeNames: null, limit: 9 }];
    const token = { workerId: "worker", leaseToken: "token", leaseMs: 1_000 };
    expect(await adapter.claimJobs({ ...token, requests, limit: 9, ctx })).toHaveLength(1);
    await adapter.nextRunnableIn({ requests, ctx });
    await adapter.statistics.measureBacklog({ cap: 10, ctx });
  },
};

describe.each([
  ["pg", openPool],
  ["PGlite", openPGlite],
])("after a rollback, a process on %s has the same copy of the rules as a new one", (_, openStore) => {
  let store: Store;
  const adapters: PgStateAdapter[] = [];

  const open = async (): Promise<PgStateAdapter> => {
    const adapter = await store.open();
    adapters.push(adapter);
    return adapter;
  };

  beforeAll(async () => {
    store = await openStore();
    await (await open()).migrate();
  }, 60_000);

  afterAll(async () => {
    for (const adapter of adapters) await adapter.close();
    await store.destroy();
  });

  const rollBack = async (queue: string, work: Work): Promise<[PgStateAdapter, PgStateAdapter]> => {
    const [mine, theirs] = [await open(), await open()];
    const run = mine.runInTransaction(async (ctx) => {
      await work(mine, queue, ctx as never);
      throw new Undo();
    });
    await expect(run).rejects.toThrow(Undo);
    return [mine, theirs];
  };

  it.each(Object.entries(rolledBack))("%s hides no pause of another process", async (name, work) => {
    const queue = `paused after ${name}`;
    const [mine, theirs] = await rollBack(queue, work);
    await theirs.limits.setRule({ queue, typeName: null, change: { paused: true } });
    await theirs.createJobs({ jobs: [newJob({ queue })] });
    const requests = [{ queue, typeNames: ["work"], limit: 9 }];
    expect(await claim(mine, { limit: 9, requests })).toEqual([]);
    expect(await mine.nextRunnableIn({ requests })).toBeNull();
    await theirs.limits.setRule({ queue, typeName: null, change: { paused: false } });
    expect(await claim(mine, { limit: 9, requests })).toHaveLength(1);
  });

  it.each(Object.entries(rolledBack))("%s hides no group from later processes", async (name, work) => {
    const queue = `grouped after ${name}`;
    const [mine] = await rollBack(queue, work);
    const job = newJob({ queue, group: "b" });
    await mine.createJobs({ jobs: [job] });
    const requests = [{ queue, typeNames: ["work"], limit: 9 }];
    expect(await (await open()).nextRunnableIn({ requests })).toBe(0);
    expect((await claim(await open(), { limit: 9, requests })).map(({ id }) => id)).toEqual([job.id]);
  });

  it("the second group of a type is started in another transaction", async () => {
    const mine = await open();
    const queue = "in transactions";
    for (const group of ["a", "b"])
      await mine.runInTransaction((ctx) => mine.createJobs({ jobs: [newJob({ queue, group })], ctx }));
    const requests = [{ queue, typeNames: ["work"], limit: 9 }];
    expect(await claim(mine, { limit: 9, requests })).toHaveLength(2);
  });
});
