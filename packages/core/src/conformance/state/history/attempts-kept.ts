import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { mostAttempts } from "../../../store/contract/history.ts";
import type { StateAttempt } from "../../../store/contract/history.ts";
import type { StateJob } from "../../../store/contract/job.ts";
import { baseTime } from "../../state-fixture.ts";
import { completion, failure, release, retryAfter } from "../../state-scenario.ts";
import type { StateSuite } from "../../state-suite.ts";
import {
  endedAttempt,
  type HistoryScenario,
  lostAttempt,
  notedOutcome,
  rollBack,
  times,
  withHistory,
  withNote,
} from "./history-scenario.ts";

/** Runs the job and releases it with a note, `count` times. Returns the rows that this wrote, the latest first. */
const releaseOften = async (
  { run, end }: HistoryScenario,
  job: StateJob,
  count: number,
): Promise<StateAttempt[]> => {
  const rows: StateAttempt[] = [];
  for (let n = 0; n < count; n += 1) {
    const running = await run(job);
    await end(running, withNote(release, running, { log: `${n}` }));
    rows.unshift(endedAttempt(running, "release", { log: `${n}` }));
  }
  return rows;
};

export const describeKeptAttempts = ({ test, testAlone }: StateSuite): void => {
  test(
    "lists the latest first, whatever their times say",
    withHistory(async ({ start, run, end, attempts }) => {
      const job = await start();
      const rows: StateAttempt[] = [];
      for (const [index, ending] of [retryAfter(0), release, retryAfter(0), failure].entries()) {
        const running = await run(job);
        // Clocks may go back.
        const endedAt = baseTime - index;
        await end(running, withNote(ending, running, { startedAt: endedAt - 5 }), endedAt);
        rows.unshift(endedAttempt(running, ending.kind, { startedAt: endedAt - 5, endedAt }));
      }
      assert.deepEqual(await attempts(job), rows);
      assert.deepEqual(
        rows.map(({ leaseVersion, attempt }) => [leaseVersion, attempt]),
        [
          [4, 3],
          [3, 2],
          [2, 2],
          [1, 1],
        ],
      );
    }),
  );

  test(
    `keeps the latest ${mostAttempts} of a job`,
    withHistory(async (scenario) => {
      const [job, other] = await scenario.startMany([{ priority: 1 }, {}]);
      assert.ok(job && other);
      const rows = await releaseOften(scenario, job, mostAttempts);
      assert.deepEqual(await scenario.attempts(job), rows);
      rows.unshift(...(await releaseOften(scenario, job, 3)));
      assert.deepEqual(await scenario.attempts(job), rows.slice(0, mostAttempts));
      assert.deepEqual(await scenario.attempts(other), []);
    }),
  );

  test(
    `keeps the latest ${mostAttempts} of each job of a batch`,
    withHistory(async ({ adapter, history, startMany, claim, reloadAll }) => {
      const started = await startMany([{}, {}, {}]);
      const rows = new Map(started.map(({ id }) => [id, [] as StateAttempt[]]));
      for (let n = 0; n < mostAttempts + 2; n += 1) {
        const running = await claim();
        assert.equal(running.length, 3);
        // The second is given back without a note now and then.
        const outcomes = running.map((job) =>
          job.id === started[1]?.id && n % 5 === 0
            ? { ...notedOutcome(job, release), note: undefined }
            : notedOutcome(job, release, { log: `${n}` }),
        );
        await adapter.commitOutcomes({ outcomes, now: baseTime });
        for (const [index, job] of running.entries())
          if (outcomes[index]?.note !== undefined)
            rows.get(job.id)?.unshift(endedAttempt(job, "release", { log: `${n}` }));
      }
      await reloadAll(started);
      assert.deepEqual(
        await history.listAttempts({ jobIds: started.map(({ id }) => id) }),
        started.map(({ id }) => rows.get(id)?.slice(0, mostAttempts)),
      );
    }),
  );

  testAlone(
    "leases that ran out count, too",
    withHistory(async (scenario) => {
      const job = await scenario.start();
      const rows = await releaseOften(scenario, job, mostAttempts);
      const reaped = await scenario.run(job, { leaseMs: 1_000 });
      await scenario.adapter.reapExpiredLeases({ limit: 10, error: "gone", now: baseTime + 1_000 });
      rows.unshift(lostAttempt(reaped));
      assert.deepEqual(await scenario.attempts(job), rows.slice(0, mostAttempts));
      const taken = await scenario.run(job, { leaseMs: 1_000, now: baseTime + 1_000 });
      await scenario.run(job, { now: baseTime + 2_000 });
      rows.unshift(lostAttempt(taken));
      assert.deepEqual(await scenario.attempts(job), rows.slice(0, mostAttempts));
    }),
  );

  test(
    "a rolled back transaction brings back the one that had to go",
    withHistory(async (scenario) => {
      const { adapter, attempts, run, start } = scenario;
      const job = await start();
      const rows = await releaseOften(scenario, job, mostAttempts);
      const running = await run(job);
      await rollBack(scenario, async (ctx) => {
        await adapter.commitOutcomes({ outcomes: [notedOutcome(running, failure)], ctx, now: baseTime });
      });
      assert.deepEqual(await attempts(job), rows);
    }),
  );

  test(
    "answers in the order asked for, with nothing for a job that has none or does not exist",
    withHistory(async ({ history, startMany, claim, end }) => {
      const started = await startMany(times(3, () => ({})));
      const running = await claim();
      const [one, two, three] = running;
      assert.ok(one && two && three && started.length === 3);
      for (const job of [one, two]) await end(job, withNote(failure, job));
      const jobIds = [two.id, randomUUID(), three.id, one.id, two.id];
      const [ofOne, ofTwo] = [one, two].map((job) => [endedAttempt(job, "fail")]);
      assert.deepEqual(await history.listAttempts({ jobIds }), [ofTwo, [], [], ofOne, ofTwo]);
      assert.deepEqual(await history.listAttempts({ jobIds: [] }), []);
    }),
  );

  test(
    "each job of a sequence has its own",
    withHistory(async ({ start, run, end, continueSequence, attempts }) => {
      const started = await start();
      const first = await run(started);
      await end(first, withNote(retryAfter(0), first));
      const next = await continueSequence(await run(started));
      assert.deepEqual(await attempts(next), []);
      const second = await run(next);
      await end(second, withNote(failure, second));
      assert.deepEqual(await attempts(next), [endedAttempt(second, "fail")]);
      assert.deepEqual(await attempts(started), [endedAttempt(first, "retry")]);
    }),
  );

  test(
    "a redrive keeps them, and numbers go on",
    withHistory(async ({ adapter, start, run, end, attempts }) => {
      const started = await start();
      const first = await run(started);
      await end(first, withNote(failure, first));
      await adapter.redriveJobs({ jobIds: [started.id], now: baseTime });
      assert.deepEqual(await attempts(started), [endedAttempt(first, "fail")]);
      const second = await run(started);
      await end(second, withNote(failure, second));
      assert.deepEqual([second.attempt, second.leaseVersion], [1, 2]);
      assert.deepEqual(await attempts(started), [endedAttempt(second, "fail"), endedAttempt(first, "fail")]);
    }),
  );

  test(
    "they go when the job is deleted, and come back if that is rolled back",
    withHistory(async (scenario) => {
      const { adapter, start, run, end, attempts } = scenario;
      const started = await start();
      const job = await run(started);
      await end(job, withNote(failure, job));
      const call = { rootSequenceIds: [job.id], now: baseTime };
      await rollBack(scenario, async (ctx) => {
        assert.equal((await adapter.deleteSequences({ ...call, ctx })).deleted.length, 1);
      });
      assert.deepEqual(await attempts(job), [endedAttempt(job, "fail")]);
      assert.equal((await adapter.deleteSequences(call)).deleted.length, 1);
      assert.deepEqual(await attempts(job), []);
      // Another job with the same id, which an application may choose, is not to inherit them.
      await start({ id: started.id });
      assert.deepEqual(await attempts(job), []);
    }),
  );

  testAlone(
    "they go when the job is pruned",
    withHistory(async ({ adapter, start, startMany, claim, end, history }) => {
      await startMany([{}, {}, {}]);
      const [done, failed, kept] = await claim();
      assert.ok(done && failed && kept);
      await end(failed, withNote(failure, failed));
      for (const job of [done, kept]) await end(job, withNote(retryAfter(0), job));
      for (const job of await claim()) if (job.id === done.id) await end(job, completion);
      const rule = { sequenceTypeNames: null, completedBefore: baseTime + 1, failedBefore: baseTime + 1 };
      await adapter.pruneSequences({ rules: [rule], limit: 100, after: null, now: baseTime + 5 });
      const jobIds = [done, failed, kept].map(({ id }) => id);
      const left = [[], [], [endedAttempt(kept, "retry")]];
      assert.deepEqual(await history.listAttempts({ jobIds }), left);
      for (const { id } of [done, failed]) await start({ id });
      assert.deepEqual(await history.listAttempts({ jobIds }), left);
    }),
  );
};
