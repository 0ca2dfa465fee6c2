import assert from "node:assert/strict";
import type { JobAttempt } from "../../history/api.ts";
import { defineUnionJobTypes } from "../../job-types/define.ts";
import { StorePartMissingError } from "../../store/errors.ts";
import { rescheduleJob } from "../../worker/outcome.ts";
import { createGate } from "../gate.ts";
import { until } from "../patience.ts";
import type { Scenario } from "../scenario.ts";
import type { Story, StoryApp } from "../story.ts";
import { aborted, heartbeatSoon } from "../story-signals.ts";

interface Types {
  work: { input: null; output: string };
}

const jobTypes = defineUnionJobTypes<Types>();

/** An application with a deployment, and a worker with one slot whose jobs run until they are aborted. */
const openBusy = async (story: Story<Types>) => {
  const app = await story.openAnother({ deployment: "v7" });
  const { id } = await app.leasehold.startJobSequence({ typeName: "work" });
  const began = createGate();
  const worker = app.leasehold.createWorker().implementJobType({
    typeName: "work",
    process: async ({ signal, log }) => {
      log("began");
      began.open();
      throw new Error(`It was aborted: ${await aborted(signal)}`);
    },
  });
  const running = await app.work(worker, { ...heartbeatSoon, workerId: "w-7", concurrency: 1 });
  await began.opened;
  return { ...app, id, running };
};

const attemptsOf = async (
  { leasehold }: StoryApp<Types>,
  id: string,
  outcome: JobAttempt["outcome"],
): Promise<readonly JobAttempt[]> => {
  let attempts: readonly JobAttempt[] = [];
  await until(async () => {
    attempts = await leasehold.history.listAttempts({ id });
    return attempts.some((attempt) => attempt.outcome === outcome);
  }, `an attempt was ${outcome}`);
  return attempts;
};

const summary = ({ attempt, outcome, workerId, deployment, error }: JobAttempt) => ({
  attempt,
  outcome,
  workerId,
  deployment,
  error: error?.name ?? null,
});

export const describeAttempts: Scenario = ({ test: register }) => {
  const test = (name: string, tell: (story: Story<Types>) => Promise<void>): void =>
    register(name, jobTypes, async (story) => {
      if (story.stateAdapter.history !== undefined) return tell(story);
      const { id } = await story.leasehold.startJobSequence({ typeName: "work" });
      await assert.rejects(story.leasehold.history.listAttempts({ id }), StorePartMissingError);
    });

  test("a job that is cancelled while it runs has an attempt", async (story) => {
    const app = await openBusy(story);
    await story.leasehold.jobs.cancel({ ids: [app.id] });
    const [attempt, ...others] = await app.leasehold.history.listAttempts({ id: app.id });
    assert.deepEqual(others, []);
    assert.deepEqual(summary(attempt!), {
      attempt: 1,
      outcome: "cancelled",
      workerId: "w-7",
      deployment: "v7",
      error: null,
    });
    assert.ok(attempt!.startedAt.getTime() <= attempt!.endedAt.getTime());
  });

  test("a job that is completed from outside while it runs has an attempt", async (story) => {
    const app = await openBusy(story);
    await story.leasehold.completeJobSequence({
      id: app.id,
      typeName: "work",
      complete: ({ job, complete }) => complete(job, async () => "from outside"),
    });
    assert.deepEqual((await app.leasehold.history.listAttempts({ id: app.id })).map(summary), [
      { attempt: 1, outcome: "already_completed", workerId: "w-7", deployment: "v7", error: null },
    ]);
  });

  test("an attempt that a stopping worker releases is kept, with its log", async (story) => {
    const app = await openBusy(story);
    await app.running.stop({ deadlineMs: 0 });
    const attempts = await attemptsOf(app, app.id, "released");
    assert.deepEqual(attempts.map(summary), [
      { attempt: 1, outcome: "released", workerId: "w-7", deployment: "v7", error: null },
    ]);
    assert.deepEqual(
      attempts[0]!.log.map(({ text }) => text),
      ["began"],
    );
  });

  test("a rescheduled attempt and the one that completed the job name their deployment", async (story) => {
    const app = await story.openAnother({ deployment: "v8" });
    const job = await app.leasehold.startJobSequence({ typeName: "work" });
    let runs = 0;
    const worker = app.leasehold.createWorker().implementJobType({
      typeName: "work",
      process: async ({ log }) => {
        runs += 1;
        log(`run ${runs}`);
        return runs === 1 ? rescheduleJob({ afterMs: 1 }) : "done";
      },
    });
    await app.work(worker, { workerId: "w-8" });
    await app.completion(job);
    const attempts = await app.leasehold.history.listAttempts(job);
    assert.deepEqual(attempts.map(summary), [
      { attempt: 1, outcome: "completed", workerId: "w-8", deployment: "v8", error: null },
      { attempt: 1, outcome: "released", workerId: "w-8", deployment: "v8", error: null },
    ]);
    assert.deepEqual(
      attempts[1]!.log.map(({ text }) => text),
      ["run 1"],
    );
  });

  for (const notices of ["the reaper", "a claim"] as const)
    test(`an expired attempt has the same error if ${notices} finds it`, async (story) => {
      const { leasehold, stateAdapter, queue } = story;
      const { id } = await leasehold.startJobSequence({ typeName: "work" });
      const claim = (leaseMs: number) =>
        stateAdapter.claimJobs({
          workerId: "vanished",
          leaseToken: `token of ${leaseMs} ms`,
          leaseMs,
          deployment: "v6",
          requests: [{ queue, typeNames: ["work"], limit: 1 }],
          limit: 1,
        });
      assert.equal((await claim(1)).length, 1);
      if (notices === "the reaper")
        await until(async () => {
          const reaped = await stateAdapter.reapExpiredLeases({ limit: 100, error: '{"name":"Other"}' });
          return reaped.some(({ job }) => job.id === id);
        }, "the lease was reaped");
      else await until(async () => (await claim(60_000)).length === 1, "the lease was taken over");
      assert.deepEqual((await leasehold.history.listAttempts({ id })).map(summary), [
        {
          attempt: 1,
          outcome: "expired",
          workerId: "vanished",
          deployment: "v6",
          error: "LeaseExpiredError",
        },
      ]);
    });
};
