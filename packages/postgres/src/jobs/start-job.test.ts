import { createLeasehold, defineJobTypes, type LeaseholdApi, typeOnly } from "leasehold";
import { randomBytes, randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import { createPgNotifyAdapter } from "../notify/notify-adapter.ts";
import { createPgPoolNotifyProvider } from "../providers/pg-notify.ts";
import { createPgFixture, type Fixture } from "../testing/fixtures.ts";

const anything = { input: typeOnly<unknown>(), output: typeOnly<unknown>() };

const jobTypes = defineJobTypes({
  plain: anything,
  settled: {
    ...anything,
    queue: "mails",
    priority: 7,
    maxAttempts: 9,
    timeoutMs: 5_000,
    leaseMs: 60_000,
    expireAfterMs: 90_000,
    onBlockerFailure: "wait",
  },
  turns: { ...anything, ordered: { onFailure: "stop" } },
  byInput: { ...anything, group: () => "found" },
  waits: { ...anything, blockers: ["plain"] },
  "naïve 🚀 type": { ...anything, queue: "queue 🚚" },
});

const settings = { defaults: { maxAttempts: 6 }, maxPayloadBytes: 10_000 };

// oxlint-disable-next-line typescript/no-explicit-any -- the options come from a table
type AnyLeasehold = Pick<LeaseholdApi<any, any, any>, "startJobSequence" | "jobs" | "createWorker">;

describe.each([
  ["PostgreSQL 15", "postgres15Url"],
  ["PostgreSQL 18", "postgres18Url"],
] as const)("%s: start_job", (_name, server) => {
  let fixture: Fixture;
  let pool: pg.Pool;
  let leasehold: AnyLeasehold;
  let startJob: string;

  beforeAll(async () => {
    fixture = await createPgFixture(inject(server));
    pool = new pg.Pool({ connectionString: inject(server), max: 4 });
    startJob = `${fixture.schema}.start_job`;
    leasehold = (await createLeasehold({
      stateAdapter: fixture.adapter,
      jobTypes,
      ...settings,
    })) as AnyLeasehold;
    // A worker that takes none of the jobs below registers all types.
    const worker = await leasehold
      .createWorker()
      .implementJobType({ typeName: "plain", process: async () => null })
      .start({ queues: { elsewhere: {} } });
    await worker.stop();
  }, 60_000);

  afterAll(async () => {
    await pool.end();
    await fixture.destroy();
  });

  const start = async (sql: string, values: unknown[] = []): Promise<string> => {
    const { rows } = await pool.query<{ id: string }>(`SELECT ${startJob}(${sql}) AS id`, values);
    return rows[0]!.id;
  };

  /** The whole row: ids and times in relation to each other, and the input as JSON. */
  const readRow = async (id: string): Promise<Record<string, unknown>> => {
    const { rows } = await pool.query<{ row: Record<string, unknown> }>(
      `SELECT to_jsonb(j) AS row FROM ${fixture.schema}.job AS j WHERE id = $1`,
      [id],
    );
    const { position: _position, ...row } = rows[0]!.row;
    const created = Number(row["created_at"]);
    const relative = Object.entries(row).map(([name, value]) => {
      if (value === id) return [name, "the id"];
      if (name === "input") return [name, JSON.parse(String(value)) as unknown];
      const isNear = ["created_at", "due_at", "scheduled_at", "sequence_created_at"].includes(name);
      return [name, isNear && Number(value) - created < 10 ** 9 ? Number(value) - created : value];
    });
    return Object.fromEntries(relative) as Record<string, unknown>;
  };

  const input = { "zwei Wörter": [1, 2.5, null, true, "🚀"], nested: { a: "b" } };
  const later = "2040-01-01T00:00:00.123Z";

  it.each<[string, string, object]>([
    ["nothing but the type", "'plain'", { typeName: "plain" }],
    ["an input", `'plain', '${JSON.stringify(input)}'`, { typeName: "plain", input }],
    ["the settings of its type", "'settled'", { typeName: "settled" }],
    [
      "settings of its own",
      "'settled', queue => 'letters', priority => -3, max_attempts => 2, timeout => '1.5 s', expire_after => '1 hour'",
      {
        typeName: "settled",
        queue: "letters",
        priority: -3,
        maxAttempts: 2,
        timeoutMs: 1_500,
        expireAfterMs: 3_600_000,
      },
    ],
    [
      "a longer timeout than its type",
      "'settled', timeout => '1 hour'",
      { typeName: "settled", timeoutMs: 3_600_000 },
    ],
    ["a delay", "'plain', run_after => '90 s'", { typeName: "plain", schedule: { afterMs: 90_000 } }],
    ["a time", `'plain', run_at => '${later}'`, { typeName: "plain", schedule: { at: new Date(later) } }],
    [
      "a time in the past",
      "'plain', run_at => '2020-01-01'",
      { typeName: "plain", schedule: { at: new Date(0) } },
    ],
    ["a group", "'plain', group_key => 'acme'", { typeName: "plain", group: "acme" }],
    [
      "a group, later",
      "'plain', group_key => 'acme', run_after => '1 min'",
      { typeName: "plain", group: "acme", schedule: { afterMs: 60_000 } },
    ],
    ["an ordered group", "'turns', group_key => 'acme 🚀'", { typeName: "turns", group: "acme 🚀" }],
    [
      "names beyond the first plane",
      "'naïve 🚀 type', group_key => '🚀'",
      { typeName: "naïve 🚀 type", group: "🚀" },
    ],
    ["such names without a group", "'naïve 🚀 type'", { typeName: "naïve 🚀 type" }],
  ])("makes the row of the API: %s", async (_name, sql, options) => {
    const bySql = await readRow(await start(sql));
    const { id } = await leasehold.startJobSequence({ input: null, ...options } as never);
    expect(bySql).toEqual(await readRow(id));
  });

  it("makes the row of the API: a deduplication key", async () => {
    const key = randomUUID();
    const bySql = await readRow(await start("'plain', deduplication_key => $1", [`sql ${key}`]));
    const { id } = await leasehold.startJobSequence({
      typeName: "plain",
      input: null,
      deduplication: { key: `api ${key}` },
    } as never);
    expect({ ...bySql, deduplication_key: key }).toEqual({ ...(await readRow(id)), deduplication_key: key });
  });

  it("tells limits of groups as much as the API does", async () => {
    const deltas = async (group: string) => {
      const { rows } = await pool.query(
        `SELECT to_jsonb(d) - 'number' - 'group_key' - 'claim_key' AS delta FROM ${fixture.schema}.limit_delta AS d WHERE group_key = $1`,
        [group],
      );
      return rows as unknown[];
    };
    const [a, b] = [randomUUID(), randomUUID()];
    const type = await pool.query(
      `SELECT count(*)::int AS types FROM ${fixture.schema}.limit_rule WHERE has_groups`,
    );
    expect(type.rows).not.toEqual([{ types: 0 }]);
    await start("'turns', group_key => $1", [a]);
    await leasehold.startJobSequence({ typeName: "turns", input: null, group: b } as never);
    expect(await deltas(a)).toEqual(await deltas(b));
    expect(await deltas(a)).toHaveLength(1);
  });

  it.each(["unfinished", "all", "pending"])(
    "finds the duplicates that the API finds: %s",
    async (strategy) => {
      const key = randomUUID();
      const byApi = () =>
        leasehold.startJobSequence({
          typeName: "plain",
          input: null,
          deduplication: { key, strategy },
        } as never);
      const bySql = () =>
        start("'plain', deduplication_key => $1, deduplication_strategy => $2", [key, strategy]);
      const first = await bySql();
      expect((await byApi()).id).toBe(first);
      expect(await bySql()).toBe(first);
      await leasehold.jobs.cancel({ ids: [first] } as never);
      const next = await bySql();
      expect(next === first).toBe(strategy === "all");
      expect((await byApi()).id).toBe(next);
      const window = await start(
        "'plain', deduplication_key => $1, deduplication_strategy => 'all', deduplication_window => '1 ms'",
        [key],
      );
      expect(window).not.toBe(next);
    },
  );

  it.each(["SQL", "the API"])(
    "waits for a transaction that has started a job of the key by %s",
    async (by) => {
      const key = randomUUID();
      const client = await pool.connect();
      await client.query("BEGIN");
      const { rows } = await client.query<{ id: string }>(
        `SELECT ${startJob}('plain', deduplication_key => $1) AS id`,
        [key],
      );
      const second =
        by === "SQL"
          ? start("'plain', deduplication_key => $1", [key])
          : leasehold
              .startJobSequence({ typeName: "plain", input: null, deduplication: { key } } as never)
              .then(({ id }) => id);
      const countWaiting = async (): Promise<unknown> => {
        const waiting = await pool.query(
          `SELECT count(*)::int AS count FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
          AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
        );
        return (waiting.rows as { count: number }[])[0]!.count > 0;
      };
      await expect.poll(countWaiting).toBe(true);
      await client.query("COMMIT");
      client.release();
      expect(await second).toBe(rows[0]!.id);
    },
  );

  it.each([
    ["'unknown'", "not registered"],
    ["'waits'", "cannot be started from SQL"],
    ["'byInput'", "needs a group_key"],
    ["'turns'", "needs a group_key"],
    ["'plain', queue => ''", "queue must have 1 to 200 characters"],
    ["'plain', max_attempts => 0", "max_attempts must be at least 1"],
    ["'plain', run_after => '-1 s'", "run_after must be 0 or more"],
    ["'plain', run_at => 'infinity'", "too far away"],
    ["'plain', run_at => now(), run_after => '1 s'", "exclude each other"],
    ["'plain', expire_after => '0 s'", "expire_after must be more than 0"],
    [
      "'plain', deduplication_key => 'a', deduplication_strategy => 'some'",
      "must be unfinished, all or pending",
    ],
    ["'plain', to_jsonb(repeat('x', 10000))", "more than 10000 bytes"],
  ])("refuses %s", async (sql, message) => {
    await expect(start(sql)).rejects.toThrow(message);
  });

  it("belongs to the transaction of its caller, and takes an id", async () => {
    const id = randomUUID();
    const client = await pool.connect();
    await client.query("BEGIN");
    await client.query(`SELECT ${startJob}('plain', id => $1)`, [id]);
    await client.query("ROLLBACK");
    client.release();
    expect(await leasehold.jobs.get({ id })).toBeUndefined();
    expect(await start("'plain', id => $1", [id])).toBe(id);
    await expect(start("'plain', id => $1", [id])).rejects.toThrow("job_pkey");
  });

  it("refuses a key where the transaction could not see its duplicates", async () => {
    const client = await pool.connect();
    await client.query("BEGIN ISOLATION LEVEL REPEATABLE READ");
    await expect(client.query(`SELECT ${startJob}('plain', deduplication_key => 'a')`)).rejects.toThrow(
      "read committed",
    );
    await client.query("ROLLBACK");
    client.release();
  });

  it("is only for roles that were granted it, and does not use what they put in its way", async () => {
    const role = `caller_${randomBytes(6).toString("hex")}`;
    await pool.query(
      `CREATE ROLE ${role}; CREATE SCHEMA ${role} AUTHORIZATION ${role}; GRANT USAGE ON SCHEMA ${fixture.schema} TO ${role}`,
    );
    const client = await pool.connect();
    try {
      await client.query(`SET ROLE ${role}`);
      await expect(client.query(`SELECT ${startJob}('plain')`)).rejects.toThrow(
        "permission denied for function",
      );
      await client.query(`RESET ROLE; GRANT EXECUTE ON FUNCTION ${startJob} TO ${role}; SET ROLE ${role}`);
      // A function of the caller with the name of one that is called inside, first in its search path.
      await client.query(`SET search_path = ${role}, pg_catalog`);
      await client.query(`CREATE FUNCTION sha256(bytea) RETURNS bytea LANGUAGE sql AS 'SELECT NULL::bytea'`);
      const { rows } = await client.query<{ id: string }>(`SELECT ${startJob}('plain') AS id`);
      await expect(client.query(`SELECT * FROM ${fixture.schema}.job`)).rejects.toThrow("permission denied");
      await client.query("RESET ROLE; RESET search_path");
      expect((await readRow(rows[0]!.id))["type_name"]).toBe("plain");
    } finally {
      await client.query(`RESET ROLE; DROP OWNED BY ${role}; DROP ROLE ${role}`);
      client.release();
    }
  });

  it("runs, and wakes a worker if asked to", async () => {
    const notifyPool = new pg.Pool({ connectionString: inject(server), max: 3 });
    const channelPrefix = `sql_${randomBytes(6).toString("hex")}`;
    const notifyAdapter = await createPgNotifyAdapter({
      notifyProvider: createPgPoolNotifyProvider({ pool: notifyPool }),
      channelPrefix,
    });
    const ran: unknown[] = [];
    const woken = await createLeasehold({
      stateAdapter: fixture.adapter,
      jobTypes,
      notifyAdapter,
      ...settings,
    });
    const queue = randomUUID();
    // Polls too seldom to find the job by itself.
    const worker = await woken
      .createWorker()
      .implementJobType({ typeName: "settled", process: async ({ job }) => ran.push(job.input) })
      .start({ queues: { [queue]: {} }, pollIntervalMs: 600_000 });
    await start("'settled', '{\"n\": 1}', queue => $1, notify => true, channel_prefix => $2", [
      queue,
      channelPrefix,
    ]);
    await expect.poll(() => ran).toEqual([{ n: 1 }]);
    await worker.stop();
    await notifyAdapter.close();
    await notifyPool.end();
  });

  it("starts a job for each changed row of a table", async () => {
    const table = `${fixture.schema}.changing`;
    await pool.query(`CREATE TABLE ${table} (id int PRIMARY KEY, status text)`);
    await pool.query(
      `SELECT ${fixture.schema}.start_on_change('${table}', 'plain', ARRAY['insert', 'update'])`,
    );
    await pool.query(`SELECT ${fixture.schema}.start_on_change('${table}', 'plain')`); // replaces it
    const { rows: before } = await pool.query<{ last: string }>(
      `SELECT max(position) AS last FROM ${fixture.schema}.job`,
    );
    await pool.query(`INSERT INTO ${table} VALUES (1, 'new'), (2, 'new')`);
    await pool.query(`UPDATE ${table} SET status = 'paid' WHERE id = 1; DELETE FROM ${table} WHERE id = 2`);
    await pool.query(`SELECT ${fixture.schema}.stop_on_change('${table}', 'plain')`);
    await pool.query(`DELETE FROM ${table}`);
    const { rows } = await pool.query<{ input: string }>(
      `SELECT input FROM ${fixture.schema}.job WHERE position > $1 ORDER BY position`,
      [before[0]!.last],
    );
    expect(rows.map(({ input: text }) => JSON.parse(text) as unknown)).toEqual([
      { table, operation: "insert", old: null, new: { id: 1, status: "new" } },
      { table, operation: "insert", old: null, new: { id: 2, status: "new" } },
      { table, operation: "update", old: { id: 1, status: "new" }, new: { id: 1, status: "paid" } },
      { table, operation: "delete", old: { id: 2, status: "new" }, new: null },
    ]);
    // A trigger for such a type would refuse every change of the table.
    await expect(
      pool.query(`SELECT ${fixture.schema}.start_on_change('${table}', 'unknown')`),
    ).rejects.toThrow("not registered");
  });

  it("is called as the page says", async () => {
    const page = readFileSync(resolve(import.meta.dirname, "../../../../docs/postgres.md"), "utf8");
    const blocks = [...page.matchAll(/<!-- statements that a test runs -->\n\n```sql\n([\s\S]*?)```/g)];
    expect(blocks).toHaveLength(2);
    const client = new pg.Client({ connectionString: inject(server) });
    await client.connect();
    try {
      await client.query(`BEGIN; SET LOCAL search_path = ${fixture.schema}`);
      await client.query(`CREATE TABLE orders (); CREATE TABLE customers ();
        INSERT INTO job_type (type_name, queue, priority, max_attempts, on_blocker_failure, needs_group, startable, max_payload_bytes)
        SELECT name, 'default', 0, 4, 'fail', false, true, 10000
        FROM unnest(ARRAY['send-mail', 'sync-order', 'sync-customer']) AS name`);
      for (const [, statements] of blocks)
        await client.query(statements!.replaceAll("leasehold.", `${fixture.schema}.`));
      const sent = "SELECT count(*)::int AS jobs FROM job WHERE type_name = 'send-mail'";
      expect((await client.query(sent)).rows).toEqual([{ jobs: 2 }]);
    } finally {
      await client.end();
    }
  });

  it("knows types as they were registered last, and writes only what has changed", async () => {
    const versions = async () => {
      const { rows } = await pool.query(
        `SELECT type_name, xmin::text || ' ' || xmax::text AS version FROM ${fixture.schema}.job_type ORDER BY type_name`,
      );
      return new Map(rows.map(({ type_name, version }: Record<string, string>) => [type_name, version]));
    };
    const before = await versions();
    const register = async (queue: string): Promise<void> => {
      const types = defineJobTypes({ plain: anything, settled: { ...anything, queue } });
      const other = await createLeasehold({
        stateAdapter: fixture.adapter,
        jobTypes: types,
        ...settings,
      });
      const worker = await other
        .createWorker()
        .implementJobType({ typeName: "plain", process: async () => null })
        .start({ queues: { elsewhere: {} } });
      await worker.stop();
    };
    await register("parcels");
    const after = await versions();
    expect(after.get("plain")).toBe(before.get("plain"));
    expect(after.get("settled")).not.toBe(before.get("settled"));
    expect((await readRow(await start("'settled'")))["queue"]).toBe("parcels");
    await register("mails");
  });
});
