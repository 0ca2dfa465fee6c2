import { rm } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createBusyRetry } from "../database/busy-retry.ts";
import type { SqliteConnection } from "../database/connection.ts";
import { nameTables, type Tables } from "../database/tables.ts";
import { createSqliteStateAdapter } from "../state-adapter.ts";
import { claimAll, completion, newJob } from "../testing/jobs.ts";
import { createTestFolder, openRaw, testDriver } from "../testing/store.ts";
import { createMigrations, type Migration, migrations, type MigrationsOptions } from "./migrate.ts";

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

// As a later version would have it: a column that may be null, and an index.
const nextMigration: Migration = {
  version: 2,
  name: "note",
  statements: ({ job }) => [
    `ALTER TABLE ${job} ADD COLUMN note TEXT`,
    `CREATE INDEX leasehold_job_note ON ${job} (note) WHERE note IS NOT NULL`,
  ],
};

const laterOptions = (db: SqliteConnection): MigrationsOptions => ({
  db,
  retryBusy: createBusyRetry({ initialDelayMs: 1, maxDelayMs: 20, maxWaitMs: 8_000 }),
  tables: nameTables("leasehold_"),
  idType: "TEXT",
  now: Date.now,
});

describe("migrations", () => {
  it("make this schema", async () => {
    await (await open()).close();
    await expect(`${(await readSchema()).join(";\n\n")};\n`).toMatchFileSnapshot("./schema-snapshot.sql");
  });

  it("can be inspected before they are run", async () => {
    const adapter = await open({ migrate: false });
    const before = await adapter.migrationStatus();
    expect(before.applied).toEqual([]);
    expect(before.pending.map(({ version, name }) => [version, name])).toEqual([[1, "initial"]]);
    expect(before.pending[0]?.sql).toContain("CREATE TABLE");
    expect(await readSchema()).toEqual([]);
    const after = await adapter.migrate();
    expect(after).toEqual({
      applied: [{ version: 1, name: "initial" }],
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

  it("of a later version keep stored jobs, and workers of this version continue on the new tables", async () => {
    const older = await open();
    await older.createJobs({ jobs: [newJob({ id: "a" }), newJob({ id: "b", group: "g" })] });
    const [held] = await claimAll(older, 1);
    const db = await openRaw(file);
    const later = createMigrations({ ...laterOptions(db), known: [...migrations, nextMigration] });
    expect(later.status(db).pending.map(({ name }) => name)).toEqual(["note"]);
    expect((await later.migrate()).applied.map(({ version }) => version)).toEqual([1, 2]);
    expect(await later.migrate()).toEqual(later.status(db));

    expect((await older.migrationStatus()).applied).toContainEqual({ version: 2, name: "note" });
    expect(await older.commitOutcomes({ outcomes: [completion(held!)] })).toMatchObject([
      { kind: "applied" },
    ]);
    await older.createJobs({ jobs: [newJob({ id: "c" })] });
    expect((await claimAll(older)).map(({ id }) => id).sort()).toEqual(
      ["a", "b", "c"].filter((id) => id !== held!.id),
    );
    // A deployment that is rolled back: this version starts on the new tables.
    const again = await open();
    expect((await again.getJobs({ jobIds: ["a", "b", "c"] })).map((job) => job?.id)).toEqual(["a", "b", "c"]);
    expect(db.query("SELECT count(*), count(note) FROM leasehold_job", [])).toEqual([[3, 0]]);
    db.close();
    await again.close();
    await older.close();
  });

  it("of a later version that fail leave the tables as they were", async () => {
    await (await open()).close();
    const schema = await readSchema();
    const db = await openRaw(file);
    const broken = {
      ...nextMigration,
      statements: (tables: Tables) => [...nextMigration.statements(tables, "TEXT"), "CREATE TABLE"],
    };
    const later = createMigrations({ ...laterOptions(db), known: [...migrations, broken] });
    await expect(later.migrate()).rejects.toThrow(/syntax|incomplete/);
    expect(later.status(db).applied.map(({ version }) => version)).toEqual([1]);
    db.close();
    expect(await readSchema()).toEqual(schema);
  });

  it("leave alone what a newer version has done", async () => {
    await (await open()).close();
    const database = await openRaw(file);
    database.exec("INSERT INTO leasehold_migration VALUES (99, 'of the future', 0)");
    database.close();
    const adapter = await open();
    expect((await adapter.migrationStatus()).applied.map(({ version }) => version)).toEqual([1, 99]);
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
