import assert from "node:assert/strict";
import { defineUnionJobTypes } from "../../job-types/define.ts";
import { rescheduleJob } from "../../worker/outcome.ts";
import type { Scenario } from "../scenario.ts";

const jobTypes = defineUnionJobTypes<{
  remind: { input: null; output: number };
}>();

export const describeScheduling: Scenario = ({ test }) => {
  test("a job does not run before its delay is over", jobTypes, async ({ leasehold, work, completion }) => {
    await work(
      leasehold
        .createWorker()
        .implementJobType({ typeName: "remind", process: async ({ job }) => job.attempt }),
    );
    const started = await leasehold.startJobSequence({ typeName: "remind", schedule: { afterMs: 150 } });
    await completion(started);

    const job = await leasehold.jobs.get({ id: started.id });
    assert.ok(job?.lastAttemptAt);
    assert.equal(job.scheduledAt.getTime(), job.createdAt.getTime() + 150);
    assert.ok(job.lastAttemptAt >= job.scheduledAt, `ran at ${job.lastAttemptAt.toISOString()}`);
  });

  test("nor before its moment", jobTypes, async ({ leasehold, work, completion, stateAdapter }) => {
    await work(
      leasehold
        .createWorker()
        .implementJobType({ typeName: "remind", process: async ({ job }) => job.attempt }),
    );
    const at = new Date((await stateAdapter.getTime()) + 150);
    const started = await leasehold.startJobSequence({ typeName: "remind", schedule: { at } });
    await completion(started);

    const job = await leasehold.jobs.get({ id: started.id });
    assert.ok(job?.lastAttemptAt);
    assert.deepEqual(job.scheduledAt, at);
    assert.ok(job.lastAttemptAt >= at, `ran at ${job.lastAttemptAt.toISOString()}`);
  });

  test(
    "a job of the far future does not hold up one of the present",
    jobTypes,
    async ({ leasehold, work, completion }) => {
      const later = await leasehold.startJobSequence({
        typeName: "remind",
        schedule: { at: new Date("2999-01-01") },
        priority: 10,
      });
      await work(
        leasehold
          .createWorker()
          .implementJobType({ typeName: "remind", process: async ({ job }) => job.attempt }),
        {
          concurrency: 1,
        },
      );
      await completion(await leasehold.startJobSequence({ typeName: "remind" }));

      const waiting = await leasehold.jobs.get({ id: later.id });
      assert.deepEqual([waiting?.status, waiting?.attempt], ["pending", 0]);
      assert.equal((await leasehold.jobs.explain({ id: later.id })).state, "scheduled");
    },
  );

  test(
    "a rescheduled job runs again without losing an attempt, and keeps the cause",
    jobTypes,
    async (story) => {
      const { leasehold, work, completion, events } = story;
      const attempts: number[] = [];
      const errors: unknown[] = [];
      await work(
        leasehold.createWorker().implementJobType({
          typeName: "remind",
          process: async ({ job }) => {
            attempts.push(job.attempt);
            errors.push(job.lastError?.message);
            return attempts.length < 3 ? rescheduleJob({ afterMs: 20 }, new Error("not yet")) : job.attempt;
          },
        }),
      );

      const started = await leasehold.startJobSequence({ typeName: "remind", maxAttempts: 1 });

      assert.equal((await completion(started)).output, 1);
      assert.deepEqual(attempts, [1, 1, 1]);
      assert.deepEqual(errors, [undefined, "not yet", "not yet"]);
      assert.equal(events.all("jobAttemptRescheduled").length, 2);
      assert.equal(events.all("jobAttemptFailed").length, 0);
    },
  );

  test("a rescheduled job waits for its new time", jobTypes, async ({ leasehold, work, events }) => {
    await work(
      leasehold.createWorker().implementJobType({
        typeName: "remind",
        process: async () => rescheduleJob({ at: new Date("2999-01-01") }),
      }),
    );
    const started = await leasehold.startJobSequence({ typeName: "remind" });
    await events.first("jobAttemptRescheduled");

    const job = await leasehold.jobs.get({ id: started.id });
    assert.deepEqual(
      [job?.status, job?.attempt, job?.scheduledAt, job?.lastError],
      ["pending", 0, new Date("2999-01-01"), null],
    );
  });
};
