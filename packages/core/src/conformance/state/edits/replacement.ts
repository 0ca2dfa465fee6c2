import assert from "node:assert/strict";
import type { CreatedStateJob, NewJob, NewJobDeduplication } from "../../../store/contract/creation.ts";
import { baseTime } from "../../state-fixture.ts";
import { completion, retryAfter, type StateScenario } from "../../state-scenario.ts";
import type { StateSuite } from "../../state-suite.ts";

const pending: NewJobDeduplication = { key: "key", scope: "pending", windowMs: null };

const replacing: NewJobDeduplication = { ...pending, onDuplicate: "replace" };

const debouncing = (maxDelayMs: number): NewJobDeduplication => ({
  ...pending,
  onDuplicate: { debounce: { maxDelayMs } },
});

const offer = async (
  { adapter, newJob }: StateScenario,
  overrides: Partial<NewJob>,
  now = baseTime,
): Promise<CreatedStateJob> => {
  const [created] = await adapter.createJobs({ jobs: [newJob(overrides)], now });
  assert.ok(created);
  return created;
};

export const describeReplacement = ({ test }: StateSuite): void => {
  test("with scope pending, a job that waits is a duplicate, and one that runs is not", async (scenario) => {
    const { job } = await offer(scenario, { deduplication: pending });
    assert.deepEqual(await offer(scenario, { deduplication: pending, input: "2" }), {
      job,
      deduplicated: true,
    });
    await scenario.run(job);
    const second = await offer(scenario, { deduplication: pending });
    assert.equal(second.deduplicated, false);
    assert.equal((await offer(scenario, { deduplication: pending })).job.id, second.job.id);
  });

  test("with scope pending, neither a continuation nor a finished sequence counts", async (scenario) => {
    const { job } = await offer(scenario, { deduplication: pending });
    const next = await scenario.continueSequence(await scenario.run(job));
    const second = await offer(scenario, { deduplication: pending });
    assert.equal(second.deduplicated, false);
    await scenario.endWorkerless(second.job, completion);
    assert.equal((await offer(scenario, { deduplication: pending })).deduplicated, false);
    assert.equal((await scenario.reload(next)).status, "pending");
  });

  test("puts the new job in the place of the one that waits", async (scenario) => {
    const { job } = await offer(scenario, {
      deduplication: pending,
      input: "1",
      schedule: { afterMs: 5_000 },
    });
    const start = scenario.newJob({
      deduplication: replacing,
      input: "2",
      priority: 3,
      maxAttempts: 7,
      maxAttemptsGiven: false,
      timeoutMs: 100,
      leaseMs: 200,
      expireAfterMs: 300,
      traceContext: "trace",
      queue: "elsewhere",
      originId: job.id,
      onBlockerFailure: "wait",
    });
    const [answer] = await scenario.adapter.createJobs({ jobs: [start], now: baseTime + 1_000 });
    const expected = {
      ...job,
      input: "2",
      priority: 3,
      maxAttempts: 7,
      maxAttemptsGiven: false,
      timeoutMs: 100,
      leaseMs: 200,
      expireAfterMs: 300,
      traceContext: "trace",
      replacedBy: start.id,
    };
    assert.deepEqual(answer, { job: expected, deduplicated: true, replaced: true });
    assert.deepEqual(await scenario.reload(job), expected);
    assert.deepEqual(await scenario.claim({ now: baseTime + 4_999 }), []);
    assert.equal((await scenario.run(job, { now: baseTime + 5_000 })).input, "2");
  });

  test("a waiting retry begins anew, under the same id and with the next lease", async (scenario) => {
    const { job } = await offer(scenario, { deduplication: pending, input: "1" });
    const running = await scenario.run(job);
    await scenario.adapter.renewLeases({
      leases: [{ jobId: job.id, leaseToken: running.leaseToken!, leaseMs: 1_000, progress: "50" }],
      now: baseTime,
    });
    await scenario.end(running, retryAfter(1_000));
    const before = await scenario.reload(job);
    const { job: after, replaced } = await offer(scenario, { deduplication: replacing, input: "2" });
    assert.equal(replaced, true);
    assert.deepEqual(after, {
      ...before,
      input: "2",
      attempt: 0,
      progress: null,
      replacedBy: after.replacedBy,
    });
    const again = await scenario.run(job, { now: baseTime + 1_000 });
    assert.deepEqual([again.attempt, again.leaseVersion, again.input], [1, 2, "2"]);
  });

  for (const scope of ["unfinished", "all"] as const) {
    test(`with scope ${scope}, a running duplicate is kept as it is`, async (scenario) => {
      const deduplication = { ...replacing, scope };
      const { job } = await offer(scenario, { deduplication, input: "1" });
      const running = await scenario.run(job);
      assert.deepEqual(await offer(scenario, { deduplication, input: "2" }), {
        job: running,
        deduplicated: true,
      });
      assert.deepEqual(await scenario.reload(job), running);
    });

    test(`with scope ${scope}, a duplicate that waits is replaced`, async (scenario) => {
      const deduplication = { ...replacing, scope };
      const { job } = await offer(scenario, { deduplication, input: "1" });
      assert.equal((await offer(scenario, { deduplication, input: "2" })).replaced, true);
      assert.equal((await scenario.run(job)).input, "2");
    });
  }

  test("a finished duplicate is kept as it is", async (scenario) => {
    const deduplication: NewJobDeduplication = { ...replacing, scope: "all" };
    const { job } = await offer(scenario, { deduplication, input: "1" });
    await scenario.endWorkerless(job, completion);
    const finished = await scenario.reload(job);
    assert.deepEqual(await offer(scenario, { deduplication, input: "2" }), {
      job: finished,
      deduplicated: true,
    });
    assert.deepEqual(await scenario.reload(job), finished);
  });

  test("a blocked duplicate is replaced, and waits on", async (scenario) => {
    const blocker = await scenario.start();
    const blocked = await scenario.startBlocked([blocker], { deduplication: pending, input: "1" });
    const { job, replaced } = await offer(scenario, { deduplication: replacing, input: "2" });
    assert.equal(replaced, true);
    assert.deepEqual([job.id, job.status, job.input], [blocked.id, "blocked", "2"]);
    await scenario.endWorkerless(blocker, completion);
    assert.equal((await scenario.run(blocked)).input, "2");
  });

  test("debounce moves the job to the new time, but not beyond its longest delay", async (scenario) => {
    const schedule = { afterMs: 2_000 };
    const deduplication = debouncing(5_000);
    const { job } = await offer(scenario, { deduplication, schedule, input: "0" });
    const times: number[] = [];
    for (let second = 1; second <= 6; second += 1) {
      const start = { deduplication, schedule, input: String(second) };
      const answer = await offer(scenario, start, baseTime + second * 1_000);
      assert.deepEqual([answer.job.id, answer.replaced], [job.id, true]);
      times.push(answer.job.scheduledAt - baseTime);
    }
    assert.deepEqual(times, [3_000, 4_000, 5_000, 5_000, 5_000, 5_000]);
    assert.deepEqual(await scenario.claim({ now: baseTime + 4_999 }), []);
    const running = await scenario.run(job, { now: baseTime + 6_000 });
    assert.equal(running.input, "6");
  });

  test("debounce brings a job forward to the new time", async (scenario) => {
    const deduplication = debouncing(60_000);
    const { job } = await offer(scenario, { deduplication, schedule: { afterMs: 50_000 } });
    const { job: moved } = await offer(scenario, { deduplication, schedule: { afterMs: 1_000 } });
    assert.equal(moved.scheduledAt, baseTime + 1_000);
    await scenario.run(job, { now: baseTime + 1_000 });
  });

  test("one that is overdue by debounce becomes due, and keeps its place from then on", async (scenario) => {
    const deduplication = debouncing(1_000);
    const later = { schedule: { afterMs: 50_000 }, deduplication };
    const { job } = await offer(scenario, later);
    const { job: due } = await offer(scenario, later, baseTime + 2_000);
    assert.equal(due.scheduledAt, baseTime + 2_000);
    const { job: still } = await offer(scenario, later, baseTime + 3_000);
    assert.equal(still.scheduledAt, baseTime + 2_000);
    await scenario.run(job, { now: baseTime + 3_000 });
  });

  test("of several starts in one call, the last one counts", async (scenario) => {
    const { adapter, newJob } = scenario;
    const jobs = ["1", "2", "3"].map((input) => newJob({ deduplication: replacing, input }));
    const created = await adapter.createJobs({ jobs, now: baseTime });
    assert.deepEqual(
      created.map(({ job, deduplicated, replaced = false }) => [job.id, job.input, deduplicated, replaced]),
      [
        [jobs[0]!.id, "1", false, false],
        [jobs[0]!.id, "2", true, true],
        [jobs[0]!.id, "3", true, true],
      ],
    );
    const claimed = await scenario.claim();
    assert.deepEqual(
      claimed.map(({ input }) => input),
      ["3"],
    );
  });

  test("in one call, stored jobs of several keys are replaced beside new ones", async (scenario) => {
    const { adapter, newJob } = scenario;
    const keyed = (key: string, input: string): NewJob =>
      newJob({ input, deduplication: { ...replacing, key } });
    const stored = await adapter.createJobs({ jobs: [keyed("a", "a1"), keyed("b", "b1")], now: baseTime });
    const jobs = [keyed("b", "b2"), keyed("c", "c1"), newJob({ input: "plain" }), keyed("a", "a2")];
    const answers = await adapter.createJobs({ jobs, now: baseTime });
    assert.deepEqual(
      answers.map(({ job, replaced = false }) => [job.id, job.input, replaced]),
      [
        [stored[1]!.job.id, "b2", true],
        [jobs[1]!.id, "c1", false],
        [jobs[2]!.id, "plain", false],
        [stored[0]!.job.id, "a2", true],
      ],
    );
    assert.deepEqual((await scenario.claim()).map(({ input }) => input).sort(), ["a2", "b2", "c1", "plain"]);
  });

  test("the newest of several that wait is replaced", async (scenario) => {
    const { job: older } = await offer(scenario, { deduplication: pending, input: "1" });
    const running = await scenario.run(older);
    const { job: newer } = await offer(scenario, { deduplication: pending, input: "2" }, baseTime + 1);
    await scenario.end(running, retryAfter(0), baseTime + 1);
    const { job } = await offer(scenario, { deduplication: replacing, input: "3" }, baseTime + 1);
    assert.equal(job.id, newer.id);
    assert.equal((await scenario.reload(older)).input, "1");
  });

  test("the same start again changes nothing, whatever became of the job", async (scenario) => {
    const { adapter } = scenario;
    const { job } = await offer(scenario, { deduplication: pending, input: "1" });
    const start = scenario.newJob({ deduplication: replacing, input: "2" });
    await adapter.createJobs({ jobs: [start], now: baseTime });
    for (const proceed of [
      async () => {},
      async () => void (await scenario.run(job)),
      async () => void (await scenario.endWorkerless(job, completion)),
    ]) {
      await proceed();
      const before = await scenario.reload(job);
      const again = await adapter.createJobs({ jobs: [start], now: baseTime + 1_000 });
      assert.deepEqual(again, [{ job: before, deduplicated: true, replaced: true }]);
      assert.deepEqual(await scenario.reload(job), before);
    }
    const { jobs } = await adapter.listJobs({
      filter: { queues: [scenario.queue] },
      order: "oldest",
      limit: 10,
      after: null,
    });
    assert.equal(jobs.length, 1);
  });

  test("a replacement that is rolled back has not happened", async (scenario) => {
    const { adapter } = scenario;
    const { job } = await offer(scenario, { deduplication: pending, input: "1", expireAfterMs: 10_000 });
    const start = scenario.newJob({
      deduplication: debouncing(60_000),
      input: "2",
      schedule: { afterMs: 9 },
    });
    await assert.rejects(
      adapter.runInTransaction(async (ctx) => {
        const [answer] = await adapter.createJobs({ jobs: [start], now: baseTime, ctx });
        assert.equal(answer?.replaced, true);
        throw new Error("changed my mind");
      }),
      /changed my mind/,
    );
    assert.deepEqual(await scenario.reload(job), job);
    assert.equal((await offer(scenario, { deduplication: replacing, input: "3" })).replaced, true);
    assert.equal((await scenario.run(job)).input, "3");
  });

  test("an id that exists is an error even where the job would be replaced", async (scenario) => {
    const { job } = await offer(scenario, { deduplication: pending, input: "1" });
    await assert.rejects(offer(scenario, { id: job.id, deduplication: replacing, input: "2" }), {
      code: "JobAlreadyExists",
    });
    assert.deepEqual(await scenario.reload(job), job);
  });
};
