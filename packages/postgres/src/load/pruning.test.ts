import type { PruneRule } from "leasehold/adapter";
import pg from "pg";
import { describe, expect, inject, it } from "vitest";
import type { PgStateProvider } from "../database/provider.ts";
import { createPgPoolStateProvider } from "../providers/pg-pool.ts";
import { createPgStateAdapter, type PgStateAdapter } from "../state-adapter.ts";
import { createPgFixture, dropSchema, newSchemaName } from "../testing/fixtures.ts";
import { multiplyJobs } from "../testing/multiply-jobs.ts";
import { claim, completionOf, newJob } from "../testing/test-jobs.ts";

const rules: PruneRule[] = [{ sequenceTypeNames: null, completedBefore: 3_000, failedBefore: null }];

const finish = async (adapter: PgStateAdapter, count: number, now: number): Promise<string[]> => {
  const jobs = Array.from({ length: count }, () => newJob());
  await adapter.createJobs({ jobs, now });
  const claimed = await claim(adapter, { limit: count, now });
  await adapter.commitOutcomes({ outcomes: claimed.map(completionOf), now });
  return jobs.map(({ id }) => id);
};

describe("pruning a page of a large table", () => {
  const settings = {
    "a planner that prefers the whole table": "-c random_page_cost=1000 -c cpu_index_tuple_cost=100",
    "a planner that is not to use indexes": "-c enable_indexscan=off -c enable_indexonlyscan=off",
    "a planner as it comes": "",
  };
  const cases = Object.keys(settings).flatMap((name) =>
    (["postgres18Url", "postgres15Url"] as const).map(
      (server) => [name, server] as [keyof typeof settings, typeof server],
    ),
  );

  it.each(cases)(
    "reads no more than the page, with %s and statistics of an empty table (%s)",
    async (name, server) => {
      const url = new URL(inject(server));
      url.searchParams.set("options", settings[name]);
      const schema = newSchemaName();
      const pool = new pg.Pool({ connectionString: url.href, max: 1 });
      try {
        const adapter = await createPgStateAdapter({
          stateProvider: createPgPoolStateProvider({ pool }),
          schema,
        });
        await pool.query(`ALTER TABLE ${schema}.job SET (autovacuum_enabled = off)`);
        await pool.query(`ANALYZE ${schema}.job, ${schema}.job_blocker`);
        await finish(adapter, 50, 1_000);
        await multiplyJobs(pool, schema, 1_000);
        const readRows = async (): Promise<{ scanned: number; fetched: number }> => {
          await pool.query("SELECT pg_stat_force_next_flush()");
          const { rows } = await pool.query<{ scanned: string; fetched: string }>(
            `SELECT sum(seq_tup_read) AS scanned, sum(idx_tup_fetch) AS fetched FROM pg_stat_user_tables
              WHERE schemaname = $1 AND relname LIKE 'job%'`,
            [schema],
          );
          return { scanned: Number(rows[0]!.scanned), fetched: Number(rows[0]!.fetched) };
        };
        const before = await readRows();
        let after: string | null = null;
        for (let call = 0; call < 3; call += 1) {
          const result = await adapter.pruneSequences({ rules, limit: 1_000, after });
          expect(result!.deletedJobs).toBe(1_000);
          after = result!.next;
        }
        const read = await readRows();
        expect(read.scanned - before.scanned).toBe(0);
        // Each job is read in its page, locked and deleted.
        expect(read.fetched - before.fetched).toBeLessThan(3 * 1_000 * 4);
        await adapter.close();
      } finally {
        await pool.end();
        await dropSchema(inject(server), schema);
      }
    },
    60_000,
  );
});

it("a tree that a job begins to wait for while it is being pruned is kept", async () => {
  const url = inject("postgres18Url");
  const fixture = await createPgFixture(url);
  const pool = new pg.Pool({ connectionString: url, max: 2 });
  try {
    const [blockerId] = await finish(fixture.adapter, 1, 1_000);
    const waiting = newJob({ typeName: "waits", awaitsBlockers: true });
    const provider = createPgPoolStateProvider({ pool }) as unknown as PgStateProvider<object, object>;
    let added = false;
    const stateProvider: PgStateProvider<object, object> = {
      ...provider,
      executeSql: async (ctx, statement) => {
        // The page has been read, and the tree is not locked yet.
        if (!added && statement.sql.includes("FOR UPDATE SKIP LOCKED")) {
          added = true;
          await fixture.adapter.runInTransaction(async (own) => {
            await fixture.adapter.createJobs({ jobs: [waiting], ctx: own });
            await fixture.adapter.addJobBlockers({
              jobId: waiting.id,
              blockerSequenceIds: [blockerId!],
              ctx: own,
            });
          });
        }
        return provider.executeSql(ctx, statement);
      },
    };
    const adapter = await createPgStateAdapter({ stateProvider, schema: fixture.schema });
    expect(await adapter.pruneSequences({ rules, limit: 10, after: null })).toMatchObject({ deletedJobs: 0 });
    expect(added).toBe(true);
    const [blockers] = await fixture.adapter.getBlockers({ jobIds: [waiting.id] });
    expect(blockers).toHaveLength(1);
  } finally {
    await pool.end();
    await fixture.destroy();
  }
});

it("only one worker at a time prunes alone, and nobody waits for a locked job", async () => {
  const { adapter, destroy } = await createPgFixture(inject("postgres18Url"));
  try {
    const [lockedId] = await finish(adapter, 3, 1_000);
    const call = { rules, limit: 10, after: null, alone: true };
    await adapter.runInTransaction(async (ctx) => {
      await adapter.lockSequence({ ctx, sequenceId: lockedId! });
      expect(await adapter.pruneSequences(call)).toMatchObject({ deletedJobs: 2 });
    });
    await adapter.runInTransaction(async (ctx) => {
      expect(await adapter.pruneSequences({ ...call, ctx })).toMatchObject({ deletedJobs: 1 });
      expect(await adapter.pruneSequences(call)).toBeNull();
    });
    expect(await adapter.pruneSequences(call)).toEqual({ deletedJobs: 0, failedJobs: [], next: null });
  } finally {
    await destroy();
  }
});
