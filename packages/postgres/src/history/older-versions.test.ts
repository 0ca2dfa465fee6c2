import pg from "pg";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { migrate } from "../migrate.ts";
import { migrations } from "../migrations/index.ts";
import { createPgPoolProvider } from "../providers/pg-pool.ts";
import { queueTypeNumber } from "../queue-types.ts";
import { createPgStateAdapter, type PgStateAdapter } from "../state-adapter.ts";
import { nameTables } from "../tables.ts";
import { dropSchema, newSchemaName } from "../testing/fixtures.ts";
import { claim, failureOf, newJob } from "../testing/test-jobs.ts";

const url = inject("postgres18Url");
const before = migrations.filter(({ version }) => version <= 8);

describe("a worker of an older version, which knows nothing of the history", () => {
  const schema = newSchemaName();
  const pool = new pg.Pool({ connectionString: url, max: 5 });
  // One connection, as a worker keeps it, with plans from before the migration.
  const older = new pg.Client({ connectionString: url });
  let adapter: PgStateAdapter;

  const storeAsBefore = (): Promise<unknown> =>
    older.query({
      name: "store",
      text: `INSERT INTO ${schema}.job (id, sequence_id, root_sequence_id, lane, created_at, due_at, scheduled_at,
           sequence_created_at, status, priority, sequence_index, max_attempts, ready, queue, type_name,
           sequence_type_name, input)
         SELECT id, id, id, $1, 1, 1, 1, 1, 'pending', 0, 0, 4, true, 'default', 'work', 'work', 'null'
         FROM gen_random_uuid() AS id`,
      values: [queueTypeNumber("default", "work")],
    });
  /** By the function for queues with rules, which returns rows of the table. */
  const claimAsBefore = async (now: number, leaseMs = 30_000): Promise<string[]> => {
    const { rows } = await older.query<{ id: string }>({
      name: "claim",
      text: `SELECT j.id FROM ${schema}.flow_claim($1, 'default', $2, '{NULL}', 5, $3, 'token', 'older') AS j`,
      values: [now, `{${queueTypeNumber("default", "work")}}`, leaseMs],
    });
    return rows.map(({ id }) => id);
  };
  const endAsBefore = (status: string, id: string): Promise<unknown> =>
    older.query({
      name: "end",
      text: `UPDATE ${schema}.job SET status = $1::${schema}.job_status, ready = false, slots = NULL,
        finished_at = CASE WHEN $1 = 'pending' THEN 0 ELSE 1 END, leased_by = NULL WHERE id = $2`,
      values: [status, id],
    });
  const fingerprintOf = async (id: string): Promise<string | null> => {
    const { rows } = await pool.query<{ fingerprint: string | null }>(
      `SELECT fingerprint FROM ${schema}.job WHERE id = $1`,
      [id],
    );
    return rows[0]!.fingerprint;
  };
  const failOne = async (): Promise<string> => {
    await adapter.createJobs({ jobs: [newJob()] });
    const [job] = await claim(adapter, { limit: 1 });
    await adapter.commitOutcomes({ outcomes: [failureOf(job!)] });
    expect(await adapter.history.listAttempts({ jobIds: [job!.id] })).toMatchObject([[{ outcome: "fail" }]]);
    return job!.id;
  };

  beforeAll(async () => {
    await older.connect();
    const provider = createPgPoolProvider({ pool });
    await migrate(provider, nameTables(`"${schema}"`, "uuid", "gen_random_uuid()"), before);
    for (let time = 0; time < 6; time += 1) {
      await storeAsBefore();
      const [id] = await claimAsBefore(Date.now());
      await endAsBefore("completed", id!);
    }
    adapter = await createPgStateAdapter({ stateProvider: provider, schema });
  });
  afterAll(async () => {
    await adapter.close();
    await older.end();
    await pool.end();
    await dropSchema(url, schema);
  });

  it("goes on on its connection", async () => {
    await storeAsBefore();
    const [id] = await claimAsBefore(Date.now());
    await endAsBefore("completed", id!);
    const [job] = await adapter.getJobs({ jobIds: [id!] });
    expect(job).toMatchObject({ status: "completed" });
  });

  it("records a lease that ran out when it claims under rules", async () => {
    await storeAsBefore();
    const now = Date.now();
    const [id] = await claimAsBefore(now, 1_000);
    expect(await claimAsBefore(now + 1_000)).toEqual([id]);
    expect(await adapter.history.listAttempts({ jobIds: [id!] })).toMatchObject([
      [{ outcome: "expired", workerId: "older", leaseVersion: 1, startedAt: now, endedAt: now + 1_000 }],
    ]);
    await endAsBefore("completed", id!);
  });

  it("redrives a job and leaves its fingerprint, which nobody finds and the next end takes away", async () => {
    const id = await failOne();
    const fingerprint = (await fingerprintOf(id))!;
    await endAsBefore("pending", id);
    expect(await fingerprintOf(id)).toBe(fingerprint);
    expect(await adapter.countJobs({ filter: { fingerprints: [fingerprint] } })).toEqual([]);
    await adapter.cancelSequences({ sequenceIds: [id], error: "cancelled" });
    expect(await fingerprintOf(id)).toBeNull();
  });

  it("deletes a job and leaves its attempts, which nobody finds", async () => {
    const id = await failOne();
    await older.query(`DELETE FROM ${schema}.job WHERE id = $1`, [id]);
    expect(await adapter.history.listAttempts({ jobIds: [id] })).toEqual([[]]);
  });
});
