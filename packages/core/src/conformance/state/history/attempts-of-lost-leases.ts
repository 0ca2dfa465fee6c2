import assert from "node:assert/strict";
import type { ReapedJob } from "../../../store/contract/claims.ts";
import { baseTime } from "../../state-fixture.ts";
import { failure, retryAfter } from "../../state-scenario.ts";
import type { StateScenario } from "../../state-scenario.ts";
import type { StateSuite } from "../../state-suite.ts";
import {
  endedAttempt,
  fingerprint,
  lostAttempt,
  rollBack,
  times,
  withHistory,
  withNote,
} from "./history-scenario.ts";

const gone = { error: '{"message":"gone"}', fingerprint };
const later = baseTime + 5_000;

const reap = ({ adapter }: StateScenario, ctx?: object): Promise<ReapedJob[]> =>
  adapter.reapExpiredLeases({ limit: 100, ...gone, now: later, ctx });

export const describeAttemptsOfLostLeases = ({ testAlone: test }: StateSuite): void => {
  test(
    "reaping leaves a row of a job that goes back, and no fingerprint on it",
    withHistory(async (scenario) => {
      const { start, run, attempts, withFingerprint } = scenario;
      const job = await run(await start({}, baseTime - 70), {
        leaseMs: 1_000,
        workerId: "vanished",
        deployment: "v7",
      });
      assert.equal((await reap(scenario)).length, 1);
      assert.deepEqual(await attempts(job), [
        {
          jobId: job.id,
          attempt: 1,
          leaseVersion: 1,
          workerId: "vanished",
          deployment: "v7",
          dueAt: baseTime - 70,
          startedAt: baseTime,
          endedAt: baseTime + 1_000,
          outcome: "expired",
          fingerprint: null,
          error: null,
          log: null,
        },
      ]);
      assert.deepEqual(await withFingerprint(fingerprint), []);
    }),
  );

  test(
    "reaping leaves a row of a job that fails, and gives it the fingerprint",
    withHistory(async (scenario) => {
      const { start, startBlocked, run, reload, attempts, withFingerprint } = scenario;
      const job = await run(await start({ maxAttempts: 1 }), { leaseMs: 1_000 });
      const waiting = await startBlocked([job]);
      await reap(scenario);
      assert.equal((await reload(waiting)).status, "failed");
      assert.deepEqual(await attempts(job), [lostAttempt(job)]);
      assert.deepEqual(await attempts(waiting), []);
      assert.deepEqual(await withFingerprint(fingerprint), [job.id]);
    }),
  );

  test(
    "reaping without a fingerprint leaves rows without one",
    withHistory(async ({ adapter, start, run, attempts, causes }) => {
      const job = await run(await start({ maxAttempts: 1 }), { leaseMs: 1_000 });
      await adapter.reapExpiredLeases({ limit: 100, error: gone.error, now: later });
      assert.deepEqual(await attempts(job), [lostAttempt(job)]);
      assert.deepEqual(
        (await causes()).map((cause) => [cause.fingerprint, cause.reason]),
        [[null, "attempts_exhausted"]],
      );
    }),
  );

  test(
    "reaping many leaves one row of each, of jobs with groups and limits, too",
    withHistory(async (scenario) => {
      const { adapter, history, startMany, claim, queue, typeName } = scenario;
      const hasLimits = adapter.limits !== undefined;
      await adapter.limits?.setRule({
        queue: `${queue}-2`,
        typeName: null,
        change: { concurrency: 100 },
        now: baseTime,
      });
      await startMany(times(12, (n) => ({ maxAttempts: 1 + (n % 2) })));
      await startMany(
        times(12, (n) => ({
          queue: `${queue}-2`,
          typeName: `${typeName}-2`,
          maxAttempts: 1 + (n % 2),
          ...(hasLimits ? { group: `group-${n % 4}` } : {}),
        })),
      );
      const jobs = [
        ...(await claim({ leaseMs: 1_000 })),
        ...(await claim({ leaseMs: 2_000, queue: `${queue}-2` })),
      ];
      assert.equal(jobs.length, 24);
      assert.equal((await reap(scenario)).length, 24);
      assert.deepEqual(await reap(scenario), []);
      assert.deepEqual(
        await history.listAttempts({ jobIds: jobs.map(({ id }) => id) }),
        jobs.map((job) => [lostAttempt(job)]),
      );
    }),
  );

  test(
    "the row ends where a renewed lease did",
    withHistory(async (scenario) => {
      const { adapter, start, run, attempts } = scenario;
      const job = await run(await start(), { leaseMs: 1_000 });
      const leases = [{ jobId: job.id, leaseToken: job.leaseToken!, leaseMs: 1_000 }];
      await adapter.renewLeases({ leases, now: baseTime + 900 });
      await reap(scenario);
      assert.deepEqual(await attempts(job), [lostAttempt(job, { endedAt: baseTime + 1_900 })]);
    }),
  );

  test(
    "what the holder says too late leaves nothing",
    withHistory(async (scenario) => {
      const { start, run, end, attempts } = scenario;
      const job = await run(await start(), { leaseMs: 1_000 });
      await reap(scenario);
      assert.equal((await end(job, withNote(failure, job), later)).kind, "refused");
      assert.deepEqual(await attempts(job), [lostAttempt(job)]);
    }),
  );

  test(
    "reaping that is rolled back leaves nothing",
    withHistory(async (scenario) => {
      const { history, start, run, attempts, withFingerprint } = scenario;
      const job = await run(await start({ maxAttempts: 1 }), { leaseMs: 1_000 });
      await rollBack(scenario, async (ctx) => {
        await reap(scenario, ctx);
        const rows = await history.listAttempts({ jobIds: [job.id], ctx });
        assert.deepEqual(rows, [[lostAttempt(job)]]);
      });
      assert.deepEqual(await attempts(job), []);
      assert.deepEqual(await withFingerprint(fingerprint), []);
    }),
  );

  for (const isGrouped of [false, true])
    test(
      `a claim that takes over an expired lease leaves a row of it${isGrouped ? ", with groups and limits, too" : ""}`,
      withHistory(async (scenario) => {
        const { adapter, queue, startMany, claim, history } = scenario;
        if (isGrouped)
          await adapter.limits?.setRule({
            queue,
            typeName: null,
            change: { concurrency: 100 },
            now: baseTime,
          });
        const settings = isGrouped && adapter.limits !== undefined ? { group: "group" } : {};
        await startMany(
          times(4, () => settings),
          baseTime - 70,
        );
        const first = await claim({ leaseMs: 1_000, workerId: "vanished" });
        await startMany(times(2, () => settings));
        const second = await claim({ leaseMs: 1_000, now: later });
        assert.equal(second.length, 6);
        const newcomers = second.filter(({ leaseVersion }) => leaseVersion === 1);
        const jobIds = [...first, ...newcomers].map(({ id }) => id);
        const lost = first.map((job) => lostAttempt(job, { workerId: "vanished", dueAt: baseTime - 70 }));
        assert.deepEqual(await history.listAttempts({ jobIds }), [
          ...lost.map((attempt) => [attempt]),
          [],
          [],
        ]);
        const now = later + 1_000;
        assert.equal((await adapter.reapExpiredLeases({ limit: 100, ...gone, now })).length, 6);
        for (const [index, rows] of (
          await history.listAttempts({ jobIds: second.map(({ id }) => id) })
        ).entries()) {
          const job = second[index]!;
          assert.deepEqual(rows[0], lostAttempt(job));
          assert.equal(rows.length, job.leaseVersion);
        }
      }),
    );

  for (const ending of ["retry", "expired"] as const)
    test(
      `an expired lease that a claim found and did not take is replaced by how the attempt ended: ${ending}`,
      withHistory(async (scenario) => {
        const { startMany, claim, end, history } = scenario;
        await startMany(times(6, () => ({})));
        const jobs = await claim({ leaseMs: 1_000 });
        const [taken, ...others] = await claim({ limit: 1, now: later });
        assert.ok(taken && others.length === 0);
        const left = jobs.filter(({ id }) => id !== taken.id);
        if (ending === "expired") await reap(scenario);
        // The store's time can go back, and what came in time may have waited for the claim.
        else for (const job of left) await end(job, withNote(retryAfter(0), job));
        const rows = await history.listAttempts({ jobIds: left.map(({ id }) => id) });
        const expected = left.map((job) =>
          ending === "expired" ? lostAttempt(job) : endedAttempt(job, "retry"),
        );
        assert.deepEqual(
          rows,
          expected.map((row) => [row]),
        );
      }),
    );

  test(
    "a claim that is rolled back leaves no row of the lease it took over",
    withHistory(async (scenario) => {
      const { adapter, start, run, queue, attempts } = scenario;
      const job = await run(await start(), { leaseMs: 1_000 });
      await rollBack(scenario, async (ctx) => {
        const requests = [{ queue, typeNames: null, limit: 10 }];
        const call = { workerId: "w", leaseToken: "rolled-back", leaseMs: 1_000, limit: 10, requests };
        assert.equal((await adapter.claimJobs({ ...call, ctx, now: later })).length, 1);
      });
      assert.deepEqual(await attempts(job), []);
      await run(job, { now: later });
      assert.deepEqual(await attempts(job), [lostAttempt(job)]);
    }),
  );
};
