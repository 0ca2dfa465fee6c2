import type { CheckDepth } from "leasehold/adapter";
import { open } from "node:fs/promises";
import { expect, it } from "vitest";
import { createSqliteStateAdapter, type SqliteStateAdapter } from "./state-adapter.ts";
import { newJob } from "./testing/jobs.ts";
import { createTestStore, openRaw, testDriver } from "./testing/store.ts";

const runChecks = async ({ diagnostics }: SqliteStateAdapter, depth: CheckDepth = "usual") =>
  (await diagnostics.runChecks({ depth, transactionAgeMs: 60_000 })).map(
    ({ check, status, summary }) => [check, status, summary] as const,
  );

const checksOf = async (adapter: SqliteStateAdapter, depth?: CheckDepth): Promise<string[]> =>
  (await runChecks(adapter, depth)).map(([check]) => check);

it("reads the file only as far as it may", async () => {
  const { adapter, destroy } = await createTestStore();
  const all = ["migrations", "integrity", "journal", "write-ahead log", "free space", "indexes"];
  expect(await checksOf(adapter, "light")).toEqual(all.filter((check) => check !== "integrity"));
  expect(await checksOf(adapter)).toEqual(all);
  expect(await runChecks(adapter)).toContainEqual([
    "integrity",
    "ok",
    "PRAGMA quick_check finds nothing wrong.",
  ]);
  expect(await runChecks(adapter, "full")).toContainEqual([
    "integrity",
    "ok",
    "PRAGMA integrity_check finds nothing wrong.",
  ]);
  await destroy();
});

it("asks nothing of a database in memory that only a file has", async () => {
  const adapter = await createSqliteStateAdapter({ file: ":memory:", driver: testDriver });
  expect(await checksOf(adapter)).toEqual(["migrations", "integrity", "free space", "indexes"]);
  await adapter.close();
});

it("finds tables that are missing", async () => {
  const { adapter, destroy } = await createTestStore({ migrate: false });
  expect((await runChecks(adapter))[0]).toEqual([
    "migrations",
    "problem",
    expect.stringContaining("pending"),
  ]);
  await destroy();
});

it("finds an index that is gone", async () => {
  const { adapter, file, destroy } = await createTestStore();
  await adapter.close();
  const raw = await openRaw(file);
  raw.exec('DROP INDEX "leasehold_job_failed"');
  raw.close();
  const again = await createSqliteStateAdapter({ file, driver: testDriver });
  expect(await runChecks(again)).toContainEqual([
    "indexes",
    "problem",
    expect.stringContaining("Missing or invalid: leasehold_job_failed."),
  ]);
  await again.close();
  await destroy();
});

it("finds a damaged file", async () => {
  const { adapter, file, destroy } = await createTestStore();
  await adapter.createJobs({ jobs: Array.from({ length: 200 }, () => newJob({ input: "x".repeat(2_000) })) });
  await adapter.close();
  const handle = await open(file, "r+");
  const { size } = await handle.stat();
  await handle.write(Buffer.alloc(4_096, 0xff), 0, 4_096, Math.floor(size / 8_192) * 4_096);
  await handle.close();
  const again = await createSqliteStateAdapter({ file, driver: testDriver, migrate: false });
  const integrity = (await runChecks(again)).find(([check]) => check === "integrity");
  expect(integrity).toEqual(["integrity", "problem", expect.stringContaining("The file is damaged: ")]);
  await again.close();
  await destroy();
});

it("counts jobs up to the limit", async () => {
  const { adapter, destroy } = await createTestStore();
  await adapter.createJobs({ jobs: [newJob(), newJob(), newJob()] });
  expect(await adapter.diagnostics.estimateJobs({ limit: 2 })).toBe(2);
  expect(await adapter.diagnostics.estimateJobs({ limit: 100 })).toBe(3);
  await destroy();
});
