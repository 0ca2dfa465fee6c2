import pg from "pg";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { createPgPoolProvider } from "../providers/pg-pool.ts";
import { createPgStateAdapter } from "../state-adapter.ts";
import { createPgFixture, type Fixture } from "../testing/fixtures.ts";
import { newJob } from "../testing/test-jobs.ts";

const url = inject("postgres15Url");
const perCall = 1_000;
const count = 2_500;

describe("jobs that wait when a rule about waiting changes", () => {
  let fixture: Fixture;
  let pool: pg.Pool;

  beforeAll(async () => {
    fixture = await createPgFixture(url);
    pool = new pg.Pool({ connectionString: url });
    // One long line, and many short ones.
    const jobs = Array.from({ length: count }, (_, index) =>
      newJob({ priority: index % 3, group: index % 2 === 0 ? null : `group-${index % 100}` }),
    );
    await fixture.adapter.createJobs({ jobs });
  });

  afterAll(async () => {
    await pool.end();
    await fixture.destroy();
  });

  const setAge = (agePriorityMs: number | null) =>
    fixture.adapter.flow.setFlowRule({ queue: "default", typeName: null, change: { agePriorityMs } });
  const reap = () => fixture.adapter.reapExpiredLeases({ limit: 100, error: "" });
  const countMisplaced = async (): Promise<number> => {
    const { schema } = fixture;
    const { rows } = await pool.query(`SELECT count(*)::int AS count FROM ${schema}.job AS j
      WHERE j.priority <> ${schema}.flow_rank(j.queue, coalesce(j.home, j.lane), coalesce(j.base_priority, j.priority), j.due_at)`);
    return rows[0].count as number;
  };
  /** Each job is met twice at most, and each call looks at so many. */
  const enoughCalls = (2 * count) / perCall + 1;

  it.each([
    ["begins to count", 1_000],
    ["counts less", 3_600_000],
    ["counts no more", null],
  ])("get their places, some with each call: it %s", async (_change, agePriorityMs) => {
    await setAge(agePriorityMs);
    let misplaced = await countMisplaced();
    expect(misplaced).toBe(count);
    for (let calls = 0; misplaced > 0; calls += 1) {
      expect(calls).toBeLessThan(enoughCalls);
      await reap();
      const left = await countMisplaced();
      expect(misplaced - left).toBeLessThanOrEqual(perCall);
      misplaced = left;
    }
    const { rows } = await pool.query(
      `SELECT DISTINCT coalesce(base_priority, priority) AS given FROM ${fixture.schema}.job ORDER BY given`,
    );
    expect(rows).toEqual([{ given: 0 }, { given: 1 }, { given: 2 }]);
  });

  it("and there is nothing to do any more when it does not count", async () => {
    await reap();
    const { rows } = await pool.query(
      `SELECT queue FROM ${fixture.schema}.flow_use WHERE rerank IS NOT NULL`,
    );
    expect(rows).toEqual([]);
  });

  it("a job that somebody has locked is not waited for, and has its turn later", async () => {
    await setAge(60_000);
    const client = await pool.connect();
    try {
      await client.query("BEGIN");
      await client.query(`SELECT FROM ${fixture.schema}.job WHERE priority = 1 LIMIT 1 FOR UPDATE`);
      for (let calls = 0; calls <= enoughCalls; calls += 1) await reap();
      expect(await countMisplaced()).toBe(1);
      await client.query("COMMIT");
    } finally {
      client.release();
    }
    for (let calls = 0; calls <= enoughCalls; calls += 1) await reap();
    expect(await countMisplaced()).toBe(0);
  });

  it("so has one that was started by a process that did not know the rule", async () => {
    const starter = await createPgStateAdapter({
      stateProvider: createPgPoolProvider({ pool }),
      schema: fixture.schema,
    });
    await starter.createJobs({ jobs: [newJob({ priority: 1 })] });
    await starter.close();
    expect(await countMisplaced()).toBe(1);
    for (let calls = 0; calls <= enoughCalls; calls += 1) await reap();
    expect(await countMisplaced()).toBe(0);
  });
});
