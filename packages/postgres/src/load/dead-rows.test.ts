import pg from "pg";
import { expect, inject, it } from "vitest";
import type { PgStateProvider } from "../database/provider.ts";
import { createPgPoolStateProvider } from "../providers/pg-pool.ts";
import { createPgStateAdapter } from "../state-adapter.ts";
import { dropSchema, newSchemaName } from "../testing/fixtures.ts";
import { multiplyJobs } from "../testing/multiply-jobs.ts";
import { createPageCounter } from "../testing/page-counter.ts";
import { claim, completionOf, newJob } from "../testing/test-jobs.ts";
import { until } from "../testing/until.ts";

const url = inject("postgres15Url");

it("claims stay cheap while an old transaction keeps dead rows from being removed", async () => {
  const schema = newSchemaName();
  const pool = new pg.Pool({ connectionString: url, max: 1 });
  const provider = createPgPoolStateProvider({ pool }) as unknown as PgStateProvider<object, object>;
  const counter = createPageCounter(provider, pool);
  const adapter = await createPgStateAdapter({ stateProvider: counter.provider, schema });
  const pinning = new pg.Client({ connectionString: url });
  await pinning.connect();
  await pinning.query("BEGIN ISOLATION LEVEL REPEATABLE READ");
  await pinning.query("SELECT 1");
  try {
    const batch = 500;
    const drain = async (): Promise<void> => {
      await adapter.createJobs({ jobs: Array.from({ length: batch }, () => newJob()) });
      const jobs = await claim(adapter, { limit: batch });
      expect(jobs).toHaveLength(batch);
      await adapter.commitOutcomes({ outcomes: jobs.map(completionOf) });
    };
    const pagesOfClaim = async (): Promise<number> => {
      await adapter.createJobs({ jobs: [newJob()] });
      const counted = await counter.countPages(() => claim(adapter, { limit: 1 }));
      return Math.max(...counted.map(({ pages }) => pages));
    };
    const rounds = 30;
    for (let round = 0; round < rounds; round += 1) await drain();
    // All of them are still in the index as dead entries, before the job that is wanted. Many fit on a page of the index.
    // Visiting each row would be at least one page for each.
    const pages = await pagesOfClaim();
    expect(pages).toBeLessThan(0.15 * rounds * batch);
    await pinning.query("COMMIT");
    // When the old transaction has ended, they can be removed as soon as no other transaction of the server needs them.
    const isCleanedUp = async (): Promise<boolean> => {
      await pool.query(`VACUUM ${schema}.job`);
      return (await pagesOfClaim()) < 60;
    };
    await until(isCleanedUp, "claims are as cheap as at first");
  } finally {
    await pinning.end();
    await adapter.close();
    await pool.end();
    await dropSchema(url, schema);
  }
}, 60_000);

it("a vacuum among many kept jobs removes the index entries of few dead rows, too", async () => {
  const schema = newSchemaName();
  const pool = new pg.Pool({ connectionString: url, max: 1 });
  const adapter = await createPgStateAdapter({ stateProvider: createPgPoolStateProvider({ pool }), schema });
  const drain = async (): Promise<void> => {
    await adapter.createJobs({ jobs: Array.from({ length: 100 }, () => newJob()) });
    const jobs = await claim(adapter, { limit: 100 });
    await adapter.commitOutcomes({ outcomes: jobs.map(completionOf) });
  };
  const vacuum = async (): Promise<string> => {
    const said: string[] = [];
    const client = await pool.connect();
    const listen = ({ message }: { message?: string | undefined }): void => void said.push(message ?? "");
    client.on("notice", listen);
    await client.query(`VACUUM (VERBOSE) ${schema}.job`);
    client.off("notice", listen);
    client.release();
    return said.join("\n");
  };
  try {
    await pool.query(`ALTER TABLE ${schema}.job SET (autovacuum_enabled = off)`);
    await drain();
    await multiplyJobs(pool, schema, 300);
    await vacuum();
    await drain();
    // PostgreSQL would not bother: they are on less than 2 % of the pages.
    await until(async () => /index scan needed/.test(await vacuum()), "the rows are dead for everybody");
  } finally {
    await adapter.close();
    await pool.end();
    await dropSchema(url, schema);
  }
}, 60_000);
