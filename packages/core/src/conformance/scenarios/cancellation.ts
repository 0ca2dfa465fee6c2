import assert from "node:assert/strict";
import type { JobAbortReason } from "../../job-types/entities.ts";
import type {
  DefineBlocker,
  DefineContinuationInput,
  DefineContinuationOutput,
} from "../../job-types/markers.ts";
import { defineUnionJobTypes } from "../../job-types/define.ts";
import { createGate } from "../gate.ts";
import { until, within } from "../patience.ts";
import type { Scenario } from "../scenario.ts";
import { aborted, heartbeatSoon } from "../story-signals.ts";

const jobTypes = defineUnionJobTypes<{
  export: { input: null; output: string };
  mail: { input: null; output: string; blockers: [DefineBlocker<"export">] };
  draft: { input: null; output: DefineContinuationOutput<"final"> };
  final: { input: DefineContinuationInput<null>; output: null };
}>();

const unknownId = "01890000-0000-7000-8000-000000000000";

export const describeCancellation: Scenario = ({ test }) => {
  test("a pending, a scheduled and a blocked sequence", jobTypes, async ({ leasehold, failure, events }) => {
    const pending = await leasehold.startJobSequence({ typeName: "export" });
    const scheduled = await leasehold.startJobSequence({
      typeName: "export",
      schedule: { afterMs: 3_600_000 },
    });
    const blocker = await leasehold.startJobSequence({ typeName: "export" });
    const blocked = await leasehold.startJobSequence({ typeName: "mail", startBlockers: () => [blocker] });
    const sequences = [pending, scheduled, blocked];

    const results = await leasehold.jobs.cancel({
      ids: sequences.map(({ id }) => id),
      reason: "out of paper",
    });

    assert.deepEqual(results, {
      changed: sequences.map(({ id }) => ({ id, failedIds: [] })),
      skipped: [],
      cursor: null,
    });
    for (const sequence of sequences) {
      const { reason, cause } = await failure(sequence);
      assert.equal(reason, "cancelled");
      assert.ok(cause instanceof Error);
      assert.equal(cause.message, "out of paper");
    }
    assert.equal((await leasehold.jobs.get({ id: blocker.id }))?.status, "pending");
    assert.equal(events.all("jobCancelled").length, 3);
  });

  test("a cancelled job never runs", jobTypes, async ({ leasehold, work, completion }) => {
    const cancelled = await leasehold.startJobSequence({ typeName: "export" });
    await leasehold.jobs.cancel({ ids: [cancelled.id] });
    const ran: string[] = [];
    await work(
      leasehold.createWorker().implementJobType({
        typeName: "export",
        process: async ({ job }) => {
          ran.push(job.id);
          return "";
        },
      }),
    );
    const next = await leasehold.startJobSequence({ typeName: "export" });
    await completion(next);
    assert.deepEqual(ran, [next.id]);
  });

  test("jobs running on two workers are aborted, and their results refused", jobTypes, async (story) => {
    const { leasehold, openAnother, failure } = story;
    const reasons: (JobAbortReason | undefined)[] = [];
    const startOne = async (app: Awaited<ReturnType<typeof openAnother>>) =>
      app.work(
        app.leasehold.createWorker().implementJobType({
          typeName: "export",
          process: async ({ signal }) => {
            reasons.push(await aborted(signal));
            return "too late";
          },
        }),
        { ...heartbeatSoon, concurrency: 1 },
      );
    const workers = [await startOne(await openAnother()), await startOne(await openAnother())];
    const one = await leasehold.startJobSequence({ typeName: "export" });
    const two = await leasehold.startJobSequence({ typeName: "export" });
    await until(() => workers.every((worker) => worker.health().runningJobs === 1), "both workers are busy");

    const results = await leasehold.jobs.cancel({ ids: [one.id, two.id] });

    assert.deepEqual(
      results.changed.map(({ id }) => id),
      [one.id, two.id],
    );
    // Whoever waits learns of it at once, not when the handlers have settled.
    assert.deepEqual([(await failure(one)).reason, (await failure(two)).reason], ["cancelled", "cancelled"]);
    await until(
      () => workers.every((worker) => worker.health().runningJobs === 0),
      "both handlers have ended",
    );
    assert.deepEqual(reasons, ["cancelled", "cancelled"]);
    await Promise.all(workers.map((worker) => worker.stop()));
    for (const { id } of [one, two]) {
      const job = await leasehold.jobs.get({ id });
      assert.ok(job?.status === "failed");
      assert.equal(job.failure.reason, "cancelled");
    }
  });

  test("a completion that comes after the cancellation is rolled back", jobTypes, async (story) => {
    const { leasehold, work, failure, queue } = story;
    const running = createGate();
    const cancelled = createGate();
    const settled = createGate();
    await work(
      leasehold.createWorker().implementJobType({
        typeName: "export",
        process: async ({ complete }) => {
          running.open();
          await cancelled.opened;
          try {
            return await complete(async (ctx) => {
              await leasehold.startJobSequence({ ...ctx, typeName: "draft" });
              return "too late";
            });
          } finally {
            settled.open();
          }
        },
      }),
    );
    const started = await leasehold.startJobSequence({ typeName: "export" });
    await running.opened;
    await leasehold.jobs.cancel({ ids: [started.id] });
    cancelled.open();

    assert.equal((await failure(started)).reason, "cancelled");
    await within(settled.opened, "the handler to settle");
    assert.deepEqual(await leasehold.jobs.count({ queue, typeName: "draft" }), []);
  });

  test(
    "the current job of a sequence, not the ones before",
    jobTypes,
    async ({ leasehold, work, events, failure }) => {
      await work(
        leasehold.createWorker().implementJobType({
          typeName: "draft",
          process: async ({ complete }) =>
            complete(({ continueWith }) => continueWith({ typeName: "final" })),
        }),
      );
      const started = await leasehold.startJobSequence({ typeName: "draft" });
      await events.first("jobCompleted", ({ id }) => id === started.id);

      await leasehold.jobs.cancel({ ids: [started.id] });

      const { jobId } = await failure(started);
      assert.notEqual(jobId, started.id);
      assert.equal((await leasehold.jobs.get({ id: started.id }))?.status, "completed");
    },
  );

  test("it takes along who waits", jobTypes, async ({ leasehold, failure }) => {
    const blocker = await leasehold.startJobSequence({ typeName: "export" });
    const blocked = await leasehold.startJobSequence({ typeName: "mail", startBlockers: () => [blocker] });
    await leasehold.jobs.cancel({ ids: [blocker.id] });
    assert.equal((await failure(blocked)).reason, "blocker_failed");
  });

  test("what has ended stays as it is", jobTypes, async ({ leasehold, work, completion, failure }) => {
    await work(
      leasehold.createWorker().implementJobType({
        typeName: "export",
        process: async ({ job }) => {
          if (job.priority === 1) throw new Error("no");
          return "done";
        },
      }),
    );
    const completed = await leasehold.startJobSequence({ typeName: "export" });
    const failed = await leasehold.startJobSequence({ typeName: "export", priority: 1, maxAttempts: 1 });
    await completion(completed);
    await failure(failed);

    const results = await leasehold.jobs.cancel({ ids: [completed.id, failed.id, unknownId] });

    assert.deepEqual(
      results.skipped.map(({ reason }) => reason),
      ["already_completed", "already_failed", "not_found"],
    );
    assert.equal((await completion(completed)).output, "done");
    assert.equal((await failure(failed)).reason, "attempts_exhausted");
  });

  test("cancelled in a transaction that rolls back is not cancelled", jobTypes, async ({ leasehold }) => {
    const started = await leasehold.startJobSequence({ typeName: "export" });
    await assert.rejects(
      leasehold.runInTransaction(async (ctx) => {
        await leasehold.jobs.cancel({ ...ctx, ids: [started.id] });
        throw new Error("second thoughts");
      }),
      /second thoughts/,
    );
    assert.equal((await leasehold.jobs.get({ id: started.id }))?.status, "pending");
  });
};
