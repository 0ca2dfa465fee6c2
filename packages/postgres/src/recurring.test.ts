import { createLeasehold, defineUnionJobTypes } from "leasehold";
import pg from "pg";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import type { PgStateProvider } from "./database/provider.ts";
import { createPgPoolStateProvider } from "./providers/pg-pool.ts";
import { createPgStateAdapter, type PgStateAdapter } from "./state-adapter.ts";
import { dropSchema, newSchemaName } from "./testing/fixtures.ts";

const url = inject("postgres15Url");
const schema = newSchemaName();
const pool = new pg.Pool({ connectionString: url, max: 2 });
const statements: string[] = [];
let stateAdapter: PgStateAdapter;

beforeAll(async () => {
  const provider = createPgPoolStateProvider({ pool }) as unknown as PgStateProvider<object, object>;
  const stateProvider: PgStateProvider<object, object> = {
    ...provider,
    executeSql: (ctx, statement) => {
      statements.push(statement.sql.trim());
      return provider.executeSql(ctx, statement);
    },
  };
  stateAdapter = await createPgStateAdapter({ stateProvider, schema });
});
afterAll(async () => {
  await pool.end();
  await dropSchema(url, schema);
});

it("declared recurring jobs cost one read, and a few statements for all that have changed", async () => {
  const jobTypes = defineUnionJobTypes<{ report: { input: null; output: null } }>();
  const jobs = Array.from({ length: 500 }, (_, index) => ({
    id: `job-${index}`,
    everyMs: 3_600_000,
    job: { typeName: "report" as const },
  }));
  const start = async (): Promise<string[]> => {
    statements.length = 0;
    await createLeasehold({ stateAdapter, jobTypes, recurringJobs: { jobs }, statistics: false });
    return statements.filter((sql) => sql.includes("recurring_job")).map((sql) => sql.slice(0, 11));
  };
  const first = await start();
  expect(first).toEqual(["SELECT id, ", "SELECT pg_a", "SELECT id, ", "INSERT INTO"]);
  // The clock, and the jobs that are created and rolled back.
  expect(statements.length).toBeLessThan(12);
  expect(await start()).toEqual(["SELECT id, "]);
  expect(statements).toHaveLength(1);
});
