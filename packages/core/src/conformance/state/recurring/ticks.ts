import assert from "node:assert/strict";
import { createGate } from "../../gate.ts";
import { retryTransient } from "../../retry-transient.ts";
import { baseTime } from "../../state-fixture.ts";
import type { StateSuite } from "../../state-suite.ts";
import { recurringOf, lockDue, put } from "./fixture.ts";

const idsOf = (jobs: readonly { readonly id: string }[]): string[] => jobs.map(({ id }) => id);

export const describeRecurringTicks = ({ testAlone: test }: StateSuite): void => {
  test("says when the next one is due", async ({ adapter }) => {
    const { nextRecurringIn } = recurringOf(adapter);
    assert.equal(await nextRecurringIn({ now: baseTime }), null);
    await put(adapter, { id: "ended", runsAt: null });
    await put(adapter, { id: "paused", paused: true });
    assert.equal(await nextRecurringIn({ now: baseTime }), null);
    await put(adapter, { id: "later", runsAt: baseTime + 5_000 });
    await put(adapter, { id: "sooner", runsAt: baseTime + 1_000 });
    assert.equal(await nextRecurringIn({ now: baseTime }), 1_000);
    assert.equal(await nextRecurringIn({ now: baseTime + 999 }), 1);
    assert.equal(await nextRecurringIn({ now: baseTime + 1_000 }), 0);
    assert.equal(await nextRecurringIn({ now: baseTime + 9_000 }), 0);
  });

  test("finds those that are due, earliest first, up to the limit", async ({ adapter }) => {
    await put(adapter, { id: "c", runsAt: baseTime - 1 });
    await put(adapter, { id: "b", runsAt: baseTime });
    await put(adapter, { id: "a", runsAt: baseTime - 1 });
    await put(adapter, { id: "d", runsAt: baseTime + 1 });
    await put(adapter, { id: "ended", runsAt: null });
    await put(adapter, { id: "paused", runsAt: baseTime - 9, paused: true });
    const { now, jobs } = await lockDue(adapter);
    assert.equal(now, baseTime);
    assert.deepEqual(idsOf(jobs), ["a", "c", "b"]);
    assert.deepEqual(jobs, await recurringOf(adapter).getRecurring({ ids: ["a", "c", "b"] }));
    assert.deepEqual(idsOf((await lockDue(adapter, { limit: 2 })).jobs), ["a", "c"]);
    assert.deepEqual((await lockDue(adapter, { now: 0 })).jobs, []);
  });

  test("finds those with older zone data when asked to", async ({ adapter }) => {
    await put(adapter, { id: "none", runsAt: baseTime + 1, timeZoneVersion: "" });
    await put(adapter, { id: "same", runsAt: baseTime + 1, timeZoneVersion: "2025b" });
    await put(adapter, { id: "newer", runsAt: baseTime + 1, timeZoneVersion: "2025c" });
    await put(adapter, { id: "older", runsAt: baseTime + 1, timeZoneVersion: "2024z" });
    await put(adapter, { id: "older, paused", runsAt: baseTime + 1, timeZoneVersion: "2024z", paused: true });
    await put(adapter, { id: "older, ended", runsAt: null, timeZoneVersion: "2024z" });
    await put(adapter, { id: "due", runsAt: baseTime, timeZoneVersion: "2025b" });
    assert.deepEqual(idsOf((await lockDue(adapter, { timeZoneVersion: "2025b" })).jobs), ["due", "older"]);
    assert.deepEqual(idsOf((await lockDue(adapter)).jobs), ["due"]);
  });

  test("finds those that a later clock has computed when asked to", async ({ adapter }) => {
    const ahead = { runsAt: baseTime + 7_200_000, computedAt: baseTime + 60_001 };
    await put(adapter, { id: "ahead", ...ahead });
    await put(adapter, { id: "ahead, paused", ...ahead, paused: true });
    await put(adapter, { id: "ahead, ended", ...ahead, runsAt: null });
    await put(adapter, { id: "tolerated", ...ahead, computedAt: baseTime + 60_000 });
    await put(adapter, { id: "due", runsAt: baseTime });
    assert.deepEqual(idsOf((await lockDue(adapter, { timeZoneVersion: "" })).jobs), ["due", "ahead"]);
    assert.deepEqual(idsOf((await lockDue(adapter)).jobs), ["due"]);
    const later = { timeZoneVersion: "", now: baseTime + 1 };
    assert.deepEqual(idsOf((await lockDue(adapter, later)).jobs), ["due"]);
  });

  test("takes its time from the store's clock", async ({ adapter }) => {
    const before = await adapter.getTime();
    const { now } = await adapter.runInTransaction((ctx) =>
      recurringOf(adapter).lockDueRecurring({ ctx, limit: 1, timeZoneVersion: null }),
    );
    assert.ok(now >= before && now <= (await adapter.getTime()));
  });

  test("moves on what a tick has locked, and nothing else of it", async ({ adapter, start }) => {
    const before = await put(adapter, { id: "a", timeZoneVersion: "1" });
    const other = await put(adapter, { id: "b" });
    const { id: lastSequenceId } = await start();
    const progress = {
      nextNominalAt: baseTime + 60_000,
      runsAt: baseTime + 60_500,
      lastSequenceId,
      tickHistory: '{"started":1}',
      timeZoneVersion: "2",
      computedAt: baseTime + 5,
    };
    const ended = {
      nextNominalAt: null,
      runsAt: null,
      lastSequenceId: null,
      tickHistory: "end",
      timeZoneVersion: "",
      computedAt: baseTime + 6,
    };
    const recurring = recurringOf(adapter);
    await adapter.runInTransaction(async (ctx) => {
      const { jobs } = await recurring.lockDueRecurring({
        ctx,
        limit: 10,
        timeZoneVersion: null,
        now: baseTime + 5,
      });
      assert.equal(jobs.length, 2);
      await recurring.advanceRecurring({ ctx, jobs: [], now: baseTime + 5 });
      await recurring.advanceRecurring({ ctx, jobs: [{ id: "a", ...progress }], now: baseTime + 5 });
      const several = [
        { id: "b", ...ended },
        { id: "none", ...ended },
      ];
      await recurring.advanceRecurring({ ctx, jobs: several, now: baseTime + 5 });
    });
    assert.deepEqual(await recurring.getRecurring({ ids: ["a", "b", "none"] }), [
      { ...before, ...progress },
      { ...other, ...ended },
      undefined,
    ]);
    assert.deepEqual((await lockDue(adapter)).jobs, []);
  });

  test("also locks what its own transaction has locked or put", async ({ adapter }) => {
    await put(adapter, { id: "changed", paused: true });
    await put(adapter, { id: "locked" });
    const recurring = recurringOf(adapter);
    await adapter.runInTransaction(async (ctx) => {
      const [changed] = await recurring.lockRecurring({ ctx, ids: ["changed"] });
      await recurring.putRecurring({ ctx, jobs: [{ ...changed!, paused: false }], now: baseTime });
      await recurring.lockRecurring({ ctx, ids: ["locked"] });
      const call = { ctx, limit: 10, timeZoneVersion: null, now: baseTime };
      assert.deepEqual(idsOf((await recurring.lockDueRecurring(call)).jobs), ["changed", "locked"]);
      assert.deepEqual(idsOf((await recurring.lockDueRecurring(call)).jobs), ["changed", "locked"]);
    });
  });

  test("lets two ticks at once have none twice", async ({ adapter }) => {
    for (let index = 0; index < 20; index += 1) await put(adapter, { id: `job-${index}` });
    const recurring = recurringOf(adapter);
    const taken: string[] = [];
    const tickOnce = (): Promise<string[]> =>
      adapter.runInTransaction(async (ctx) => {
        const { jobs } = await recurring.lockDueRecurring({
          ctx,
          limit: 3,
          timeZoneVersion: null,
          now: baseTime,
        });
        await recurring.advanceRecurring({
          ctx,
          jobs: jobs.map((job) => ({ ...job, runsAt: baseTime + 60_000 })),
          now: baseTime,
        });
        return idsOf(jobs);
      });
    const tick = async (): Promise<number> => {
      const ids = await retryTransient({ adapter }, tickOnce);
      taken.push(...ids);
      return ids.length;
    };
    const tickUntilNothing = async (): Promise<void> => {
      while ((await tick()) > 0);
    };
    await Promise.all([tickUntilNothing(), tickUntilNothing(), tickUntilNothing()]);
    await tickUntilNothing();
    assert.equal(taken.length, 20);
    assert.equal(new Set(taken).size, 20);
  });

  test("has no say over one that is being changed, and sees the change afterwards", async ({ adapter }) => {
    await put(adapter);
    const recurring = recurringOf(adapter);
    const isLocked = createGate();
    const mayEnd = createGate();
    const edit = adapter.runInTransaction(async (ctx) => {
      const [job] = await recurring.lockRecurring({ ctx, ids: ["nightly"] });
      isLocked.open();
      await mayEnd.opened;
      await recurring.putRecurring({ ctx, jobs: [{ ...job!, paused: true }] });
    });
    await isLocked.opened;
    const ticking = lockDue(adapter);
    mayEnd.open();
    await edit;
    assert.deepEqual((await ticking).jobs, []);
  });
};
