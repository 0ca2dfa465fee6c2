import { InvalidOptionError } from "leasehold";
import { describe, expect, it } from "vitest";
import { createSqliteStateAdapter } from "../state-adapter.ts";
import { claimAll, newJob } from "../testing/jobs.ts";
import { createTestStore, testDriver } from "../testing/store.ts";
import { nameTables } from "./tables.ts";

const ascii = Array.from({ length: 128 }, (_, code) => String.fromCharCode(code));

const hostile: unknown[] = [
  ...ascii.filter((character) => !/[a-z0-9_]/.test(character)).map((character) => `a${character}`),
  ...ascii.filter((character) => !/[a-z_]/.test(character)),
  'x"; DROP TABLE users; --',
  "x' OR '1'='1",
  "ünïcode",
  "a".repeat(32),
  "_".repeat(1_000),
  "Upper",
  "jobs.",
  "main.jobs",
  "a\n",
  "sqlite_",
  "sqlite_x",
  null,
  1,
  true,
  {},
  ["a"],
  { toString: () => "a" },
];

describe("table prefixes", () => {
  it(`refuses ${hostile.length} hostile ones before anything is opened`, async () => {
    expect(hostile.length).toBeGreaterThan(200);
    for (const tablePrefix of hostile) {
      expect(() => nameTables(tablePrefix as string)).toThrow(InvalidOptionError);
      const options = { file: "/nonexistent/folder/jobs.db", tablePrefix: tablePrefix as string };
      if (tablePrefix === null) continue;
      await expect(createSqliteStateAdapter(options)).rejects.toMatchObject({ option: "tablePrefix" });
    }
  });

  it.each(["", "_", "a", "select_", "z".repeat(31)])("works with %j", async (tablePrefix) => {
    const { adapter, destroy } = await createTestStore({ tablePrefix });
    await adapter.createJobs({ jobs: [newJob()] });
    expect(await claimAll(adapter)).toHaveLength(1);
    await destroy();
  });

  it("keeps two sets of tables in one file apart", async () => {
    const { adapter, file, destroy } = await createTestStore({ tablePrefix: "one_" });
    const second = await createSqliteStateAdapter({ file, driver: testDriver, tablePrefix: "two_" });
    await adapter.createJobs({ jobs: [newJob()] });
    expect(await second.countJobs({ filter: {} })).toEqual([]);
    await second.close();
    await destroy();
  });
});
