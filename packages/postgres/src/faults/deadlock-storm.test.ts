import { afterEach, beforeEach, describe, expect, inject, it } from "vitest";
import { type Kit, type Driver, openKit } from "../testing/kit.ts";
import { until } from "../testing/until.ts";

const jobs = 200;
const accounts = 4;

describe.each<Driver>(["pg", "postgres"])("a storm of deadlocks through %s", (driver) => {
  let kit: Kit;
  beforeEach(async () => {
    kit = await openKit({ url: inject("postgres18Url"), driver, connections: 12 });
    await kit.rows("CREATE TABLE $schema.account (id int PRIMARY KEY, balance int NOT NULL)");
    await kit.rows(`INSERT INTO $schema.account SELECT id, 0 FROM generate_series(1, ${accounts}) AS id`);
  });
  afterEach(async () => {
    await kit.close();
  });

  const expectAllDoneOnce = async (): Promise<void> => {
    await until(async () => {
      const { completed = 0, failed = 0 } = await kit.statuses();
      return completed + failed === jobs;
    }, "all jobs have ended");
    expect(await kit.statuses()).toEqual({ completed: jobs });
    // Every transfer happened once: one unit for each of two accounts.
    expect(await kit.rows("SELECT sum(balance)::int AS total FROM $schema.account")).toEqual([
      { total: 2 * jobs },
    ]);
    expect(await kit.rows("SELECT DISTINCT attempt FROM $schema.job")).toEqual([{ attempt: 1 }]);
    expect(kit.seen.jobAttemptFailed ?? []).toEqual([]);
  };

  /** Adds to two accounts. Of the jobs that share a pair, half lock it in the opposite order. */
  const transfer = async (ctx: object, n: number): Promise<void> => {
    const pair = [1 + (n % accounts), 1 + ((n + 1) % accounts)];
    if (Math.floor(n / accounts) % 2 === 0) pair.reverse();
    // The server looks for deadlocks at once and not after a second.
    await kit.writeIn(ctx)("SET LOCAL deadlock_timeout = '5ms'", []);
    for (const account of pair) {
      const sql = `UPDATE ${kit.schema}.account SET balance = balance + 1 WHERE id = $1::text::int`;
      await kit.writeIn(ctx)(sql, [String(account)]);
      // Gives the others time to lock the account that comes second here.
      await kit.writeIn(ctx)("SELECT pg_sleep(0.002)", []);
    }
  };

  const startAll = (): Promise<unknown> =>
    kit.leasehold.startJobSequences({
      sequences: Array.from({ length: jobs }, (_, n) => ({
        typeName: "work" as const,
        input: { n },
        maxAttempts: 4,
      })),
    });

  it("in complete costs no job an attempt", async () => {
    await startAll();
    const worker = await kit.leasehold
      .createWorker()
      .implementJobType({
        typeName: "work",
        process: async ({ job, complete }) =>
          complete(async (ctx) => {
            await transfer(ctx, job.input.n);
            return job.input.n;
          }),
      })
      .start({ concurrency: 8, pollIntervalMs: 50 });
    await expectAllDoneOnce();
    await worker.stop();
    expect(kit.seen.jobAttemptTransactionRepeated?.length).toBeGreaterThan(0);
  });

  it("in an atomic attempt costs no job an attempt", async () => {
    await startAll();
    const worker = await kit.leasehold
      .createWorker()
      .implementJobType({
        typeName: "work",
        process: async ({ job, prepare }) => {
          await prepare({ mode: "atomic" }, (ctx) => transfer(ctx, job.input.n));
          return job.input.n;
        },
      })
      .start({ concurrency: 8, pollIntervalMs: 50 });
    await expectAllDoneOnce();
    await worker.stop();
    expect(kit.seen.jobAttemptTransactionRepeated?.length).toBeGreaterThan(0);
  });
});
