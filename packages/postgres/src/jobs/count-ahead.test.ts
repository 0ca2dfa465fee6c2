import { randomUUID } from "node:crypto";
import pg from "pg";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { createPgFixture, type Fixture } from "../testing/fixtures.ts";
import { multiplyJobs } from "../testing/multiply-jobs.ts";
import { countRowsRead } from "../testing/rows-read.ts";
import { newJob } from "../testing/test-jobs.ts";

let fixture: Fixture;

let pool: pg.Pool;

beforeAll(async () => {
  fixture = await createPgFixture(inject("postgres18Url"));
  pool = new pg.Pool({ connectionString: inject("postgres18Url"), max: 1 });
}, 60_000);

afterAll(async () => {
  await pool.end();
  await fixture.destroy();
});

it("reads no finished jobs to count those ahead of one", async () => {
  const { adapter, schema } = fixture;
  await adapter.createJobs({ jobs: [newJob({ id: randomUUID() })] });
  await multiplyJobs(pool, schema, 20_000);
  await pool.query(`UPDATE ${schema}.job SET status = 'completed', ready = false, finished_at = due_at`);
  const ids = Array.from({ length: 5 }, () => randomUUID());
  for (const id of ids) await adapter.createJobs({ jobs: [newJob({ id })] });
  await pool.query(`ANALYZE ${schema}.job`);
  let ahead: number | null = null;
  const read = await countRowsRead(fixture, pool, async () => {
    ahead = await adapter.countAhead({ jobId: ids[4]!, cap: 100 });
  });
  expect(ahead).toBe(4);
  expect(read).toBeLessThan(100);
});

it("stops at the cap, however many are ahead", async () => {
  const { adapter, schema } = fixture;
  const queue = randomUUID();
  await adapter.createJobs({ jobs: [newJob({ id: randomUUID(), queue })] });
  await pool.query(`DELETE FROM ${schema}.job WHERE queue <> $1`, [queue]);
  await multiplyJobs(pool, schema, 20_000);
  const last = randomUUID();
  await adapter.createJobs({ jobs: [newJob({ id: last, queue })] });
  await pool.query(`ANALYZE ${schema}.job`);
  let ahead: number | null = null;
  const read = await countRowsRead(fixture, pool, async () => {
    ahead = await adapter.countAhead({ jobId: last, cap: 100 });
  });
  expect(ahead).toBe(100);
  expect(read).toBeLessThan(500);
});
