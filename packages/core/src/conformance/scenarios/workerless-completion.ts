import assert from "node:assert/strict";
import { InvalidOptionError } from "../../base/errors.ts";
import {
  JobAlreadyCompletedError,
  JobAlreadyFailedError,
  JobNotFoundError,
  ProcessMisuseError,
} from "../../store/errors.ts";
import type { JobAbortReason } from "../../job-types/entities.ts";
import type {
  DefineBlocker,
  DefineContinuationInput,
  DefineContinuationOutput,
} from "../../job-types/markers.ts";
import { defineUnionJobTypes } from "../../job-types/define.ts";
import { createGate } from "../gate.ts";
import { within } from "../patience.ts";
import type { Scenario } from "../scenario.ts";
import { aborted, heartbeatSoon } from "../story-signals.ts";

const jobTypes = defineUnionJobTypes<{
  approve: { input: { amount: number }; output: { approved: boolean } };
  review: { input: null; output: DefineContinuationOutput<"sign"> | "rejected" };
  sign: { input: DefineContinuationInput<{ by: string }>; output: DefineContinuationOutput<"archive"> };
  archive: { input: DefineContinuationInput<null>; output: "archived" };
  waiting: { input: null; output: string; blockers: [DefineBlocker<"approve">] };
}>();

export const describeWorkerlessCompletion: Scenario = ({ test }) => {
  test(
    "a job is completed with an output, without any worker",
    jobTypes,
    async ({ leasehold, completion, events }) => {
      const started = await leasehold.startJobSequence({ typeName: "approve", input: { amount: 5 } });

      const completed = await leasehold.completeJobSequence({
        id: started.id,
        typeName: "approve",
        complete: async ({ job, complete }) => {
          const { status, output } = await complete(job, () => ({ approved: job.input.amount < 10 }));
          assert.deepEqual([status, output], ["completed", { approved: true }]);
        },
      });

      assert.ok(completed.status === "completed");
      assert.deepEqual(completed.output, { approved: true });
      assert.deepEqual((await completion(started)).output, { approved: true });
      const job = await leasehold.jobs.get({ id: started.id });
      assert.ok(job?.status === "completed");
      assert.deepEqual([job.completedBy, job.attempt], [null, 0]);
      assert.deepEqual(
        events.all("jobCompleted").map(({ id, workerId }) => [id, workerId]),
        [[started.id, null]],
      );
    },
  );

  test(
    "it can continue the sequence and leave the rest to a worker",
    jobTypes,
    async ({ leasehold, work, completion }) => {
      const started = await leasehold.startJobSequence({ typeName: "review" });

      const after = await leasehold.completeJobSequence({
        id: started.id,
        typeName: "review",
        complete: async ({ job, complete }) => {
          assert.ok(job.typeName === "review");
          const next = await complete(job, ({ continueWith }) =>
            continueWith({ typeName: "sign", input: { by: "Ada" } }),
          );
          assert.deepEqual([next.typeName, next.status, next.originId], ["sign", "pending", started.id]);
        },
      });
      assert.deepEqual([after.status, after.currentTypeName], ["pending", "sign"]);

      await work(
        leasehold
          .createWorker()
          .implementJobType({
            typeName: "sign",
            process: async ({ complete }) =>
              complete(({ continueWith }) => continueWith({ typeName: "archive" })),
          })
          .implementJobType({ typeName: "archive", process: async () => "archived" as const }),
      );
      assert.equal((await completion(started)).output, "archived");
    },
  );

  test("it can go through several steps at once", jobTypes, async ({ leasehold }) => {
    const started = await leasehold.startJobSequence({ typeName: "review" });

    const completed = await leasehold.completeJobSequence({
      id: started.id,
      typeName: "review",
      complete: async ({ job, complete }) => {
        assert.ok(job.typeName === "review");
        const sign = await complete(job, ({ continueWith }) =>
          continueWith({ typeName: "sign", input: { by: "Ada" } }),
        );
        const archive = await complete(sign, ({ continueWith }) => continueWith({ typeName: "archive" }));
        await complete(archive, () => "archived" as const);
      },
    });

    assert.ok(completed.status === "completed");
    assert.equal(completed.output, "archived");
    const { jobs } = await leasehold.jobs.listInSequence({ id: started.id });
    assert.deepEqual(
      jobs.map(({ typeName, status }) => [typeName, status]),
      [
        ["review", "completed"],
        ["sign", "completed"],
        ["archive", "completed"],
      ],
    );
  });

  test("a callback that throws leaves everything as it was", jobTypes, async ({ leasehold }) => {
    const started = await leasehold.startJobSequence({ typeName: "review" });
    const attempt = leasehold.completeJobSequence({
      id: started.id,
      typeName: "review",
      complete: async ({ job, complete }) => {
        assert.ok(job.typeName === "review");
        await complete(job, ({ continueWith }) => continueWith({ typeName: "sign", input: { by: "Ada" } }));
        throw new Error("second thoughts");
      },
    });
    await assert.rejects(attempt, /second thoughts/);

    const { jobs } = await leasehold.jobs.listInSequence({ id: started.id });
    assert.deepEqual(
      jobs.map(({ typeName, status }) => [typeName, status]),
      [["review", "pending"]],
    );
  });

  test("a callback that completes nothing only looks", jobTypes, async ({ leasehold }) => {
    const started = await leasehold.startJobSequence({ typeName: "approve", input: { amount: 1 } });
    const after = await leasehold.completeJobSequence({
      id: started.id,
      typeName: "approve",
      complete: async () => {},
    });
    assert.equal(after.status, "pending");
  });

  test("a blocked job can be completed before its blockers", jobTypes, async ({ leasehold, completion }) => {
    const blocker = await leasehold.startJobSequence({ typeName: "approve", input: { amount: 1 } });
    const waiting = await leasehold.startJobSequence({ typeName: "waiting", startBlockers: () => [blocker] });

    await leasehold.completeJobSequence({
      id: waiting.id,
      typeName: "waiting",
      complete: async ({ job, complete }) => {
        assert.equal(job.status, "blocked");
        await complete(job, () => "never mind");
      },
    });
    assert.equal((await completion(waiting)).output, "never mind");

    await leasehold.completeJobSequence({
      id: blocker.id,
      typeName: "approve",
      complete: async ({ job, complete }) => void (await complete(job, () => ({ approved: true }))),
    });
    assert.equal((await completion(waiting)).output, "never mind");
  });

  test("it unblocks who waits", jobTypes, async ({ leasehold, work, completion }) => {
    const blocker = await leasehold.startJobSequence({ typeName: "approve", input: { amount: 1 } });
    const waiting = await leasehold.startJobSequence({ typeName: "waiting", startBlockers: () => [blocker] });
    await work(
      leasehold.createWorker().implementJobType({
        typeName: "waiting",
        process: async ({ job }) => String(job.blockers[0].output.approved),
      }),
    );
    await leasehold.completeJobSequence({
      id: blocker.id,
      typeName: "approve",
      complete: async ({ job, complete }) => void (await complete(job, () => ({ approved: false }))),
    });
    assert.equal((await completion(waiting)).output, "false");
  });

  test("a running job is taken from its worker, whose signal aborts", jobTypes, async (story) => {
    const { leasehold, work, completion } = story;
    const running = createGate();
    let reason: JobAbortReason | undefined;
    const settled = createGate();
    await work(
      leasehold.createWorker().implementJobType({
        typeName: "approve",
        process: async ({ signal }) => {
          running.open();
          reason = await aborted(signal);
          settled.open();
          return { approved: false };
        },
      }),
      heartbeatSoon,
    );
    const started = await leasehold.startJobSequence({ typeName: "approve", input: { amount: 1 } });
    await running.opened;

    await leasehold.completeJobSequence({
      id: started.id,
      typeName: "approve",
      complete: async ({ job, complete }) => void (await complete(job, () => ({ approved: true }))),
    });

    await within(settled.opened, "the handler to settle");
    assert.equal(reason, "already_completed");
    assert.deepEqual((await completion(started)).output, { approved: true });
  });

  test("what has ended cannot be completed", jobTypes, async ({ leasehold }) => {
    const done = await leasehold.startJobSequence({ typeName: "approve", input: { amount: 1 } });
    const cancelled = await leasehold.startJobSequence({ typeName: "approve", input: { amount: 1 } });
    const approve = (id: string) =>
      leasehold.completeJobSequence({
        id,
        typeName: "approve",
        complete: async ({ job, complete }) => void (await complete(job, () => ({ approved: true }))),
      });
    await approve(done.id);
    await leasehold.jobs.cancel({ ids: [cancelled.id] });

    await assert.rejects(approve(done.id), JobAlreadyCompletedError);
    await assert.rejects(approve(cancelled.id), JobAlreadyFailedError);
  });

  test("the sequence must exist and be of the type named", jobTypes, async ({ leasehold }) => {
    const started = await leasehold.startJobSequence({ typeName: "review" });
    const complete = async (): Promise<void> => assert.fail("the callback must not be called");
    const unknownId = "01890000-0000-7000-8000-000000000000";

    await assert.rejects(
      leasehold.completeJobSequence({ id: started.id, typeName: "approve", complete }),
      (error) => error instanceof InvalidOptionError && error.option === "typeName",
    );
    await assert.rejects(
      leasehold.completeJobSequence({ id: unknownId, typeName: "approve", complete }),
      JobNotFoundError,
    );
  });

  test("only the current job of the sequence can be completed", jobTypes, async ({ leasehold }) => {
    const one = await leasehold.startJobSequence({ typeName: "approve", input: { amount: 1 } });
    const other = await leasehold.startJobSequence({ typeName: "approve", input: { amount: 2 } });
    const attempt = leasehold.completeJobSequence({
      id: one.id,
      typeName: "approve",
      complete: async ({ complete }) =>
        void (await complete({ id: other.id, typeName: "approve" }, () => ({ approved: true }))),
    });
    await assert.rejects(attempt, ProcessMisuseError);
    assert.equal((await leasehold.jobs.get({ id: other.id }))?.status, "pending");
  });
};
