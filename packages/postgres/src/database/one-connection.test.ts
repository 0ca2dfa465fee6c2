import { PGlite } from "@electric-sql/pglite";
import { randomUUID } from "node:crypto";
import { createLeasehold, JobAlreadyExistsError } from "leasehold";
import type { StateAdapter } from "leasehold/adapter";
import { apiOperations, type ApiUnderTest } from "leasehold/testing";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { createPGliteStateProvider } from "../providers/pglite.ts";
import { createPgPoolStateProvider } from "../providers/pg-pool.ts";
import { createPgStateAdapter } from "../state-adapter.ts";
import { dropSchema, newSchemaName } from "../testing/fixtures.ts";
import { claim } from "../testing/test-jobs.ts";
import { until } from "../testing/until.ts";
import type { PgStateProvider } from "./provider.ts";

const { jobTypes, writes, reads, withoutTransaction, methodNames, methodOf } = apiOperations;
const operations = [...writes, ...reads];

/** A new instance, as in a process that has just started: it has read nothing yet. */
const openCold = async (stateProvider: object, schema: string): Promise<ApiUnderTest> =>
  (await createLeasehold({
    stateAdapter: await createPgStateAdapter({
      stateProvider: stateProvider as PgStateProvider<object, object>,
      schema,
      migrate: false,
    }),
    jobTypes,
    statistics: false,
    storeDeadlineMs: 60_000,
  })) as unknown as ApiUnderTest;

const url = inject("postgres15Url");

describe("in a transaction of the caller, on a pool whose connections are all in use", () => {
  const schema = newSchemaName();
  const pool = new pg.Pool({ connectionString: url, max: 3 });
  let healthy: ApiUnderTest;

  beforeAll(async () => {
    const stateProvider = createPgPoolStateProvider({ pool });
    await createPgStateAdapter({ stateProvider, schema });
    healthy = await openCold(stateProvider, schema);
  });
  afterAll(async () => {
    await pool.end();
    await dropSchema(url, schema);
  });

  it("every method that takes a transaction is tried", () => {
    const tried = new Set(operations.map(methodOf));
    const all = methodNames(healthy).filter((name) => !withoutTransaction.includes(name));
    expect([...tried].sort()).toEqual(all.sort());
  });

  /** Runs `work` with as many clients of a new pool as it has, each in a transaction. */
  const withBusyPool = async (
    size: number,
    work: (leasehold: ApiUnderTest, ctxs: readonly object[]) => Promise<void>,
  ): Promise<void> => {
    const busy = new pg.Pool({ connectionString: url, max: size });
    const leasehold = await openCold(createPgPoolStateProvider({ pool: busy }), schema);
    const clients = await Promise.all(Array.from({ length: size }, () => busy.connect()));
    // A call that needs another connection fails instead of waiting for its deadline.
    const refuse = () => Promise.reject(new Error("The call needs another connection."));
    Object.assign(busy, { connect: refuse, query: refuse });
    try {
      await Promise.all(clients.map((client) => client.query("BEGIN")));
      await work(
        leasehold,
        clients.map((client) => ({ client })),
      );
      await Promise.all(clients.map((client) => client.query("COMMIT")));
    } finally {
      for (const client of clients) client.release();
      await busy.end();
    }
  };

  it.each(operations.map((operation) => [operation.name, operation] as const))(
    "%s needs no other connection",
    { timeout: 90_000 },
    async (_name, { prepare }) => {
      const call = await prepare(healthy);
      await withBusyPool(1, async (leasehold, [ctx]) => {
        await call(leasehold, ctx!);
      });
    },
  );

  it("a start whose id another transaction takes meanwhile needs no other connection", async () => {
    const id = randomUUID();
    const other = await pool.connect();
    await other.query("BEGIN");
    await healthy.startJobSequence({ client: other, id, typeName: "work", input: { n: 1 } } as never);
    await withBusyPool(1, async (leasehold, [ctx]) => {
      const start = leasehold.startJobSequence({ ...ctx, id, typeName: "work", input: { n: 2 } } as never);
      const refused = expect(start).rejects.toBeInstanceOf(JobAlreadyExistsError);
      const waits = "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE $1";
      await until(
        async () => (await pool.query(waits, [`%${schema}%`])).rows.length > 0,
        "the second start waits for the first",
      );
      await other.query("COMMIT");
      await refused;
    });
    other.release();
  });

  it("ten first starts of a group at the same time need ten connections", async () => {
    await withBusyPool(10, async (leasehold, ctxs) => {
      const started = ctxs.map(async (ctx) => {
        await leasehold.startJobSequence({
          ...ctx,
          typeName: "work",
          queue: "ten",
          group: "a",
          input: { n: 1 },
        } as never);
        await (ctx as { client: pg.PoolClient }).client.query("COMMIT");
      });
      await Promise.all(started);
    });
    expect(await healthy.jobs.count({ queue: "ten" })).toMatchObject([{ count: 10 }]);
  });

  it("a first start of a group that is rolled back does not hide the next from other processes", async () => {
    const queue = "rolled-back";
    const start = { typeName: "work", queue, group: "a", input: { n: 1 } };
    const api = await openCold(createPgPoolStateProvider({ pool }), schema);
    for (const end of ["ROLLBACK", "COMMIT"]) {
      const client = await pool.connect();
      await client.query("BEGIN");
      await api.startJobSequence({ ...start, client } as never);
      await api.startJobSequence({ ...start, client } as never);
      await client.query(end);
      client.release();
    }
    const stateAdapter = await createPgStateAdapter({
      stateProvider: createPgPoolStateProvider({ pool }),
      schema,
      migrate: false,
    });
    const requests = [{ queue, typeNames: ["work"], limit: 5 }];
    const claimed = await claim(stateAdapter as unknown as StateAdapter, { limit: 5, requests });
    expect(claimed).toHaveLength(2);
  });
});

describe("in a transaction of the caller, on a database with one connection", () => {
  const db = new PGlite();
  let stateProvider: object;
  let healthy: ApiUnderTest;

  beforeAll(async () => {
    stateProvider = createPGliteStateProvider({ db });
    await createPgStateAdapter({ stateProvider: stateProvider as PgStateProvider<object, object> });
    healthy = await openCold(stateProvider, "leasehold");
  }, 60_000);
  afterAll(() => db.close());

  it.each(operations.map((operation) => [operation.name, operation] as const))(
    "%s ends",
    { timeout: 90_000 },
    async (_name, { prepare }) => {
      const call = await prepare(healthy);
      const cold = await openCold(stateProvider, "leasehold");
      await db.transaction(async (tx) => {
        await call(cold, { tx });
      });
    },
  );
});
