import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { OutcomeResult } from "../../../store/contract/outcomes.ts";
import type { StateJob } from "../../../store/contract/job.ts";
import { createRandom, shuffle } from "../../random.ts";
import { retryTransient } from "../../retry-transient.ts";
import { baseTime } from "../../state-fixture.ts";
import { completion, failure, outcomeOf } from "../../state-scenario.ts";
import type { StateSuite } from "../../state-suite.ts";

const longTimeoutMs = 60_000;

const times = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));

const kindsOf = (results: readonly (OutcomeResult | undefined)[]): (string | undefined)[] =>
  results.map((result) => result?.kind);

export const describeConcurrency = ({ test, testAlone }: StateSuite): void => {
  test(
    "concurrent claims never share a job, and miss none for good",
    async (scenario) => {
      const jobs = await scenario.startMany(times(500, () => ({})));
      const claimed: StateJob[] = [];
      // A claim passes over rows that another has locked, so a round may leave some behind.
      while (claimed.length < jobs.length) {
        const round = await Promise.all(
          times(20, () => retryTransient(scenario, () => scenario.claim({ limit: 13 }))),
        );
        assert.ok(round.every((batch) => batch.length <= 13));
        if (round.flat().length === 0) break;
        claimed.push(...round.flat());
      }
      assert.deepEqual(claimed.map(({ id }) => id).sort(), jobs.map(({ id }) => id).sort());
      assert.ok(claimed.every(({ attempt, leaseVersion }) => attempt === 1 && leaseVersion === 1));
    },
    longTimeoutMs,
  );

  test(
    "concurrent claims of expired jobs take each once",
    async (scenario) => {
      await scenario.startMany(times(60, () => ({})));
      await scenario.claim({ leaseMs: 100 });
      const now = baseTime + 100;
      const round = await Promise.all(
        times(10, () => retryTransient(scenario, () => scenario.claim({ now, limit: 60 }))),
      );
      const ids = round.flat().map(({ id }) => id);
      assert.equal(new Set(ids).size, ids.length);
      assert.ok(round.flat().every(({ attempt, leaseVersion }) => attempt === 2 && leaseVersion === 2));
    },
    longTimeoutMs,
  );

  test(
    "when the last two blockers finish together, the job is always unblocked, once",
    async (scenario) => {
      const diamonds = await Promise.all(
        times(200, async () => {
          const blockers = await scenario.startMany([{}, {}]);
          return { blockers, job: await retryTransient(scenario, () => scenario.startBlocked(blockers)) };
        }),
      );
      const results = await Promise.all(
        diamonds
          .flatMap(({ blockers }) => blockers)
          .map((blocker) => retryTransient(scenario, () => scenario.endWorkerless(blocker, completion))),
      );
      const unblocked = results.flatMap((result) =>
        result.kind === "applied" ? result.unblocked.map(({ id }) => id) : assert.fail(result.kind),
      );
      assert.deepEqual(unblocked.sort(), diamonds.map(({ job }) => job.id).sort());
      const after = await scenario.reloadAll(diamonds.map(({ job }) => job));
      assert.ok(after.every(({ status, openBlockers }) => status === "pending" && openBlockers === 0));
    },
    longTimeoutMs,
  );

  test(
    "a blocker that finishes while it is being given to a job is not missed",
    async (scenario) => {
      const pairs = await Promise.all(
        times(100, async (index) => {
          const blocker = await scenario.start();
          const ending = index % 2 === 0 ? completion : failure;
          const [job] = await Promise.all([
            retryTransient(scenario, () => scenario.startBlocked([blocker])),
            retryTransient(scenario, () => scenario.endWorkerless(blocker, ending)),
          ]);
          return { job, expected: ending === completion ? "pending" : "failed" };
        }),
      );
      assert.deepEqual(
        (await scenario.reloadAll(pairs.map(({ job }) => job))).map(({ status }) => status),
        pairs.map(({ expected }) => expected),
      );
    },
    longTimeoutMs,
  );

  test(
    "batches that overlap in any order neither deadlock nor apply an outcome twice",
    async (scenario) => {
      const random = createRandom(7);
      await scenario.startMany(times(100, () => ({})));
      const running = await scenario.claim();
      const outcomes = running.map((job) => outcomeOf(job, completion));
      const batches = times(8, () => shuffle(outcomes, random));
      const results = await Promise.all(
        batches.map((batch) =>
          retryTransient(scenario, () => scenario.adapter.commitOutcomes({ outcomes: batch, now: baseTime })),
        ),
      );
      const kinds = new Map<string, string[]>();
      for (const [index, batch] of batches.entries()) {
        for (const [position, { jobId }] of batch.entries()) {
          kinds.set(jobId, [...(kinds.get(jobId) ?? []), results[index]?.[position]?.kind ?? "no answer"]);
        }
      }
      const once = ["applied", ...times(7, () => "repeated")];
      for (const seen of kinds.values()) assert.deepEqual(seen.sort(), once);
    },
    longTimeoutMs,
  );

  test(
    "renewals and outcomes of the same jobs do not deadlock",
    async (scenario) => {
      const random = createRandom(11);
      await scenario.startMany(times(60, () => ({})));
      const running = await scenario.claim();
      const renewals = times(8, () =>
        retryTransient(scenario, () =>
          scenario.adapter.renewLeases({
            leases: shuffle(running, random).map(({ id, leaseToken }) => ({
              jobId: id,
              leaseToken: leaseToken ?? "",
              leaseMs: 30_000,
            })),
            now: baseTime,
          }),
        ),
      );
      const committing = retryTransient(scenario, () =>
        scenario.adapter.commitOutcomes({
          outcomes: shuffle(running, random).map((job) => outcomeOf(job, completion)),
          now: baseTime,
        }),
      );
      await Promise.all(renewals);
      assert.ok(kindsOf(await committing).every((kind) => kind === "applied"));
      assert.ok((await scenario.reloadAll(running)).every(({ status }) => status === "completed"));
    },
    longTimeoutMs,
  );

  test(
    "of concurrent starts with one deduplication key, exactly one creates",
    async (scenario) => {
      const deduplication = { key: "key", scope: "unfinished", windowMs: null } as const;
      const created = await Promise.all(
        times(50, () => {
          const jobs = [scenario.newJob({ deduplication })];
          return retryTransient(scenario, () => scenario.adapter.createJobs({ jobs, now: baseTime }));
        }),
      );
      assert.equal(created.flat().filter(({ deduplicated }) => !deduplicated).length, 1);
      assert.equal(new Set(created.flat().map(({ job }) => job.id)).size, 1);
    },
    longTimeoutMs,
  );

  test(
    "of concurrent starts with one id, exactly one creates",
    async (scenario) => {
      const id = randomUUID();
      const settled = await Promise.allSettled(
        times(20, () => retryTransient(scenario, () => scenario.start({ id }))),
      );
      assert.equal(settled.filter(({ status }) => status === "fulfilled").length, 1);
      for (const result of settled) {
        if (result.status === "rejected") assert.equal(result.reason.code, "JobAlreadyExists");
      }
    },
    longTimeoutMs,
  );

  test(
    "a job ends in one way, however many try at once",
    async (scenario) => {
      const jobs = await scenario.startMany(times(40, () => ({})));
      const running = await scenario.claim();
      await Promise.all(
        running.map(async (job) => {
          const [completed, cancelled] = await Promise.all([
            retryTransient(scenario, () => scenario.end(job, completion)),
            retryTransient(scenario, () => scenario.cancel(job)),
          ]);
          const outcome = completed.kind === "applied" ? "completed" : "failed";
          assert.equal(cancelled.kind, outcome === "completed" ? "already_completed" : "cancelled");
          assert.equal((await scenario.reload(job)).status, outcome);
        }),
      );
      assert.equal(running.length, jobs.length);
    },
    longTimeoutMs,
  );

  testAlone(
    "concurrent reapers take each expired lease once",
    async (scenario) => {
      await scenario.startMany(times(60, () => ({})));
      await scenario.claim({ leaseMs: 100 });
      const reaped = await Promise.all(
        times(8, () =>
          retryTransient(scenario, () =>
            scenario.adapter.reapExpiredLeases({ limit: 20, error: "expired", now: baseTime + 100 }),
          ),
        ),
      );
      const ids = reaped.flat().map(({ job }) => job.id);
      assert.equal(new Set(ids).size, ids.length);
      assert.ok(reaped.flat().every(({ job }) => job.expiredLeases === 1));
    },
    longTimeoutMs,
  );
};
