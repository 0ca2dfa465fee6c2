import { randomUUID } from "node:crypto";
import pg from "pg";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { createPgFixture, type Fixture } from "../testing/fixtures.ts";
import { countRowsRead } from "../testing/rows-read.ts";
import { claim, newJob } from "../testing/test-jobs.ts";

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

const portion = (size: number): ReturnType<typeof newJob>[] =>
  Array.from({ length: size }, () => newJob({ id: randomUUID() }));

it("portions in one transaction read no jobs of the portions before, after the table was emptied", async () => {
  const { adapter, schema } = fixture;
  await pool.query(`ALTER TABLE ${schema}.job SET (autovacuum_enabled = off)`);
  await adapter.createJobs({ jobs: portion(500) });
  await pool.query(`DELETE FROM ${schema}.job`);
  await pool.query(`VACUUM ANALYZE ${schema}.job`);
  const read = await countRowsRead(fixture, pool, () =>
    adapter.runInTransaction(async (ctx) => {
      // After five executions PostgreSQL uses a generic plan.
      for (let count = 0; count < 10; count += 1) {
        await adapter.createJobs({ jobs: portion(200), ctx });
        await adapter.createJobs({ jobs: portion(1), ctx });
      }
    }),
  );
  expect(read).toBeLessThan(200);
});

it("a taken id undoes its call only, if the transaction goes on", async () => {
  const { adapter } = fixture;
  const group = randomUUID();
  const queue = randomUUID();
  const [known, fresh, grouped, later] = [
    newJob({ id: randomUUID(), queue }),
    newJob({ id: randomUUID(), queue }),
    newJob({ id: randomUUID(), queue, group }),
    newJob({ id: randomUUID(), queue, group }),
  ];
  await adapter.runInTransaction(async (ctx) => {
    await adapter.createJobs({ jobs: [known!], ctx });
    const taken = adapter.createJobs({ jobs: [fresh!, known!, grouped!], ctx });
    await expect(taken).rejects.toMatchObject({ code: "JobAlreadyExists", ids: [known!.id] });
    await expect(adapter.createJobs({ jobs: [known!], ctx })).rejects.toMatchObject({ ids: [known!.id] });
    await adapter.createJobs({ jobs: [later!], ctx });
  });
  const claimed = await claim(adapter, { limit: 10, requests: [{ queue, typeNames: null, limit: 10 }] });
  expect(claimed.map(({ id }) => id).sort()).toEqual([known!.id, later!.id].sort());
});
