import { rm } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { nameTables } from "../database/tables.ts";
import { createSqliteStateAdapter } from "../state-adapter.ts";
import { claimAll, completion, newJob } from "../testing/jobs.ts";
import { createTestFolder, openRaw, testDriver } from "../testing/store.ts";
import { createJobTables } from "./0001-initial.ts";

let folder: string;

let file: string;

beforeEach(async () => {
  folder = await createTestFolder();
  file = join(folder, "jobs.db");
});

afterEach(() => rm(folder, { recursive: true, force: true }));

const readSchema = async (): Promise<string[]> => {
  const database = await openRaw(file);
  const rows = database.query("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY rowid", []);
  database.close();
  return rows.map(([sql]) => sql as string);
};

const open = (
  options: { migrate?: boolean; idType?: string } = {},
): ReturnType<typeof createSqliteStateAdapter> =>
  createSqliteStateAdapter({ file, driver: testDriver, ...options });

describe("migrations", () => {
  it("make this schema", async () => {
    await (await open()).close();
    await expect(`${(await readSchema()).join(";\n\n")};\n`).toMatchFileSnapshot("./schema-snapshot.sql");
  });

  it("can be inspected before they are run", async () => {
    const adapter = await open({ migrate: false });
    const before = await adapter.migrationStatus();
    expect(before.applied).toEqual([]);
    expect(before.pending.map(({ version, name }) => [version, name])).toEqual([
      [1, "jobs"],
      [2, "attempts"],
      [3, "blocked-jobs"],
      [4, "recurring-jobs"],
      [5, "waiting-jobs"],
      [6, "flow"],
      [7, "history"],
      [8, "cause-last-seen"],
    ]);
    expect(before.pending[0]?.sql).toContain("CREATE TABLE");
    expect(await readSchema()).toEqual([]);
    const after = await adapter.migrate();
    expect(after).toEqual({
      applied: [
        { version: 1, name: "jobs" },
        { version: 2, name: "attempts" },
        { version: 3, name: "blocked-jobs" },
        { version: 4, name: "recurring-jobs" },
        { version: 5, name: "waiting-jobs" },
        { version: 6, name: "flow" },
        { version: 7, name: "history" },
        { version: 8, name: "cause-last-seen" },
      ],
      pending: [],
    });
    expect(await adapter.migrationStatus()).toEqual(after);
    await adapter.createJobs({ jobs: [newJob()] });
    await adapter.close();
  });

  it("do nothing the second time", async () => {
    const adapter = await open();
    const schema = await readSchema();
    await adapter.createJobs({ jobs: [newJob()] });
    await adapter.migrate();
    await (await open()).close();
    expect(await readSchema()).toEqual(schema);
    expect(await adapter.countJobs({ filter: {} })).toHaveLength(1);
    await adapter.close();
  });

  it("run once when many start at the same time", async () => {
    const adapters = await Promise.all(Array.from({ length: 8 }, () => open()));
    const statuses = await Promise.all(adapters.map((adapter) => adapter.migrate()));
    expect(new Set(statuses.map((status) => JSON.stringify(status))).size).toBe(1);
    for (const adapter of adapters) {
      await adapter.createJobs({ jobs: [newJob()] });
      await adapter.close();
    }
  });

  it("keep jobs that the first version has stored", async () => {
    const database = await openRaw(file);
    for (const sql of createJobTables(nameTables("leasehold_"), "TEXT")) database.exec(sql);
    database.exec(
      "CREATE TABLE leasehold_migration (version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at INTEGER NOT NULL)",
    );
    database.exec("INSERT INTO leasehold_migration VALUES (1, 'jobs', 0)");
    database.exec(`INSERT INTO leasehold_job (id, status, queue, type_name, priority, scheduled_at, max_attempts, sequence_id,
        sequence_type_name, sequence_index, sequence_created_at, root_sequence_id, created_at, on_blocker_failure, input)
      VALUES ('a', 'pending', 'queue', 'type', 0, 1, 4, 'a', 'type', 0, 1, 'a', 1, 'fail', 'null')`);
    database.close();
    const adapter = await open();
    const [job] = await claimAll(adapter);
    expect(job).toMatchObject({ id: "a", maxAttemptsGiven: true, lastFailedAt: null });
    expect(await adapter.commitOutcomes({ outcomes: [completion(job!)] })).toMatchObject([
      { kind: "applied" },
    ]);
    await adapter.close();
  });

  it("leave alone what a newer version has done", async () => {
    await (await open()).close();
    const database = await openRaw(file);
    database.exec("INSERT INTO leasehold_migration VALUES (99, 'of the future', 0)");
    database.close();
    const adapter = await open();
    expect((await adapter.migrationStatus()).applied.map(({ version }) => version)).toEqual([
      1, 2, 3, 4, 5, 6, 7, 8, 99,
    ]);
    await adapter.createJobs({ jobs: [newJob()] });
    await adapter.close();
  });

  it("that fail leave nothing behind", async () => {
    const database = await openRaw(file);
    database.exec("CREATE TABLE leasehold_job_blocker (mine TEXT)");
    database.close();
    await expect(open()).rejects.toThrow(/already exists/);
    expect(await readSchema()).toEqual(["CREATE TABLE leasehold_job_blocker (mine TEXT)"]);
  });

  it("use the SQL type for ids that the options name", async () => {
    const adapter = await open({ idType: "VARCHAR(64)" });
    expect((await readSchema())[1]).toContain("id VARCHAR(64) NOT NULL UNIQUE");
    await adapter.createJobs({ jobs: [newJob({ id: "007" })] });
    expect((await adapter.getJobs({ jobIds: ["007"] }))[0]?.id).toBe("007");
    await adapter.close();
  });
});
