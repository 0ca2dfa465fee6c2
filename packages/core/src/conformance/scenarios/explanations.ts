import assert from "node:assert/strict";
import { JobNotFoundError } from "../../store/errors.ts";
import type { DefineBlocker } from "../../job-types/markers.ts";
import { defineJobTypes, defineUnionJobTypes } from "../../job-types/define.ts";
import { createGate } from "../gate.ts";
import type { Scenario } from "../scenario.ts";
import { claimAndVanish } from "../vanished-worker.ts";

const jobTypes = defineUnionJobTypes<{
  work: { input: null; output: null };
  wait: { input: null; output: null; blockers: [DefineBlocker<"work">, DefineBlocker<"work">] };
}>();

const stepJobTypes = defineJobTypes({
  step: { continuesTo: ["next"] },
  next: { internal: true },
  approve: { workerless: true },
});

const orderTypes = defineJobTypes({
  ship: { blockers: ["pay", "reserve"] },
  pay: {},
  reserve: { blockers: ["approve"] },
  approve: { workerless: true },
});

export const describeExplanations: Scenario = ({ test }) => {
  test("runnable, and how many come first", jobTypes, async ({ leasehold, queue }) => {
    const first = await leasehold.startJobSequence({ typeName: "work" });
    const second = await leasehold.startJobSequence({ typeName: "work" });
    const urgent = await leasehold.startJobSequence({ typeName: "work", priority: 1 });
    const positions = [];
    for (const { id } of [urgent, first, second]) {
      const explanation = await leasehold.jobs.explain({ id });
      assert.ok(explanation.state === "runnable");
      assert.ok(explanation.summary.includes(queue), explanation.summary);
      positions.push(explanation.aheadInQueue);
    }
    assert.deepEqual(positions, [0, 1, 2]);
  });

  test("scheduled", jobTypes, async ({ leasehold }) => {
    const until = new Date("2999-01-01");
    const { id } = await leasehold.startJobSequence({ typeName: "work", schedule: { at: until } });
    const explanation = await leasehold.jobs.explain({ id });
    assert.ok(explanation.state === "scheduled");
    assert.deepEqual(explanation.until, until);
    assert.match(explanation.summary, /2999-01-01/);
  });

  test("retrying, with the last error", jobTypes, async ({ leasehold, work, events }) => {
    await work(
      leasehold.createWorker().implementJobType({
        typeName: "work",
        retry: { type: "fixed", delayMs: 3_600_000 },
        process: async () => {
          throw new Error("the printer is on fire");
        },
      }),
    );
    const { id } = await leasehold.startJobSequence({ typeName: "work" });
    await events.first("jobAttemptFailed");
    const explanation = await leasehold.jobs.explain({ id });
    assert.ok(explanation.state === "retrying");
    assert.deepEqual([explanation.attempt, explanation.maxAttempts], [1, 4]);
    assert.equal(explanation.lastError?.message, "the printer is on fire");
    assert.deepEqual(explanation.until, (await leasehold.jobs.get({ id }))?.scheduledAt);
  });

  test("blocked, and by which", jobTypes, async ({ leasehold }) => {
    const done = await leasehold.startJobSequence({ typeName: "work" });
    const open = await leasehold.startJobSequence({ typeName: "work" });
    const { id } = await leasehold.startJobSequence({ typeName: "wait", startBlockers: () => [done, open] });
    await leasehold.completeJobSequence({
      id: done.id,
      typeName: "work",
      complete: async ({ job, complete }) => void (await complete(job, () => null)),
    });
    const explanation = await leasehold.jobs.explain({ id });
    assert.ok(explanation.state === "blocked");
    assert.deepEqual(explanation.by, [{ id: open.id, typeName: "work", status: "pending" }]);
    assert.ok(
      explanation.summary.includes(open.id) && explanation.summary.includes("1 of 2"),
      explanation.summary,
    );
  });

  test(
    "blocked, with the reasons followed to the end, and the advice at the end helps",
    orderTypes,
    async (story) => {
      const { leasehold, work, completion } = story;
      const approve = await leasehold.startJobSequence({ typeName: "approve" });
      const reserve = await leasehold.startJobSequence({
        typeName: "reserve",
        startBlockers: () => [approve],
      });
      const pay = await leasehold.startJobSequence({ typeName: "pay" });
      const ship = await leasehold.startJobSequence({
        typeName: "ship",
        startBlockers: () => [pay, reserve],
      });
      const running = createGate();
      const goOn = createGate();
      const worker = leasehold.createWorker();
      await work(
        worker
          .implementJobType({
            typeName: "pay",
            process: async () => {
              running.open();
              await goOn.opened;
              return null;
            },
          })
          .implementJobType({ typeName: "reserve", process: async () => null })
          .implementJobType({ typeName: "ship", process: async () => null }),
      );
      await running.opened;
      const explanation = await leasehold.jobs.explain(ship);
      assert.ok(explanation.state === "blocked");
      // The payment runs; the reservation is what holds it up.
      assert.deepEqual(
        explanation.chain.map(({ jobId, typeName, state, reason }) => [jobId, typeName, state, reason]),
        [
          [reserve.id, "reserve", "blocked", "waits for approve"],
          [approve.id, "approve", "workerless", "waits to be completed from outside"],
        ],
      );
      assert.ok(
        explanation.summary.endsWith(
          "It waits for reserve, which waits for approve, which waits to be completed from outside.",
        ),
        explanation.summary,
      );
      const { summary } = await leasehold.jobs.explain(approve);
      assert.match(summary, /Complete it with completeJobSequence/);
      await leasehold.completeJobSequence({
        id: approve.id,
        typeName: "approve",
        complete: async ({ job, complete }) => void (await complete(job, () => null)),
      });
      await completion(reserve);
      const paying = await leasehold.jobs.explain(ship);
      assert.ok(paying.state === "blocked");
      assert.deepEqual(
        paying.chain.map(({ jobId, state }) => [jobId, state]),
        [[pay.id, "running"]],
      );
      goOn.open();
      await completion(ship);
    },
  );

  test(
    "workerless jobs are not ahead of a job that waits for a worker",
    stepJobTypes,
    async ({ leasehold }) => {
      await leasehold.startJobSequences({
        sequences: Array.from({ length: 3 }, () => ({ typeName: "approve" as const })),
      });
      await leasehold.startJobSequence({ typeName: "step" });
      const { id } = await leasehold.startJobSequence({ typeName: "step" });
      const explanation = await leasehold.jobs.explain({ id });
      assert.ok(explanation.state === "runnable");
      assert.equal(explanation.aheadInQueue, 1);
    },
  );

  test("running, and where", jobTypes, async ({ leasehold, work, completion }) => {
    const running = createGate();
    const goOn = createGate();
    await work(
      leasehold.createWorker().implementJobType({
        typeName: "work",
        process: async () => {
          running.open();
          await goOn.opened;
        },
      }),
      { workerId: "the-busy-one" },
    );
    const started = await leasehold.startJobSequence({ typeName: "work" });
    await running.opened;
    const explanation = await leasehold.jobs.explain({ id: started.id });
    assert.ok(explanation.state === "running");
    assert.deepEqual([explanation.leasedBy, explanation.attempt], ["the-busy-one", 1]);
    assert.ok(explanation.leasedUntil > started.createdAt);
    goOn.open();
    await completion(started);
  });

  test("its worker has gone silent", jobTypes, async ({ leasehold, stateAdapter, queue }) => {
    const { id } = await leasehold.startJobSequence({ typeName: "work" });
    const worker = { queue, typeName: "work", workerId: "the-silent-one" };
    const { leasedUntil } = await claimAndVanish(stateAdapter, worker);
    const explanation = await leasehold.jobs.explain({ id });
    assert.ok(explanation.state === "lease_expired");
    assert.equal(explanation.leasedBy, "the-silent-one");
    assert.deepEqual(explanation.since, new Date(leasedUntil!));
  });

  test("completed, and by whom", jobTypes, async ({ leasehold, work, completion }) => {
    const byHand = await leasehold.startJobSequence({ typeName: "work" });
    await leasehold.completeJobSequence({
      id: byHand.id,
      typeName: "work",
      complete: async ({ job, complete }) => void (await complete(job, () => null)),
    });
    await work(leasehold.createWorker().implementJobType({ typeName: "work", process: async () => {} }), {
      workerId: "the-quick-one",
    });
    const byWorker = await leasehold.startJobSequence({ typeName: "work" });
    const { completedAt } = await completion(byWorker);

    const one = await leasehold.jobs.explain({ id: byHand.id });
    const two = await leasehold.jobs.explain({ id: byWorker.id });
    assert.ok(one.state === "completed" && two.state === "completed");
    assert.deepEqual([one.by, two.by, two.at], [null, "the-quick-one", completedAt]);
  });

  test("failed, and why", jobTypes, async ({ leasehold }) => {
    const { id } = await leasehold.startJobSequence({ typeName: "work" });
    const other = await leasehold.startJobSequence({ typeName: "work" });
    const dependant = await leasehold.startJobSequence({
      typeName: "wait",
      startBlockers: () => [{ id, typeName: "work" }, other],
    });
    await leasehold.jobs.cancel({ ids: [id], reason: "enough" });
    const cancelled = await leasehold.jobs.explain({ id });
    assert.ok(cancelled.state === "failed");
    assert.deepEqual([cancelled.failure.reason, cancelled.failure.error?.message], ["cancelled", "enough"]);
    const cascaded = await leasehold.jobs.explain({ id: dependant.id });
    assert.ok(cascaded.state === "failed");
    assert.deepEqual([cascaded.failure.reason, cascaded.failure.blockerSequenceId], ["blocker_failed", id]);
    assert.ok(cascaded.summary.includes(id), cascaded.summary);
  });

  test("the advice for a job that failed with its blocker revives both", orderTypes, async (story) => {
    const { leasehold } = story;
    const approve = await leasehold.startJobSequence({ typeName: "approve" });
    const reserve = await leasehold.startJobSequence({ typeName: "reserve", startBlockers: () => [approve] });
    const pay = await leasehold.startJobSequence({ typeName: "pay" });
    const ship = await leasehold.startJobSequence({ typeName: "ship", startBlockers: () => [pay, reserve] });
    await leasehold.jobs.cancel({ ids: [approve.id] });
    const { state, summary } = await leasehold.jobs.explain(ship);
    assert.equal(state, "failed");
    const advised = / Redrive job (\S+) \(approve\), which revives this one, too\.$/.exec(summary)?.[1];
    assert.equal(advised, approve.id, summary);
    await leasehold.jobs.redrive({ ids: [advised] });
    assert.equal((await leasehold.jobs.explain(ship)).state, "blocked");
    // A job that failed by itself is redriven itself.
    await leasehold.jobs.cancel({ ids: [pay.id] });
    assert.match((await leasehold.jobs.explain(pay)).summary, / Redrive it to run it again\.$/);
    await leasehold.jobs.redrive({ ids: [pay.id] });
    assert.equal((await leasehold.jobs.explain(pay)).state, "runnable");
  });

  test("a sequence that has gone on, by the job it has come to", stepJobTypes, async (story) => {
    const { leasehold, work, failure } = story;
    const { id } = await leasehold.startJobSequence({ typeName: "step" });
    const step = await leasehold.completeJobSequence({
      id,
      typeName: "step",
      complete: async ({ job, complete }) => {
        if (job.typeName !== "step") return;
        await complete(job, ({ continueWith }) => continueWith({ typeName: "next", maxAttempts: 1 }));
      },
    });
    const explanation = await leasehold.jobs.explain({ id });
    assert.deepEqual([explanation.state, explanation.jobId], ["runnable", step.currentJobId]);
    assert.match(explanation.summary, new RegExp(`gone on to job ${step.currentJobId} \\(next\\)`));
    assert.deepEqual((await leasehold.jobs.explain({ id: step.currentJobId })).state, "runnable");

    await work(
      leasehold.createWorker().implementJobType({
        typeName: "next",
        process: async () => {
          throw new Error("no");
        },
      }),
    );
    await failure({ id, typeName: "step" });
    const failed = await leasehold.jobs.explain({ id });
    assert.deepEqual([failed.state, failed.jobId], ["failed", step.currentJobId]);
  });

  test("a job of a workerless type waits for somebody outside", stepJobTypes, async ({ leasehold }) => {
    const { id } = await leasehold.startJobSequence({ typeName: "approve" });
    const { state, summary } = await leasehold.jobs.explain({ id });
    assert.equal(state, "workerless");
    assert.match(summary, /completed from outside/);
    assert.throws(
      () => leasehold.createWorker().implementJobType({ typeName: "approve", process: async () => null }),
      /workerless/,
    );
  });

  test("a job that does not exist is an error", jobTypes, async ({ leasehold }) => {
    await assert.rejects(
      leasehold.jobs.explain({ id: "01890000-0000-7000-8000-000000000000" }),
      JobNotFoundError,
    );
  });
};
