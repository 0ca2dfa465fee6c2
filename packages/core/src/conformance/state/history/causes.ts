import assert from "node:assert/strict";
import type { CauseList, FailedJobs, NewCause } from "../../../store/contract/history.ts";
import type { StateJob } from "../../../store/contract/job.ts";
import { baseTime } from "../../state-fixture.ts";
import { completion, failure, release, outcomeOf, retryAfter } from "../../state-scenario.ts";
import type { StateSuite } from "../../state-suite.ts";
import {
  fingerprint,
  type HistoryScenario,
  notedOutcome,
  rollBack,
  times,
  withHistory,
  withNote,
} from "./history-scenario.ts";

const other = "fedcba9876543210";

/** Starts a job, and has it fail. */
const failOne = async (
  { start, run, end }: HistoryScenario,
  mark: string | null = fingerprint,
  overrides: Parameters<HistoryScenario["start"]>[0] = {},
  failedAt: number = baseTime,
): Promise<StateJob> => {
  const job = await run(await start(overrides));
  const result = await end(job, withNote(failure, job, { fingerprint: mark }), failedAt);
  assert.equal(result.kind, "applied");
  return job;
};

const sorted = (failed: readonly FailedJobs[]): FailedJobs[] =>
  failed.toSorted((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));

const causeOf = (mark: string): NewCause => ({
  fingerprint: mark,
  name: "TypeError",
  message: `x of ${mark} is not a function`,
  frame: "send (mail.ts)",
  deployment: null,
});

export const describeCauses = ({ test, testAlone }: StateSuite): void => {
  test(
    "failed jobs of a group, or of a recurring job, are counted alone where that is asked for",
    withHistory(async (scenario) => {
      const { history, typeName, queue } = scenario;
      const [group, id] = [`group of ${queue}`, `recurring of ${queue}`];
      const grouped = await failOne(scenario, fingerprint, { group });
      const recurring = await failOne(scenario, other, { recurrence: JSON.stringify({ id }) });
      await failOne(scenario);
      const examples = async (filter: object): Promise<string[]> => {
        const { failed } = await history.listCauses({ cap: 100, typeNames: [typeName], ...filter });
        return failed.map(({ exampleId }) => exampleId);
      };
      assert.deepEqual(await examples({ groups: [group] }), [grouped.id]);
      assert.deepEqual(await examples({ recurringJobIds: [id] }), [recurring.id]);
      assert.deepEqual(await examples({ groups: [group], recurringJobIds: [id] }), []);
      assert.equal((await examples({})).length, 2);
    }),
  );

  test(
    "jobs that failed in different stretches of time are counted apart, where that is asked for",
    withHistory(async (scenario) => {
      const { history, typeName } = scenario;
      const everyMs = 1_000;
      const start = Math.ceil(baseTime / everyMs) * everyMs;
      const failedAt = [start, start + 1, start + everyMs - 1, start + everyMs, start + 5 * everyMs];
      const jobs: StateJob[] = [];
      for (const at of failedAt) jobs.push(await failOne(scenario, fingerprint, {}, at));
      const { failed } = await history.listCauses({ cap: 100, typeNames: [typeName], everyMs });
      const rows = failed
        .toSorted((a, b) => a.firstFailedAt - b.firstFailedAt)
        .map(({ count, firstFailedAt, lastFailedAt, exampleId }) => [
          count,
          firstFailedAt,
          lastFailedAt,
          exampleId,
        ]);
      assert.deepEqual(rows, [
        [3, failedAt[0], failedAt[2], jobs[2]!.id],
        [1, failedAt[3], failedAt[3], jobs[3]!.id],
        [1, failedAt[4], failedAt[4], jobs[4]!.id],
      ]);
      const together = await history.listCauses({ cap: 100, typeNames: [typeName] });
      assert.deepEqual(
        together.failed.map(({ count }) => count),
        [5],
      );
    }),
  );

  test(
    "a failure gives the job the fingerprint of its note",
    withHistory(async (scenario) => {
      const job = await failOne(scenario);
      await failOne(scenario, other);
      await failOne(scenario, null);
      assert.deepEqual(await scenario.withFingerprint(fingerprint), [job.id]);
    }),
  );

  test(
    "nothing else gives it one",
    withHistory(async (scenario) => {
      const { start, startBlocked, startMany, claim, end, cancel, reloadAll, withFingerprint } = scenario;
      await startMany(times(4, () => ({})));
      const [retried, released, completed, unnoted] = await claim();
      assert.ok(retried && released && completed && unnoted);
      await end(retried, withNote(retryAfter(60_000), retried));
      await end(released, withNote({ ...release, schedule: { afterMs: 60_000 } }, released));
      await end(completed, withNote(completion, completed));
      await end(unnoted, failure);
      const blocker = await failOne(scenario, other);
      const started = await start();
      const waiting = await startBlocked([started]);
      await cancel(started);
      const statuses = (await reloadAll([started, waiting, unnoted])).map((job) => job.failureReason);
      assert.deepEqual(statuses, ["cancelled", "blocker_failed", "unrecoverable"]);
      assert.deepEqual(await withFingerprint(fingerprint), []);
      assert.deepEqual(await withFingerprint(other), [blocker.id]);
    }),
  );

  test(
    "jobs that fail with another, or are cancelled after a retry, have none",
    withHistory(async (scenario) => {
      const { adapter, start, startBlocked, run, end, cancel, causes, withFingerprint, typeName } = scenario;
      const started = await start();
      const running = await run(started);
      const waiting = await startBlocked([running], { typeName: `${typeName}-waiting` });
      await end(running, withNote(retryAfter(0), running));
      await end(await run(started), failure);
      await adapter.redriveJobs({ jobIds: [started.id], now: baseTime });
      const again = await run(started);
      await end(again, withNote(failure, again));
      assert.deepEqual(await withFingerprint(fingerprint), [started.id]);
      const cancelled = await start();
      const first = await run(cancelled);
      await end(first, withNote(retryAfter(0), first));
      await cancel(cancelled);
      assert.deepEqual(
        new Set((await causes()).map((cause) => [cause.reason, cause.fingerprint, cause.exampleId].join())),
        new Set([
          ["unrecoverable", fingerprint, started.id].join(),
          ["blocker_failed", null, waiting.id].join(),
          ["cancelled", null, cancelled.id].join(),
        ]),
      );
    }),
  );

  testAlone(
    "jobs that waited too long have none",
    withHistory(async ({ adapter, start, run, end, reload, causes }) => {
      // A store may have this part and not that one.
      if (adapter.edits === undefined) return;
      const job = await start({ expireAfterMs: 1_000 });
      await adapter.edits.expireWaitingJobs({ limit: 10, error: "too late", now: baseTime + 2_000 });
      assert.equal((await reload(job)).failureReason, "expired");
      await end(await run(await start()), completion);
      assert.deepEqual(
        (await causes()).map((cause) => [cause.reason, cause.fingerprint]),
        [["expired", null]],
      );
    }),
  );

  test(
    "a redrive takes it away, also from a job that fails again without one",
    withHistory(async (scenario) => {
      const { adapter, run, end, cancel, withFingerprint } = scenario;
      const [one, two] = [await failOne(scenario), await failOne(scenario)];
      await adapter.redriveJobs({ jobIds: [one.id], now: baseTime });
      assert.deepEqual(await withFingerprint(fingerprint), [two.id]);
      await cancel(one);
      assert.deepEqual(await withFingerprint(fingerprint), [two.id]);
      await adapter.redriveJobs({ jobIds: [one.id, two.id], now: baseTime });
      assert.deepEqual(await withFingerprint(fingerprint), []);
      const running = await run(one);
      await end(running, withNote(failure, running, { fingerprint: other }));
      assert.deepEqual(await withFingerprint(other), [one.id]);
      assert.deepEqual(await withFingerprint(fingerprint), []);
    }),
  );

  test(
    "a redrive of a job that others wait for takes it away, too",
    withHistory(async (scenario) => {
      const { adapter, start, startBlocked, run, end, withFingerprint, causes } = scenario;
      const job = await run(await start());
      await startBlocked([job]);
      await end(job, withNote(failure, job));
      assert.deepEqual(await withFingerprint(fingerprint), [job.id]);
      const [result] = await adapter.redriveJobs({ jobIds: [job.id], now: baseTime });
      assert.equal(result?.revived.length, 1);
      assert.deepEqual(await withFingerprint(fingerprint), []);
      assert.deepEqual(await causes(), []);
    }),
  );

  test(
    "a rolled back failure gives none, and a rolled back redrive takes none",
    withHistory(async (scenario) => {
      const { adapter, start, run, withFingerprint } = scenario;
      const job = await failOne(scenario);
      const running = await run(await start());
      await rollBack(scenario, async (ctx) => {
        await adapter.redriveJobs({ jobIds: [job.id], ctx, now: baseTime });
        await adapter.commitOutcomes({ outcomes: [notedOutcome(running, failure)], ctx, now: baseTime });
      });
      assert.deepEqual(await withFingerprint(fingerprint), [job.id]);
    }),
  );

  test(
    "each job of a batch gets its own",
    withHistory(async ({ adapter, startMany, claim, withFingerprint }) => {
      await startMany(times(9, () => ({})));
      const jobs = await claim();
      const outcomes = jobs.map((job, n) =>
        n % 3 === 2
          ? outcomeOf(job, failure)
          : notedOutcome(job, failure, { fingerprint: n % 3 ? other : fingerprint }),
      );
      await adapter.commitOutcomes({ outcomes, now: baseTime });
      const every3rd = (from: number): string[] =>
        jobs
          .filter((_, n) => n % 3 === from)
          .map(({ id }) => id)
          .sort();
      assert.deepEqual((await withFingerprint(fingerprint)).sort(), every3rd(0));
      assert.deepEqual((await withFingerprint(other)).sort(), every3rd(1));
    }),
  );

  test(
    "a filter by fingerprint goes together with others",
    withHistory(async (scenario) => {
      const { adapter, queue, typeName } = scenario;
      const [a, b] = [`${typeName}-a`, `${typeName}-b`];
      const one = await failOne(scenario, fingerprint, { typeName: a });
      const two = await failOne(scenario, fingerprint, { typeName: b }, baseTime + 10);
      const three = await failOne(scenario, other, { typeName: a });
      await failOne(scenario, null, { typeName: a });
      await scenario.start();
      const cases = [
        [{ fingerprints: [fingerprint, other] }, [one, two, three]],
        [{ fingerprints: [] }, []],
        [{ fingerprints: ["0000000000000000"] }, []],
        [{ fingerprints: [fingerprint], typeNames: [b] }, [two]],
        [{ fingerprints: [fingerprint, other], typeNames: [a], statuses: ["failed"] }, [one, three]],
        [{ fingerprints: [fingerprint], statuses: ["pending"] }, []],
        [{ fingerprints: [fingerprint], failureReasons: ["cancelled"] }, []],
        [{ fingerprints: [fingerprint], finishedFrom: baseTime + 10 }, [two]],
        [{ fingerprints: [fingerprint], ids: [one.id, three.id] }, [one]],
      ] as const;
      for (const [filter, jobs] of cases) {
        const narrowed = { queues: [queue], ...filter };
        const page = await adapter.listJobs({ filter: narrowed, order: "newest", limit: 100, after: null });
        const ids = jobs.map(({ id }) => id).sort();
        assert.deepEqual(page.jobs.map(({ id }) => id).sort(), ids, JSON.stringify(filter));
        const counts = await adapter.countJobs({ filter: narrowed });
        assert.equal(
          counts.reduce((sum, { count }) => sum + count, 0),
          ids.length,
        );
      }
    }),
  );

  test(
    "pages through the jobs with a fingerprint",
    withHistory(async (scenario) => {
      const ids: string[] = [];
      for (let n = 0; n < 7; n += 1) ids.push((await failOne(scenario)).id);
      await failOne(scenario, other);
      const listed: string[] = [];
      let after = null;
      do {
        const filter = { fingerprints: [fingerprint], queues: [scenario.queue] };
        const page = await scenario.adapter.listJobs({ filter, order: "oldest", limit: 2, after });
        listed.push(...page.jobs.map(({ id }) => id));
        after = page.next;
      } while (after !== null);
      assert.deepEqual(listed.sort(), ids.sort());
    }),
  );

  test(
    "listCauses counts by fingerprint, queue, type and reason",
    withHistory(async (scenario) => {
      const { history, queue, typeName, start, cancel } = scenario;
      const queues = [queue, `${queue}-2`];
      const [a, b] = [`${typeName}-a`, `${typeName}-b`];
      await failOne(scenario, fingerprint, { typeName: a }, baseTime + 20);
      const last = await failOne(scenario, fingerprint, { typeName: a }, baseTime + 30);
      await failOne(scenario, fingerprint, { typeName: a }, baseTime + 10);
      const ofB = await failOne(scenario, fingerprint, { typeName: b });
      const elsewhere = await failOne(scenario, fingerprint, { typeName: a, queue: queues[1]! });
      const different = await failOne(scenario, other, { typeName: a });
      const without = await failOne(scenario, null, { typeName: a });
      const cancelled = await start({ typeName: a });
      await cancel(cancelled);
      await start({ typeName: a });
      const row = (job: StateJob, overrides: Partial<FailedJobs>): FailedJobs => ({
        fingerprint,
        queue: job.queue,
        typeName: job.typeName,
        reason: "unrecoverable",
        count: 1,
        firstFailedAt: baseTime,
        lastFailedAt: baseTime,
        exampleId: job.id,
        ...overrides,
      });
      const ofA = row(last, { count: 3, firstFailedAt: baseTime + 10, lastFailedAt: baseTime + 30 });
      const rows = {
        ofA,
        ofB: row(ofB, {}),
        elsewhere: row(elsewhere, {}),
        different: row(different, { fingerprint: other }),
        without: row(without, { fingerprint: null }),
        cancelled: row(cancelled, { fingerprint: null, reason: "cancelled" }),
      };
      const list = async (filter: object): Promise<FailedJobs[]> => {
        const { failed, capped } = await history.listCauses({ cap: 100, ...filter });
        assert.equal(capped, false);
        return sorted(failed);
      };
      assert.deepEqual(await list({ queues }), sorted(Object.values(rows)));
      assert.deepEqual(await list({ queues: [queues[1]!] }), [rows.elsewhere]);
      assert.deepEqual(await list({ typeNames: [b] }), [rows.ofB]);
      assert.deepEqual(
        await list({ queues: [queue], typeNames: [a] }),
        sorted([rows.ofA, rows.different, rows.without, rows.cancelled]),
      );
      assert.deepEqual(await list({ queues: [] }), []);
      assert.deepEqual(await list({ queues, typeNames: [] }), []);
    }),
  );

  testAlone(
    "listCauses looks at the failed jobs with the greatest ids, up to the cap, and says when there are more",
    withHistory(async (scenario) => {
      const { history, queue } = scenario;
      const jobs: StateJob[] = [];
      for (let n = 0; n < 6; n += 1) jobs.push(await failOne(scenario, n % 2 ? other : fingerprint));
      for (let n = 0; n < 4; n += 1) await failOne(scenario, null, { queue: `${queue}-2` });
      const ofQueue = (cap: number): Promise<CauseList> => history.listCauses({ cap, queues: [queue] });
      const byId = jobs.toSorted((a, b) => (a.id < b.id ? 1 : -1));
      for (const cap of [1, 3, 5, 6, 7]) {
        const { failed, capped } = await ofQueue(cap);
        const seen = byId.slice(0, cap).map((job) => (jobs.indexOf(job) % 2 ? other : fingerprint));
        const counts = new Map(failed.map((row) => [row.fingerprint, row.count]));
        for (const mark of [fingerprint, other])
          assert.equal(counts.get(mark) ?? 0, seen.filter((each) => each === mark).length, `cap ${cap}`);
        assert.equal(capped, cap < 6, `cap ${cap}`);
      }
      const all = await history.listCauses({ cap: 100 });
      assert.equal(
        all.failed.reduce((sum, { count }) => sum + count, 0),
        10,
      );
      assert.equal((await history.listCauses({ cap: 9 })).capped, true);
      assert.equal((await history.listCauses({ cap: 10 })).capped, false);
    }),
  );

  testAlone(
    "listCauses tells what is known of the fingerprints it lists, as it was first reported",
    withHistory(async (scenario) => {
      const { history, queue } = scenario;
      const report = (processId: string, causes: readonly NewCause[], now: number): Promise<number> =>
        history.writeReport({
          reporter: { id: processId, deployment: null, startedAt: baseTime, info: "{}" },
          buckets: [],
          causes,
          maxAgeMs: 60_000,
          now,
        });
      const known = { ...causeOf(fingerprint), deployment: "1.0" };
      const unseen = causeOf("1111111111111111");
      await report("a", [known, unseen], baseTime + 5);
      await report("b", [{ ...known, message: "later", deployment: "2.0", frame: null }], baseTime + 6);
      await failOne(scenario);
      await failOne(scenario, other);
      await failOne(scenario, null);
      const list = async (): Promise<CauseList["causes"]> =>
        (await history.listCauses({ cap: 100, queues: [queue] })).causes.toSorted(
          (a, b) => a.firstSeenAt - b.firstSeenAt,
        );
      assert.deepEqual(await list(), [{ ...known, firstSeenAt: baseTime + 5, lastSeenAt: baseTime + 6 }]);
      await report("b", [{ ...causeOf(other), frame: null }, known], baseTime + 7);
      assert.deepEqual(await list(), [
        { ...known, firstSeenAt: baseTime + 5, lastSeenAt: baseTime + 7 },
        { ...causeOf(other), frame: null, firstSeenAt: baseTime + 7, lastSeenAt: baseTime + 7 },
      ]);
      assert.deepEqual((await history.listCauses({ cap: 100, queues: [`${queue}-2`] })).causes, []);
    }),
  );

  testAlone(
    "deleteOldReports forgets causes that no failed job has, once they have not been reported for a while",
    withHistory(async (scenario) => {
      const { history, queue } = scenario;
      const [old, seenAgain, ofJob, late] = times(4, (n) => `${n}`.repeat(16));
      const report = async (fingerprints: readonly string[], now: number): Promise<void> => {
        const causes = fingerprints.map(causeOf);
        const reporter = { id: "a", deployment: null, startedAt: baseTime, info: "{}" };
        await history.writeReport({ reporter, buckets: [], causes, maxAgeMs: 60_000, now });
      };
      const marks = [old!, seenAgain!, ofJob!, late!];
      await report(marks.slice(0, 3), baseTime + 5);
      await report([seenAgain!, late!], baseTime + 10);
      const job = await failOne(scenario, ofJob);
      const forget = (limit = 100): Promise<number> =>
        history.deleteOldReports({ processesBefore: 0, causesBefore: baseTime + 10, buckets: [], limit });
      assert.equal(await forget(0), 0);
      await rollBack(scenario, async (ctx) => {
        const call = { processesBefore: 0, causesBefore: baseTime + 10, buckets: [], limit: 100 };
        assert.equal(await history.deleteOldReports({ ...call, ctx }), 1);
      });
      assert.equal(await forget(), 1);
      assert.equal(await forget(), 0);
      // A cause is listed with the failed jobs that have it, so it takes one to see what is left.
      const known = async (): Promise<string[]> =>
        (await history.listCauses({ cap: 100, queues: [queue] })).causes
          .map(({ fingerprint: mark }) => mark)
          .sort();
      const jobs: StateJob[] = [];
      for (const mark of marks) jobs.push(await failOne(scenario, mark));
      assert.deepEqual(await known(), [seenAgain, ofJob, late]);
      // The jobs go, and with them what they failed from.
      await scenario.adapter.deleteSequences({
        rootSequenceIds: [job, ...jobs].map(({ rootSequenceId }) => rootSequenceId),
      });
      assert.equal(await forget(), 1);
      for (const mark of marks) await failOne(scenario, mark);
      assert.deepEqual(await known(), [seenAgain, late]);
    }),
  );
};
