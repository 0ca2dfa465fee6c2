import type { StateJob } from "leasehold/adapter";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { createPgPoolStateProvider } from "../providers/pg-pool.ts";
import { createPgStateAdapter, type PgStateAdapter } from "../state-adapter.ts";
import { createPgFixture, type Fixture } from "../testing/fixtures.ts";
import { claim, completionOf, newJob } from "../testing/test-jobs.ts";
import { until } from "../testing/until.ts";

const url = inject("postgres15Url");

/** Claims and completes in its own connection, which somebody may end at any moment. */
interface Claimer {
  readonly adapter: PgStateAdapter;
  readonly pool: pg.Pool;
  work(isDone: () => boolean): Promise<void>;
}

describe("claims that race under limits, on connections that are ended at random", () => {
  let fixture: Fixture;
  let looking: pg.Pool;
  const claimers: Claimer[] = [];

  const openClaimer = async (): Promise<Claimer> => {
    const pool = new pg.Pool({ connectionString: url, max: 1, application_name: fixture.schema });
    pool.on("error", () => {});
    const adapter = (await createPgStateAdapter({
      stateProvider: createPgPoolStateProvider({ pool }),
      schema: fixture.schema,
    })) as unknown as PgStateAdapter;
    const survive = async <T>(call: () => Promise<T>): Promise<T | undefined> => {
      try {
        return await call();
      } catch (error) {
        if (adapter.isTransientError(error)) return undefined;
        throw error;
      }
    };
    return {
      adapter,
      pool,
      work: async (isDone) => {
        while (!isDone()) {
          const jobs: StateJob[] = (await survive(() => claim(adapter, { limit: 2, leaseMs: 300 }))) ?? [];
          // What is lost here is found again when the lease has ended.
          await survive(() => adapter.commitOutcomes({ outcomes: jobs.map(completionOf) }));
          await survive(() => adapter.reapExpiredLeases({ limit: 100, error: "lost" }));
        }
      },
    };
  };

  beforeAll(async () => {
    fixture = await createPgFixture(url);
    looking = new pg.Pool({ connectionString: url, max: 2 });
    for (let count = 0; count < 8; count += 1) claimers.push(await openClaimer());
  }, 60_000);

  afterAll(async () => {
    for (const { adapter, pool } of claimers) {
      await adapter.close();
      await pool.end();
    }
    await looking.end();
    await fixture.destroy();
  });

  it("never run more than the limit, lose nothing, and count right afterwards", async () => {
    const { adapter, schema } = fixture;
    const limit = 3;
    const count = 400;
    await adapter.limits.setRule({
      queue: "default",
      typeName: "work",
      change: { concurrency: 5, perGroup: { concurrency: limit, rate: null } },
    });
    const jobs = Array.from({ length: count }, (_, index) =>
      newJob({ group: `group-${index % 2}`, maxAttempts: 1_000 }),
    );
    await adapter.createJobs({ jobs });

    const left = async (): Promise<number> => {
      const { rows } = await looking.query<{ left: string }>(
        `SELECT count(*) AS left FROM ${schema}.job WHERE status <> 'completed'`,
      );
      return Number(rows[0]?.left);
    };
    let isDone = false;
    let looks = 0;
    const look = async (): Promise<void> => {
      while (!isDone) {
        const { rows } = await looking.query<{ group_key: string; running: string; all: string }>(
          `SELECT group_key, count(*) AS running, sum(count(*)) OVER () AS all FROM ${schema}.job
            WHERE status = 'running' GROUP BY group_key`,
        );
        for (const { running, all } of rows) {
          expect(Number(running)).toBeLessThanOrEqual(limit);
          expect(Number(all)).toBeLessThanOrEqual(5);
        }
        looks += 1;
      }
    };
    let killed = 0;
    const kill = async (): Promise<void> => {
      while (!isDone) {
        const { rowCount } = await looking.query(
          `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1
            AND pid <> pg_backend_pid() ORDER BY random() LIMIT 1`,
          [schema],
        );
        killed += rowCount ?? 0;
        await looking.query("SELECT pg_sleep(0.02)");
      }
    };
    const work = claimers.map((claimer) => claimer.work(() => isDone));
    const others = [look(), kill()];
    try {
      await until(async () => (await left()) === 0, "everything has completed");
    } finally {
      isDone = true;
      await Promise.all([...work, ...others]);
    }
    expect(looks).toBeGreaterThan(20);
    expect(killed).toBeGreaterThan(5);
    expect(await adapter.limits.repairCounters({ repair: false })).toEqual({ counters: [] });
  }, 120_000);
});

describe("an arrival that commits while a claim closes its group", () => {
  it("is found by the next claim", async () => {
    const { adapter, schema, destroy } = await createPgFixture(url);
    const pool = new pg.Pool({ connectionString: url, max: 1 });
    try {
      const change = { perGroup: { concurrency: 5, rate: null } };
      await adapter.limits.setRule({ queue: "default", typeName: "work", change });
      await adapter.createJobs({ jobs: [newJob({ group: "a" })] });
      // The group is claimable when the job is inserted, and empty when the transaction commits.
      await adapter.runInTransaction(async (ctx: object) => {
        await adapter.createJobs({ jobs: [newJob({ group: "a" })], ctx });
        expect(await claim(adapter, { limit: 10 })).toHaveLength(1);
        expect(await claim(adapter, { limit: 10 })).toHaveLength(0);
      });
      expect(await claim(adapter, { limit: 10 })).toHaveLength(1);

      // All jobs of this group are locked for a while. The group is not empty.
      const [locked] = await adapter.createJobs({ jobs: [newJob({ group: "b" })] });
      await pool.query("BEGIN");
      await pool.query(`SELECT FROM ${schema}.job WHERE id = $1 FOR UPDATE`, [locked!.job.id]);
      expect(await claim(adapter, { limit: 10 })).toHaveLength(0);
      await pool.query("COMMIT");
      expect(await claim(adapter, { limit: 10 })).toHaveLength(1);
      expect(await adapter.limits.repairCounters({ repair: false })).toEqual({ counters: [] });
    } finally {
      await pool.end();
      await destroy();
    }
  });
});

describe("counters that are wrong", () => {
  it("are found and set right", async () => {
    const { adapter, schema, destroy } = await createPgFixture(url);
    const pool = new pg.Pool({ connectionString: url, max: 1 });
    try {
      const change = { concurrency: 2, perGroup: { concurrency: 2, rate: null } };
      await adapter.limits.setRule({ queue: "default", typeName: "work", change });
      await adapter.createJobs({ jobs: Array.from({ length: 4 }, () => newJob({ group: "a" })) });
      expect(await claim(adapter, { limit: 1 })).toHaveLength(1);
      await pool.query(`UPDATE ${schema}.group_state SET running = 2 WHERE group_key = 'a'`);
      await pool.query(`UPDATE ${schema}.limit_usage SET running = 7 WHERE queue_type <> 0`);
      const expected = [
        { queue: "default", typeName: "work", group: null, was: 7, is: 1 },
        { queue: "default", typeName: "work", group: "a", was: 2, is: 1 },
      ];
      expect((await adapter.limits.repairCounters({ repair: false })).counters).toEqual(expected);
      expect(await claim(adapter, { limit: 4 })).toHaveLength(0);
      expect((await adapter.limits.repairCounters({ repair: true })).counters).toEqual(expected);
      expect((await adapter.limits.repairCounters({ repair: false })).counters).toEqual([]);
      expect(await claim(adapter, { limit: 4 })).toHaveLength(1);
    } finally {
      await pool.end();
      await destroy();
    }
  });
});

describe("a type whose own number is among the keys of groups", () => {
  it("is found by a claim of all types", async () => {
    const { queueTypeNumber, isGroupKey } = await import("../rows/runnable.ts");
    const names = Array.from({ length: 5_000 }, (_, index) => `type-${index}`);
    const typeName = names.find((name) => isGroupKey(queueTypeNumber("default", name)))!;
    const { adapter, destroy } = await createPgFixture(url);
    const all = [{ queue: "default", typeNames: null, limit: 10 }];
    try {
      await adapter.createJobs({ jobs: [newJob({ typeName }), newJob({ group: "a" })] });
      expect(await claim(adapter, { limit: 10, requests: all })).toHaveLength(2);
      await adapter.createJobs({ jobs: [newJob({ typeName, schedule: { afterMs: 60_000 } })] });
      const [found] = await adapter.statistics.measureBacklog({ cap: 10 });
      expect(found).toMatchObject({ running: 1 });
      const backlog = await adapter.statistics.measureBacklog({ cap: 10 });
      expect(backlog.find((each) => each.typeName === typeName)).toMatchObject({ running: 1, later: 1 });
    } finally {
      await destroy();
    }
  });
});

describe("what another process has changed", () => {
  it("holds for the next claim: rules, pauses, and the first group of a type", async () => {
    const { adapter, schema, destroy } = await createPgFixture(url);
    const pool = new pg.Pool({ connectionString: url, max: 2 });
    const other = await createPgStateAdapter({ stateProvider: createPgPoolStateProvider({ pool }), schema });
    const requests = [{ queue: "default", typeNames: ["work"] }];
    try {
      await adapter.createJobs({ jobs: Array.from({ length: 6 }, () => newJob()) });
      expect(await claim(adapter, { limit: 1 })).toHaveLength(1);

      await other.limits.setRule({ queue: "default", typeName: null, change: { paused: true } });
      expect(await adapter.nextRunnableIn({ requests })).toBeNull();
      expect(await claim(adapter, { limit: 5 })).toHaveLength(0);
      const change = { paused: false, concurrency: 3 };
      await other.limits.setRule({ queue: "default", typeName: null, change });
      expect(await claim(adapter, { limit: 5 })).toHaveLength(2);
      await other.limits.setRule({ queue: "default", typeName: null, change: { concurrency: null } });
      expect(await claim(adapter, { limit: 5 })).toHaveLength(3);

      await other.createJobs({ jobs: [newJob({ group: "a", queue: "second" })] });
      const second = [{ queue: "second", typeNames: ["work"], limit: 5 }];
      expect(await claim(adapter, { limit: 5, requests: second })).toHaveLength(1);
      expect(await adapter.limits.repairCounters({ repair: false })).toEqual({ counters: [] });
    } finally {
      await other.close();
      await pool.end();
      await destroy();
    }
  });

  it("holds for a claim that has not read any rules yet", async () => {
    const { adapter, schema, destroy } = await createPgFixture(url);
    const pool = new pg.Pool({ connectionString: url, max: 2 });
    const other = await createPgStateAdapter({ stateProvider: createPgPoolStateProvider({ pool }), schema });
    try {
      await other.createJobs({ jobs: [newJob(), newJob()] });
      await other.limits.setRule({ queue: "default", typeName: "work", change: { concurrency: 1 } });
      expect(await claim(adapter, { limit: 5 })).toHaveLength(1);
      expect(await claim(adapter, { limit: 5 })).toHaveLength(0);
    } finally {
      await other.close();
      await pool.end();
      await destroy();
    }
  });
});

describe("groups that are no longer used", () => {
  it("are removed by the reaper, and those in use are not", async () => {
    const { adapter, schema, destroy } = await createPgFixture(url);
    const pool = new pg.Pool({ connectionString: url, max: 1 });
    const groups = async (): Promise<string[]> => {
      const sql = `SELECT group_key FROM ${schema}.group_state WHERE group_key IS NOT NULL ORDER BY group_key`;
      return (await pool.query<{ group_key: string }>(sql)).rows.map((row) => row.group_key);
    };
    try {
      const change = { perGroup: { concurrency: 2, rate: null } };
      await adapter.limits.setRule({ queue: "default", typeName: "work", change });
      await adapter.createJobs({
        jobs: Array.from({ length: 20 }, (_, n) => newJob({ group: `once-${n}` })),
      });
      const stopping = newJob({ group: "stopped", ordered: "stop", maxAttempts: 1 });
      await adapter.createJobs({ jobs: [stopping] });
      const jobs = await claim(adapter, { limit: 100 });
      const failed = jobs.find(({ id }) => id === stopping.id)!;
      const failure = {
        jobId: failed.id,
        leaseToken: failed.leaseToken,
        error: "x",
        reason: "unrecoverable",
      } as const;
      await adapter.commitOutcomes({
        outcomes: [...jobs.filter((job) => job !== failed).map(completionOf), { kind: "fail", ...failure }],
      });
      // Other groups raise the virtual time of the type.
      for (let round = 0; round < 5; round += 1) {
        await adapter.createJobs({ jobs: [newJob({ group: "busy" }), newJob({ group: "busy" })] });
        const busy = await claim(adapter, { limit: 10 });
        if (round < 4) await adapter.commitOutcomes({ outcomes: busy.map(completionOf) });
      }
      await until(async () => {
        await adapter.reapExpiredLeases({ limit: 10, error: "lost" });
        return (await groups()).length === 2;
      }, "only what is in use is left");
      expect(await groups()).toEqual(["busy", "stopped"]);
      expect(await adapter.limits.repairCounters({ repair: false })).toEqual({ counters: [] });
      await adapter.createJobs({ jobs: [newJob({ group: "once-1" })] });
      expect(await claim(adapter, { limit: 10 })).toHaveLength(1);
    } finally {
      await pool.end();
      await destroy();
    }
  });
});
