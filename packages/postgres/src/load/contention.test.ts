import { setTimeout as sleep } from "node:timers/promises";
import { repeatAfterConflict, type StateJob, systemBackoff } from "leasehold/adapter";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import type { PgStateAdapter } from "../state-adapter.ts";
import { createPgFixture, type Fixture } from "../testing/fixtures.ts";
import { claim, completionOf, newJob } from "../testing/test-jobs.ts";

const shuffled = <T>(items: readonly T[]): T[] =>
  items
    .map((item) => ({ item, place: Math.random() }))
    .sort((a, b) => a.place - b.place)
    .map(({ item }) => item);

let fixture: Fixture;
let adapter: PgStateAdapter;
beforeAll(async () => {
  fixture = await createPgFixture(inject("postgres18Url"));
  ({ adapter } = fixture);
});
afterAll(() => fixture.destroy());

describe("batches that overlap", () => {
  it("from 8 writers in any order neither fail nor lose an outcome", async () => {
    const rounds = 10;
    const started = await adapter.createJobs({ jobs: Array.from({ length: 200 }, () => newJob()) });
    const jobs = await claim(adapter, { limit: 200 });
    expect(jobs).toHaveLength(started.length);
    const renew = (batch: readonly StateJob[]): Promise<unknown> =>
      adapter.renewLeases({
        leases: batch.map(({ id, leaseToken }) => ({ jobId: id, leaseToken: leaseToken!, leaseMs: 60_000 })),
      });
    let applied = 0;
    const writer = async (): Promise<void> => {
      for (let round = 0; round < rounds; round += 1) {
        await renew(shuffled(jobs).slice(0, 150));
        const batch = shuffled(jobs).slice(0, 25);
        const results = await adapter.commitOutcomes({ outcomes: batch.map(completionOf) });
        applied += results.filter(({ kind }) => kind === "applied").length;
        for (const result of results) expect(["applied", "repeated"]).toContain(result.kind);
      }
    };
    await Promise.all(Array.from({ length: 8 }, writer));
    const now = await adapter.getJobs({ jobIds: jobs.map(({ id }) => id) });
    // Each outcome was applied once.
    expect(now.filter((job) => job?.status === "completed")).toHaveLength(applied);
    expect(applied).toBeGreaterThan(100);
  });

  it("with cancellations, redrives, deletions and new blockers in between leave nothing half done", async () => {
    const roots = (
      await adapter.createJobs({ jobs: Array.from({ length: 40 }, () => newJob({ typeName: "tangle" })) })
    ).map(({ job }) => job);
    const ids = roots.map(({ id }) => id);
    const some = (): string[] => shuffled(ids).slice(0, 15);
    // Blockers and the jobs that wait for them are locked one after the other, so PostgreSQL may roll back any of these
    // transactions so that another can continue. The caller repeats it, as core's dispatch does.
    const repeated = (run: () => Promise<unknown>): Promise<unknown> =>
      repeatAfterConflict(systemBackoff, adapter.isConflictRollback, run);
    const tie = (): Promise<unknown> =>
      adapter.runInTransaction(async (ctx) => {
        const job = newJob({ typeName: "waiting", awaitsBlockers: true });
        await adapter.createJobs({ ctx, jobs: [job] });
        await adapter.addJobBlockers({ ctx, jobId: job.id, blockerSequenceIds: some() });
      });
    const actions = [
      () => repeated(() => adapter.cancelSequences({ sequenceIds: some(), error: "stop" })),
      () => repeated(() => adapter.redriveJobs({ jobIds: some() })),
      () => repeated(tie),
      async () => {
        const requests = [{ queue: "default", typeNames: ["tangle", "waiting"], limit: 10 }];
        const jobs = await claim(adapter, { limit: 10, requests });
        await repeated(() => adapter.commitOutcomes({ outcomes: shuffled(jobs).map(completionOf) }));
      },
    ];
    const failures: unknown[] = [];
    const actor = async (): Promise<void> => {
      for (let round = 0; round < 15; round += 1) {
        const action = actions[Math.floor(Math.random() * actions.length)]!;
        await action().catch((error: unknown) => failures.push(error));
      }
    };
    await Promise.all(Array.from({ length: 8 }, actor));
    expect(failures).toEqual([]);
    // No job waits for a blocker that has finished.
    await adapter.redriveJobs({ jobIds: ids });
    const requests = [{ queue: "default", typeNames: ["tangle", "waiting"], limit: 1_000 }];
    for (;;) {
      const jobs = await claim(adapter, { limit: 1_000, requests });
      if (jobs.length === 0) break;
      await adapter.commitOutcomes({ outcomes: jobs.map(completionOf) });
    }
    const left = await adapter.countJobs({ filter: { typeNames: ["tangle", "waiting"] } });
    expect(left.filter(({ status }) => status === "blocked" || status === "pending")).toEqual([]);
  });
});

describe("the last two blockers of a job", () => {
  it("finish at the same moment a thousand times, and every job is freed", async () => {
    const diamonds = 1_000;
    const together = 100;
    const sides = Array.from({ length: diamonds }, () => [
      newJob({ typeName: "left" }),
      newJob({ typeName: "right" }),
    ]);
    await adapter.createJobs({ jobs: sides.flat() });
    const ends = sides.map((pair) => ({
      job: newJob({ typeName: "end", awaitsBlockers: true }),
      blockerSequenceIds: pair.map(({ id }) => id),
    }));
    const tie = (first: number): Promise<void> =>
      adapter.runInTransaction(async (ctx) => {
        const group = ends.slice(first, first + together);
        await adapter.createJobs({ ctx, jobs: group.map(({ job }) => job) });
        for (const { job, blockerSequenceIds } of group)
          await adapter.addJobBlockers({ ctx, jobId: job.id, blockerSequenceIds });
      });
    await Promise.all(Array.from({ length: diamonds / together }, (_, index) => tie(index * together)));
    const take = (typeName: string): Promise<StateJob[]> =>
      claim(adapter, {
        limit: diamonds,
        leaseMs: 600_000,
        requests: [{ queue: "default", typeNames: [typeName], limit: diamonds }],
      });
    const [left, right] = [await take("left"), await take("right")];
    const rightOf = new Map(right.map((job) => [job.id, job]));
    const unblocked: string[] = [];
    const finish = async (batch: readonly StateJob[]): Promise<void> => {
      const results = await adapter.commitOutcomes({ outcomes: batch.map(completionOf) });
      for (const result of results)
        if (result.kind === "applied") unblocked.push(...result.unblocked.map(({ id }) => id));
    };
    const partners = new Map(sides.map(([one, other]) => [one!.id, rightOf.get(other!.id)!]));
    // Single outcomes against single ones, and batches against batches in another order.
    for (let first = 0; first < diamonds; first += 100) {
      const some = left.slice(first, first + 100);
      const others = shuffled(some.map(({ id }) => partners.get(id)!));
      const size = first % 200 === 0 ? 1 : 20;
      const batches: StateJob[][] = [];
      for (let at = 0; at < 100; at += size)
        batches.push(some.slice(at, at + size), others.slice(at, at + size));
      await Promise.all(batches.map(finish));
    }
    expect(unblocked).toHaveLength(diamonds);
    expect(new Set(unblocked)).toEqual(new Set(ends.map(({ job }) => job.id)));
    expect(await take("end")).toHaveLength(diamonds);
  }, 60_000);
});

describe("locked rows", () => {
  it("do not keep the reaper from those behind them", async () => {
    const { adapter: own, schema, destroy } = await createPgFixture(inject("postgres18Url"));
    const locker = new pg.Client({ connectionString: inject("postgres18Url") });
    await locker.connect();
    try {
      await own.createJobs({ jobs: Array.from({ length: 10_000 }, () => newJob()) });
      await claim(own, { limit: 10_000, leaseMs: 1 });
      await locker.query("BEGIN");
      await locker.query(`SELECT 1 FROM ${schema}.job FOR UPDATE`);
      await own.createJobs({ jobs: [newJob({ typeName: "free" })] });
      const requests = [{ queue: "default", typeNames: ["free"], limit: 1 }];
      const [free] = await claim(own, { limit: 1, leaseMs: 1, requests });
      await sleep(5);
      const reaped = await own.reapExpiredLeases({ limit: 10, error: "late" });
      expect(reaped.map(({ job }) => job.id)).toEqual([free!.id]);
      // Nor from claims, which also take jobs with expired leases.
      expect(await claim(own, { limit: 1, requests })).toHaveLength(1);
      expect(await claim(own, { limit: 1 })).toEqual([]);
    } finally {
      await locker.end();
      await destroy();
    }
  });

  it("do not keep pruning from those behind them", async () => {
    const { adapter: own, destroy } = await createPgFixture(inject("postgres18Url"));
    try {
      // They finished first, but each has an unfinished job in its tree.
      const roots = Array.from({ length: 10_000 }, () => newJob());
      const children = roots.map(({ id }) => newJob({ typeName: "child", rootSequenceId: id, originId: id }));
      await own.createJobs({ jobs: [...roots, ...children], now: 1_000 });
      const done = await claim(own, { limit: 10_000, now: 1_000 });
      await own.commitOutcomes({ outcomes: done.map(completionOf), now: 1_000 });
      await own.createJobs({ jobs: [newJob(), newJob()], now: 2_000 });
      const last = await claim(own, { limit: 10, now: 2_000 });
      await own.commitOutcomes({ outcomes: last.map(completionOf), now: 2_000 });
      const rules = [{ sequenceTypeNames: null, completedBefore: 3_000, failedBefore: null }];
      let [deletedJobs, calls] = [0, 0];
      for (let after: string | null = null, next = true; next; calls += 1) {
        const result = await own.pruneSequences({ rules, limit: 10, after });
        deletedJobs += result!.deletedJobs;
        after = result!.next;
        next = after !== null;
      }
      expect(deletedJobs).toBe(2);
      expect(calls).toBeLessThan(20);
    } finally {
      await destroy();
    }
  }, 60_000);
});

describe("the position of a job", () => {
  it.each([2n ** 31n, 2n ** 53n, 2n ** 62n])("may be beyond %s, and the order is kept", async (start) => {
    const { adapter: own, schema, destroy } = await createPgFixture(inject("postgres15Url"));
    const pool = new pg.Pool({ connectionString: inject("postgres15Url"), max: 1 });
    try {
      await pool.query(`ALTER TABLE ${schema}.job ALTER COLUMN position RESTART WITH ${start - 5n}`);
      const jobs = Array.from({ length: 20 }, () => newJob());
      for (const job of jobs) await own.createJobs({ jobs: [job], now: 1_000 });
      const expected = jobs.map(({ id }) => id);
      expect(await own.countAhead({ jobId: expected[19]!, cap: 100, now: 1_000 })).toBe(19);
      const claimed: string[] = [];
      for (let turn = 0; turn < 4; turn += 1)
        claimed.push(...(await claim(own, { limit: 5, now: 1_000 })).map(({ id }) => id));
      expect(claimed).toEqual(expected);
    } finally {
      await pool.end();
      await destroy();
    }
  });
});

describe("jobs whose transactions commit in another order than they began", () => {
  it("are not skipped by a listing that has already passed their position", async () => {
    const { adapter: own, destroy } = await createPgFixture(inject("postgres18Url"));
    try {
      const early = newJob();
      const late = newJob();
      let firstPage: readonly StateJob[] = [];
      const list = async (after: Parameters<typeof own.listJobs>[0]["after"]) =>
        own.listJobs({ filter: {}, order: "newest", limit: 1, after });
      await own.runInTransaction(async (ctx) => {
        await own.createJobs({ ctx, jobs: [early] });
        await own.createJobs({ jobs: [late] });
        const page = await list(null);
        firstPage = page.jobs;
      });
      // Jobs that were not visible yet are found by the next listing, and are claimed like others.
      expect(firstPage.map(({ id }) => id)).toEqual([late.id]);
      const all = await own.listJobs({ filter: {}, order: "oldest", limit: 10, after: null });
      expect(all.jobs.map(({ id }) => id).sort()).toEqual([early.id, late.id].sort());
      expect(await claim(own, { limit: 10 })).toHaveLength(2);
    } finally {
      await destroy();
    }
  });
});

describe("a lease of the same worker's earlier attempt", () => {
  it("is refused by every call, and the newer attempt is not touched", async () => {
    const job = newJob({ typeName: "zombie" });
    await adapter.createJobs({ jobs: [job], now: 1_000 });
    const requests = [{ queue: "default", typeNames: ["zombie"], limit: 1 }];
    const [first] = await claim(adapter, { limit: 1, leaseMs: 100, now: 1_000, requests });
    const [second] = await claim(adapter, { limit: 1, leaseMs: 10_000, now: 1_200, requests });
    expect(second).toMatchObject({ id: job.id, leasedBy: first!.leasedBy, leaseVersion: 2, attempt: 2 });
    const stale = { jobId: job.id, leaseToken: first!.leaseToken! };
    const refused = { kind: "refused", reason: "lease_mismatch" };
    expect(await adapter.commitOutcomes({ outcomes: [completionOf(first!)], now: 1_300 })).toMatchObject([
      refused,
    ]);
    expect(
      await adapter.renewLeases({ leases: [{ ...stale, leaseMs: 1_000, progress: "1" }], now: 1_300 }),
    ).toMatchObject([refused]);
    await adapter.runInTransaction(async (ctx) => {
      expect(await adapter.lockHeldJobs({ ctx, leases: [stale], now: 1_300 })).toMatchObject([refused]);
    });
    expect(await adapter.getJobs({ jobIds: [job.id] })).toEqual([second]);
  });
});
