import { PGlite, type Transaction } from "@electric-sql/pglite";
import { defineUnionJobTypes } from "leasehold";
import pg from "pg";
import { describe, expect, inject, it } from "vitest";
import type { PgStateProvider } from "./database/provider.ts";
import { createPgPoolStateProvider, type PgContext } from "./providers/pg-pool.ts";
import { createPGliteStateProvider, type PGliteContext } from "./providers/pglite.ts";
import { createPgTestKit } from "./testing.ts";

const jobTypes = defineUnionJobTypes<{
  pay: { input: { order: string }; output: string };
  approve: { input: null; output: string };
  report: { input: null; output: string };
}>({ approve: { workerless: true } });

/** Jobs that the worker of a test does not implement: `drain` and `advance` end all the same. */
const notForTheWorker = { sequences: [{ typeName: "approve" }, { typeName: "report" }] } as const;

type Query = (sql: string, values?: unknown[]) => Promise<{ rows: unknown[] }>;

/** Fails once, writes, and is completed an hour later. */
const payAnHourLater = async (
  stateProvider: PgStateProvider<object, object>,
  queryIn: (ctx: object) => Query,
  slowly = "SELECT 1",
): Promise<void> => {
  const kit = await createPgTestKit({ jobTypes, stateProvider });
  const { leasehold, schema } = kit;
  const run = (sql: string) => stateProvider.executeSql(undefined, { sql, params: [] });
  await run(`CREATE TABLE ${schema}.payments (id text, attempt int)`);
  const worker = leasehold.createWorker({ retry: { type: "fixed", delayMs: 3_600_000 } }).implementJobType({
    typeName: "pay",
    process: async ({ job, complete }) =>
      complete(async (ctx) => {
        const query = queryIn(ctx);
        await query(slowly);
        await query(`INSERT INTO ${schema}.payments VALUES ($1, $2)`, [job.input.order, job.attempt]);
        if (job.attempt === 1) throw new Error("the bank is closed");
        return "paid";
      }),
  });
  const { id } = await leasehold.startJobSequence({ typeName: "pay", input: { order: "o-1" } });
  await leasehold.startJobSequences(notForTheWorker);
  await kit.drain(worker);
  expect(await leasehold.jobs.get({ id })).toMatchObject({ status: "pending", attempt: 1 });
  await kit.advance(worker, 3_600_000);
  expect(await leasehold.jobs.get({ id })).toMatchObject({ status: "completed", attempt: 2 });
  expect(await run(`SELECT * FROM ${schema}.payments`)).toEqual([{ id: "o-1", attempt: 2 }]);
  await kit.close();
};

describe("createPgTestKit", () => {
  it("runs handlers on PGlite, in the kit's time", async () => {
    const db = await PGlite.create();
    const provider = createPGliteStateProvider({ db }) as unknown as PgStateProvider<object, object>;
    await payAnHourLater(provider, (ctx) => {
      const { tx } = ctx as PGliteContext<Transaction>;
      return (sql, values) => tx.query(sql, values);
    });
    await db.close();
  }, 60_000);

  it("runs handlers on a server, in the kit's time", async () => {
    const pool = new pg.Pool({ connectionString: inject("postgres18Url") });
    const provider = createPgPoolStateProvider({ pool }) as unknown as PgStateProvider<object, object>;
    await payAnHourLater(
      provider,
      (ctx) => {
        const { client } = ctx as PgContext<pg.PoolClient>;
        return (sql, values) => client.query(sql, values);
      },
      "SELECT pg_sleep(0.02)::text",
    );
    await pool.end();
  });
});
