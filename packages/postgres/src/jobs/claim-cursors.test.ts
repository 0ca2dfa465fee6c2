import type { ClaimRequest, NewJob, StateJob } from "leasehold/adapter";
import pg from "pg";
import { afterEach, beforeEach, describe, expect, inject, it } from "vitest";
import type { PgStateProvider } from "../database/provider.ts";
import { createPgPoolStateProvider } from "../providers/pg-pool.ts";
import { createPgStateAdapter, type PgStateAdapter } from "../state-adapter.ts";
import { dropSchema, newSchemaName } from "../testing/fixtures.ts";
import { createPageCounter, type PageCounter } from "../testing/page-counter.ts";
import { claim, completionOf, failureOf, newJob } from "../testing/test-jobs.ts";
import { until } from "../testing/until.ts";
import { createClaimCursors } from "./claim-cursors.ts";

const url = inject("postgres15Url");

const isClaim = (sql: string): boolean => sql.includes("lease_version = j.lease_version + 1");

const range = { number: "1", queue: "default", typeName: "work", request: 1 };

describe("claim cursors of a process", () => {
  const job = { ...range, priority: 3, scheduledAt: 1_000, lastAttemptAt: 5_000 } as unknown as StateJob;
  let time = 0;
  const cursors = createClaimCursors(() => time);

  it("begin only after a slow claim, advance with claims, and end after a second or when nothing is found", () => {
    cursors.begin([range], [job], 1);
    expect(cursors.find([range])).toBeUndefined();
    cursors.begin([range], [job], 50);
    const cursor = cursors.find([range])!;
    expect([cursor.since, ...cursor.places.values()]).toEqual([5_000, { priority: 3, dueAt: 1_000 }]);
    cursors.advance(cursor, [range], [{ ...job, scheduledAt: 2_000 }]);
    expect([...cursors.find([range])!.places.values()]).toEqual([{ priority: 3, dueAt: 2_000 }]);
    time += 1_000;
    expect(cursors.find([range])).toBeUndefined();
    cursors.begin([range], [job], 50);
    cursors.advance(cursors.find([range])!, [range], []);
    expect(cursors.find([range])).toBeUndefined();
  });

  it("end later after a very slow claim, so that such claims take a twentieth of the time", () => {
    cursors.begin([range], [job], 200);
    time += 3_999;
    expect(cursors.find([range])).toBeDefined();
    time += 1;
    expect(cursors.find([range])).toBeUndefined();
  });
});

describe("claims behind a cursor", () => {
  let schema: string;
  let pool: pg.Pool;
  let counter: PageCounter;
  let adapter: PgStateAdapter;
  /** Another process. */
  let other: PgStateAdapter;
  let claims: string[] = [];

  beforeEach(async () => {
    schema = newSchemaName();
    pool = new pg.Pool({ connectionString: url, max: 1 });
    const provider = createPgPoolStateProvider({ pool }) as unknown as PgStateProvider<object, object>;
    claims = [];
    counter = createPageCounter(provider, pool);
    const slow: typeof provider = {
      ...counter.provider,
      executeSql: async (ctx, statement) => {
        if (ctx === undefined && isClaim(statement.sql)) {
          claims.push(statement.sql);
          await pool.query("SELECT pg_sleep(0.006)");
        }
        return counter.provider.executeSql(ctx, statement);
      },
    };
    adapter = await createPgStateAdapter({ stateProvider: slow, schema });
    other = await createPgStateAdapter({ stateProvider: provider, schema });
  }, 60_000);

  afterEach(async () => {
    await pool.end();
    await dropSchema(url, schema);
  }, 60_000);

  const start = async (count: number, overrides: Partial<NewJob> = {}, now?: number): Promise<string[]> => {
    const jobs = Array.from({ length: count }, () => newJob(overrides));
    await other.createJobs({ jobs, ...(now === undefined ? {} : { now }) });
    return jobs.map(({ id }) => id);
  };

  const usedCursor = (): boolean => claims.at(-1)?.includes("j.priority = (") === true;

  const idsOf = (jobs: readonly StateJob[]): string[] => jobs.map(({ id }) => id);

  /** Claims one job from the beginning, which is slow, so that the next claim begins behind it. */
  const beginCursor = async (requests?: readonly ClaimRequest[]): Promise<StateJob> => {
    await adapter.reapExpiredLeases({ limit: 1, error: "expired" });
    const [job] = await claim(adapter, { limit: 1, ...(requests && { requests }) });
    expect(usedCursor()).toBe(false);
    return job!;
  };

  it("continue in order", async () => {
    const ids = await start(40);
    const first = await beginCursor();
    const claimed = [first];
    while (claimed.length < 40) claimed.push(...(await claim(adapter, { limit: 3 })));
    expect(idsOf(claimed)).toEqual(ids);
    expect(claims.filter((sql) => sql.includes("j.priority = (")).length).toBeGreaterThan(5);
  });

  it("see a higher priority that another process has started, at once", async () => {
    await start(20);
    await beginCursor();
    const [urgent] = await start(1, { priority: 5 });
    expect(idsOf(await claim(adapter, { limit: 1 }))).toEqual([urgent]);
  });

  it("see what this process has put back: released, redriven and changed jobs", async () => {
    await start(40);
    const released = await beginCursor();
    await adapter.commitOutcomes({
      outcomes: [
        { kind: "release", jobId: released.id, leaseToken: released.leaseToken, error: null, schedule: null },
      ],
    });
    expect(idsOf(await claim(adapter, { limit: 1 }))).toEqual([released.id]);

    const failed = (await claim(adapter, { limit: 1 }))[0]!;
    await adapter.commitOutcomes({ outcomes: [failureOf(failed)] });
    await beginCursor();
    await adapter.redriveJobs({ jobIds: [failed.id], now: failed.scheduledAt });
    expect(idsOf(await claim(adapter, { limit: 1 }))).toEqual([failed.id]);

    const [low] = await start(1, { priority: -5 });
    await beginCursor();
    await adapter.edits.updateWaitingJobs({ jobIds: [low!], change: { priority: 0, schedule: { at: 0 } } });
    await until(async () => idsOf(await claim(adapter, { limit: 1 })).includes(low!), "it is claimed");
  });

  it("leave an earlier job that another process commits late to the next claim from the beginning", async () => {
    await start(500);
    const { scheduledAt } = await beginCursor();
    const [late] = await start(1, {}, scheduledAt - 60_000);
    await until(async () => {
      const jobs = await claim(adapter, { limit: 1 });
      if (jobs.length === 0) throw new Error("The backlog is empty: it came last.");
      return jobs[0]!.id === late;
    }, "it is claimed");
    expect(usedCursor()).toBe(false);
  });

  it("claim from several queues and types in their order", async () => {
    const requests = [{ queue: "default", typeNames: ["work", "other"], limit: 4 }];
    const ids: string[] = [];
    for (let round = 0; round < 20; round += 1) {
      ids.push(...(await start(1, { typeName: "work" })));
      ids.push(...(await start(1, { typeName: "other" })));
    }
    const claimed = [await beginCursor(requests)];
    while (claimed.length < 40) claimed.push(...(await claim(adapter, { limit: 4, requests })));
    expect(idsOf(claimed)).toEqual(ids);
    expect(claims.some((sql) => sql.includes("j.priority = ("))).toBe(true);
  });

  it("read few pages while an old snapshot keeps the entries of finished jobs", async () => {
    const pinning = new pg.Client({ connectionString: url });
    await pinning.connect();
    await pinning.query("BEGIN ISOLATION LEVEL REPEATABLE READ");
    await pinning.query("SELECT 1");
    try {
      const batches = 20;
      for (let batch = batches; batch > 0; batch -= 1) await start(500, {}, Date.now() - batch * 1_000);
      for (let batch = 2; batch < batches; batch += 1) {
        const jobs = await claim(adapter, { limit: 500 });
        await adapter.commitOutcomes({ outcomes: jobs.map(completionOf) });
      }
      const pagesOfClaim = async (): Promise<number> => {
        const counted = await counter.countPages(() => claim(adapter, { limit: 1 }));
        return Math.max(...counted.map(({ pages }) => pages));
      };
      await adapter.reapExpiredLeases({ limit: 1, error: "expired" });
      expect(await pagesOfClaim()).toBeGreaterThan(400);
      // On a busy machine the cursor may expire in between.
      await until(async () => {
        await beginCursor();
        const pages = await pagesOfClaim();
        return usedCursor() && pages < 100;
      }, "a claim behind a cursor reads few pages");
    } finally {
      await pinning.end();
    }
  }, 60_000);
});
