import type { ClaimRequest, StateJob } from "leasehold/adapter";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { createPgPoolStateProvider } from "../providers/pg-pool.ts";
import { createPgStateAdapter, type PgStateAdapter } from "../state-adapter.ts";
import { createPageCounter, type PageCounter } from "../testing/page-counter.ts";
import { dropSchema, newSchemaName } from "../testing/fixtures.ts";
import { multiplyJobs } from "../testing/multiply-jobs.ts";
import { claim, completionOf, newJob } from "../testing/test-jobs.ts";

// Some levels of a few indexes for each job and its group. To read past the waiting jobs would be thousands.
const mostPagesPerJob = 100;
const all: ClaimRequest[] = [{ queue: "default", typeNames: null, limit: 10 }];

describe.each(["postgres18Url", "postgres15Url"] as const)(
  "a full group with 100,000 jobs, beside 20,000 other groups (%s)",
  (server) => {
    const schema = newSchemaName();
    const pool = new pg.Pool({ connectionString: inject(server), max: 1 });
    let counter: PageCounter;
    let adapter: PgStateAdapter;

    const pagesOf = async (call: () => Promise<unknown>): Promise<number> => {
      const counted = await counter.countPages(call);
      expect(counted).not.toEqual([]);
      return Math.max(...counted.map(({ pages }) => pages));
    };

    const round = async (): Promise<void> => {
      await adapter.createJobs({ jobs: ["a", "b", "c"].map((group) => newJob({ group })) });
      const jobs = await claim(adapter, { limit: 10, requests: all });
      await adapter.nextRunnableIn({ requests: all });
      await adapter.commitOutcomes({ outcomes: jobs.map(completionOf) });
    };

    beforeAll(async () => {
      counter = createPageCounter(createPgPoolStateProvider({ pool }) as never, pool);
      adapter = await createPgStateAdapter({ stateProvider: counter.provider, schema });
      for (const table of ["job", "group_state", "limit_delta"])
        await pool.query(`ALTER TABLE ${schema}.${table} SET (autovacuum_enabled = off)`);
      const change = { perGroup: { concurrency: 1, rate: null } };
      await adapter.limits.setRule({ queue: "default", typeName: "work", change });
      // The plans are made while there is next to nothing, and kept.
      for (let time = 0; time < 8; time += 1) await round();
      await adapter.createJobs({ jobs: Array.from({ length: 101 }, () => newJob({ group: "hot" })) });
      expect(await claim(adapter, { limit: 10, leaseMs: 3_600_000 })).toHaveLength(1);
      await pool.query(`UPDATE ${schema}.job SET attempt = max_attempts WHERE status = 'running'`);
      await pool.query(`DELETE FROM ${schema}.job WHERE status = 'completed'`);
      await multiplyReady();
      for (let from = 0; from < 20_000; from += 1_000) {
        const jobs = Array.from({ length: 1_000 }, (_, index) => newJob({ group: `group-${from + index}` }));
        await adapter.createJobs({ jobs });
      }
      // The first claim applies the deltas of the starts.
      await adapter.nextRunnableIn({ requests: all });
      await adapter.createJobs({ jobs: [newJob({ typeName: "ungrouped" })] });
    }, 180_000);

    /** Only the jobs that wait: a copy of the one that runs would be a second one. */
    const multiplyReady = async (): Promise<void> => {
      await pool.query(`CREATE TABLE ${schema}.aside AS SELECT * FROM ${schema}.job WHERE NOT ready`);
      await pool.query(`DELETE FROM ${schema}.job WHERE NOT ready`);
      await multiplyJobs(pool, schema, 1_000);
      await pool.query(`INSERT INTO ${schema}.job OVERRIDING SYSTEM VALUE SELECT * FROM ${schema}.aside`);
    };

    afterAll(async () => {
      await adapter.close();
      await pool.end();
      await dropSchema(inject(server), schema);
    });

    it("a claim of others walks past none of them, whether it asks for a type or for all", async () => {
      for (const requests of [all, [{ queue: "default", typeNames: ["work"], limit: 10 }]]) {
        const pages: number[] = [];
        // The first may find work that has been left for it, such as index entries of dead rows. A walk would be in each.
        for (let turn = 0; turn < 3; turn += 1) {
          let claimed: StateJob[] = [];
          const claiming = await pagesOf(async () => {
            claimed = await claim(adapter, { limit: 10, requests });
          });
          expect(claimed).toHaveLength(10);
          expect(claimed.some(({ group }) => group === "hot")).toBe(false);
          const ending = await pagesOf(() => adapter.commitOutcomes({ outcomes: claimed.map(completionOf) }));
          pages.push(Math.max(claiming, ending));
        }
        expect(Math.min(...pages)).toBeLessThan(10 * mostPagesPerJob);
      }
    });

    it("nor does a question when something can run", async () => {
      expect(await pagesOf(() => adapter.nextRunnableIn({ requests: all }))).toBeLessThan(
        10 * mostPagesPerJob,
      );
      expect(await adapter.nextRunnableIn({ requests: all })).toBe(0);
    });

    it("the numbers are right", async () => {
      expect(await adapter.limits.repairCounters({ repair: false })).toEqual({ counters: [] });
      const call = {
        queue: "default",
        typeName: "work",
        throttled: true,
        order: "waiting",
        limit: 5,
      } as const;
      expect((await adapter.limits.listGroups(call)).groups).toMatchObject([
        { group: "hot", running: 1, waiting: 1_000, throttledBy: "concurrency" },
      ]);
      const [use] = await adapter.limits.listRules({ queue: "default" });
      expect(use).toMatchObject({ claimableGroups: 10_000, throttledGroups: 1 });
      const backlog = await adapter.statistics.measureBacklog({ cap: 500 });
      expect(backlog.find(({ typeName }) => typeName === "work")).toMatchObject({ runnable: 500 });
    });
  },
);
