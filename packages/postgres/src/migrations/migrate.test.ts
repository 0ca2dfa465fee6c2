import { createLeasehold, defineUnionJobTypes } from "leasehold";
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import pg from "pg";
import postgres from "postgres";
import { afterAll, beforeEach, describe, expect, inject, it } from "vitest";
import type { PgStateProvider } from "../database/provider.ts";
import { nameTables, type Tables } from "../database/tables.ts";
import { createPgPoolStateProvider } from "../providers/pg-pool.ts";
import { createPostgresJsStateProvider } from "../providers/postgres-js.ts";
import { queueTypeNumber } from "../rows/runnable.ts";
import { createPgStateAdapter } from "../state-adapter.ts";
import { createPgFixture, dropSchema, newSchemaName } from "../testing/fixtures.ts";
import { claim, completionOf, newJob } from "../testing/test-jobs.ts";
import { until } from "../testing/until.ts";
import { migrations } from "./index.ts";
import { migrate, type Migration, migrationStatus } from "./migrate.ts";

const url = inject("postgres18Url");

const pool = new pg.Pool({ connectionString: url, max: 20 });

const provider = createPgPoolStateProvider({ pool });

let schema: string;

let tables: Tables;

const used: string[] = [];

beforeEach(() => {
  schema = newSchemaName();
  used.push(schema);
  tables = nameTables(`"${schema}"`, "uuid", "gen_random_uuid()");
});

afterAll(async () => {
  await pool.end();
  for (const name of used) await dropSchema(url, name);
});

/** The migrations of a version that does not exist. */
const { nextMigrations } = (await import(
  new URL("../../../../scripts/upgrade/next-migrations.mjs", import.meta.url).href
)) as { readonly nextMigrations: { readonly postgres: readonly Migration[] } };

const withNext: readonly Migration[] = [...migrations, ...nextMigrations.postgres];

const allVersions = migrations.map(({ version, name }) => ({ version, name }));

/** A migration for the tests, which records each of its runs. */
const step = (version: number, more: Partial<Migration> = {}): Migration => ({
  version,
  name: `step ${version}`,
  statements: ({ schema }) => [
    `CREATE TABLE IF NOT EXISTS ${schema}.runs (version int)`,
    `INSERT INTO ${schema}.runs VALUES (${version})`,
  ],
  ...more,
});

const runs = async (): Promise<number[]> => {
  const { rows } = await pool.query<{ version: number }>(
    `SELECT version FROM ${schema}.runs ORDER BY version`,
  );
  return rows.map(({ version }) => version);
};

/** A provider with its own pool, as in another process. */
const withOwnPool = async <T>(use: (own: PgStateProvider<never, never>) => Promise<T>): Promise<T> => {
  const own = new pg.Pool({ connectionString: url, max: 2 });
  try {
    return await use(createPgPoolStateProvider({ pool: own }) as never);
  } finally {
    await own.end();
  }
};

describe("migrate", () => {
  const storeJob = (): Promise<unknown> =>
    pool.query(
      `INSERT INTO ${schema}.job (id, sequence_id, root_sequence_id, claim_key, created_at, due_at, scheduled_at,
         sequence_created_at, status, priority, sequence_index, max_attempts, ready, queue, type_name,
         sequence_type_name, input)
       SELECT id, id, id, $1, 1, 1, 1, 1, 'pending', 0, 0, 4, true, 'default', 'work', 'work', 'null'
       FROM gen_random_uuid() AS id`,
      [queueTypeNumber("default", "work")],
    );

  it("says what is to be done, does it once, and can be asked again", async () => {
    const before = await migrationStatus(provider, tables, migrations);
    expect(before.applied).toEqual([]);
    expect(before.pending).toMatchObject(allVersions);
    expect(before.pending[0]!.sql).toContain(`CREATE TABLE "${schema}".job (`);
    const { rows } = await pool.query("SELECT to_regnamespace($1) AS found", [schema]);
    expect(rows).toEqual([{ found: null }]);

    const adapter = await createPgStateAdapter({ stateProvider: provider, schema, migrate: false });
    await adapter.migrate();
    await adapter.migrate();
    expect(await adapter.migrationStatus()).toEqual({ applied: allVersions, pending: [] });
    await adapter.createJobs({ jobs: [newJob()] });
    await adapter.migrate();
    expect(await claim(adapter, { limit: 2 })).toHaveLength(1);
  });

  it("runs each step once when eight start at the same moment", async () => {
    const steps = [step(1), step(2), step(3)];
    await Promise.all(Array.from({ length: 8 }, () => withOwnPool((own) => migrate(own, tables, steps))));
    expect(await runs()).toEqual([1, 2, 3]);
  });

  it("lets eight adapters, each with its own pool, start at once on an empty schema", async () => {
    const create = (): Promise<unknown> =>
      withOwnPool(async (own) => {
        const adapter = await createPgStateAdapter({ stateProvider: own, schema });
        await adapter.createJobs({ jobs: [newJob()] });
      });
    await Promise.all(Array.from({ length: 8 }, create));
    const adapter = await createPgStateAdapter({ stateProvider: provider, schema });
    expect(await claim(adapter, { limit: 100 })).toHaveLength(8);
  });

  it("lets four processes start at once on an empty schema", { timeout: 60_000 }, async () => {
    const built = new URL("../../dist/index.js", import.meta.url);
    expect(existsSync(fileURLToPath(built)), "the package is built: npm run build").toBe(true);
    const program = `
      import pg from "pg";
      import { createPgPoolStateProvider, createPgStateAdapter } from ${JSON.stringify(built.href)};
      const pool = new pg.Pool({ connectionString: ${JSON.stringify(url)} });
      const adapter = await createPgStateAdapter({
        stateProvider: createPgPoolStateProvider({ pool }), schema: ${JSON.stringify(schema)} });
      console.log(JSON.stringify((await adapter.migrationStatus()).pending));
      await pool.end();`;
    const start = (): Promise<{ stdout: string }> =>
      promisify(execFile)(process.execPath, ["--input-type=module", "--eval", program], {
        cwd: fileURLToPath(new URL("..", import.meta.url)),
      });
    const results = await Promise.all([start(), start(), start(), start()]);
    expect(results.map(({ stdout }) => stdout.trim())).toEqual(["[]", "[]", "[]", "[]"]);
  });

  it("leaves nothing of a step that fails, and goes on with it the next time", async () => {
    const broken = step(2, {
      statements: ({ schema }) => [`CREATE TABLE ${schema}.half (x int)`, "SELECT 1 / 0"],
    });
    await expect(migrate(provider, tables, [step(1), broken])).rejects.toMatchObject({ code: "22012" });
    expect((await migrationStatus(provider, tables, [step(1), step(2)])).pending).toMatchObject([
      { version: 2 },
    ]);
    const { rows } = await pool.query("SELECT to_regclass($1) AS found", [`${schema}.half`]);
    expect(rows).toEqual([{ found: null }]);
    await migrate(provider, tables, [step(1), step(2)]);
    expect(await runs()).toEqual([1, 2]);
  });

  it("survives that its connection is ended in the middle of a step", async () => {
    // The step ends its own connection the first time it is run.
    const mortal = step(2, {
      statements: ({ schema }) => [
        `CREATE TABLE ${schema}.half (x int)`,
        `SELECT CASE WHEN nextval('${schema}.lives') = 1 THEN pg_terminate_backend(pg_backend_pid()) END`,
        `INSERT INTO ${schema}.runs VALUES (2)`,
      ],
    });
    await migrate(provider, tables, [step(1)]);
    await pool.query(`CREATE SEQUENCE ${schema}.lives`);
    await expect(migrate(provider, tables, [step(1), mortal])).rejects.toMatchObject({ code: "57P01" });
    // The lock that it held blocks nobody.
    await migrate(provider, tables, [step(1), mortal]);
    expect(await runs()).toEqual([1, 2]);
  });

  it("raises no notices, and leaves the setting for them as it was", async () => {
    const notices: unknown[] = [];
    const sql = postgres(url, { max: 2, onnotice: ({ message }) => notices.push(message) });
    const stateProvider = createPostgresJsStateProvider({ sql });
    const adapters = await Promise.all(
      Array.from({ length: 3 }, () => createPgStateAdapter({ stateProvider, schema })),
    );
    await migrate(stateProvider, tables, [...withNext, step(withNext.length + 1), step(withNext.length + 2)]);
    expect(notices).toEqual([]);

    // These are still for the users of the connections.
    const drop = sql.unsafe(`DROP TABLE IF EXISTS ${schema}.nothing`);
    await Promise.all([drop, sql.unsafe(`DROP TABLE IF EXISTS ${schema}.nothing`)]);
    expect(notices).toHaveLength(2);
    for (const adapter of adapters) await adapter.close();
    await sql.end();
  });

  it("does steps outside a transaction that cannot be done in one, from eight at once", async () => {
    const sql = postgres(url, { max: 2, onnotice: () => {} });
    const throughAnother = createPostgresJsStateProvider({ sql });
    await migrate(provider, tables, migrations);
    await storeJob();
    const version = migrations.length + 1;
    const outside: Migration = {
      version,
      name: "index without locking",
      outsideTransaction: true,
      statements: ({ job }) => [`CREATE INDEX CONCURRENTLY IF NOT EXISTS job_extra ON ${job} (created_at)`],
    };
    const all = [...migrations, outside];
    await Promise.all([
      ...Array.from({ length: 7 }, () => withOwnPool((own) => migrate(own, tables, all))),
      migrate(throughAnother, tables, all),
    ]);
    const again = { ...outside, version: version + 1, name: "the same through postgres" };
    await pool.query(`DROP INDEX ${schema}.job_extra`);
    await migrate(throughAnother, tables, [...all, again]);
    await sql.end();
    expect((await migrationStatus(provider, tables, [...all, again])).applied).toHaveLength(version + 1);
    const { rows } = await pool.query(
      "SELECT indisvalid AS valid FROM pg_index WHERE indexrelid = to_regclass($1)",
      [`${schema}.job_extra`],
    );
    expect(rows).toEqual([{ valid: true }]);
  });

  it("manages with a single connection where there are no jobs yet, and says what it needs where there are", async () => {
    const single = new pg.Pool({ connectionString: url, max: 1 });
    const throughOne = createPgPoolStateProvider({ pool: single });
    await migrate(throughOne, tables, migrations);
    expect((await migrationStatus(provider, tables, migrations)).pending).toEqual([]);
    await storeJob();
    const concurrently: Migration = {
      version: migrations.length + 1,
      name: "index without locking",
      outsideTransaction: true,
      statements: ({ job }) => [`CREATE INDEX CONCURRENTLY IF NOT EXISTS job_extra ON ${job} (created_at)`],
    };
    await expect(migrate(throughOne, tables, [...migrations, concurrently])).rejects.toThrow(
      "allow its pool at least two",
    );
    await single.end();
  });

  it("adds a column and an index and replaces a function on a table with jobs", async () => {
    await migrate(provider, tables, migrations);
    await storeJob();
    expect((await migrationStatus(provider, tables, withNext)).pending).toMatchObject([
      { version: 2 },
      { version: 3 },
    ]);
    await migrate(provider, tables, withNext);
    const { rows } = await pool.query(
      `SELECT i.indisvalid AS valid, p.prosrc LIKE '%-- replaced%' AS replaced,
         (SELECT next_column FROM ${schema}.job) AS value
       FROM pg_index AS i, pg_proc AS p
       WHERE i.indexrelid = to_regclass($1) AND p.oid = to_regproc($2)`,
      [`${schema}.job_next`, `${schema}.limit_claim`],
    );
    expect(rows).toEqual([{ valid: true, replaced: true, value: null }]);
  });

  it("builds an index again whose build was interrupted", async () => {
    await migrate(provider, tables, migrations);
    await storeJob();
    await pool.query(`CREATE INDEX job_next ON ${schema}.job (created_at)`);
    await migrate(provider, tables, withNext);
    const { rows } = await pool.query("SELECT pg_get_indexdef(to_regclass($1)) AS definition", [
      `${schema}.job_next`,
    ]);
    expect(rows).toMatchObject([{ definition: expect.stringContaining("next_column") as string }]);
  });

  it("leaves tables on which this version works, with limits and without", async () => {
    await migrate(provider, tables, withNext);
    const adapter = await createPgStateAdapter({ stateProvider: provider, schema });
    expect((await adapter.migrationStatus()).pending).toEqual([]);
    await adapter.createJobs({ jobs: [newJob(), newJob({ queue: "grouped", group: "a" })] });
    const requests = ["default", "grouped"].map((queue) => ({ queue, typeNames: ["work"], limit: 5 }));
    const jobs = await claim(adapter, { limit: 5, requests });
    expect(await adapter.commitOutcomes({ outcomes: jobs.map(completionOf) })).toMatchObject([
      { kind: "applied" },
      { kind: "applied" },
    ]);
  });

  it("takes over jobs that an earlier version has stored", async () => {
    await migrate(provider, tables, migrations);
    await storeJob();
    await migrate(provider, tables, withNext);
    const adapter = await createPgStateAdapter({ stateProvider: provider, schema });
    const [job] = await claim(adapter, { limit: 5 });
    expect(job).toMatchObject({ attempt: 1, maxAttemptsGiven: true, lastFailedAt: null });
    expect(await adapter.commitOutcomes({ outcomes: [completionOf(job!)] })).toMatchObject([
      { kind: "applied" },
    ]);
  });

  it("holds up nobody while it waits for a transaction that uses the table", async () => {
    await migrate(provider, tables, migrations);
    const reader = await pool.connect();
    await reader.query("BEGIN");
    await reader.query(`SELECT count(*) FROM ${schema}.job`);
    const migrating = migrate(provider, tables, withNext);
    await until(async () => {
      const { rows } = await pool.query(
        "SELECT 1 FROM pg_locks WHERE relation = to_regclass($1) AND mode = 'AccessExclusiveLock' AND NOT granted",
        [`${schema}.job`],
      );
      return rows.length > 0;
    }, "the migration waits");
    await pool.query(`UPDATE ${schema}.job SET priority = 1`);
    await reader.query("COMMIT");
    reader.release();
    await migrating;
    expect((await migrationStatus(provider, tables, withNext)).pending).toEqual([]);
  });

  it("asks for no more than use of the tables where the schema is up to date", async () => {
    await createPgStateAdapter({ stateProvider: provider, schema });
    const role = `${schema}_user`;
    await pool.query(`CREATE ROLE ${role} LOGIN`);
    try {
      await pool.query(`GRANT USAGE ON SCHEMA ${schema} TO ${role}`);
      await pool.query(`GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA ${schema} TO ${role}`);
      const asUser = new URL(url);
      asUser.username = role;
      const own = new pg.Pool({ connectionString: asUser.href });
      try {
        const adapter = await createPgStateAdapter({
          stateProvider: createPgPoolStateProvider({ pool: own }),
          schema,
        });
        await adapter.createJobs({ jobs: [newJob(), newJob()] });
        const jobs = await claim(adapter, { limit: 10 });
        expect(await adapter.commitOutcomes({ outcomes: jobs.map(completionOf) })).toMatchObject([
          { kind: "applied" },
          { kind: "applied" },
        ]);
        await expect(own.query(`CREATE TABLE ${schema}.mine (x int)`)).rejects.toMatchObject({
          code: "42501",
        });
        // It may not create a schema of its own, and the error says so.
        await expect(
          createPgStateAdapter({
            stateProvider: createPgPoolStateProvider({ pool: own }),
            schema: newSchemaName(),
          }),
        ).rejects.toMatchObject({ code: "42501" });
      } finally {
        await own.end();
      }
    } finally {
      await pool.query(`DROP OWNED BY ${role}`);
      await pool.query(`DROP ROLE ${role}`);
    }
  });

  it.each([
    ["maxAttempts", 0],
    ["maxAttempts", 1.5],
    ["initialDelayMs", -1],
    ["initialDelayMs", "soon"],
    ["maxDelayMs", Number.POSITIVE_INFINITY],
  ])("refuses a connectionRetryConfig with %s %s before it connects", async (option, value) => {
    let calls = 0;
    const untouched = createPgPoolStateProvider({ pool });
    const stateProvider = {
      ...untouched,
      executeSql: (...args: Parameters<typeof untouched.executeSql>) => {
        calls += 1;
        return untouched.executeSql(...args);
      },
    };
    await expect(
      createPgStateAdapter({ stateProvider, connectionRetryConfig: { [option]: value } }),
    ).rejects.toThrow(`connectionRetryConfig.${option}`);
    expect(calls).toBe(0);
  });

  it("waits for a server that is not there yet, as long as the options say", async () => {
    const nowhere = new pg.Pool({ connectionString: "postgres://leasehold@127.0.0.1:1/postgres" });
    const tries: number[] = [];
    const counting = {
      ...createPgPoolStateProvider({ pool: nowhere }),
      executeSql: async (): Promise<never> => {
        tries.push(performance.now());
        throw Object.assign(new Error("refused"), { code: "ECONNREFUSED" });
      },
    };
    const connectionRetryConfig = { maxAttempts: 4, initialDelayMs: 10, maxDelayMs: 20 };
    await expect(
      createPgStateAdapter({ stateProvider: counting, connectionRetryConfig }),
    ).rejects.toMatchObject({ code: "ECONNREFUSED" });
    expect(tries).toHaveLength(4);
    await nowhere.end();
  });
});

describe("ids that are not UUIDs", () => {
  it.each([
    ["text", "order/2024 #1"],
    ["varchar(40)", "a,b{c}\\\"d'"],
    ["bigint", "9007199254740993"],
  ])("can be %s", async (idType, id) => {
    const adapter = await createPgStateAdapter({
      stateProvider: provider,
      schema,
      idType,
      idDefault: idType === "bigint" ? "(random() * 1e15)::bigint" : "gen_random_uuid()::text",
    });
    const follower = idType === "bigint" ? "2" : "follower";
    await expect(adapter.createJobs({ jobs: [newJob({ id: "" })] })).rejects.toMatchObject({
      code: "InvalidOption",
    });
    await adapter.createJobs({ jobs: [newJob({ id })] });
    await expect(adapter.createJobs({ jobs: [newJob({ id })] })).rejects.toMatchObject({
      code: "JobAlreadyExists",
    });
    await adapter.runInTransaction(async (ctx) => {
      await adapter.createJobs({ ctx, jobs: [newJob({ id: follower, awaitsBlockers: true })] });
      await adapter.addJobBlockers({ ctx, jobId: follower, blockerSequenceIds: [id] });
    });
    const [job] = await claim(adapter, { limit: 5 });
    expect(job!.id).toBe(id);
    const [result] = await adapter.commitOutcomes({ outcomes: [completionOf(job!)] });
    expect(result).toMatchObject({ kind: "applied", unblocked: [{ id: follower }] });
    const [next] = await claim(adapter, { limit: 5 });
    expect(next!.id).toBe(follower);
    expect(await adapter.getBlockers({ jobIds: [follower] })).toMatchObject([[{ first: { id } }]]);
  });

  it("are made by createId, and one that does not fit the type is refused", async () => {
    const idDefault = "(random() * 1e15)::bigint";
    const options = { stateProvider: provider, schema, idType: "bigint", idDefault };
    const stateAdapter = await createPgStateAdapter(options);
    const jobTypes = defineUnionJobTypes<{ work: { input: null; output: null } }>();
    let next = "9007199254740993";
    const leasehold = await createLeasehold({ stateAdapter, jobTypes, createId: () => next });
    expect((await leasehold.startJobSequence({ typeName: "work" })).id).toBe(next);
    next = "seven";
    await expect(leasehold.startJobSequence({ typeName: "work" })).rejects.toMatchObject({
      code: "InvalidOption",
    });
  });

  it("and one that does not fit the type is refused, or simply not found", async () => {
    const { adapter, destroy } = await createPgFixture(url);
    await expect(adapter.createJobs({ jobs: [newJob({ id: "not a uuid" })] })).rejects.toMatchObject({
      code: "InvalidOption",
      option: "id",
    });
    expect(await adapter.getJobs({ jobIds: ["not a uuid", "\0"] })).toEqual([undefined, undefined]);
    await destroy();
  });
});
