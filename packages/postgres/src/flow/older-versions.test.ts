import { FlowNotEnabledError } from "leasehold/adapter";
import pg from "pg";
import { expect, inject, it } from "vitest";
import { migrate } from "../migrate.ts";
import { migrations } from "../migrations/index.ts";
import { createPgPoolProvider } from "../providers/pg-pool.ts";
import { isAmongLines, queueTypeNumber } from "../queue-types.ts";
import { createPgStateAdapter } from "../state-adapter.ts";
import { nameTables } from "../tables.ts";
import { dropSchema, newSchemaName } from "../testing/fixtures.ts";
import { claim, completionOf, newJob } from "../testing/test-jobs.ts";

const url = inject("postgres18Url");
const before = migrations.filter(({ name }) => !name.startsWith("flow"));

it("while workers of an older version may be left, jobs run as ever, and groups and rules are refused", async () => {
  const schema = newSchemaName();
  const pool = new pg.Pool({ connectionString: url, max: 5 });
  const provider = createPgPoolProvider({ pool });
  const names = Array.from({ length: 5_000 }, (_, index) => `type-${index}`);
  const amongLines = names.find((name) => isAmongLines(queueTypeNumber("default", name)))!;

  // As the version before it stores, claims and completes.
  const storeAsBefore = (typeName: string): Promise<unknown> =>
    pool.query(
      `INSERT INTO ${schema}.job (id, sequence_id, root_sequence_id, lane, created_at, due_at, scheduled_at,
         sequence_created_at, status, priority, sequence_index, max_attempts, ready, queue, type_name,
         sequence_type_name, input)
       SELECT id, id, id, $1, 1, 1, 1, 1, 'pending', 0, 0, 4, true, 'default', $2, $2, 'null'
       FROM gen_random_uuid() AS id`,
      [queueTypeNumber("default", typeName), typeName],
    );
  const runAsBefore = async (): Promise<number | null> => {
    const lane = queueTypeNumber("default", "work");
    await pool.query(
      `UPDATE ${schema}.job SET status = 'running', ready = false, due_at = due_at + 30000, attempt = attempt + 1,
         lease_token = 'older', lease_version = lease_version + 1, leased_by = 'older'
       WHERE id = (SELECT id FROM ${schema}.job WHERE ready AND lane = $1 ORDER BY priority DESC, due_at, position LIMIT 1
         FOR NO KEY UPDATE SKIP LOCKED)`,
      [lane],
    );
    const { rowCount } = await pool.query(
      `UPDATE ${schema}.job SET status = 'completed', ready = false, finished_at = 1, output = 'null', leased_by = NULL
       WHERE status = 'running' AND lease_token = 'older'`,
    );
    return rowCount;
  };

  try {
    await migrate(provider, nameTables(`"${schema}"`, "uuid", "gen_random_uuid()"), before);
    await storeAsBefore("work");
    const adapter = await createPgStateAdapter({ stateProvider: provider, schema });

    const grouped = { jobs: [newJob({ group: "a" })] };
    await expect(adapter.createJobs(grouped)).rejects.toThrow(FlowNotEnabledError);
    const rule = { queue: "default", typeName: null, change: { concurrency: 1 } };
    await expect(adapter.flow.setFlowRule(rule)).rejects.toThrow(FlowNotEnabledError);

    expect(await runAsBefore()).toBe(1);
    await storeAsBefore("work");
    const [job] = await claim(adapter, { limit: 5 });
    expect(await adapter.commitOutcomes({ outcomes: [completionOf(job!)] })).toMatchObject([
      { kind: "applied" },
    ]);
    await adapter.createJobs({ jobs: [newJob()] });
    expect(await runAsBefore()).toBe(1);

    // The number of this type is among those of lines, and nobody has said that there is such a type.
    await storeAsBefore(amongLines);
    await adapter.flow.enableFlow({});
    await adapter.createJobs(grouped);
    await adapter.flow.setFlowRule(rule);
    const requests = [{ queue: "default", typeNames: null, limit: 5 }];
    const [first] = await claim(adapter, { limit: 5, requests });
    await adapter.commitOutcomes({ outcomes: [completionOf(first!)] });
    const [second] = await claim(adapter, { limit: 5, requests });
    expect([first!.typeName, second!.typeName].sort()).toEqual([amongLines, "work"].sort());
    await adapter.close();
  } finally {
    await pool.end();
    await dropSchema(url, schema);
  }
});

it("a store that was made by this version needs no such call", async () => {
  const schema = newSchemaName();
  const pool = new pg.Pool({ connectionString: url, max: 2 });
  try {
    const adapter = await createPgStateAdapter({ stateProvider: createPgPoolProvider({ pool }), schema });
    await adapter.createJobs({ jobs: [newJob({ group: "a" })] });
    expect(await claim(adapter, { limit: 1 })).toHaveLength(1);
    await adapter.close();
  } finally {
    await pool.end();
    await dropSchema(url, schema);
  }
});
