import { createLeasehold, defineUnionJobTypes, type LogEntry } from "leasehold";
import { inspect } from "node:util";
import pg from "pg";
import { describe, expect, inject, it } from "vitest";
import { createPgFixture, createPostgresJsFixture } from "../testing/fixtures.ts";

const canary = "canary-8b41";

const jobTypes = defineUnionJobTypes<{ work: { input: { secret: string }; output: string } }>();

/** Makes the table refuse the row, so that the error of the server has the row in its DETAIL. */
const refuseCanaries = async (url: string, schema: string, table: string): Promise<void> => {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(
    `ALTER TABLE ${schema}.${table} ADD CONSTRAINT no_canary CHECK (output IS NULL OR output::text NOT LIKE '%${canary}%')`,
  );
  await client.query(
    `ALTER TABLE ${schema}.${table} ADD CONSTRAINT no_input CHECK (input::text NOT LIKE '%refused%')`,
  );
  await client.end();
};

const tableOf = async (url: string, schema: string): Promise<string> => {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  const { rows } = await client.query<{ table_name: string }>(
    "SELECT table_name FROM information_schema.columns WHERE table_schema = $1 AND column_name = 'input'",
    [schema],
  );
  await client.end();
  return rows[0]!.table_name;
};

describe("an error whose DETAIL is the row with the input", () => {
  it.each([
    ["pg", createPgFixture],
    ["postgres.js", createPostgresJsFixture],
  ])("shows neither input nor output in log entries and stored errors (%s)", async (_name, createFixture) => {
    const url = inject("postgres18Url");
    const { adapter, schema, destroy } = await createFixture(url);
    await refuseCanaries(url, schema, await tableOf(url, schema));
    const entries: LogEntry[] = [];
    const leasehold = await createLeasehold({
      stateAdapter: adapter,
      jobTypes,
      log: (entry) => entries.push(entry),
    });
    const refused = { typeName: "work" as const, input: { secret: `refused ${canary}` } };
    await expect(leasehold.startJobSequence(refused)).rejects.toMatchObject({
      detail: expect.stringContaining(canary),
    });
    const worker = await leasehold
      .createWorker()
      .implementJobType({ typeName: "work", process: async ({ job }) => job.input.secret })
      .start();
    const input = { secret: canary };
    const started = await leasehold.startJobSequence({ typeName: "work", input, maxAttempts: 1 });
    await expect(leasehold.waitForJobSequenceCompletion(started)).rejects.toMatchObject({
      code: "JobSequenceFailed",
    });
    const job = await leasehold.jobs.get({ id: started.id });
    await worker.stop();
    await destroy();
    expect(entries.map(({ event }) => event)).toContain("stateAdapterError");
    expect(inspect(entries, { depth: 9, showHidden: true })).not.toContain(canary);
    expect(job?.status).toBe("failed");
    expect(inspect({ ...job, input: null }, { depth: 9, showHidden: true })).not.toContain(canary);
  });
});
