import { createLeasehold, defineUnionJobTypes } from "leasehold";
import { checkStore } from "leasehold/doctor";
import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import pg from "pg";
import { afterAll, expect, inject, it } from "vitest";
import { createPgPoolStateProvider } from "../providers/pg-pool.ts";
import { createPgStateAdapter } from "../state-adapter.ts";

const url = inject("postgres18Url");

const id = randomBytes(6).toString("hex");

const [owner, application, schema] = [`owner_${id}`, `app_${id}`, `roles_${id}`];

const run = async (statements: string, as?: string): Promise<void> => {
  const client = new pg.Client({ connectionString: urlOf(as) });
  await client.connect();
  await client.query(statements);
  await client.end();
};

const urlOf = (role: string | undefined): string => {
  const address = new URL(url);
  if (role !== undefined) address.username = role;
  return address.href;
};

afterAll(() =>
  run(`DROP SCHEMA ${schema} CASCADE; DROP OWNED BY ${owner}; DROP ROLE ${owner}, ${application}`),
);

/** The statements of the page, with names of their own. */
const readStatements = (): string => {
  const page = readFileSync(resolve(import.meta.dirname, "../../../../docs/production.md"), "utf8");
  const [, sql] = /```sql\n([\s\S]*?)```/.exec(page)!;
  return sql!
    .replaceAll("leasehold_owner", owner)
    .replaceAll("shop", application)
    .replaceAll(/SCHEMA leasehold\b/g, `SCHEMA ${schema}`);
};

const jobTypes = defineUnionJobTypes<{ mail: { input: null; output: string } }>();

it("the documented rights are enough for the application, and do not let it change tables", async () => {
  await run(readStatements());
  const owners = new pg.Pool({ connectionString: urlOf(owner) });
  const migrating = await createPgStateAdapter({
    stateProvider: createPgPoolStateProvider({ pool: owners }),
    schema,
  });
  await migrating.close();
  await owners.end();

  const pool = new pg.Pool({ connectionString: urlOf(application) });
  const stateAdapter = await createPgStateAdapter({
    stateProvider: createPgPoolStateProvider({ pool }),
    schema,
    migrate: false,
  });
  const leasehold = await createLeasehold({ stateAdapter, jobTypes });
  const worker = await leasehold
    .createWorker()
    .implementJobType({ typeName: "mail", process: async () => "sent" })
    .start({ pollIntervalMs: 10 });
  await leasehold.limits.set({ typeName: "mail", concurrency: 5, perGroup: { concurrency: 1 } });
  await leasehold.recurring.put({ id: "daily", everyMs: 86_400_000, job: { typeName: "mail" } });
  const started = await leasehold.startJobSequence({ typeName: "mail", group: "acme" });
  const { output } = await leasehold.waitForJobSequenceCompletion({ ...started, pollIntervalMs: 10 });
  expect(output).toBe("sent");
  await leasehold.jobs.explain(started);
  await leasehold.limits.list();
  await leasehold.history.listAttempts({ id: started.id });
  const findings = await checkStore(stateAdapter, {});
  expect(findings.filter(({ status }) => status === "problem")).toEqual([]);
  await worker.stop();
  await leasehold.deleteJobSequences({ rootSequenceIds: [started.id] });
  await leasehold.close();
  await stateAdapter.close();
  await pool.end();

  // A table of a later migration.
  await run(`CREATE TABLE ${schema}.later (x int)`, owner);
  await run(`INSERT INTO ${schema}.later VALUES (1)`, application);
  await expect(run(`ALTER TABLE ${schema}.job ADD COLUMN x int`, application)).rejects.toThrow(
    "must be owner",
  );
  await expect(run(`CREATE TABLE ${schema}.own (x int)`, application)).rejects.toThrow("permission denied");
});
