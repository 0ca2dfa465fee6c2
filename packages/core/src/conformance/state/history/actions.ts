import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { ListActionsCall, NewAction, StateAction } from "../../../store/contract/actions.ts";
import { baseTime } from "../../state-fixture.ts";
import type { StateSuite } from "../../state-suite.ts";
import { rollBack, times, withHistory } from "./history-scenario.ts";

const newAction = (overrides: Partial<NewAction> = {}): NewAction => ({
  id: randomUUID(),
  actor: "ada",
  kind: "redrive",
  plan: '{"count":3}',
  result: null,
  ...overrides,
});

export const describeActions = ({ test, testAlone }: StateSuite): void => {
  test(
    "records what is about to be done, and then what came of it",
    withHistory(async ({ history }) => {
      const action = newAction();
      const get = async (): Promise<StateAction | undefined> =>
        (await history.getActions({ ids: [action.id] }))[0];
      assert.equal(await get(), undefined);
      await history.recordAction({ action, now: baseTime });
      assert.deepEqual(await get(), { ...action, startedAt: baseTime, changedAt: null });
      for (const [result, after] of [
        ["1 of 3", 10],
        ["3 of 3", 20],
      ] as const) {
        const changed = { id: action.id, actor: "eve", kind: "delete", plan: "other", result };
        await history.recordAction({ action: changed, now: baseTime + after });
        assert.deepEqual(await get(), {
          ...action,
          result,
          startedAt: baseTime,
          changedAt: baseTime + after,
        });
      }
    }),
  );

  test(
    "records an action and its result at once",
    withHistory(async ({ history }) => {
      const action = newAction({ result: "done" });
      await history.recordAction({ action, now: baseTime });
      assert.deepEqual(await history.getActions({ ids: [action.id] }), [
        { ...action, startedAt: baseTime, changedAt: baseTime },
      ]);
    }),
  );

  test(
    "replaces a result only where it is still the expected one",
    withHistory(async ({ history }) => {
      const action = newAction();
      const { id } = action;
      await history.recordAction({ action, now: baseTime });
      const replace = (from: string | null, to: string, after: number): Promise<boolean> =>
        history.replaceActionResult({ id, from, to, now: baseTime + after });
      assert.equal(await replace("1 of 3", "2 of 3", 5), false);
      assert.equal(await replace(null, "1 of 3", 10), true);
      assert.equal(await replace(null, "other", 20), false);
      assert.equal(await replace("1 of 3", "2 of 3", 30), true);
      assert.deepEqual(await history.getActions({ ids: [id] }), [
        { ...action, result: "2 of 3", startedAt: baseTime, changedAt: baseTime + 30 },
      ]);
      assert.equal(
        await history.replaceActionResult({ id: randomUUID(), from: null, to: "done", now: baseTime }),
        false,
      );
    }),
  );

  test(
    "lets one of several replace the same result",
    withHistory(async ({ history }) => {
      const action = newAction();
      await history.recordAction({ action, now: baseTime });
      const outcomes = await Promise.all(
        times(5, (n) =>
          history.replaceActionResult({ id: action.id, from: null, to: `by ${n}`, now: baseTime }),
        ),
      );
      assert.equal(outcomes.filter(Boolean).length, 1);
      const [stored] = await history.getActions({ ids: [action.id] });
      assert.equal(stored?.result, `by ${outcomes.indexOf(true)}`);
    }),
  );

  test(
    "gets actions in the order asked for",
    withHistory(async ({ history }) => {
      const actions = times(2, () => newAction());
      for (const action of actions) await history.recordAction({ action, now: baseTime });
      const [one, two] = actions.map((action) => ({ ...action, startedAt: baseTime, changedAt: null }));
      const ids = [two!.id, randomUUID(), one!.id, two!.id];
      assert.deepEqual(await history.getActions({ ids }), [two, undefined, one, two]);
      assert.deepEqual(await history.getActions({ ids: [] }), []);
    }),
  );

  test(
    "forgets what is rolled back",
    withHistory(async (scenario) => {
      const { history } = scenario;
      const [kept, undone] = [newAction(), newAction()];
      await history.recordAction({ action: kept, now: baseTime });
      const ids = [kept.id, undone.id];
      await rollBack(scenario, async (ctx) => {
        await history.recordAction({ action: undone, ctx, now: baseTime });
        await history.recordAction({ action: { ...kept, result: "done" }, ctx, now: baseTime });
        const seen = await history.getActions({ ids, ctx });
        assert.deepEqual(
          seen.map((action) => action?.result),
          ["done", null],
        );
      });
      assert.deepEqual(await history.getActions({ ids }), [
        { ...kept, startedAt: baseTime, changedAt: null },
        undefined,
      ]);
    }),
  );

  test(
    "records an action in the transaction of what it does",
    withHistory(async ({ adapter, history, start, reload }) => {
      const job = await start();
      const action = newAction({ kind: "cancel", result: "done" });
      await adapter.runInTransaction(async (ctx) => {
        await adapter.cancelSequences({ sequenceIds: [job.id], error: "stopped", ctx, now: baseTime });
        await history.recordAction({ action, ctx, now: baseTime });
      });
      assert.equal((await reload(job)).failureReason, "cancelled");
      assert.equal((await history.getActions({ ids: [action.id] }))[0]?.kind, "cancel");
    }),
  );

  testAlone(
    "lists the latest first, page by page, without gaps where times are the same",
    withHistory(async ({ history }) => {
      assert.deepEqual(await history.listActions({ limit: 10, after: null }), []);
      const expected: StateAction[] = [];
      for (let n = 0; n < 23; n += 1) {
        const action = newAction();
        const startedAt = baseTime + (n % 3);
        await history.recordAction({ action, now: startedAt });
        expected.push({ ...action, startedAt, changedAt: null });
      }
      expected.sort((a, b) => b.startedAt - a.startedAt || (a.id < b.id ? 1 : -1));
      const listed: StateAction[] = [];
      for (let after: ListActionsCall["after"] = null; ;) {
        const page = await history.listActions({ limit: 4, after });
        listed.push(...page);
        const last = page.at(-1);
        if (last === undefined) break;
        after = { startedAt: last.startedAt, id: last.id };
        // What is begun, or changes, meanwhile moves nothing.
        await history.recordAction({ action: newAction(), now: baseTime + 100 });
        const result = `after ${listed.length}`;
        await history.recordAction({ action: { ...last, result }, now: baseTime + 50 });
      }
      assert.deepEqual(listed, expected);
      assert.equal((await history.listActions({ limit: 100, after: null })).length, 23 + 6);
    }),
  );
};
