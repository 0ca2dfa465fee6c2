import assert from "node:assert/strict";
import type { NewJob } from "../../../store/contract/creation.ts";
import type { AttemptOutcome } from "../../../store/contract/history.ts";
import type { StateJob } from "../../../store/contract/job.ts";
import { baseTime } from "../../state-fixture.ts";
import { completion, failure, outcomeOf, release, retryAfter } from "../../state-scenario.ts";
import type { StateSuite } from "../../state-suite.ts";
import {
  type HistoryScenario,
  interruptedAttempt,
  lostAttempt,
  rollBack,
  times,
  withHistory,
  withNote,
} from "./history-scenario.ts";

/** A call that ends running jobs without the lease of their worker. */
interface Interruption {
  readonly outcome: AttemptOutcome;
  end(scenario: HistoryScenario, jobs: readonly StateJob[], now: number, ctx?: object): Promise<unknown>;
}

const byOutcome = (outcome: AttemptOutcome, ending: typeof completion): Interruption => ({
  outcome,
  end: ({ adapter }, jobs, now, ctx) =>
    adapter.commitOutcomes({
      outcomes: jobs.map((job) => ({ ...outcomeOf(job, ending), leaseToken: null })),
      now,
      ctx,
    }),
});

const interruptions: Readonly<Record<string, Interruption>> = {
  "cancelled while it runs": {
    outcome: "cancelled",
    end: ({ adapter }, jobs, now, ctx) =>
      adapter.cancelSequences({ sequenceIds: jobs.map(({ id }) => id), error: "{}", now, ctx }),
  },
  "completed from outside": byOutcome("already_completed", completion),
};

/** Jobs for which stores have ways of their own. */
const settings: Readonly<Record<string, (scenario: HistoryScenario) => Partial<NewJob>>> = {
  "a plain job": () => ({}),
  "a job with a key": () => ({ deduplication: { key: "key", scope: "unfinished", windowMs: null } }),
  "a job with a group and a limit": ({ adapter }) => (adapter.limits === undefined ? {} : { group: "group" }),
};

export const describeInterruptedAttempts = ({ test }: StateSuite): void => {
  for (const [name, { outcome, end }] of Object.entries(interruptions)) {
    for (const [kind, settingsOf] of Object.entries(settings))
      test(
        `${kind} that is ${name} leaves a row of its attempt`,
        withHistory(async (scenario) => {
          const { adapter, queue, start, startBlocked, run, attempts, typeName } = scenario;
          await adapter.limits?.setRule({ queue, typeName: null, change: { concurrency: 9 }, now: baseTime });
          const started = await start(settingsOf(scenario), baseTime - 500);
          await startBlocked([started], { typeName: `${typeName}-waiting` });
          const job = await run(started, { workerId: "worker-7", deployment: "v7" });
          await end(scenario, [job], baseTime + 70);
          assert.deepEqual(await attempts(job), [
            {
              jobId: job.id,
              attempt: 1,
              leaseVersion: 1,
              workerId: "worker-7",
              deployment: "v7",
              dueAt: baseTime - 500,
              startedAt: baseTime,
              endedAt: baseTime + 70,
              outcome,
              fingerprint: null,
              error: null,
              log: null,
            },
          ]);
        }),
      );

    test(
      `jobs that are ${name} in one call leave a row each if they were running, and keep earlier rows`,
      withHistory(async (scenario) => {
        const { history, start, startMany, claim, run, end: finish } = scenario;
        const retried = await start();
        const first = await run(retried);
        await finish(first, withNote(retryAfter(0), first));
        await startMany(times(4, () => ({})));
        const running = await claim();
        const pending = await start();
        await end(scenario, [...running, pending], baseTime + 1);
        const rows = await history.listAttempts({ jobIds: [...running, pending].map(({ id }) => id) });
        const expected = running.map((job) => [interruptedAttempt(job, outcome, { endedAt: baseTime + 1 })]);
        assert.deepEqual(
          rows.map((each) => each.slice(0, 1)),
          [...expected, []],
        );
        const counts = running.map(({ leaseVersion }) => leaseVersion);
        assert.deepEqual(
          rows.map((each) => each.length),
          [...counts, 0],
        );
      }),
    );

    test(
      `an attempt whose lease had run out ended with its lease, also if its job is ${name}`,
      withHistory(async (scenario) => {
        const { start, run, attempts } = scenario;
        const job = await run(await start(), { leaseMs: 1_000, deployment: "v7" });
        await end(scenario, [job], baseTime + 5_000);
        assert.deepEqual(await attempts(job), [lostAttempt(job)]);
      }),
    );

    test(
      `a job that is ${name} in a transaction that rolls back leaves nothing`,
      withHistory(async (scenario) => {
        const { history, start, run, attempts } = scenario;
        const job = await run(await start());
        await rollBack(scenario, async (ctx) => {
          await end(scenario, [job], baseTime, ctx);
          const rows = await history.listAttempts({ jobIds: [job.id], ctx });
          assert.deepEqual(rows, [[interruptedAttempt(job, outcome)]]);
        });
        assert.deepEqual(await attempts(job), []);
      }),
    );

    test(
      `a job that is ${name} twice leaves one row, and none if it never ran`,
      withHistory(async (scenario) => {
        const { start, run, attempts } = scenario;
        const job = await run(await start());
        await end(scenario, [job], baseTime);
        await end(scenario, [job], baseTime + 5);
        assert.deepEqual(await attempts(job), [interruptedAttempt(job, outcome)]);
        const pending = await start();
        await end(scenario, [pending], baseTime);
        assert.deepEqual(await attempts(pending), []);
      }),
    );
  }

  for (const ending of [retryAfter(0), failure, release])
    test(
      `${ending.kind} without a lease leaves a row of the attempt that it ends`,
      withHistory(async ({ start, run, endWorkerless, attempts, causes }) => {
        const job = await run(await start());
        await endWorkerless(job, ending);
        assert.deepEqual(await attempts(job), [interruptedAttempt(job, ending.kind)]);
        for (const { fingerprint } of await causes()) assert.equal(fingerprint, null);
      }),
    );

  test(
    "a job keeps the deployment of its latest claim",
    withHistory(async ({ start, run, end, reload }) => {
      const started = await start();
      assert.equal(started.deployment, null);
      for (const deployment of ["v1", "v2", undefined]) {
        const job = await run(started, { deployment });
        assert.equal(job.deployment, deployment ?? null);
        await end(job, release);
        assert.equal((await reload(job)).deployment, deployment ?? null);
      }
    }),
  );
};
