import { JobAlreadyExistsError } from "leasehold";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { createSqliteStateAdapter, type SqliteStateAdapter } from "../state-adapter.ts";
import { newJob } from "../testing/jobs.ts";
import { createRecordingProvider, type RecordingProvider } from "../testing/recording.ts";
import { createTestFolder } from "../testing/store.ts";

let folder: string;

let recording: RecordingProvider;

let adapter: SqliteStateAdapter<object>;

beforeEach(async () => {
  folder = await createTestFolder();
  recording = createRecordingProvider(join(folder, "jobs.db"));
  adapter = await createSqliteStateAdapter({ stateProvider: recording.provider });
  recording.statements.length = 0;
});

afterEach(async () => {
  recording.onStatement = () => undefined;
  await adapter.close();
  await rm(folder, { recursive: true, force: true });
});

const count = (statement: string): number => recording.statements.filter((sql) => sql === statement).length;

const exists = async (id: string): Promise<boolean> =>
  (await adapter.getJobs({ jobIds: [id] }))[0] !== undefined;

describe("group commit", () => {
  it("writes of one turn share a transaction", async () => {
    const jobs = Array.from({ length: 20 }, () => newJob());
    await Promise.all(jobs.map((job) => adapter.createJobs({ jobs: [job] })));
    // Not exactly one: on a busy machine a group may reach its time limit.
    expect(count("COMMIT")).toBeLessThan(jobs.length / 2);
    expect((await adapter.getJobs({ jobIds: jobs.map(({ id }) => id) })).every(Boolean)).toBe(true);
  });

  it("a single write needs no savepoint", async () => {
    await adapter.createJobs({ jobs: [newJob()] });
    expect(recording.statements.filter((sql) => sql.startsWith("SAVEPOINT"))).toEqual([]);
  });

  it("a write that is refused undoes only itself", async () => {
    const [first, last] = [newJob(), newJob()];
    const taken = newJob({ id: first.id });
    const results = await Promise.allSettled(
      [first, taken, last].map((job) => adapter.createJobs({ jobs: [newJob(), job] })),
    );
    expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect((results[1] as PromiseRejectedResult).reason).toBeInstanceOf(JobAlreadyExistsError);
    const total = (await adapter.countJobs({ filter: {} })).map((group) => group.count);
    expect(total).toEqual([4]);
  });

  it("when the error of one write ends the whole transaction, the others are retried", async () => {
    const [first, second, last] = [newJob(), newJob({ input: "break" }), newJob()];
    let broken = false;
    recording.onStatement = (sql, writer) => {
      if (broken || !sql.startsWith("SAVEPOINT") || count(sql) < 2) return;
      broken = true;
      // As SQLite does when the disk is full.
      writer.exec("ROLLBACK");
      throw Object.assign(new Error("database or disk is full"), { code: "SQLITE_FULL" });
    };
    const results = await Promise.allSettled(
      [first, second, last].map((job) => adapter.createJobs({ jobs: [job] })),
    );
    expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    expect(await Promise.all([first, second, last].map(({ id }) => exists(id)))).toEqual([true, false, true]);
  });

  it("when the commit fails, all writes fail", async () => {
    const jobs = [newJob(), newJob()];
    recording.onStatement = (sql) => {
      if (sql === "COMMIT") throw Object.assign(new Error("disk I/O error"), { code: "SQLITE_IOERR" });
    };
    const results = await Promise.allSettled(jobs.map((job) => adapter.createJobs({ jobs: [job] })));
    expect(results.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    expect(adapter.isTransientError((results[0] as PromiseRejectedResult).reason)).toBe(true);
    recording.onStatement = () => undefined;
    expect(await Promise.all(jobs.map(({ id }) => exists(id)))).toEqual([false, false]);
    await Promise.all(jobs.map((job) => adapter.createJobs({ jobs: [job] })));
  });

  it("continues in another transaction when one would take too long", async () => {
    let sharing = 0;
    recording.onStatement = (sql) => {
      if (!sql.startsWith("SAVEPOINT")) return;
      sharing += 1;
      const until = performance.now() + 4;
      while (performance.now() < until);
    };
    const jobs = Array.from({ length: 12 }, () => newJob());
    await Promise.all(jobs.map((job) => adapter.createJobs({ jobs: [job] })));
    expect(sharing).toBeGreaterThan(1);
    expect(count("COMMIT")).toBeGreaterThan(2);
  });
});
