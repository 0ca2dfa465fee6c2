import pg from "pg";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import type { PgStateProvider } from "../database/provider.ts";
import { createPgPoolStateProvider } from "../providers/pg-pool.ts";
import { createPgStateAdapter, type PgStateAdapter } from "../state-adapter.ts";
import { dropSchema, newSchemaName } from "../testing/fixtures.ts";
import { claim, completionOf, newJob } from "../testing/test-jobs.ts";

const url = inject("postgres15Url");

describe("the rules of many queues", () => {
  const schema = newSchemaName();
  const pool = new pg.Pool({ connectionString: url, max: 2 });
  const queues = Array.from({ length: 12 }, (_, index) => `queue-${index}`);
  let statements = 0;
  let last: Parameters<PgStateProvider<object, object>["executeSql"]>[1] | undefined;
  let adapter: PgStateAdapter;

  beforeAll(async () => {
    const provider = createPgPoolStateProvider({ pool }) as unknown as PgStateProvider<object, object>;
    const stateProvider: PgStateProvider<object, object> = {
      ...provider,
      executeSql: (ctx, statement) => {
        statements += 1;
        last = statement;
        return provider.executeSql(ctx, statement);
      },
    };
    adapter = await createPgStateAdapter({ stateProvider, schema });
  });
  afterAll(async () => {
    await pool.end();
    await dropSchema(url, schema);
  });

  const list = async (queue: string | null) => {
    statements = 0;
    return { uses: await adapter.limits.listRules({ queue }), statements };
  };

  it("are read in a few statements, whatever their number, with the usage of each", async () => {
    for (const [index, queue] of queues.entries()) {
      await adapter.limits.setRule({ queue, typeName: null, change: { concurrency: 10 } });
      const rate = { limit: 100, perMs: 3_600_000, burst: 100 };
      await adapter.limits.setRule({ queue, typeName: "work", change: { rate } });
      await adapter.createJobs({
        jobs: Array.from({ length: index + 1 }, (_, job) => newJob({ queue, group: `group-${job}` })),
      });
      const requests = [{ queue, typeNames: ["work"], limit: 1 }];
      await claim(adapter, { limit: 1, requests });
    }
    // Edits count running jobs again for ten seconds.
    await pool.query(`DELETE FROM ${schema}.limit_edit`);
    await list(null);
    const all = await list(null);
    const summary = all.uses.map(({ rule, running, tokens, claimableGroups }) => [
      rule.queue,
      rule.typeName,
      running,
      tokens === null ? null : Math.floor(tokens),
      claimableGroups,
    ]);
    expect(summary).toEqual(
      queues.toSorted().flatMap((queue) => {
        const waiting = queues.indexOf(queue);
        return [
          [queue, null, 1, null, waiting],
          [queue, "work", 0, 99, waiting],
        ];
      }),
    );
    expect(all.statements).toBe(4);
    expect((await list(queues[3]!)).uses).toEqual(all.uses.filter(({ rule }) => rule.queue === queues[3]));
  });

  it("are settled first where something has changed, and only there", async () => {
    const queue = queues[5]!;
    const running = await claim(adapter, { limit: 3, requests: [{ queue, typeNames: ["work"], limit: 3 }] });
    await adapter.commitOutcomes({ outcomes: running.map(completionOf) });
    const before = await list(null);
    expect(before.statements).toBe(5);
    const use = before.uses.find(({ rule }) => rule.queue === queue && rule.typeName === null);
    expect(use).toMatchObject({ running: 1, claimableGroups: 2 });
    const { rows } = await pool.query(`SELECT FROM ${schema}.limit_delta`);
    expect(rows).toEqual([]);
    expect((await list(null)).statements).toBe(4);
  });

  it("and a page of groups by name reads the index of waiting groups in its order", async () => {
    const queue = "pages";
    await adapter.createJobs({ jobs: ["d", "b", "c", "a"].map((group) => newJob({ queue, group })) });
    const page = await adapter.limits.listGroups({ queue, typeName: "work", order: "name", limit: 3 });
    expect([page.groups.map(({ group }) => group), page.next]).toEqual([["a", "b", "c"], "c"]);
    const { sql, params } = last!;
    const client = await pool.connect();
    try {
      await client.query("SET enable_seqscan = off; SET enable_bitmapscan = off; SET enable_sort = off");
      const { rows } = await client.query<{ "QUERY PLAN": string }>(`EXPLAIN ${sql}`, [...params]);
      const plan = rows.map((row) => row["QUERY PLAN"]).join("\n");
      expect(plan).toMatch(/Limit.*\n *->  Index Scan using group_state_waiting on group_state/);
    } finally {
      client.release(true);
    }
  });
});
