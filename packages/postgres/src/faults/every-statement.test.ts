import type { StateAdapter } from "leasehold/adapter";
import pg from "pg";
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from "vitest";
import type { PgStateProvider } from "../database/provider.ts";
import { createPgPoolStateProvider } from "../providers/pg-pool.ts";
import { createPgStateAdapter } from "../state-adapter.ts";
import { dropSchema, newSchemaName } from "../testing/fixtures.ts";
import { partOperations } from "../testing/part-operations.ts";

const url = inject("postgres15Url");
const schema = newSchemaName();
const pool = new pg.Pool({ connectionString: url, max: 5 });
const provider = createPgPoolStateProvider({ pool }) as unknown as PgStateProvider<object, object>;

class LostConnection extends Error {
  readonly code = "08006";
}

/** A provider whose connection is lost once: before the statement with this number is sent, or before its reply arrives. */
const loseConnection = (nth: number, when: "before" | "after") => {
  let count = 0;
  let isArmed = false;
  const send = async <T>(run: () => Promise<T>): Promise<T> => {
    if (!isArmed) return run();
    count += 1;
    const isLost = count === nth;
    if (isLost && when === "before") throw new LostConnection("lost before the statement");
    const result = await run();
    if (isLost) throw new LostConnection("lost before the reply");
    return result;
  };
  const { executeLast } = provider;
  const faulty: PgStateProvider<object, object> = {
    ...provider,
    // The reply that is lost is that of the commit.
    runInTransaction: (callback, options) => send(() => provider.runInTransaction(callback, options)),
    executeSql: (ctx, statement) => send(() => provider.executeSql(ctx, statement)),
    ...(executeLast && { executeLast: (ctx, statement) => send(() => executeLast(ctx, statement)) }),
  };
  const arm = (isOn: boolean): void => {
    isArmed = isOn;
  };
  return { provider: faulty, arm, isReached: () => count >= nth };
};

// Numbers of rows, which a transaction that is rolled back uses up, the version of the rules, and when running jobs are counted.
const countersOf: Readonly<Record<string, string>> = {
  job: " - 'position'",
  limit_delta: " - 'number'",
  limit_edit: " - '{number,count_at,count_until}'::text[]",
  limit_epoch: " - 'epoch'",
};

let tables: string[] = [];

type Dump = Readonly<Record<string, string>>;

/** The rows of every table. */
const dump = async (): Promise<Dump> => {
  const parts = tables.map(
    (table) => `SELECT '${table}' AS name, string_agg(row::text, ' ' ORDER BY row::text) AS rows
      FROM (SELECT to_jsonb(t)${countersOf[table] ?? ""} AS row FROM ${schema}.${table} AS t) AS x`,
  );
  const { rows } = await pool.query<{ name: string; rows: string }>(parts.join(" UNION ALL "));
  return Object.fromEntries(rows.map((row) => [row.name, row.rows]));
};

const differing = (a: Dump, b: Dump): string[] => tables.filter((table) => a[table] !== b[table]);

const reset = async (): Promise<void> => {
  const emptied = tables.filter((table) => table !== "limit_epoch" && table !== "migration");
  await pool.query(`TRUNCATE ${emptied.map((table) => `${schema}.${table}`).join()} RESTART IDENTITY`);
};

const open = (stateProvider: PgStateProvider<object, object>): Promise<StateAdapter> =>
  createPgStateAdapter({
    stateProvider,
    schema,
    migrate: false,
    connectionRetryConfig: { maxAttempts: 1 },
  }) as unknown as Promise<StateAdapter>;

beforeAll(async () => {
  await createPgStateAdapter({ stateProvider: provider, schema });
  const { rows } = await pool.query<{ name: string }>(
    `SELECT table_name AS name FROM information_schema.tables WHERE table_schema = '${schema}' ORDER BY 1`,
  );
  tables = rows.map(({ name }) => name);
}, 60_000);

afterAll(async () => {
  await pool.end();
  await dropSchema(url, schema);
});

describe.each(["before", "after"] as const)("a connection lost %s any statement", (when) => {
  beforeEach(reset);

  it.each(partOperations.map((operation) => [operation.name, operation] as const))(
    "%s has happened or has not, and repeated it has happened once",
    { timeout: 60_000 },
    async (_name, { prepare, call, settle }) => {
      const healthy = await open(provider);
      await prepare(await open(provider));
      await call(await open(provider), false);
      const done = await dump();
      await settle?.(healthy);
      const settled = await dump();
      for (let nth = 1, isReached = true; isReached; nth += 1) {
        await reset();
        await prepare(await open(provider));
        const before = await dump();
        const faulty = loseConnection(nth, when);
        const adapter = await open(faulty.provider);
        faulty.arm(true);
        const failure = await call(adapter, false).then(
          () => undefined,
          (error: unknown) => error,
        );
        isReached = faulty.isReached();
        faulty.arm(false);
        if (failure !== undefined) expect(failure).toBeInstanceOf(LostConnection);
        const after = await dump();
        const [changed, missing] = [differing(before, after), differing(done, after)];
        // A rule is stored first, and then applied to the jobs, if not by this call then by the next claim.
        if (failure === undefined)
          expect(settle === undefined ? missing : [], `statement ${nth}`).toEqual([]);
        else if (settle === undefined && changed.length > 0)
          expect(missing, `half done after statement ${nth}`).toEqual([]);
        // By the process that met the fault: what it remembers must not be in the way.
        await call(adapter, true);
        await settle?.(healthy);
        const repeated = await dump();
        expect(differing(settled, repeated), `repeated after statement ${nth}`).toEqual([]);
      }
    },
  );
});
