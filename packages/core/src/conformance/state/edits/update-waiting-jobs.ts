import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { WaitingJobChange, WaitingJobResult } from "../../../store/contract/edits.ts";
import type { StateJob } from "../../../store/contract/job.ts";
import { requirePart } from "../../../store/parts.ts";
import { baseTime } from "../../state-fixture.ts";
import { completion, retryAfter, type StateScenario } from "../../state-scenario.ts";
import type { StateSuite } from "../../state-suite.ts";

const change = (
  { adapter }: StateScenario,
  jobs: readonly { readonly id: string }[],
  wanted: WaitingJobChange,
  now = baseTime,
): Promise<WaitingJobResult[]> =>
  requirePart(adapter, "edits", "updateWaitingJobs").updateWaitingJobs({
    jobIds: jobs.map(({ id }) => id),
    change: wanted,
    now,
  });

export const describeUpdateWaitingJobs = ({ test }: StateSuite): void => {
  test("makes a job for later run now", async (scenario) => {
    const job = await scenario.start({ schedule: { afterMs: 60_000 } });
    const expected: StateJob = { ...job, scheduledAt: baseTime + 1_000 };
    assert.deepEqual(await change(scenario, [job], { schedule: { afterMs: 0 } }, baseTime + 1_000), [
      { jobId: job.id, kind: "changed", job: expected },
    ]);
    assert.deepEqual(await scenario.reload(job), expected);
    await scenario.run(job, { now: baseTime + 1_000 });
  });

  test("puts a job off, and a worker does not get it before", async (scenario) => {
    const job = await scenario.start();
    await change(scenario, [job], { schedule: { at: baseTime + 5_000 } });
    assert.deepEqual(await scenario.claim({ now: baseTime + 4_999 }), []);
    const requests = [{ queue: scenario.queue, typeNames: null }];
    assert.equal(await scenario.adapter.nextRunnableIn({ requests, now: baseTime }), 5_000);
    await scenario.run(job, { now: baseTime + 5_000 });
  });

  test("a job that is due keeps its place when it is told to run now", async (scenario) => {
    const first = await scenario.start();
    const second = await scenario.start({}, baseTime + 1);
    const [answer] = await change(scenario, [first], { schedule: { afterMs: 0 } }, baseTime + 2);
    assert.equal(answer?.job?.scheduledAt, baseTime);
    const claimed = await scenario.claim({ now: baseTime + 2 });
    assert.deepEqual(
      claimed.map(({ id }) => id),
      [first.id, second.id],
    );
  });

  test("changes the priority, and with it the order", async (scenario) => {
    const jobs = await scenario.startMany([{}, {}, {}]);
    await change(scenario, [jobs[2]!], { priority: 10 });
    assert.deepEqual(
      (await scenario.claim()).map(({ id, priority }) => [id, priority]),
      [
        [jobs[2]!.id, 10],
        [jobs[0]!.id, 0],
        [jobs[1]!.id, 0],
      ],
    );
  });

  test("changes the input of jobs of the type it is for", async (scenario) => {
    const { typeName } = scenario;
    const job = await scenario.start({ input: "1" });
    const other = await scenario.start({ typeName: `${typeName}-2`, input: "1" });
    const answers = await change(scenario, [job, other], { input: { typeName, text: "2" } });
    assert.deepEqual(answers, [
      { jobId: job.id, kind: "changed", job: { ...job, input: "2", replacedBy: job.id } },
      { jobId: other.id, kind: "other_type", job: other },
    ]);
    assert.deepEqual((await scenario.claim()).map(({ input }) => input).sort(), ["1", "2"]);
  });

  test("a waiting retry runs now as the same attempt, and with another input as the first", async (scenario) => {
    const { typeName } = scenario;
    const jobs = await scenario.startMany([{}, {}]);
    for (const running of await scenario.claim()) await scenario.end(running, retryAfter(60_000));
    const now: WaitingJobChange = { schedule: { afterMs: 0 } };
    await change(scenario, [jobs[0]!], now);
    await change(scenario, [jobs[1]!], { ...now, input: { typeName, text: "2" } });
    const claimed = await scenario.claim();
    assert.deepEqual(
      claimed.map(({ id, attempt, leaseVersion }) => [id, attempt, leaseVersion]),
      [
        [jobs[0]!.id, 2, 2],
        [jobs[1]!.id, 1, 2],
      ],
    );
  });

  test("a blocked job is changed and waits on", async (scenario) => {
    const blocker = await scenario.start();
    const blocked = await scenario.startBlocked([blocker], { schedule: { afterMs: 60_000 } });
    const [answer] = await change(scenario, [blocked], { schedule: { afterMs: 0 }, priority: 4 });
    assert.deepEqual(answer, {
      jobId: blocked.id,
      kind: "changed",
      job: { ...blocked, scheduledAt: baseTime, priority: 4 },
    });
    await scenario.run(blocker);
    assert.deepEqual(await scenario.claim(), []);
    await scenario.endWorkerless(blocker, completion);
    assert.equal((await scenario.run(blocked)).priority, 4);
  });

  test("says of each job why it was left as it is", async (scenario) => {
    const running = await scenario.run(await scenario.start());
    const finished = await scenario.start();
    await scenario.endWorkerless(finished, completion);
    const waiting = await scenario.start();
    const nobody = { id: randomUUID() };
    const answers = await change(scenario, [running, finished, nobody, waiting, waiting], {
      priority: 1,
      schedule: { afterMs: 1_000 },
    });
    assert.deepEqual(
      answers.map(({ kind, job }) => [kind, job?.status ?? null, job?.priority ?? null]),
      [
        ["not_waiting", "running", 0],
        ["not_waiting", "completed", 0],
        ["not_found", null, null],
        ["changed", "pending", 1],
        ["changed", "pending", 1],
      ],
    );
    assert.deepEqual(await scenario.reload(running), running);
  });

  test("an update that is rolled back has not happened", async (scenario) => {
    const { adapter } = scenario;
    const job = await scenario.start();
    await assert.rejects(
      adapter.runInTransaction(async (ctx) => {
        await requirePart(adapter, "edits", "updateWaitingJobs").updateWaitingJobs({
          jobIds: [job.id],
          change: { schedule: { afterMs: 60_000 }, priority: 9 },
          now: baseTime,
          ctx,
        });
        throw new Error("changed my mind");
      }),
      /changed my mind/,
    );
    assert.deepEqual(await scenario.reload(job), job);
    await scenario.run(job);
  });

  test("beside claims, every job is changed before it is claimed, or not at all", async (scenario) => {
    const jobs = await scenario.startMany(Array.from({ length: 40 }, () => ({})));
    const [answers, claimed] = await Promise.all([
      change(scenario, jobs, { priority: 5 }),
      Promise.all(Array.from({ length: 8 }, () => scenario.claim({ limit: 5 }))),
    ]);
    const rest = await scenario.claim();
    const priorities = new Map([...claimed.flat(), ...rest].map(({ id, priority }) => [id, priority]));
    assert.equal(priorities.size, jobs.length);
    for (const { jobId, kind } of answers)
      assert.equal(priorities.get(jobId), kind === "changed" ? 5 : 0, `${jobId} was ${kind}`);
  }, 60_000);
};
