import { defineUnionJobTypes, type LoopRetryConfig } from "leasehold";
import { createSeededRandom } from "leasehold/testing";
import Database from "libsql";
import { describe, expect, it } from "vitest";
import type { SqliteConnection } from "./database/connection.ts";
import type { SqliteStateProvider } from "./database/provider.ts";
import { createBetterSqlite3StateProvider } from "./providers/drivers.ts";
import { createSqliteStateAdapter } from "./state-adapter.ts";
import { createSqliteTestKit } from "./testing.ts";

const jobTypes = defineUnionJobTypes<{ work: { input: number; output: number } }>();

const ioError = (): Error => Object.assign(new Error("disk I/O error"), { code: "SQLITE_IOERR" });

/** A database in memory. `before` may throw in place of a statement. */
const createProvider = (before: (sql: string) => void): SqliteStateProvider => {
  const provider = createBetterSqlite3StateProvider({ database: new Database(":memory:") });
  const { writer } = provider;
  const failing: SqliteConnection = {
    exec: (sql) => {
      before(sql);
      writer.exec(sql);
    },
    run: (sql, values) => {
      before(sql);
      return writer.run(sql, values);
    },
    query: (sql, values) => {
      before(sql);
      return writer.query(sql, values);
    },
    first: (sql, values) => {
      before(sql);
      return writer.first(sql, values);
    },
    close: () => writer.close(),
  };
  return { ...provider, writer: failing };
};

// Longer than a transaction has statements: one that never fits between two bursts could not be committed at all.
const longestBurst = 20;

/** Half of the statements fail: a burst of failures, then as many successes on average. */
const createBursts = (seed: number): (() => boolean) => {
  const random = createSeededRandom(seed);
  let fails = false;
  let left = 0;
  return () => {
    if (left === 0) {
      fails = !fails;
      left = random.integer(1, longestBurst);
    }
    left -= 1;
    return fails;
  };
};

const jobs = 20;

/** How many seconds of the manual clock it takes to run all jobs. */
const timeToComplete = async (seed: number, workerLoopRetryConfig: LoopRetryConfig): Promise<number> => {
  const isFailing = createBursts(seed);
  let isFlaky = false;
  const stateProvider = createProvider((sql) => {
    if (isFlaky && !sql.startsWith("ROLLBACK") && isFailing()) throw ioError();
  });
  const kit = await createSqliteTestKit({ jobTypes, stateProvider, log: () => {} });
  const { leasehold, clock } = kit;
  const sequences = Array.from({ length: jobs }, (_, input) => ({ typeName: "work" as const, input }));
  await leasehold.startJobSequences({ sequences });
  const completed = new Set<number>();
  const worker = leasehold.createWorker().implementJobType({
    typeName: "work",
    process: async ({ job, complete }) => {
      const completion = await complete(() => job.input);
      completed.add(job.input);
      return completion;
    },
  });
  isFlaky = true;
  const startedAt = clock.monotonic();
  const running = await clock.runUntil(worker.start({ workerLoopRetryConfig }));
  await clock.runUntil(() => completed.size === jobs);
  const seconds = (clock.monotonic() - startedAt) / 1_000;
  isFlaky = false;
  await clock.runUntil(running.stop());
  expect(await leasehold.jobs.count({})).toMatchObject([{ status: "completed", count: jobs }]);
  await kit.close();
  return seconds;
};

const averageTime = async (config: LoopRetryConfig): Promise<number> => {
  let sum = 0;
  const seeds = 10;
  for (let seed = 1; seed <= seeds; seed += 1) sum += await timeToComplete(seed, config);
  return sum / seeds;
};

describe("a store that fails half of its statements in bursts", { timeout: 120_000 }, () => {
  it("does not hold up a worker for longer than the bursts last", async () => {
    expect(await averageTime({})).toBeLessThan(33);
  });

  it("holds it up for less with short delays", async () => {
    expect(await averageTime({ initialDelayMs: 10, maxDelayMs: 100 })).toBeLessThan(15);
  });
});

describe("a read whose COMMIT fails", () => {
  it("leaves no transaction open", async () => {
    let failNextCommit = false;
    const stateProvider = createProvider((sql) => {
      if (!failNextCommit || sql !== "COMMIT") return;
      failNextCommit = false;
      throw ioError();
    });
    const adapter = await createSqliteStateAdapter({ stateProvider });
    failNextCommit = true;
    await expect(adapter.getJobs({ jobIds: ["none"] })).rejects.toThrow("disk I/O error");
    expect(await adapter.getJobs({ jobIds: ["none"] })).toEqual([undefined]);
    await adapter.close();
  });
});
