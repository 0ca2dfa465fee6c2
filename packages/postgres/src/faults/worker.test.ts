import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import type { Runtime } from "leasehold";
import { afterEach, beforeEach, describe, expect, inject, it } from "vitest";
import { type Kit, openKit } from "../testing/kit.ts";
import { claim, completionOf, newJob } from "../testing/test-jobs.ts";
import { until } from "../testing/until.ts";

let kit: Kit;
beforeEach(async () => {
  kit = await openKit({ url: inject("postgres15Url") });
});
afterEach(() => kit.close());

const start = (count: number): Promise<unknown> =>
  kit.leasehold.startJobSequences({
    sequences: Array.from({ length: count }, (_, n) => ({ typeName: "work" as const, input: { n } })),
  });
const allCompleted = (count: number): Promise<void> =>
  until(async () => (await kit.statuses())["completed"] === count, "all jobs have completed");

/** A process whose clock is wrong by so much. */
const wrongBy = (offsetMs: number): Runtime => ({
  clock: {
    now: () => Date.now() + offsetMs,
    monotonic: () => performance.now() + offsetMs,
    setTimer: (callback, delayMs) => {
      const timer = setTimeout(callback, delayMs);
      return () => clearTimeout(timer);
    },
    soon: (callback) => {
      setImmediate(callback);
    },
  },
  random: Math.random,
  createId: randomUUID,
  createToken: randomUUID,
});

describe("workers whose clocks are an hour slow and an hour fast", () => {
  it("never take a job from each other while its lease is kept", async () => {
    const runs = new Map<string, number>();
    const hourMs = 3_600_000;
    const others = await Promise.all(
      [-hourMs, hourMs].map((offset) =>
        openKit({
          url: inject("postgres15Url"),
          schema: kit.schema,
          leasehold: { runtime: wrongBy(offset) },
        }),
      ),
    );
    const workers = await Promise.all(
      others.map(({ leasehold }) =>
        leasehold
          .createWorker()
          .implementJobType({
            typeName: "work",
            process: async ({ job }) => {
              runs.set(job.id, (runs.get(job.id) ?? 0) + 1);
              await sleep(1_500);
              return 0;
            },
          })
          .start({ concurrency: 10, leaseMs: 1_000, pollIntervalMs: 50, reapIntervalMs: 50 }),
      ),
    );
    await start(30);
    await allCompleted(30);
    await Promise.all(workers.map((worker) => worker.stop()));
    expect([...runs.values()]).toEqual(Array.from({ length: 30 }, () => 1));
    expect(await kit.rows("SELECT FROM $schema.job WHERE expired_leases > 0 OR lease_version > 1")).toEqual(
      [],
    );
    for (const other of others) await other.stateAdapter.close();
    await others[0]!.close();
    await others[1]!.close();
  });
});

describe("handlers that take long", () => {
  it("keep no transaction open meanwhile", async () => {
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
    await start(10);
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

describe("an error whose text PostgreSQL cannot store", () => {
  const hostile = {
    "NUL and half a character": () => new Error("\0 and \uD800"),
    "a cause that is itself": () => {
      const error = new Error("cyclic");
      error.cause = error;
      return error;
    },
    "a getter that throws": () =>
      Object.defineProperty(new Error("trapped"), "message", {
        get: () => {
          throw new Error("again");
        },
      }),
    nothing: () => null,
    "fifty megabytes": () => new Error("x".repeat(50_000_000)),
  };

  it.each(Object.entries(hostile))("fails its job all the same: %s", async (_name, create) => {
    const worker = await kit.leasehold
      .createWorker()
      .implementJobType({
        typeName: "work",
        process: async () => {
          throw create();
        },
      })
      .start({ pollIntervalMs: 20 });
    await kit.leasehold.startJobSequence({ typeName: "work", input: { n: 1 }, maxAttempts: 1 });
    await until(async () => (await kit.statuses())["failed"] === 1, "the job has failed");
    await worker.stop();
    const [job] = await kit.rows<{ last_error: string }>("SELECT last_error FROM $schema.job");
    expect(job!.last_error.length).toBeGreaterThan(0);
    expect(job!.last_error.length).toBeLessThan(100_000);
  });

  it("and a store that is handed such a text itself refuses it with a lasting error", async () => {
    await kit.stateAdapter.createJobs({ jobs: [newJob()] });
    const [job] = await claim(kit.stateAdapter, { limit: 1 });
    const outcome = {
      ...completionOf(job!),
      kind: "fail" as const,
      reason: "unrecoverable" as const,
      error: "\0",
    };
    const attempt = kit.stateAdapter.commitOutcomes({ outcomes: [outcome] });
    await expect(attempt).rejects.toSatisfy((error) => !kit.stateAdapter.isTransientError(error));
    expect(await kit.statuses()).toEqual({ running: 1 });
  });
});

describe("jobs that wait in a worker's buffer", () => {
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
    await start(40);
    await allCompleted(40);
    await worker.stop();
    expect([...runs.values()].every((count) => count === 1)).toBe(true);
    expect(await kit.rows("SELECT FROM $schema.job WHERE lease_version > 1")).toEqual([]);
  });
});

describe("a result that nobody joins", () => {
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
    await start(1);
    await allCompleted(1);
    const [job] = await kit.rows<{ finished_at: string }>("SELECT finished_at FROM $schema.job");
    // The server's clock is this machine's.
    expect(Number(job!.finished_at) - finishedAt).toBeLessThan(500);
    await worker.stop();
  });
});
