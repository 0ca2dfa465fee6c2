import type { CauseList, JobFilter, JobPage } from "leasehold/adapter";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { createPgFixture, type Fixture } from "../testing/fixtures.ts";
import { multiplyJobs } from "../testing/multiply-jobs.ts";
import { countRowsRead } from "../testing/rows-read.ts";
import { claim, completionOf, failureOf, newJob } from "../testing/test-jobs.ts";

const url = inject("postgres18Url");

const copies = 30_000;

const common = "c".repeat(16);

const rare = "f".repeat(16);

describe.each(["before", "after"])("a large table, %s it has been analysed", (when) => {
  let fixture: Fixture;
  let pool: pg.Pool;
  beforeAll(async () => {
    fixture = await createPgFixture(url);
    pool = new pg.Pool({ connectionString: url, max: 1 });
    const { adapter, schema } = fixture;
    await pool.query(`ALTER TABLE ${schema}.job SET (autovacuum_enabled = off)`);
    await adapter.createJobs({ jobs: [newJob(), newJob()] });
    const [done, failed] = await claim(adapter, { limit: 2 });
    const outcomes = [completionOf(done!), failureOf(failed!, "fail", { fingerprint: common })];
    await adapter.commitOutcomes({ outcomes });
    await multiplyJobs(pool, schema, copies);
    await adapter.createJobs({ jobs: Array.from({ length: 5 }, () => newJob({ queue: "quiet" })) });
    const requests = [{ queue: "quiet", typeNames: ["work"], limit: 5 }];
    const [held, ...others] = await claim(adapter, { limit: 5, requests });
    expect(held).toMatchObject({ status: "running" });
    await adapter.commitOutcomes({
      outcomes: others.map((job) => failureOf(job, "fail", { fingerprint: rare })),
    });
    if (when === "after") await pool.query(`ANALYZE ${schema}.job`);
  }, 60_000);
  afterAll(async () => {
    await pool.end();
    await fixture.destroy();
  });

  const reading = async <T>(
    work: () => Promise<T>,
  ): Promise<{ readonly read: number; readonly result: T }> => {
    let result: T | undefined;
    const read = await countRowsRead(fixture, pool, async () => {
      result = await work();
    });
    return { read, result: result! };
  };

  it("causes are counted by a look at no more failed jobs than the cap", async () => {
    const { read, result } = await reading<CauseList>(() =>
      fixture.adapter.history.listCauses({ cap: 1_000 }),
    );
    expect(read).toBeLessThanOrEqual(1_001);
    expect(result.capped).toBe(true);
    const counts = Object.fromEntries(result.failed.map(({ fingerprint, count }) => [fingerprint, count]));
    expect(counts).toEqual({ [common]: 996, [rare]: 4 });
  });

  it("those of some queues, by a look at a bounded number", async () => {
    const { read, result } = await reading<CauseList>(() =>
      fixture.adapter.history.listCauses({ cap: 1_000, queues: ["quiet"] }),
    );
    expect(read).toBeLessThanOrEqual(10_001);
    expect(result.failed).toMatchObject([{ fingerprint: rare, count: 4 }]);
  });

  const list = (filter: JobFilter): Promise<JobPage> =>
    fixture.adapter.listJobs({ filter, order: "newest", limit: 50, after: null });

  it("jobs with a rare fingerprint are found without reading the other failed ones", async () => {
    const filter = { fingerprints: [rare] };
    const { read, result } = await reading(async () => [
      (await list(filter)).jobs.length,
      (await fixture.adapter.countJobs({ filter }))[0]?.count,
    ]);
    expect(result).toEqual([4, 4]);
    expect(read).toBeLessThan(100);
  });

  it("a page of jobs with the most common one does not read all of them", async () => {
    const { read, result } = await reading(() => list({ fingerprints: [common] }));
    expect(result.jobs).toHaveLength(50);
    // Before there are statistics, the planner takes every value for a rare one.
    if (when === "after") expect(read).toBeLessThan(1_000);
  });

  it("the jobs of a worker are found among those that run", async () => {
    const filter = { leasedBy: ["worker"] };
    const { read, result } = await reading(async () => [
      (await list(filter)).jobs.length,
      (await fixture.adapter.countJobs({ filter }))[0]?.count,
    ]);
    expect(result).toEqual([1, 1]);
    expect(read).toBeLessThan(100);
  });
});
