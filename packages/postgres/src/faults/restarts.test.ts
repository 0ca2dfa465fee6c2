import { setTimeout as sleep } from "node:timers/promises";
import { type PostgresServer, startPostgres } from "@leasehold/test-servers";
import type { RunningWorker } from "leasehold";
import pg from "pg";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type Kit, openKit } from "../testing/kit.ts";
import { until } from "../testing/until.ts";

const workerOptions = { pollIntervalMs: 100, leaseMs: 3_000, reapIntervalMs: 500, concurrency: 10 };
const longestRecoveryMs = 5_000;
const maxConnections = 30;

let server: PostgresServer;
beforeAll(async () => {
  server = await startPostgres({ settings: { max_connections: String(maxConnections) } });
});
afterAll(() => server.stop());

const takeAllConnections = async (): Promise<pg.Client[]> => {
  const taken: pg.Client[] = [];
  for (;;) {
    const client = new pg.Client({ connectionString: server.url });
    client.on("error", () => {});
    try {
      await client.connect();
      taken.push(client);
    } catch (error) {
      expect(error).toMatchObject({ code: "53300" });
      return taken;
    }
  }
};

// Through `pg` only: `npm run test:cluster` restarts servers under both drivers, and `postgres` 3.4 can keep a connection that
// never answers when one is lost at the wrong moment (see its provider).
describe("a worker", () => {
  let kit: Kit;
  let started: number;
  const runs = new Map<string, number>();
  let finished: number;

  beforeEach(async () => {
    kit = await openKit({ url: server.url });
    started = 0;
    runs.clear();
    finished = 0;
  });
  afterEach(() => kit.close());

  const start = async (count: number): Promise<void> => {
    const sequences = Array.from({ length: count }, () => ({
      typeName: "work" as const,
      input: { n: started++ },
    }));
    await kit.leasehold.startJobSequences({ sequences });
  };

  const startWorker = (jobMs: number): Promise<RunningWorker> =>
    kit.leasehold
      .createWorker()
      .implementJobType({
        typeName: "work",
        process: async ({ job }) => {
          runs.set(job.id, (runs.get(job.id) ?? 0) + 1);
          await sleep(jobMs);
          finished += 1;
          return job.input.n;
        },
      })
      .start(workerOptions);

  const completed = async (): Promise<number> => (await kit.statuses())["completed"] ?? 0;

  /** How long after this moment the first completion was stored again. Starts more jobs, in case all others are done. */
  const recoveryFrom = async (moment: number): Promise<number> => {
    const before = await completed();
    await start(20);
    await until(async () => (await completed()) > before, "work goes on");
    return performance.now() - moment;
  };

  const expectAllDone = async (): Promise<void> => {
    await until(async () => (await kit.statuses())["completed"] === started, "all jobs have completed");
    // Nothing ran more often than is explained by expired leases and lost attempts.
    const jobs = await kit.rows<{ id: string; attempt: number; lease_version: number }>(
      "SELECT id, attempt, lease_version FROM $schema.job",
    );
    for (const { id, attempt, lease_version } of jobs) {
      expect(runs.get(id)).toBeLessThanOrEqual(attempt);
      expect(attempt).toBeLessThanOrEqual(lease_version);
    }
  };

  it.each(["fast", "immediate"] as const)("survives a restart (%s)", async (mode) => {
    await start(300);
    const worker = await startWorker(30);
    await until(() => finished > 50, "some jobs are done");

    await server.shutDown(mode);
    await until(() => !worker.health().healthy, "the worker says that it is not well");
    await server.startAgain();
    expect(await recoveryFrom(performance.now())).toBeLessThan(longestRecoveryMs);

    await expectAllDone();
    await until(() => worker.health().healthy, "the worker is well again");
    expect(await worker.stop()).toMatchObject({ clean: true });
  });

  it("survives the end of all its connections, again and again", async () => {
    await start(400);
    const worker = await startWorker(10);
    for (let round = 1; round <= 10; round += 1) {
      const ended = performance.now();
      await kit.rows(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
          WHERE datname = current_database() AND pid <> pg_backend_pid()`,
      );
      expect(await recoveryFrom(ended)).toBeLessThan(longestRecoveryMs);
    }
    await expectAllDone();
    expect(await worker.stop()).toMatchObject({ clean: true });
  });

  it("waits while the server has no free connections", async () => {
    await start(50);
    // All connections are in use, including those of the worker's own pool. Others get error 53300.
    const hoarders = await takeAllConnections();
    await kit.rows(
      `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND pid <> pg_backend_pid() AND pid <> ALL ($1)`,
      [hoarders.map((client) => (client as unknown as { processID: number }).processID)],
    );
    // The connections that were just closed become free one by one.
    const others = maxConnections - 1;
    await until(async () => hoarders.push(...(await takeAllConnections())) === others, "all are taken");
    const worker = await startWorker(1);
    await until(() => !worker.health().healthy, "the worker says that it is not well");
    expect(worker.health().problems.join()).toMatch(/too many clients|remaining connection slots/);

    await Promise.all(hoarders.map((client) => client.end()));
    expect(await recoveryFrom(performance.now())).toBeLessThan(longestRecoveryMs);
    await expectAllDone();
    expect(await worker.stop()).toMatchObject({ clean: true });
  });

  it("waits while the server is read-only", async () => {
    await start(200);
    const worker = await startWorker(20);
    await until(() => finished > 20, "some jobs are done");
    const setReadOnly = async (value: string): Promise<void> => {
      await kit.rows(`ALTER SYSTEM SET default_transaction_read_only = ${value}`);
      await kit.rows("SELECT pg_reload_conf()");
    };
    await setReadOnly("on");
    await until(() => !worker.health().healthy, "the worker says that it is not well");
    expect(worker.health().problems.join()).toMatch(/read-only transaction/);
    await expect(
      kit.leasehold.startJobSequence({ typeName: "work", input: { n: -1 } }),
    ).rejects.toMatchObject({ code: "25006" });

    await setReadOnly("off");
    expect(await recoveryFrom(performance.now())).toBeLessThan(longestRecoveryMs);
    await expectAllDone();
    expect(await worker.stop()).toMatchObject({ clean: true });
  });
});
