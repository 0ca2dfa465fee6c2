import { createInProcessNotifyAdapter, createLeasehold, type WorkerBuilder } from "leasehold";
import type { BaseStateAdapterContext } from "leasehold/adapter";
import { type StateAdapterFixture, stateAdapterConformance } from "leasehold/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type OrderJobs, orderJobs, type OrderLeasehold } from "../../examples/order-jobs.ts";
import type { PgStateProvider, SqlRow } from "../database/provider.ts";
import { createPgStateAdapter } from "../state-adapter.ts";
import { hasSqlState, isConflictRollback, isTransientPgError } from "../database/errors.ts";
import { newSchemaName } from "./fixtures.ts";
import { reuseStores } from "./reuse-stores.ts";
import { sampled } from "./sampled.ts";

/** An example, and a database of its own to try it on. */
export interface Example<
  TTxContext extends BaseStateAdapterContext,
  TContext extends BaseStateAdapterContext,
> {
  readonly provider: PgStateProvider<TTxContext, TContext>;
  /** A transaction as users open it themselves. */
  transaction<T>(callback: (ctx: TTxContext) => Promise<T>): Promise<T>;
  placeOrder(
    leasehold: OrderLeasehold<TTxContext>,
    order: { readonly id: string; readonly address: string },
  ): Promise<void>;
  createShippingWorker(leasehold: OrderLeasehold<TTxContext>): WorkerBuilder<OrderJobs, TTxContext, string>;
  close(): Promise<void>;
}

export interface ExampleSuite<
  TTxContext extends BaseStateAdapterContext,
  TContext extends BaseStateAdapterContext,
> {
  readonly name: string;
  /** Where the transaction is in the context. */
  readonly key: string & keyof TTxContext;
  /** Where the server is; for a client that has none, nothing. */
  server?(): string;
  readonly testedElsewhere?: StateAdapterFixture["testedElsewhere"];
  /** Which third of the conformance tests to run. */
  readonly part: 0 | 1 | 2;
  /** Unqualified names are to mean those of this schema, which the tests make and drop. */
  connect(schema: string, url: string): Promise<Example<TTxContext, TContext>>;
}

/** What a handler's `complete` is given, with the transaction under its own name and of its own type. */
export type CompleteContext<TContext> = Parameters<
  Parameters<
    Parameters<
      Parameters<ReturnType<OrderLeasehold<TContext>["createWorker"]>["implementJobType"]>[0]["process"]
    >[0]["complete"]
  >[0]
>[0];

const throwing = (): never => {
  throw new Error("hostile");
};

const hostileValues = (): unknown[] => [
  null,
  {},
  [],
  "transaction",
  throwing,
  Object.create(null),
  { isTransaction: true, closed: false },
  new Proxy(() => {}, { get: throwing, has: throwing, getPrototypeOf: throwing, apply: throwing }),
];

const raise = (sqlState: string): string => `DO $$ BEGIN RAISE SQLSTATE '${sqlState}'; END $$`;

const caught = async (work: Promise<unknown>): Promise<unknown> => {
  try {
    await work;
  } catch (error) {
    return error;
  }
  throw new Error("This was to be rejected.");
};

/** What every example has to show, whatever it is written for. */
export const describeExample = <
  TTxContext extends BaseStateAdapterContext,
  TContext extends BaseStateAdapterContext,
>({
  name,
  key,
  server,
  testedElsewhere,
  part,
  connect,
}: ExampleSuite<TTxContext, TContext>): void => {
  const open = async () => {
    const schema = newSchemaName();
    const url = server?.() ?? "";
    const example = await connect(schema, url);
    const { provider } = example;
    const adapter = await createPgStateAdapter({ stateProvider: provider, schema });
    const run = (sql: string, ...params: string[]): Promise<readonly SqlRow[]> =>
      provider.executeSql(undefined, { sql, params });
    const destroy = async (): Promise<void> => {
      await adapter.close();
      await run(`DROP SCHEMA ${schema} CASCADE`);
      await example.close();
    };
    return { ...example, adapter, url, schema, run, destroy };
  };

  describe(`through ${name}`, () => {
    // Without a server there is no second connection that could empty a store.
    const create = server === undefined ? open : reuseStores(open);
    stateAdapterConformance(sampled(part), { create, testedElsewhere });

    const createShop = async () => {
      const store = await open();
      await store.run(
        "CREATE TABLE orders (id text PRIMARY KEY, address text NOT NULL, state text NOT NULL DEFAULT 'placed')",
      );
      const notifyAdapter = createInProcessNotifyAdapter();
      const leasehold = await createLeasehold({
        stateAdapter: store.adapter,
        notifyAdapter,
        jobTypes: orderJobs,
      });
      const stateOf = async (id: string): Promise<unknown> =>
        (await store.run("SELECT state FROM orders WHERE id = $1", id))[0]?.["state"];
      const jobOf = async (id: string) => {
        const page = { filter: {}, order: "oldest", limit: 1_000, after: null } as const;
        const { jobs } = await store.adapter.listJobs(page);
        const [job, ...others] = jobs.filter(({ input }) => input === JSON.stringify({ orderId: id }));
        expect(others).toEqual([]);
        return job;
      };
      const destroy = async (): Promise<void> => {
        await notifyAdapter.close();
        await store.destroy();
      };
      return { ...store, leasehold, stateOf, jobOf, destroy };
    };

    describe("in a shop", () => {
      let shop: Awaited<ReturnType<typeof createShop>>;
      beforeAll(async () => {
        shop = await createShop();
      }, 60_000);
      afterAll(() => shop.destroy());

      it("starts a job in the user's own transaction", async () => {
        const { leasehold, placeOrder, stateOf, jobOf } = shop;
        await placeOrder(leasehold, { id: "kept", address: "1 Main Street" });
        expect(await stateOf("kept")).toBe("placed");
        expect((await jobOf("kept"))?.status).toBe("pending");
      });

      it("leaves nothing of a transaction that is rolled back", async () => {
        const { leasehold, placeOrder, run, jobOf } = shop;
        await run("INSERT INTO orders (id, address) VALUES ('taken', '')");
        // The job is started before the order turns out to exist.
        const error = await caught(placeOrder(leasehold, { id: "taken", address: "2 Main Street" }));
        expect(hasSqlState(error, "23505")).toBe(true);
        expect(isTransientPgError(error)).toBe(false);
        expect(await jobOf("taken")).toBeUndefined();
      });

      it("commits a completion with the user's writes, and rolls it back with them", async () => {
        const { leasehold, placeOrder, createShippingWorker, run, stateOf, jobOf } = shop;
        await placeOrder(leasehold, { id: "good", address: "3 Main Street" });
        await placeOrder(leasehold, { id: "bad", address: "" });
        const sequenceOf = async (id: string) =>
          ({ id: (await jobOf(id))?.id ?? "", typeName: "ship-order" }) as const;
        const [good, bad] = [await sequenceOf("good"), await sequenceOf("bad")];
        const worker = await createShippingWorker(leasehold).start();
        try {
          const { output } = await leasehold.waitForJobSequenceCompletion(good);
          expect(output).toEqual({ address: "3 Main Street" });
          expect(await stateOf("good")).toBe("shipped");

          await expect(leasehold.waitForJobSequenceCompletion(bad)).rejects.toMatchObject({
            code: "JobSequenceFailed",
          });
          expect(await stateOf("bad")).toBe("placed");

          await run("UPDATE orders SET address = '4 Main Street' WHERE id = 'bad'");
          await leasehold.jobs.redrive({ ids: [bad.id] });
          await leasehold.waitForJobSequenceCompletion(bad);
          expect(await stateOf("bad")).toBe("shipped");
        } finally {
          await worker.stop();
        }
      });

      it("goes on after a statement that failed inside a savepoint", async () => {
        const { adapter, provider, leasehold, run, stateOf, jobOf } = shop;
        const insert = (ctx: TTxContext, id: string): Promise<unknown> =>
          provider.executeSql(ctx, {
            sql: "INSERT INTO orders (id, address) VALUES ($1, '')",
            params: [id],
          });
        await run("INSERT INTO orders (id, address) VALUES ('there', '')");
        await adapter.runInTransaction(async (ctx) => {
          await insert(ctx, "outer");
          const inner = adapter.runInTransaction(async (innerCtx) => {
            await insert(innerCtx, "inner");
            await insert(innerCtx, "there");
          }, ctx);
          expect(hasSqlState(await caught(inner), "23505")).toBe(true);
          await leasehold.startJobSequence({
            ...ctx,
            typeName: "ship-order",
            input: { orderId: "outer" },
          });
        });
        expect(await stateOf("outer")).toBe("placed");
        expect(await stateOf("inner")).toBeUndefined();
        expect((await jobOf("outer"))?.status).toBe("pending");
      });

      it("opens transactions at every isolation level", async () => {
        const { adapter, provider } = shop;
        const levelIn = async (ctx: TTxContext): Promise<unknown> => {
          const sql = "SELECT current_setting('transaction_isolation') AS level";
          return (await provider.executeSql(ctx, { sql, params: [] }))[0]?.["level"];
        };
        for (const isolationLevel of adapter.capabilities.isolationLevels)
          expect(await adapter.runInTransaction(levelIn, undefined, { isolationLevel })).toBe(isolationLevel);
      });

      it("knows the user's own transactions, and when they have ended", async () => {
        const { provider, transaction } = shop;
        const committed = await transaction(async (ctx) => {
          expect(await provider.isInTransaction(ctx)).toBe(true);
          return ctx;
        });
        expect(await provider.isInTransaction(committed)).toBe(false);
        let rolledBack: TTxContext | undefined;
        const reason = new Error("rolled back on purpose");
        const failing = transaction(async (ctx) => {
          rolledBack = ctx;
          throw reason;
        });
        expect(await caught(failing)).toBe(reason);
        expect(await provider.isInTransaction(rolledBack)).toBe(false);
      });

      it("takes nothing else for a transaction, and does not throw over it", async () => {
        const { provider } = shop;
        const getter = Object.defineProperty({}, key, { get: throwing });
        for (const ctx of [getter, ...hostileValues(), ...hostileValues().map((value) => ({ [key]: value }))])
          expect(await provider.isInTransaction(ctx)).toBe(false);
        await provider.provideContext(async (ctx) => expect(await provider.isInTransaction(ctx)).toBe(false));
      });

      it.each(["40001", "40P01", "55P03"])("lets %s be recognised", async (sqlState) => {
        const { provider, run, transaction } = shop;
        const raiseIn = (ctx: TTxContext): Promise<unknown> =>
          provider.executeSql(ctx, { sql: raise(sqlState), params: [] });
        for (const error of [await caught(run(raise(sqlState))), await caught(transaction(raiseIn))]) {
          expect(isTransientPgError(error)).toBe(true);
          expect(isConflictRollback(error)).toBe(true);
          expect(hasSqlState(error, sqlState)).toBe(true);
        }
      });

      it("says nothing of parameters in errors", async () => {
        const secret = "canary";
        const error = await caught(shop.run("SELECT 1 / length($1) WHERE $2 <> ''", "", secret));
        expect(hasSqlState(error, "22012")).toBe(true);
        expect((error as Error).stack).not.toContain(secret);
      });

      if (server)
        it("lets a server that is not there be recognised", async () => {
          const { provider, close } = await connect("nothing", "postgresql://nobody@127.0.0.1:1/nothing");
          const statement = { sql: "SELECT 1", params: [] };
          expect(isTransientPgError(await caught(provider.executeSql(undefined, statement)))).toBe(true);
          const inTransaction = provider.runInTransaction((ctx) => provider.executeSql(ctx, statement));
          expect(isTransientPgError(await caught(inTransaction))).toBe(true);
          await close();
        });

      if (server)
        it("lets a lost connection be recognised, and goes on with another", async () => {
          const { provider, run, transaction } = shop;
          const terminate = "SELECT pg_terminate_backend(pg_backend_pid())";
          expect(isTransientPgError(await caught(run(terminate)))).toBe(true);
          const inTransaction = transaction((ctx) =>
            provider.executeSql(ctx, { sql: terminate, params: [] }),
          );
          expect(isTransientPgError(await caught(inTransaction))).toBe(true);
          expect(await run("SELECT 1 AS one")).toEqual([{ one: 1 }]);
        });
    });
  });
};
