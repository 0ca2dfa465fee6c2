import type { ClaimRequest, StateJob } from "leasehold/adapter";
import pg from "pg";
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from "vitest";
import { createPgFixture, type Fixture } from "../testing/fixtures.ts";
import { claim, completionOf, newJob } from "../testing/test-jobs.ts";

const url = inject("postgres18Url");

describe("rules and the states of groups", () => {
  let fixture: Fixture;
  let pool: pg.Pool;
  let count = 0;
  let queue = "";
  let requests: ClaimRequest[] = [];

  beforeAll(async () => {
    fixture = await createPgFixture(url);
    pool = new pg.Pool({ connectionString: url, max: 1 });
  });

  afterAll(async () => {
    await pool.end();
    await fixture.destroy();
  });

  beforeEach(() => {
    queue = `queue-${(count += 1)}`;
    requests = [{ queue, typeNames: ["work"], limit: 10_000 }];
  });

  const claimAll = (now?: number, limit = 10_000): Promise<StateJob[]> =>
    claim(fixture.adapter, { limit, requests, ...(now === undefined ? {} : { now }) });

  const countGroups = async (): Promise<number> => {
    const { rows } = await pool.query<{ count: string }>(
      `SELECT count(*) FROM ${fixture.schema}.group_state WHERE queue = $1 AND claim_key <> queue_type`,
      [queue],
    );
    return Number(rows[0]?.count);
  };

  const reap = async (now?: number): Promise<void> => {
    for (let round = 0; round < 50; round += 1)
      await fixture.adapter.reapExpiredLeases({
        limit: 10,
        error: "expired",
        ...(now === undefined ? {} : { now }),
      });
  };

  it("groups with one job each are deleted, while others keep arriving", async () => {
    const { adapter } = fixture;
    const start = (index: number): Promise<unknown> =>
      adapter.createJobs({ jobs: [newJob({ queue, group: `group-${index}` })] });
    await start(0);
    for (let index = 1; index <= 40; index += 1) {
      await start(index);
      await adapter.commitOutcomes({ outcomes: (await claimAll(undefined, 1)).map(completionOf) });
    }
    // Its completion is a delta that the next claim applies.
    await adapter.nextRunnableIn({ requests });
    await reap();
    expect(await countGroups()).toBeLessThanOrEqual(2);
  });

  it("a group that has spent its tokens is kept until they are back", async () => {
    const { adapter } = fixture;
    const perGroup = { concurrency: null, rate: { limit: 3, perMs: 60_000, burst: 3 } };
    const now = Date.now();
    await adapter.limits.setRule({ queue, typeName: "work", change: { perGroup }, now });
    const start = (at: number): Promise<unknown> =>
      adapter.createJobs({ jobs: Array.from({ length: 3 }, () => newJob({ queue, group: "a" })), now: at });
    await start(now);
    const jobs = await claimAll(now);
    expect(jobs).toHaveLength(3);
    await adapter.commitOutcomes({ outcomes: jobs.map(completionOf), now });
    await adapter.nextRunnableIn({ requests, now });
    // But for its tokens, the state of the group equals that of a new one.
    await reap(now);
    await start(now);
    expect(await claimAll(now)).toEqual([]);
    expect(await claimAll(now + 60_000)).not.toEqual([]);
  });

  it("a limit set in a transaction holds up no claim, and counts what is claimed before the commit", async () => {
    const { adapter } = fixture;
    // With this rule, claims take the lock of the queue.
    await adapter.limits.setRule({ queue, typeName: "work", change: { weights: { a: 2 } } });
    await adapter.createJobs({
      jobs: Array.from({ length: 12 }, (_, index) => newJob({ queue, group: index % 2 === 0 ? "a" : null })),
    });
    let running: StateJob[] = [];
    await adapter.runInTransaction(async (ctx: object) => {
      const change = { concurrency: 3, perGroup: { concurrency: 2, rate: null } };
      await adapter.limits.setRule({ queue, typeName: "work", change, ctx });
      running = await claimAll(undefined, 8);
      expect(running).toHaveLength(8);
    });
    expect(await claimAll()).toEqual([]);
    const [use] = await adapter.limits.listRules({ queue });
    expect(use?.running).toBe(8);
    await adapter.commitOutcomes({ outcomes: running.slice(0, 5).map(completionOf) });
    expect(await claimAll()).toEqual([]);
    await adapter.commitOutcomes({ outcomes: running.slice(5).map(completionOf) });
    expect(await claimAll()).toHaveLength(3);
    expect((await adapter.limits.repairCounters({ repair: false })).counters).toEqual([]);
  });

  it("a limit counts jobs that were locked when it was set", async () => {
    const { adapter } = fixture;
    await adapter.createJobs({ jobs: Array.from({ length: 4 }, () => newJob({ queue })) });
    const [locked] = await claimAll(undefined, 1);
    await pool.query("BEGIN");
    await pool.query(`SELECT FROM ${fixture.schema}.job WHERE id = $1 FOR UPDATE`, [locked!.id]);
    await adapter.limits.setRule({ queue, typeName: null, change: { concurrency: 2 } });
    await pool.query("ROLLBACK");
    expect(await claimAll(Date.now() + 2_000)).toHaveLength(1);
  });

  it("removing a rate from many waiting groups lets a claim check some of them at a time", async () => {
    const { adapter } = fixture;
    const groups = 2_500;
    const perGroup = { concurrency: null, rate: { limit: 1, perMs: 3_600_000, burst: 1 } };
    await adapter.limits.setRule({ queue, typeName: "work", change: { perGroup } });
    for (let job = 0; job < 2; job += 1)
      await adapter.createJobs({
        jobs: Array.from({ length: groups }, (_, index) => newJob({ queue, group: `group-${index}` })),
      });
    expect(await claimAll()).toHaveLength(groups);
    expect(await claimAll()).toEqual([]);
    await adapter.limits.setRule({ queue, typeName: "work", change: { perGroup: null } });
    // The call itself checks the first thousand, and each claim as many again.
    const taken: number[] = [];
    for (let round = 0; round < 4; round += 1) taken.push((await claimAll()).length);
    expect(taken).toEqual([2_000, 500, 0, 0]);
    expect(await adapter.nextRunnableIn({ requests })).not.toBe(0);
  });

  it("while groups are left to check after an edit, workers are to claim again", async () => {
    const { adapter } = fixture;
    const perGroup = { concurrency: null, rate: { limit: 1, perMs: 3_600_000, burst: 1 } };
    await adapter.limits.setRule({ queue, typeName: "work", change: { perGroup } });
    for (let job = 0; job < 2; job += 1)
      await adapter.createJobs({
        jobs: Array.from({ length: 3_500 }, (_, index) => newJob({ queue, group: `group-${index}` })),
      });
    await claimAll();
    const faster = { concurrency: null, rate: { limit: 1, perMs: 1_000, burst: 1 } };
    const now = Date.now();
    await adapter.limits.setRule({ queue, typeName: "work", change: { perGroup: faster }, now });
    expect(await adapter.nextRunnableIn({ requests, now })).toBe(0);
    let taken = 0;
    for (let round = 0; round < 6; round += 1) taken += (await claimAll(now + 2_000 + round)).length;
    // Groups that a claim came to later are bounded by the rate at that time: within a second each has its token.
    taken += (await claimAll(now + 4_000)).length;
    expect(taken).toBe(3_500);
    expect(await claimAll(now + 4_000)).toEqual([]);
  });
});
