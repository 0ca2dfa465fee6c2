import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { NewJob } from "../../../store/contract/creation.ts";
import type { StateAttempt } from "../../../store/contract/history.ts";
import type { JobOutcome } from "../../../store/contract/outcomes.ts";
import type { StateJob } from "../../../store/contract/job.ts";
import { baseTime } from "../../state-fixture.ts";
import { completion, type Ending, failure, release, outcomeOf, retryAfter } from "../../state-scenario.ts";
import type { StateSuite } from "../../state-suite.ts";
import {
  endedAttempt,
  type HistoryScenario,
  interruptedAttempt,
  notedOutcome,
  rollBack,
  times,
  withHistory,
  withNote,
} from "./history-scenario.ts";

const endings = [retryAfter(60_000), failure, release] as const;

/** What a batch says of one job, and what is to be left of it. */
interface Story {
  outcome(job: StateJob): JobOutcome;
  /** Undefined if it leaves nothing. */
  left(job: StateJob): StateAttempt | undefined;
}

const noted = (ending: (typeof endings)[number]): Story => ({
  outcome: (job) => notedOutcome(job, ending),
  left: (job) => endedAttempt(job, ending.kind),
});

const silent = (ending: Ending): Story => ({
  outcome: (job) => outcomeOf(job, ending),
  left: () => undefined,
});

const refused: Story = {
  outcome: (job) => ({ ...notedOutcome(job, failure), leaseToken: "not the token" }),
  left: () => undefined,
};

const completedWithNote: Story = {
  outcome: (job) => notedOutcome(job, completion),
  left: () => undefined,
};

/** Alone, so that stores take their shortest way, and together. */
const batches: Readonly<Record<string, readonly Story[]>> = {
  "of retries": times(5, () => noted(retryAfter(0))),
  "of failures": times(5, () => noted(failure)),
  "of jobs given back": times(5, () => noted(release)),
  "of completions": times(5, () => completedWithNote),
  "of retries, some without a note": times(6, (n) => (n % 2 ? noted : silent)(retryAfter(0))),
  mixed: times(3, () => [
    silent(completion),
    completedWithNote,
    ...endings.flatMap((ending) => [noted(ending), silent(ending)]),
    refused,
  ]).flat(),
};

/** Jobs for which stores have ways of their own. */
const kinds: Readonly<Record<string, (scenario: HistoryScenario, count: number) => Promise<void>>> = {
  "of plain jobs": async ({ startMany }, count) => void (await startMany(times(count, () => ({})))),
  "of jobs that others wait for": async ({ startMany, startBlocked, typeName }, count) => {
    const jobs = await startMany(times(count, () => ({})));
    for (const job of jobs) await startBlocked([job], { typeName: `${typeName}-waiting` });
  },
  "of jobs with groups and limits": async ({ adapter, startMany, queue }, count) => {
    // A store may have this part and not that one.
    await adapter.limits?.setRule({
      queue,
      typeName: null,
      change: { concurrency: 1_000 },
      now: baseTime,
    });
    const settings = (n: number): Partial<NewJob> =>
      adapter.limits === undefined ? {} : { group: `group-${n % 3}` };
    await startMany(times(count, settings));
  },
};

export const describeAttemptsOfOutcomes = ({ test }: StateSuite): void => {
  for (const ending of endings) {
    test(
      `${ending.kind}: leaves one row, with what the note says`,
      withHistory(async ({ start, run, end, attempts }) => {
        const job = await run(await start({}, baseTime - 500), { workerId: "worker-7" });
        assert.deepEqual(await attempts(job), []);
        const result = await end(job, withNote(ending, job), baseTime + 70);
        assert.equal(result.kind, "applied");
        assert.deepEqual(await attempts(job), [
          {
            jobId: job.id,
            attempt: 1,
            leaseVersion: 1,
            workerId: "worker-7",
            deployment: "1.4.2",
            dueAt: baseTime - 500,
            startedAt: baseTime,
            endedAt: baseTime + 70,
            outcome: ending.kind,
            fingerprint: "0123456789abcdef",
            error: '{"message":"broken"}',
            log: '[["info","began"]]',
          },
        ]);
      }),
    );

    test(
      `${ending.kind}: leaves what is null empty`,
      withHistory(async ({ start, run, end, attempts }) => {
        const job = await run(await start());
        const empty = { deployment: null, fingerprint: null, error: null, log: null };
        await end(job, withNote(ending, job, empty));
        assert.deepEqual(await attempts(job), [endedAttempt(job, ending.kind, empty)]);
      }),
    );

    test(
      `${ending.kind}: leaves nothing without a note`,
      withHistory(async ({ start, run, end, attempts }) => {
        const job = await run(await start());
        assert.equal((await end(job, ending)).kind, "applied");
        assert.deepEqual(await attempts(job), []);
      }),
    );

    test(
      `${ending.kind}: leaves nothing if it is refused`,
      withHistory(async (scenario) => {
        const { adapter, start, run, end, cancel, attempts } = scenario;
        const fenced = await run(await start(), { leaseMs: 1_000 });
        const expired = await run(await start(), { leaseMs: 1_000 });
        const cancelled = await run(await start(), { leaseMs: 1_000 });
        await cancel(cancelled);
        const refusals = [
          await end({ ...fenced, leaseToken: randomUUID() }, withNote(ending, fenced)),
          await end(expired, withNote(ending, expired), baseTime + 1_000),
          await end(cancelled, withNote(ending, cancelled)),
        ];
        assert.deepEqual(
          refusals.map((result) => result.kind === "refused" && result.reason),
          ["lease_mismatch", "lease_expired", "not_running"],
        );
        for (const job of [fenced, expired]) assert.deepEqual(await attempts(job), []);
        assert.deepEqual(await attempts(cancelled), [interruptedAttempt(cancelled, "cancelled")]);
        const missing = { ...fenced, id: randomUUID() };
        const [result] = await adapter.commitOutcomes({ outcomes: [notedOutcome(missing, ending)] });
        assert.equal(result?.kind, "refused");
        assert.deepEqual(await attempts(missing), []);
      }),
    );

    test(
      `${ending.kind}: leaves nothing more when it is repeated`,
      withHistory(async ({ start, run, end, attempts }) => {
        const job = await run(await start());
        await end(job, withNote(ending, job));
        const again = await end(job, withNote(ending, job, { error: "other" }), baseTime + 5);
        assert.equal(again.kind, "repeated");
        assert.deepEqual(await attempts(job), [endedAttempt(job, ending.kind)]);
      }),
    );

    test(
      `${ending.kind}: counts once when a batch has it twice`,
      withHistory(async ({ adapter, start, run, attempts }) => {
        const job = await run(await start());
        const outcomes = [notedOutcome(job, ending), notedOutcome(job, ending, { error: "other" })];
        const results = await adapter.commitOutcomes({ outcomes, now: baseTime });
        assert.deepEqual(
          results.map(({ kind }) => kind),
          ["applied", "repeated"],
        );
        assert.deepEqual(await attempts(job), [endedAttempt(job, ending.kind)]);
      }),
    );

    test(
      `${ending.kind}: is seen in its transaction, and leaves nothing if that is rolled back`,
      withHistory(async (scenario) => {
        const { adapter, history, start, run, end, attempts } = scenario;
        const job = await run(await start());
        await rollBack(scenario, async (ctx) => {
          const outcomes = [notedOutcome(job, ending)];
          await adapter.commitOutcomes({ outcomes, ctx, now: baseTime });
          assert.deepEqual(await history.listAttempts({ jobIds: [job.id], ctx }), [
            [endedAttempt(job, ending.kind)],
          ]);
        });
        assert.deepEqual(await attempts(job), []);
        await end(job, withNote(ending, job, { log: null }));
        assert.deepEqual(await attempts(job), [endedAttempt(job, ending.kind, { log: null })]);
      }),
    );
  }

  test(
    "a completion with a note leaves nothing, and keeps what was there",
    withHistory(async ({ start, run, end, attempts }) => {
      const started = await start();
      const first = await run(started);
      await end(first, withNote(retryAfter(0), first));
      const second = await run(started);
      assert.equal((await end(second, withNote(completion, second))).kind, "applied");
      assert.deepEqual(await attempts(started), [endedAttempt(first, "retry")]);
    }),
  );

  test(
    "an outcome of a job that was locked in time leaves a row, although its lease has expired since",
    withHistory(async ({ adapter, start, run, attempts }) => {
      const job = await run(await start(), { leaseMs: 1_000 });
      await adapter.runInTransaction(async (ctx) => {
        const leases = [{ jobId: job.id, leaseToken: job.leaseToken! }];
        await adapter.lockHeldJobs({ leases, ctx, now: baseTime + 999 });
        const outcomes = [{ ...notedOutcome(job, failure), locked: true }];
        await adapter.commitOutcomes({ outcomes, ctx, now: baseTime + 2_000 });
      });
      assert.deepEqual(await attempts(job), [endedAttempt(job, "fail", { endedAt: baseTime + 2_000 })]);
    }),
  );

  for (const [kind, startJobs] of Object.entries(kinds))
    for (const [name, stories] of Object.entries(batches))
      test(
        `a batch ${name}, ${kind}, leaves a row for each note, with and without a transaction`,
        withHistory(async (scenario) => {
          const { adapter, history, claim, typeName } = scenario;
          await startJobs(scenario, stories.length * 2);
          const jobs = await claim({ typeNames: [typeName] });
          assert.equal(jobs.length, stories.length * 2);
          const storyOf = (index: number): Story => stories[index % stories.length]!;
          const outcomes = jobs.map((job, index) => storyOf(index).outcome(job));
          await adapter.commitOutcomes({ outcomes: outcomes.slice(0, stories.length), now: baseTime });
          await adapter.runInTransaction((ctx) =>
            adapter.commitOutcomes({ outcomes: outcomes.slice(stories.length), ctx, now: baseTime }),
          );
          const expected = jobs.map((job, index) => {
            const left = storyOf(index).left(job);
            return left === undefined ? [] : [left];
          });
          const jobIds = jobs.map(({ id }) => id);
          assert.deepEqual(await history.listAttempts({ jobIds }), expected);
          const repeated = await adapter.commitOutcomes({ outcomes, now: baseTime });
          assert.ok(repeated.every((result) => result.kind !== "applied"));
          assert.deepEqual(await history.listAttempts({ jobIds }), expected);
        }),
      );
};
