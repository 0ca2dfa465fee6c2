import { createLeasehold, defineUnionJobTypes, type RunningWorker } from "leasehold";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import type { PgStateProvider } from "../database/provider.ts";
import { createPgPoolStateProvider } from "../providers/pg-pool.ts";
import { createPgStateAdapter } from "../state-adapter.ts";
import type { JobTypes } from "../testing/kit.ts";
import { createFaultyProvider } from "../testing/faulty-provider.ts";
import { dropSchema, newSchemaName } from "../testing/fixtures.ts";
import { until } from "../testing/until.ts";

const url = inject("postgres15Url");
const schema = newSchemaName();
const pool = new pg.Pool({ connectionString: url, max: 50 });
const provider = createPgPoolStateProvider({ pool }) as unknown as PgStateProvider<object, object>;
const jobTypes = defineUnionJobTypes<JobTypes>();

beforeAll(async () => {
  await createPgStateAdapter({ stateProvider: provider, schema });
});
afterAll(async () => {
  await pool.end();
  await dropSchema(url, schema);
});

const jobs = 6;
const healthyLeasehold = async () =>
  createLeasehold({
    jobTypes,
    stateAdapter: await createPgStateAdapter({ stateProvider: provider, schema, migrate: false }),
  });

interface Patience {
  /** How long the worker waits for the store. */
  readonly storeDeadlineMs: number;
  readonly leaseMs: number;
}

/** So long that nothing is given up or expires only because the machine is busy. */
const long: Patience = { storeDeadlineMs: 20_000, leaseMs: 30_000 };
/** So short that a test can wait until a call is given up, and until what it may have claimed expires. */
const short: Patience = { storeDeadlineMs: 300, leaseMs: 900 };

/** A worker over a provider that fails as `before` says, and jobs in a queue that only this worker serves. */
const tellStory = async (
  queue: string,
  { storeDeadlineMs, leaseMs }: Patience,
  before: (call: number) => Promise<void> | void,
) => {
  const faulty = createFaultyProvider(provider, before);
  const stateAdapter = await createPgStateAdapter({
    stateProvider: faulty.provider,
    schema,
    migrate: false,
  });
  const leasehold = await createLeasehold({ jobTypes, stateAdapter, storeDeadlineMs });
  const healthy = await healthyLeasehold();
  const sequences = Array.from({ length: jobs }, (_, n) => ({
    typeName: "work" as const,
    queue,
    input: { n },
    maxAttempts: 20,
  }));
  await healthy.startJobSequences({ sequences });
  let runs = 0;
  const worker: RunningWorker = await leasehold
    .createWorker({ retry: { type: "fixed", delayMs: 1 } })
    .implementJobType({
      typeName: "work",
      process: async ({ job, complete }) => {
        runs += 1;
        return job.input.n % 2 === 0 ? job.input.n : complete(async () => job.input.n);
      },
    })
    .start({ queues: { [queue]: 3 }, leaseMs, pollIntervalMs: 20, reapIntervalMs: 100 });
  const completed = async (): Promise<number> => {
    const rows = await healthy.jobs.count({ queue, status: "completed" });
    return rows.reduce((sum, { count }) => sum + count, 0);
  };
  return { worker, completed, faulty, ran: () => runs };
};

const firstCalls = 15;
const inGroups = async <T>(
  items: readonly T[],
  size: number,
  run: (item: T) => Promise<void>,
): Promise<void> => {
  for (let at = 0; at < items.length; at += size) await Promise.all(items.slice(at, at + size).map(run));
};

describe("what a failover does to any call of a worker", () => {
  const codes = ["57P01", "57P02", "57P03", "25006", "53300", "53100", "40001", "40P01", "55P03"];

  it.each(codes)("%s at each of its calls leaves the work done once", { timeout: 60_000 }, async (code) => {
    const calls = Array.from({ length: firstCalls }, (_, index) => index + 1);
    await inGroups(calls, 15, async (nth) => {
      const { worker, completed, faulty, ran } = await tellStory(`${code} at ${nth}`, long, (call) => {
        if (call === nth) throw Object.assign(new Error(`injected ${code}`), { code });
      });
      await until(async () => (await completed()) === jobs, `all is done in spite of ${code} at call ${nth}`);
      await until(() => faulty.calls >= nth, `there has been a call ${nth}`);
      expect(await worker.stop()).toMatchObject({ clean: true });
      // Only an attempt whose own transaction failed is repeated.
      expect(ran()).toBeLessThanOrEqual(jobs + 1);
    });
  });

  it("a long outage of every call makes the worker unhealthy, and it goes on when that ends", async () => {
    let broken = true;
    const { worker, completed } = await tellStory("outage", short, () => {
      if (broken) throw Object.assign(new Error("the database system is shutting down"), { code: "57P03" });
    });
    await until(() => !worker.health().healthy, "the worker says that it is not well");
    expect(worker.health().problems.join()).toContain("shutting down");
    broken = false;
    const mended = performance.now();
    await until(async () => (await completed()) === jobs, "all is done");
    expect(performance.now() - mended).toBeLessThan(5_000);
    await until(() => worker.health().healthy, "the worker is well again");
    await worker.stop();
  });
});

describe("calls that are never answered", () => {
  const silences: ((reason: Error) => void)[] = [];
  const never = (): Promise<never> =>
    new Promise((_resolve, reject) => {
      silences.push(reject);
    });
  // Otherwise the pool would wait for connections of transactions in which nothing happens any more.
  afterAll(() => {
    for (const end of silences) end(new Error("The test is over."));
  });

  it("one of them, whichever it is, does not stop the work", { timeout: 60_000 }, async () => {
    const calls = Array.from({ length: firstCalls }, (_, index) => index + 1);
    await inGroups(calls, 15, async (nth) => {
      const { worker, completed } = await tellStory(`silence at ${nth}`, short, (call) =>
        call === nth ? never() : undefined,
      );
      await until(async () => (await completed()) === jobs, `all is done in spite of silence at call ${nth}`);
      await worker.stop();
    });
  });

  it("all of them make the worker unhealthy, and it goes on when they are answered again", async () => {
    let silent = true;
    const { worker, completed } = await tellStory("silence", short, () => (silent ? never() : undefined));
    await until(() => !worker.health().healthy, "the worker says that it is not well");
    silent = false;
    await until(async () => (await completed()) === jobs, "all is done");
    await until(() => worker.health().healthy, "the worker is well again");
    await worker.stop();
  });
});
