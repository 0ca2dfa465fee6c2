import type { CreatedStateJob, NewJob, NewJobDeduplication, StateJob } from "leasehold/adapter";
import { randomUUID } from "node:crypto";
import pg from "pg";
import { afterAll, beforeAll, expect, inject, it } from "vitest";
import { createPgPoolStateProvider } from "../providers/pg-pool.ts";
import { createPgStateAdapter } from "../state-adapter.ts";
import { newJob } from "../testing/test-jobs.ts";

// Several adapters with pools of their own, as in several processes.
const schema = "replacement_races";

let pools: pg.Pool[];

let adapters: Awaited<ReturnType<typeof openAdapter>>[];

const openAdapter = (pool: pg.Pool) =>
  createPgStateAdapter({ stateProvider: createPgPoolStateProvider({ pool }), schema });

beforeAll(async () => {
  pools = Array.from({ length: 4 }, () => new pg.Pool({ connectionString: inject("postgres18Url"), max: 8 }));
  await pools[0]!.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);
  adapters = [];
  for (const pool of pools) adapters.push(await openAdapter(pool));
});

afterAll(async () => {
  await pools[0]!.query(`DROP SCHEMA ${schema} CASCADE`);
  await Promise.all(pools.map((pool) => pool.end()));
});

const scene = () => {
  const queue = randomUUID();
  const deduplication: NewJobDeduplication = {
    key: queue,
    scope: "pending",
    windowMs: null,
    onDuplicate: "replace",
  };
  const job = (input: string, overrides: Partial<NewJob> = {}): NewJob =>
    newJob({ queue, typeName: "index", input, deduplication, ...overrides });
  const start = async (
    adapter: (typeof adapters)[number],
    wanted: NewJob,
    ctx?: Parameters<typeof adapter.createJobs>[0]["ctx"],
  ): Promise<CreatedStateJob> => (await adapter.createJobs({ jobs: [wanted], ctx }))[0]!;
  const claim = (
    adapter: (typeof adapters)[number],
    ctx?: Parameters<typeof adapter.createJobs>[0]["ctx"],
    limit = 10,
  ): Promise<StateJob[]> =>
    adapter.claimJobs({
      workerId: "worker",
      leaseToken: randomUUID(),
      leaseMs: 60_000,
      requests: [{ queue, typeNames: null, limit }],
      limit,
      ctx,
    });
  return { job, start, claim, deduplication };
};

/** Resolves when a statement of this database waits for a lock of another one. */
const untilSomebodyWaits = async (): Promise<void> => {
  for (;;) {
    const { rows } = await pools[3]!.query(
      "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
    );
    if (rows.length > 0) return;
  }
};

it("a start that meets a claim under way waits for it, and starts a second job", async () => {
  const { job, start, claim } = scene();
  const first = await start(adapters[0]!, job("old"));
  let pending: Promise<CreatedStateJob> | undefined;
  await adapters[0]!.runInTransaction(async (ctx) => {
    expect(await claim(adapters[0]!, ctx)).toHaveLength(1);
    pending = start(adapters[1]!, job("new"));
    await untilSomebodyWaits();
  });
  const second = await pending!;
  expect(second).toMatchObject({ deduplicated: false, job: { input: "new" } });
  const [stored] = await adapters[2]!.getJobs({ jobIds: [first.job.id] });
  expect(stored).toMatchObject({ status: "running", input: "old", replacedBy: null });
});

it("a start that meets a claim which is rolled back replaces the job", async () => {
  const { job, start, claim } = scene();
  const first = await start(adapters[0]!, job("old"));
  let pending: Promise<CreatedStateJob> | undefined;
  const rolledBack = adapters[0]!.runInTransaction(async (ctx) => {
    await claim(adapters[0]!, ctx);
    pending = start(adapters[1]!, job("new"));
    await untilSomebodyWaits();
    throw new Error("changed my mind");
  });
  await expect(rolledBack).rejects.toThrow("changed my mind");
  expect(await pending!).toMatchObject({ replaced: true, job: { id: first.job.id, input: "new" } });
});

it("a claim passes over a job that is being replaced, and finds the new input afterwards", async () => {
  const { job, start, claim } = scene();
  await start(adapters[0]!, job("old"));
  await adapters[0]!.runInTransaction(async (ctx) => {
    expect(await start(adapters[0]!, job("new"), ctx)).toMatchObject({ replaced: true });
    expect(await claim(adapters[1]!)).toEqual([]);
  });
  expect((await claim(adapters[1]!)).map(({ input }) => input)).toEqual(["new"]);
});

it("a pending duplicate that is kept runs after the transaction that was content with it", async () => {
  const { job, start, claim, deduplication } = scene();
  const kept = { deduplication: { ...deduplication, onDuplicate: undefined } };
  await start(adapters[0]!, job("old", kept));
  await adapters[0]!.runInTransaction(async (ctx) => {
    expect(await start(adapters[0]!, job("new", kept), ctx)).toMatchObject({ deduplicated: true });
    expect(await claim(adapters[1]!)).toEqual([]);
  });
  expect((await claim(adapters[1]!)).map(({ input }) => input)).toEqual(["old"]);
});

it("an update that meets a claim under way finds the job running", async () => {
  const { job, start, claim } = scene();
  const { job: waiting } = await start(adapters[0]!, job("old"));
  let pending: ReturnType<(typeof adapters)[number]["edits"]["updateWaitingJobs"]> | undefined;
  await adapters[0]!.runInTransaction(async (ctx) => {
    await claim(adapters[0]!, ctx);
    pending = adapters[1]!.edits.updateWaitingJobs({ jobIds: [waiting.id], change: { priority: 9 } });
    await untilSomebodyWaits();
  });
  expect(await pending!).toMatchObject([{ kind: "not_waiting", job: { status: "running", priority: 0 } }]);
});

it("expiry passes over a job that somebody is changing", async () => {
  const { job, start } = scene();
  const { job: waiting } = await start(adapters[0]!, job("old", { expireAfterMs: 1 }));
  const late = { limit: 10, error: "too late", now: waiting.scheduledAt + 60_000 };
  await adapters[0]!.runInTransaction(async (ctx) => {
    await adapters[0]!.edits.updateWaitingJobs({ jobIds: [waiting.id], change: { priority: 1 }, ctx });
    expect(await adapters[1]!.edits.expireWaitingJobs(late)).toEqual([]);
  });
  const expired = await adapters[1]!.edits.expireWaitingJobs(late);
  expect(expired.map(({ job: { id } }) => id)).toEqual([waiting.id]);
});

it("loses no start of fifty over four processes, while workers claim", async () => {
  for (let round = 0; round < 3; round += 1) {
    const { job, start, claim } = scene();
    const starts = Array.from({ length: 50 }, (_, index) => job(String(index)));
    const claimed: StateJob[] = [];
    let isOver = false;
    const work = async (adapter: (typeof adapters)[number]): Promise<void> => {
      while (!isOver) claimed.push(...(await claim(adapter, undefined, 1)));
    };
    const workers = adapters.slice(0, 2).map(work);
    const answers = await Promise.all(
      starts.map(async (wanted, index) => start(adapters[index % adapters.length]!, wanted)),
    );
    isOver = true;
    await Promise.all(workers);
    claimed.push(...(await claim(adapters[0]!)));

    const created = answers.filter(({ deduplicated }) => !deduplicated).map(({ job: { id } }) => id);
    // Each job ran once, and each start that was not replaced by a later one is what its job ran with.
    expect(claimed.map(({ id }) => id).sort()).toEqual(created.sort());
    for (const { id, input, replacedBy } of claimed) {
      const last = starts.find((wanted) => wanted.id === (replacedBy ?? id));
      expect(input).toBe(last?.input);
      const mine = answers.filter((answer) => answer.job.id === id);
      expect(mine.filter(({ replaced }) => replaced).length).toBe(mine.length - 1);
    }
  }
});
