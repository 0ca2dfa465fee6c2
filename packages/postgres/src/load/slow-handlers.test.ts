import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, inject, it } from "vitest";
import { type Kit, openKit } from "../testing/kit.ts";
import { until } from "../testing/until.ts";

let kit: Kit;
beforeEach(async () => {
  kit = await openKit({ url: inject("postgres15Url") });
});
afterEach(() => kit.close());

describe("slow handlers", () => {
  it("keep no transaction open", async () => {
    const worker = await kit.leasehold
      .createWorker()
      .implementJobType({
        typeName: "work",
        process: async ({ prepare, complete }) => {
          await prepare({ mode: "staged" });
          await sleep(2_500);
          return complete(async () => 0);
        },
      })
      .start({ concurrency: 10, leaseMs: 1_000, pollIntervalMs: 50 });
    await kit.start(10);
    let oldestMs = 0;
    let looks = 0;
    await until(async () => {
      const [row] = await kit.rows<{ ms: number | null }>(
        `SELECT max(extract(epoch FROM clock_timestamp() - xact_start) * 1000)::float AS ms
          FROM pg_stat_activity WHERE application_name = 'kit' AND query LIKE '%' || $1 || '%'`,
        [kit.schema],
      );
      oldestMs = Math.max(oldestMs, row?.ms ?? 0);
      looks += 1;
      return (await kit.statuses())["completed"] === 10;
    }, "all jobs have completed");
    await worker.stop();
    expect(looks).toBeGreaterThan(50);
    expect(oldestMs).toBeLessThan(1_000);
  });
});

describe("jobs in the buffer of a worker", () => {
  it("keep their leases, and none runs twice", async () => {
    const runs = new Map<string, number>();
    const worker = await kit.leasehold
      .createWorker()
      .implementJobType({
        typeName: "work",
        process: async ({ job }) => {
          runs.set(job.id, (runs.get(job.id) ?? 0) + 1);
          await sleep(150);
          return 0;
        },
      })
      .start({ concurrency: 2, prefetch: 50, leaseMs: 1_000, reapIntervalMs: 100, pollIntervalMs: 50 });
    await kit.start(40);
    await kit.allCompleted(40);
    await worker.stop();
    expect([...runs.values()].every((count) => count === 1)).toBe(true);
    expect(await kit.rows("SELECT FROM $schema.job WHERE expired_leases > 0")).toEqual([]);
  });
});

describe("a single result", () => {
  it("is written at once, not when a batch is full", async () => {
    let finishedAt = 0;
    const worker = await kit.leasehold
      .createWorker()
      .implementJobType({
        typeName: "work",
        process: async () => {
          finishedAt = Date.now();
          return 0;
        },
      })
      .start({ commitBatchSize: 100, pollIntervalMs: 20 });
    await kit.start(1);
    await kit.allCompleted(1);
    const [job] = await kit.rows<{ finished_at: string }>("SELECT finished_at FROM $schema.job");
    // The server has the clock of this machine.
    expect(Number(job!.finished_at) - finishedAt).toBeLessThan(500);
    await worker.stop();
  });
});
