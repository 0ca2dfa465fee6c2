import { createLeasehold, type DefineBlocker, defineUnionJobTypes } from "leasehold";
import type { IsolationLevel } from "leasehold/adapter";
import { randomUUID } from "node:crypto";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { main as transferMoney } from "../../examples/isolation.ts";
import { createPgPoolStateProvider, type PgContext } from "../providers/pg-pool.ts";
import { createPgStateAdapter } from "../state-adapter.ts";
import { newSchemaName } from "../testing/fixtures.ts";
import { createGate, type Gate } from "../testing/gate.ts";
import { createRoleWithDefault } from "../testing/role-with-default.ts";
import type { PgStateProvider, SqlRow } from "./provider.ts";

type Provider = PgStateProvider<PgContext<pg.PoolClient>, PgContext<pg.PoolClient>>;

const jobTypes = defineUnionJobTypes<{
  work: { input: { n: number }; output: string };
  collect: { input: null; output: string; blockers: [DefineBlocker<"work">] };
}>();

const open = async (
  url: string,
  { max = 10, wrap = (provider: Provider) => provider, schema = newSchemaName() } = {},
) => {
  const pool = new pg.Pool({ connectionString: url, max });
  const stateAdapter = await createPgStateAdapter({
    stateProvider: wrap(createPgPoolStateProvider({ pool })),
    schema,
  });
  const leasehold = await createLeasehold({ stateAdapter, jobTypes });
  const close = async (): Promise<void> => {
    await stateAdapter.close();
    await pool.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);
    await pool.end();
  };
  return { pool, stateAdapter, leasehold, schema, close };
};

/** A provider that does not know isolation levels. */
const withoutLevels = (provider: Provider, seen: string[]): Provider => ({
  contextKeys: provider.contextKeys,
  provideContext: (callback) => provider.provideContext(callback),
  runInTransaction: (callback) =>
    provider.provideContext(async (ctx) => {
      await ctx.client.query("BEGIN");
      try {
        const result = await callback(ctx);
        await ctx.client.query("COMMIT");
        return result;
      } catch (error) {
        await ctx.client.query("ROLLBACK");
        throw error;
      }
    }),
  isInTransaction: (ctx) => provider.isInTransaction(ctx),
  executeSql: (ctx, statement) => {
    seen.push(statement.sql);
    return provider.executeSql(ctx, statement);
  },
});

const levelOf = async ({ client }: PgContext<pg.PoolClient>): Promise<string> => {
  const { rows } = await client.query<SqlRow>("SHOW transaction_isolation");
  return String(rows[0]?.["transaction_isolation"]);
};

describe.each(["read committed", "repeatable read", "serializable"] as const)(
  "where the role's default is %s",
  (level) => {
    let role: Awaited<ReturnType<typeof createRoleWithDefault>>;
    beforeAll(async () => {
      role = await createRoleWithDefault(inject("postgres18Url"), level);
    });
    afterAll(() => role.drop());

    it("completes 200 sequences side by side, each at its first attempt", async () => {
      const { leasehold, schema, pool, close } = await open(role.url);
      await pool.query(`CREATE TABLE ${schema}.ledger (n int PRIMARY KEY)`);
      const workers = await Promise.all(
        [1, 2].map(() =>
          leasehold
            .createWorker()
            .implementJobType({
              typeName: "work",
              process: async ({ job, complete }) =>
                complete(async ({ client }) => {
                  await client.query(`INSERT INTO ${schema}.ledger VALUES ($1)`, [job.input.n]);
                  return levelOf({ client });
                }),
            })
            .start({ concurrency: 8, pollIntervalMs: 20 }),
        ),
      );
      const started = await leasehold.startJobSequences({
        sequences: Array.from({ length: 200 }, (_, n) => ({ typeName: "work" as const, input: { n } })),
      });
      for (const sequence of started) {
        const { output } = await leasehold.waitForJobSequenceCompletion(sequence);
        expect(output).toBe("read committed");
      }
      await Promise.all(workers.map((worker) => worker.stop()));
      const { rows } = await pool.query<SqlRow>(
        `SELECT max(attempt) AS attempts, count(*)::int AS jobs, (SELECT count(*)::int FROM ${schema}.ledger) AS entries
         FROM ${schema}.job`,
      );
      expect(rows).toEqual([{ attempts: 1, jobs: 200, entries: 200 }]);
      await close();
    });

    it("runs single statements and its own transactions at READ COMMITTED", async () => {
      const levels = new Set<string>();
      const { stateAdapter, leasehold, close } = await open(role.url, {
        wrap: (provider) => ({
          ...provider,
          executeSql: async (ctx, statement) => {
            if (ctx !== undefined) levels.add(await levelOf(ctx as PgContext<pg.PoolClient>));
            else if (
              level !== "read committed" &&
              !/default_transaction_isolation|CONCURRENTLY/.test(statement.sql)
            )
              levels.add(`outside: ${statement.sql}`);
            return provider.executeSql(ctx, statement);
          },
        }),
      });
      const deduplication = { key: "one" };
      await leasehold.startJobSequence({ typeName: "work", input: { n: 1 }, deduplication });
      await stateAdapter.claimJobs({
        workerId: "w",
        leaseToken: randomUUID(),
        leaseMs: 1_000,
        limit: 1,
        requests: [{ queue: "default", typeNames: ["work"], limit: 1 }],
      });
      await leasehold.runInTransaction((ctx) => levelOf(ctx));
      expect([...levels]).toEqual(["read committed"]);
      await close();
    });

    it.each(["read committed", "repeatable read", "serializable"] as const)(
      "gives %s to whoever asks for it, whatever the provider can do",
      async (isolationLevel) => {
        const seen: string[] = [];
        for (const wrap of [
          (provider: Provider) => provider,
          (provider: Provider) => withoutLevels(provider, seen),
        ]) {
          const { leasehold, close } = await open(role.url, { wrap });
          expect(await leasehold.runInTransaction(levelOf, { isolationLevel })).toBe(isolationLevel);
          expect(await leasehold.runInTransaction(levelOf)).toBe("read committed");
          const worker = await leasehold
            .createWorker()
            .implementJobType({
              typeName: "work",
              process: async ({ prepare, complete }) => {
                const prepared = await prepare({ mode: "staged", isolationLevel }, levelOf);
                return complete(async (ctx) => `${prepared}, ${await levelOf(ctx)}`, { isolationLevel });
              },
            })
            .start({ pollIntervalMs: 20 });
          const started = await leasehold.startJobSequence({ typeName: "work", input: { n: 1 } });
          const { output } = await leasehold.waitForJobSequenceCompletion(started);
          expect(output).toBe(`${isolationLevel}, ${isolationLevel}`);
          await worker.stop();
          await close();
        }
        if (level === "read committed" && isolationLevel === level)
          expect(seen.filter((sql) => sql.startsWith("SET TRANSACTION"))).toEqual([]);
      },
    );
  },
);

it("looks up the default once, and runs a single statement without a transaction", async () => {
  const seen: string[] = [];
  const { leasehold, close } = await open(inject("postgres18Url"), {
    wrap: (provider) => withoutLevels(provider, seen),
  });
  const asked = (sql: string): boolean => sql.includes("default_transaction_isolation");
  expect(seen.filter(asked)).toHaveLength(1);
  seen.length = 0;
  await leasehold.startJobSequence({ typeName: "work", input: { n: 1 } });
  await leasehold.jobs.get({ id: randomUUID() });
  expect(seen).toHaveLength(2);
  expect(seen.filter(asked)).toEqual([]);
  await close();
});

it("notices that the default has changed, and goes on at READ COMMITTED", async () => {
  const outside: string[] = [];
  let fails = true;
  const { leasehold, close } = await open(inject("postgres18Url"), {
    wrap: (provider) => ({
      ...provider,
      executeSql: async (ctx, statement) => {
        if (ctx === undefined) outside.push(statement.sql);
        if (ctx === undefined && fails && outside.length > 3) {
          fails = false;
          throw Object.assign(new Error("could not serialize access"), { code: "40001" });
        }
        return provider.executeSql(ctx, statement);
      },
    }),
  });
  for (let n = 0; n < 3; n += 1) await leasehold.startJobSequence({ typeName: "work", input: { n } });
  const before = outside.length;
  await leasehold.startJobSequence({ typeName: "work", input: { n: 4 } });
  expect(fails).toBe(false);
  expect(outside).toHaveLength(before);
  await close();
});

describe.each<IsolationLevel>(["repeatable read", "serializable"])("in a transaction at %s", (level) => {
  const isolationLevel = level;
  let store: Awaited<ReturnType<typeof open>>;
  beforeAll(async () => {
    store = await open(inject("postgres18Url"));
  });
  afterAll(() => store.close());

  /** Begins a transaction, so that its snapshot is taken, and at its first run waits for the gate. */
  const inOldSnapshot = <T>(
    began: Gate,
    gate: Gate,
    callback: (ctx: PgContext<pg.PoolClient>) => Promise<T>,
  ): Promise<{ runs: number; result: T }> => {
    let runs = 0;
    return store.leasehold.runInTransaction(
      async (ctx) => {
        runs += 1;
        await ctx.client.query(`SELECT count(*) FROM ${store.schema}.job`);
        began.open();
        await gate.opened;
        return { runs, result: await callback(ctx) };
      },
      { isolationLevel },
    );
  };

  const startWork = () => store.leasehold.startJobSequence({ typeName: "work", input: { n: 1 } });

  const waitFor = (blocker: Awaited<ReturnType<typeof startWork>>) =>
    store.leasehold.startJobSequence({
      typeName: "collect",
      input: null,
      startBlockers: async () => [blocker],
    });

  it("a start finds the duplicate that was committed after its snapshot", async () => {
    const { leasehold } = store;
    const [began, gate] = [createGate(), createGate()];
    const start = (ctx: PgContext<pg.PoolClient> | { readonly client?: never }) =>
      leasehold.startJobSequence({
        ...ctx,
        typeName: "work",
        input: { n: 1 },
        deduplication: { key: `key at ${level}` },
      });
    const late = inOldSnapshot(began, gate, start);
    await began.opened;
    const first = await start({});
    gate.open();
    const { runs, result } = await late;
    expect(result).toMatchObject({ id: first.id, deduplicated: true });
    expect(runs).toBe(2);
  });

  it("a completion unblocks a job that began to wait after its snapshot", async () => {
    const { leasehold, stateAdapter } = store;
    const blocker = await startWork();
    const first = await waitFor(blocker);
    const [began, gate] = [createGate(), createGate()];
    const late = inOldSnapshot(began, gate, (ctx) =>
      leasehold.completeJobSequence({
        ...ctx,
        id: blocker.id,
        typeName: "work",
        complete: async ({ job, complete }) => {
          if (job.typeName === "work" && job.status === "pending") await complete(job, async () => "done");
        },
      }),
    );
    await began.opened;
    const second = await waitFor(blocker);
    gate.open();
    expect((await late).runs).toBe(2);
    const jobs = await stateAdapter.getJobs({ jobIds: [first.id, second.id] });
    expect(jobs.map((job) => job?.status)).toEqual(["pending", "pending"]);
  });

  it("a deletion sees a job that began to wait after its snapshot", async () => {
    const { leasehold } = store;
    const blocker = await startWork();
    const first = await waitFor(blocker);
    const [began, gate] = [createGate(), createGate()];
    const late = inOldSnapshot(began, gate, (ctx) =>
      leasehold.deleteJobSequences({ ...ctx, rootSequenceIds: [blocker.id, first.id] }),
    );
    await began.opened;
    await waitFor(blocker);
    gate.open();
    await expect(late).rejects.toMatchObject({ code: "JobSequenceHasDependants" });
    expect(await leasehold.jobs.getSequence({ id: blocker.id })).toBeDefined();
  });

  it("a transaction that PostgreSQL refuses is run again, and counts once", async () => {
    const { pool, schema } = store;
    await pool.query(`CREATE TABLE ${schema}.counter AS SELECT 0 AS value`);
    const [began, gate] = [createGate(), createGate()];
    const increment = async ({ client }: PgContext<Pick<pg.Pool, "query">>): Promise<void> => {
      await client.query(`UPDATE ${schema}.counter SET value = value + 1`);
    };
    const late = inOldSnapshot(began, gate, increment);
    await began.opened;
    await increment({ client: pool });
    gate.open();
    expect((await late).runs).toBe(2);
    const { rows } = await pool.query<SqlRow>(`SELECT value FROM ${schema}.counter`);
    expect(rows).toEqual([{ value: 2 }]);
    await pool.query(`DROP TABLE ${schema}.counter`);
  });
});

it("lets only one of two transfers succeed that together would overdraw, as the example shows", async () => {
  const schema = newSchemaName();
  const options = `-c search_path=${schema}`;
  const pool = new pg.Pool({ connectionString: inject("postgres18Url"), options });
  await pool.query(`CREATE SCHEMA ${schema}`);
  await pool.query("CREATE TABLE accounts AS SELECT 100 AS balance");
  const lines: string[] = [];
  await transferMoney(pool, schema, (line) => lines.push(line));
  expect(lines.toSorted()).toEqual(["30 left", "fulfilled", "rejected"]);
  await pool.query(`DROP SCHEMA ${schema} CASCADE`);
  await pool.end();
});

it("says so when there is no second connection to compare with", async () => {
  // Migrations need a second connection themselves.
  const migrated = await open(inject("postgres18Url"));
  const { leasehold, stateAdapter, close } = await open(inject("postgres18Url"), {
    max: 1,
    schema: migrated.schema,
  });
  const start = stateAdapter.runInTransaction(
    (ctx) =>
      leasehold.startJobSequence({
        ...ctx,
        typeName: "work",
        input: { n: 1 },
        deduplication: { key: "alone" },
      }),
    undefined,
    { isolationLevel: "serializable" },
  );
  await expect(start).rejects.toMatchObject({ code: "StaleSnapshot" });
  await close();
  await migrated.close();
});
