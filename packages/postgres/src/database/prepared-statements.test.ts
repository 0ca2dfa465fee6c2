import pg from "pg";
import { afterAll, expect, inject, it } from "vitest";
import { createPgPoolStateProvider } from "../providers/pg-pool.ts";
import { createPgStateAdapter } from "../state-adapter.ts";
import { dropSchema, newSchemaName } from "../testing/fixtures.ts";
import { newJob } from "../testing/test-jobs.ts";
import { explainPreparedStatements, PreparedStatementError } from "./errors.ts";

const url = inject("pgBouncerUrl");

const schema = newSchemaName();

afterAll(() => dropSchema(inject("postgres15Url"), schema));

const hint =
  /Behind a pooler in transaction mode, such as PgBouncer, pass `prepareStatements: false` to the provider/;

/** Two clients take turns on the connections of the pooler, so each soon meets the statements of the other. */
const failureOfTurns = async (turns: readonly (() => Promise<unknown>)[]): Promise<unknown> => {
  for (let round = 0; round < 1_000; round += 1) {
    for (const turn of turns) {
      try {
        await turn();
      } catch (error) {
        return error;
      }
    }
  }
  return undefined;
};

it("names the option that was forgotten behind a pooler, with pg", async () => {
  const pools = [1, 2].map(() => new pg.Pool({ connectionString: url, max: 1 }));
  const adapters = [];
  for (const pool of pools)
    adapters.push(await createPgStateAdapter({ stateProvider: createPgPoolStateProvider({ pool }), schema }));
  const alone = await failureOfTurns(
    adapters.map((adapter) => () => adapter.createJobs({ jobs: [newJob()] })),
  );
  const inTransaction = await failureOfTurns(
    adapters.map(
      (adapter) => () => adapter.runInTransaction((ctx) => adapter.createJobs({ ctx, jobs: [newJob()] })),
    ),
  );
  for (const error of [alone, inTransaction]) {
    expect(error).toBeInstanceOf(PreparedStatementError);
    const { message, code, cause } = error as PreparedStatementError;
    expect(message).toMatch(hint);
    expect(message).toMatch(/prepared statement "leasehold_[0-9a-f]+" (already exists|does not exist)/);
    expect(code).toBe("PreparedStatement");
    expect((cause as { code: string }).code).toMatch(/^(42P05|26000)$/);
  }
  for (const adapter of adapters) await adapter.close();
  for (const pool of pools) await pool.end();
});

it("recognises the error in what a query builder throws, and leaves others as they are", () => {
  const missing = Object.assign(new Error('prepared statement "leasehold_0" does not exist'), {
    code: "26000",
  });
  const wrapped = new Error("Failed query", { cause: missing });
  expect(() => explainPreparedStatements(wrapped)).toThrow(PreparedStatementError);
  const other = Object.assign(new Error("no such table"), { code: "42P01" });
  expect(() => explainPreparedStatements(other)).toThrow(other);
});
