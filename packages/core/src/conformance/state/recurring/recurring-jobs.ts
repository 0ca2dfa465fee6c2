import assert from "node:assert/strict";
import type { JobFilter } from "../../../store/contract/reads.ts";
import { StateNotInTransactionError } from "../../../store/errors.ts";
import { createGate } from "../../gate.ts";
import { retryTransient } from "../../retry-transient.ts";
import { baseTime } from "../../state-fixture.ts";
import type { StateSuite } from "../../state-suite.ts";
import { recurringOf, newRecurring, put } from "./fixture.ts";

const idsOf = (jobs: readonly { readonly id: string }[]): string[] => jobs.map(({ id }) => id);

export const describeRecurringJobs = ({ testAlone: test }: StateSuite): void => {
  test("stores exactly what it is given", async ({ adapter, start }) => {
    const { id: lastSequenceId } = await start();
    const full = {
      id: "ä\"'\\ 日本 %_ {}",
      definition: '{"text":"\\"ü\\" 🎉"}',
      owner: "shop",
      paused: true,
      version: 2_000_000_000,
      nextNominalAt: 8_640_000_000_000_000,
      runsAt: baseTime + 1,
      lastSequenceId,
      tickHistory: "[]",
      timeZoneVersion: "2025b",
      computedAt: baseTime + 2,
    };
    const stored = await put(adapter, full);
    assert.deepEqual(stored, { ...full, createdAt: baseTime, updatedAt: baseTime });
    const empty = await put(adapter, { id: "b", nextNominalAt: null, runsAt: null });
    assert.deepEqual(await recurringOf(adapter).getRecurring({ ids: ["b", "none", full.id, "b"] }), [
      empty,
      undefined,
      stored,
      empty,
    ]);
  });

  test("replaces what is there, and keeps when it was created", async ({ adapter }) => {
    await put(adapter, { owner: "shop", lastSequenceId: null });
    const changed = {
      definition: "new",
      owner: null,
      paused: true,
      version: 2,
      runsAt: null,
      tickHistory: "r",
    };
    const replaced = await put(adapter, changed, baseTime + 500);
    const expected = { ...newRecurring(changed), createdAt: baseTime, updatedAt: baseTime + 500 };
    assert.deepEqual(replaced, expected);
    assert.deepEqual(await recurringOf(adapter).getRecurring({ ids: ["nightly"] }), [expected]);
  });

  test("locks and puts several at once, new ones and others", async ({ adapter }) => {
    const recurring = recurringOf(adapter);
    const before = await put(adapter, { id: "b", owner: "shop", nextNominalAt: null, runsAt: null });
    const jobs = [
      newRecurring({ id: "c", paused: true, definition: '{"n":"{,\\"}"}' }),
      newRecurring({ id: "b", version: 2, tickHistory: "b" }),
      newRecurring({ id: "a", owner: "shop", timeZoneVersion: "2025b", computedAt: baseTime - 1 }),
    ];
    const stored = await adapter.runInTransaction(async (ctx) => {
      const call = { ctx, ids: ["c", "b", "a", "b"], now: baseTime };
      assert.deepEqual(await recurring.lockRecurring(call), [undefined, before, undefined, before]);
      assert.deepEqual(await recurring.lockRecurring({ ctx, ids: [] }), []);
      assert.deepEqual(await recurring.putRecurring({ ctx, jobs: [] }), []);
      return recurring.putRecurring({ ctx, jobs, now: baseTime + 1 });
    });
    const expected = jobs.map((job) => ({
      ...job,
      createdAt: job.id === "b" ? baseTime : baseTime + 1,
      updatedAt: baseTime + 1,
    }));
    assert.deepEqual(stored, expected);
    assert.deepEqual(await recurring.getRecurring({ ids: ["c", "b", "a"] }), expected);
  });

  test("lists in the order of ids, page by page, of one owner or of all", async ({ adapter }) => {
    const ids = ["a", "Z", "ä", "B", "b-2", "b", "日本", "ａ"];
    for (const [index, id] of ids.entries()) await put(adapter, { id, owner: index % 2 ? "shop" : null });
    const { listRecurring } = recurringOf(adapter);
    const sorted = ids.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    assert.deepEqual(idsOf(await listRecurring({ limit: 100, after: null })), sorted);
    assert.deepEqual(idsOf(await listRecurring({ limit: 3, after: null })), sorted.slice(0, 3));
    assert.deepEqual(idsOf(await listRecurring({ limit: 3, after: sorted[2]! })), sorted.slice(3, 6));
    const ofShop = await listRecurring({ limit: 100, after: null, owner: "shop" });
    assert.deepEqual(
      idsOf(ofShop),
      sorted.filter((id) => ids.indexOf(id) % 2 === 1),
    );
  });

  test("deletes, and says what was there", async ({ adapter }) => {
    await put(adapter, { id: "a" });
    await put(adapter, { id: "b" });
    const { deleteRecurring, listRecurring } = recurringOf(adapter);
    assert.deepEqual(await deleteRecurring({ ids: ["b", "none"] }), ["b"]);
    assert.deepEqual(await deleteRecurring({ ids: ["b"] }), []);
    assert.deepEqual(await deleteRecurring({ ids: [] }), []);
    assert.deepEqual(idsOf(await listRecurring({ limit: 10, after: null })), ["a"]);
  });

  test("forgets a put, an advance and a deletion that are rolled back", async ({ adapter }) => {
    const before = await put(adapter);
    const recurring = recurringOf(adapter);
    const rollBack = new Error("roll back");
    await assert.rejects(
      adapter.runInTransaction(async (ctx) => {
        await recurring.lockRecurring({ ctx, ids: ["nightly"] });
        await recurring.advanceRecurring({
          ctx,
          jobs: [{ ...before, runsAt: baseTime + 1, tickHistory: "moved" }],
        });
        await recurring.putRecurring({ ctx, jobs: [newRecurring({ id: "other" })] });
        await recurring.deleteRecurring({ ctx, ids: ["nightly"] });
        assert.deepEqual(await recurring.getRecurring({ ctx, ids: ["nightly"] }), [undefined]);
        throw rollBack;
      }),
      rollBack,
    );
    assert.deepEqual(await recurring.listRecurring({ limit: 10, after: null }), [before]);
  });

  test("lets one transaction at a time hold an id, whether or not there is a recurring job with it", async ({
    adapter,
  }) => {
    const recurring = recurringOf(adapter);
    const isLocked = createGate();
    const mayEnd = createGate();
    const first = adapter.runInTransaction(async (ctx) => {
      assert.deepEqual(await recurring.lockRecurring({ ctx, ids: ["nightly"] }), [undefined]);
      isLocked.open();
      await mayEnd.opened;
      await recurring.putRecurring({ ctx, jobs: [newRecurring({ tickHistory: "first" })] });
    });
    await isLocked.opened;
    const second = retryTransient({ adapter }, () =>
      adapter.runInTransaction((ctx) => recurring.lockRecurring({ ctx, ids: ["nightly"] })),
    );
    mayEnd.open();
    await first;
    assert.equal((await second)[0]?.tickHistory, "first");
  });

  test("refuses what needs a transaction without one", async ({ adapter }) => {
    const recurring = recurringOf(adapter);
    const ctx = {};
    for (const call of [
      () => recurring.lockRecurring({ ctx, ids: ["a"] }),
      () => recurring.lockDueRecurring({ ctx, limit: 1, timeZoneVersion: null }),
      () => recurring.putRecurring({ ctx, jobs: [newRecurring()] }),
      () => recurring.advanceRecurring({ ctx, jobs: [newRecurring()] }),
    ])
      await assert.rejects(call, StateNotInTransactionError);
  });

  test("keeps with a job what started it", async ({ adapter, start, run, reload }) => {
    const recurrence = '{"id":"nightly","nominalAt":1,"missed":0}';
    const job = await start({ recurrence });
    assert.equal(job.recurrence, recurrence);
    assert.equal((await reload(job)).recurrence, recurrence);
    assert.equal((await run(job)).recurrence, recurrence);
    assert.equal((await adapter.getJobs({ jobIds: [(await start()).id] }))[0]?.recurrence, null);
  });

  test("a filter by recurring job finds what it has started", async (scenario) => {
    const { adapter, startMany, run } = scenario;
    const by = (id: string): string => JSON.stringify({ id, nominalAt: 1, missed: 0 });
    const odd = `it's "nightly", \\ 日本`;
    const [first] = await startMany([
      { input: "a", recurrence: by(odd) },
      { input: "b", recurrence: by(odd) },
      { input: "c", recurrence: by("hourly") },
      { input: "d" },
    ]);
    await run(first!);
    const cases: [JobFilter, string[]][] = [
      [{ recurringJobIds: [odd] }, ["a", "b"]],
      [{ recurringJobIds: [odd, "hourly"] }, ["a", "b", "c"]],
      [{ recurringJobIds: [odd], statuses: ["pending"] }, ["b"]],
      [{ recurringJobIds: [odd], statuses: ["completed", "running"] }, ["a"]],
      [{ recurringJobIds: ["night"] }, []],
      [{ recurringJobIds: [] }, []],
    ];
    for (const [filter, expected] of cases) {
      const { jobs } = await adapter.listJobs({ filter, order: "oldest", limit: 100, after: null });
      assert.deepEqual(jobs.map(({ input }) => input).sort(), expected, JSON.stringify(filter));
      const counts = await adapter.countJobs({ filter });
      assert.equal(
        counts.reduce((sum, { count }) => sum + count, 0),
        expected.length,
      );
    }
    const call = { filter: { recurringJobIds: [odd] }, order: "newest", limit: 1 } as const;
    const page = await adapter.listJobs({ ...call, after: null });
    const rest = await adapter.listJobs({ ...call, after: page.next });
    assert.deepEqual([page.jobs.length, rest.jobs.length, rest.next], [1, 1, null]);
  });
};
