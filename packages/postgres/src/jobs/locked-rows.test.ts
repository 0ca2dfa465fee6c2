import type { HeldLease, StateJob } from "leasehold/adapter";
import pg from "pg";
import { afterAll, beforeAll, beforeEach, describe, expect, inject, it } from "vitest";
import type { PgStateAdapter } from "../state-adapter.ts";
import { createPgFixture, type Fixture } from "../testing/fixtures.ts";
import { claim, completionOf, newJob } from "../testing/test-jobs.ts";
import { until } from "../testing/until.ts";

let fixture: Fixture;

let adapter: PgStateAdapter;

let other: pg.Client;

beforeAll(async () => {
  other = new pg.Client({ connectionString: inject("postgres18Url") });
  await other.connect();
});

afterAll(() => other.end());

// Each test has its own store, so that a claim of every type finds no job of another test.
beforeEach(async () => {
  fixture = await createPgFixture(inject("postgres18Url"));
  ({ adapter } = fixture);
  return () => fixture.destroy();
});

const start = async (count: number, overrides: Parameters<typeof newJob>[0] = {}): Promise<StateJob[]> => {
  const jobs = Array.from({ length: count }, () => newJob(overrides));
  return (await adapter.createJobs({ jobs })).map(({ job }) => job);
};

/** Runs `work` while another transaction holds a lock on the row. */
const whileLocked = async <T>({ id }: { readonly id: string }, work: () => Promise<T>): Promise<T> => {
  await other.query("BEGIN");
  try {
    await other.query(`SELECT FROM ${fixture.schema}.job WHERE id = $1 FOR UPDATE`, [id]);
    return await work();
  } finally {
    await other.query("ROLLBACK");
  }
};

const leaseOn = ({ id, leaseToken }: StateJob): HeldLease => ({ jobId: id, leaseToken: leaseToken! });

const idsOf = (jobs: readonly { readonly id: string }[]): string[] => jobs.map(({ id }) => id);

describe("a row that another transaction has locked", () => {
  const types = (...typeNames: readonly string[]) => ({
    requests: [{ queue: "default", typeNames, limit: 10 }],
    limit: 10,
  });

  it("is passed over by a claim of one type", async () => {
    const [first, second] = await start(2, { typeName: "one" });
    expect(idsOf(await whileLocked(first!, () => claim(adapter, types("one"))))).toEqual([second!.id]);
    expect(idsOf(await claim(adapter, types("one")))).toEqual([first!.id]);
  });

  it("is passed over by a claim of several types", async () => {
    const [first, second] = await start(2, { typeName: "one" });
    const [third] = await start(1, { typeName: "two" });
    const claimed = await whileLocked(first!, () => claim(adapter, types("one", "two")));
    expect(idsOf(claimed).sort()).toEqual([second!.id, third!.id].sort());
  });

  it("is passed over when it falls due", async () => {
    const [first, second] = await start(2, { typeName: "one", schedule: { afterMs: 1_000 } });
    const now = second!.scheduledAt + 1;
    const claimed = await whileLocked(first!, () => claim(adapter, { ...types("one"), now }));
    expect(idsOf(claimed)).toEqual([second!.id]);
  });

  it("is passed over when its lease has expired", async () => {
    await start(2, { typeName: "one" });
    const [first, second] = await claim(adapter, { ...types("one"), leaseMs: 1_000 });
    const now = second!.leasedUntil! + 1;
    const claimed = await whileLocked(first!, () => claim(adapter, { ...types("one"), now }));
    expect(idsOf(claimed)).toEqual([second!.id]);
  });

  it("is busy for a renewal, which renews the others", async () => {
    await start(2, { typeName: "one" });
    const jobs = await claim(adapter, types("one"));
    const leases = jobs.map(({ id, leaseToken }) => ({
      jobId: id,
      leaseToken: leaseToken!,
      leaseMs: 60_000,
    }));
    const results = await whileLocked(jobs[0]!, () => adapter.renewLeases({ leases }));
    expect(results.map(({ kind }) => kind)).toEqual(["busy", "renewed"]);
  });

  it("is passed over by the reaper", async () => {
    await start(2, { typeName: "one" });
    const [first, second] = await claim(adapter, { ...types("one"), leaseMs: 1_000 });
    const now = second!.leasedUntil! + 1;
    const reaped = await whileLocked(first!, () =>
      adapter.reapExpiredLeases({ limit: 10, error: "gone", now }),
    );
    expect(reaped.map(({ job }) => job.id)).toEqual([second!.id]);
  });

  it("is passed over by pruning", async () => {
    await start(2, { typeName: "one" });
    const jobs = await claim(adapter, types("one"));
    await adapter.commitOutcomes({ outcomes: jobs.map(completionOf) });
    const rules = [
      { sequenceTypeNames: null, completedBefore: Number.MAX_SAFE_INTEGER, failedBefore: null },
    ] as const;
    const prune = () => adapter.pruneSequences({ rules, limit: 10, after: null });
    expect(await whileLocked(jobs[0]!, prune)).toMatchObject({ deletedJobs: 1 });
    expect(await prune()).toMatchObject({ deletedJobs: 1 });
  });
});

describe("what the adapter has locked", () => {
  const isFree = async ({ id }: { readonly id: string }): Promise<boolean> => {
    const { rows } = await other.query(
      `SELECT FROM ${fixture.schema}.job WHERE id = $1 FOR UPDATE SKIP LOCKED`,
      [id],
    );
    return rows.length === 1;
  };

  /** A statement of the adapter's waits for a row that another transaction has locked. */
  const isWaiting = async (): Promise<boolean> => {
    const { rows } = await other.query(
      `SELECT FROM pg_locks AS waiting JOIN pg_locks AS held USING (pid)
       WHERE NOT waiting.granted AND held.relation = $1::regclass`,
      [`${fixture.schema}.job`],
    );
    return rows.length > 0;
  };

  it("is locked for everybody else until the transaction ends", async () => {
    await start(1);
    const [job] = await claim(adapter, { limit: 1 });
    await adapter.runInTransaction(async (ctx) => {
      await adapter.lockHeldJobs({ leases: [leaseOn(job!)], ctx });
      expect(await isFree(job!)).toBe(false);
    });
    expect(await isFree(job!)).toBe(true);
  });

  it("is locked in the order of ids, so that two commits never wait for each other", async () => {
    await start(2);
    const jobs = await claim(adapter, { limit: 2 });
    const [lower, higher] = jobs.toSorted((one, two) => (one.id < two.id ? -1 : 1));
    const committing = await whileLocked(lower!, async () => {
      const results = adapter.commitOutcomes({ outcomes: [higher!, lower!].map(completionOf) });
      await until(isWaiting, "the commit waits for the first row");
      expect(await isFree(higher!)).toBe(true);
      return { results };
    });
    expect((await committing.results).map(({ kind }) => kind)).toEqual(["applied", "applied"]);
  });

  it("is locked in the order of ids, so that two transactions never wait for each other", async () => {
    await start(2);
    const jobs = await claim(adapter, { limit: 2 });
    const [lower, higher] = jobs.toSorted((one, two) => (one.id < two.id ? -1 : 1));
    const { locking } = await whileLocked(lower!, async () => {
      const results = adapter.runInTransaction((ctx) =>
        adapter.lockHeldJobs({ leases: [higher!, lower!].map(leaseOn), ctx }),
      );
      await until(isWaiting, "the transaction waits for the first row");
      expect(await isFree(higher!)).toBe(true);
      return { locking: results };
    });
    expect((await locking).map(({ kind }) => kind)).toEqual(["locked", "locked"]);
  });

  it("is the job that follows, where a sequence was continued while its lock was awaited", async () => {
    await start(1);
    const [first] = await claim(adapter, { limit: 1 });
    const next = newJob({ sequenceId: first!.id, rootSequenceId: first!.id, sequenceIndex: 1 });
    const continuation = {
      kind: "complete",
      output: null,
      continuedToId: next.id,
      completedBy: null,
    } as const;
    const { cancelling } = await adapter.runInTransaction(async (ctx) => {
      await adapter.lockHeldJobs({ leases: [leaseOn(first!)], ctx });
      const results = adapter.cancelSequences({ sequenceIds: [first!.id], error: "enough" });
      await until(isWaiting, "the cancellation waits for the job");
      await adapter.createJobs({ jobs: [next], ctx });
      const { id: jobId, leaseToken } = first!;
      await adapter.commitOutcomes({ outcomes: [{ ...continuation, jobId, leaseToken }], ctx });
      return { cancelling: results };
    });
    expect(await cancelling).toMatchObject([{ kind: "cancelled", changed: true, job: { id: next.id } }]);
  });
});

describe("a recurring job that another transaction has locked", () => {
  const put = (id: string, ctx: Parameters<PgStateAdapter["recurring"]["putRecurring"]>[0]["ctx"]) =>
    adapter.recurring.putRecurring({
      ctx,
      jobs: [
        {
          id,
          owner: null,
          paused: false,
          version: 1,
          nextNominalAt: 1,
          runsAt: 1,
          lastSequenceId: null,
          timeZoneVersion: "",
          computedAt: 0,
          tickHistory: "",
          definition: "",
        },
      ],
    });

  it("is passed over by a tick, which does not wait for it", async () => {
    await adapter.runInTransaction(async (ctx) => {
      await put("a", ctx);
      await put("b", ctx);
    });
    await other.query("BEGIN");
    try {
      await other.query(`SELECT FROM ${fixture.schema}.recurring_job WHERE id = 'a' FOR UPDATE`);
      const due = await adapter.runInTransaction((ctx) =>
        adapter.recurring.lockDueRecurring({ ctx, limit: 10, timeZoneVersion: null }),
      );
      expect(idsOf(due.jobs)).toEqual(["b"]);
    } finally {
      await other.query("ROLLBACK");
    }
  });

  it("is waited for by a change", async () => {
    await adapter.runInTransaction((ctx) => put("a", ctx));
    await other.query("BEGIN");
    await other.query(`SELECT FROM ${fixture.schema}.recurring_job WHERE id = 'a' FOR UPDATE`);
    await other.query(`UPDATE ${fixture.schema}.recurring_job SET version = 2 WHERE id = 'a'`);
    const changing = adapter.runInTransaction((ctx) => adapter.recurring.lockRecurring({ ctx, ids: ["a"] }));
    await until(async () => {
      const { rows } = await other.query(
        `SELECT FROM pg_locks WHERE NOT granted AND pid <> pg_backend_pid()
           AND pg_backend_pid() = ANY (pg_blocking_pids(pid))`,
      );
      return rows.length > 0;
    }, "the change waits");
    await other.query("COMMIT");
    expect((await changing)[0]?.version).toBe(2);
  });
});
