import assert from "node:assert/strict";
import type { DefineBlocker } from "../../job-types/markers.ts";
import { defineUnionJobTypes } from "../../job-types/define.ts";
import { rescheduleJob } from "../../worker/outcome.ts";
import type { Scenario } from "../scenario.ts";
import type { AppOptions, StoryStateAdapter } from "../story.ts";

const jobTypes = defineUnionJobTypes<{
  charge: { input: null; output: string };
  receipt: { input: null; output: null };
  bill: { input: null; output: null; blockers: [DefineBlocker<"receipt">] };
}>();

// With a single attempt, none can be charged without the job failing.
const once = { typeName: "charge", maxAttempts: 1 } as const;

class Deadlock extends Error {
  override readonly name = "Deadlock";
}

/** Throws for the first `times` calls, as a statement does that the store has rolled back for the sake of another. */
const deadlocks = (times: number): (() => void) => {
  let left = times;
  return () => {
    if (left > 0) {
      left -= 1;
      throw new Deadlock("rolled back so that another could go on");
    }
  };
};

const knowsDeadlocks = (adapter: StoryStateAdapter): Partial<StoryStateAdapter> => ({
  isTransientError: (error) => error instanceof Deadlock || adapter.isTransientError(error),
});

const withDeadlocks: AppOptions = { store: knowsDeadlocks };

/** The store must not commit before the end of the callback, where these stores fail. */
const committingApart = (adapter: StoryStateAdapter): Partial<StoryStateAdapter> => ({
  commitOutcomes: ({ isLast: _isLast, ...call }) => adapter.commitOutcomes(call),
});

/** Loses the connection at the end of the first transaction: once it has committed, or just before. */
const losingFirstCommit = (committed: boolean): AppOptions => {
  let isFirst = true;
  return {
    store: (adapter) => ({
      ...knowsDeadlocks(adapter),
      ...committingApart(adapter),
      runInTransaction: async (callback, parent) => {
        const loses = isFirst && parent === undefined;
        if (!loses) return adapter.runInTransaction(callback, parent);
        isFirst = false;
        const result = await adapter.runInTransaction(async (ctx) => {
          const value = await callback(ctx);
          if (!committed) throw new Deadlock("the connection was lost");
          return value;
        });
        if (committed) throw new Deadlock("the connection was lost");
        return result;
      },
    }),
  };
};

/** Rolls the first transactions back at their end, in favour of others. */
const rollingBack = (times: number, conflicts?: "wait" | "abort"): AppOptions => {
  const mayDeadlock = deadlocks(times);
  return {
    store: (adapter) => ({
      ...(conflicts && { capabilities: { ...adapter.capabilities, conflicts } }),
      ...committingApart(adapter),
      isConflictRollback: (error) => error instanceof Deadlock || adapter.isConflictRollback(error),
      runInTransaction: (callback, parent, options) =>
        adapter.runInTransaction(
          async (ctx) => {
            const value = await callback(ctx);
            if (parent === undefined) mayDeadlock();
            return value;
          },
          parent,
          options,
        ),
    }),
  };
};

export const describeRolledBackTransactions: Scenario = ({ test }) => {
  test("a start with blockers is run again", jobTypes, async ({ openAnother, queue }) => {
    const { leasehold, events } = await openAnother(rollingBack(3));
    let runs = 0;
    const started = await leasehold.startJobSequence({
      typeName: "bill",
      startBlockers: async () => {
        runs += 1;
        return [await leasehold.startJobSequence({ typeName: "receipt" })];
      },
    });
    assert.equal(runs, 4);
    const counts = await leasehold.jobs.count({ queue });
    assert.deepEqual(
      new Set(counts.map(({ typeName, count }) => `${count} ${typeName}`)),
      new Set(["1 bill", "1 receipt"]),
    );
    assert.equal(events.all("jobCreated").length, 2);
    assert.equal((await leasehold.jobs.get({ id: started.id }))?.status, "blocked");
  });

  test("a completion without a worker is run again", jobTypes, async ({ openAnother }) => {
    const { leasehold, completion, events } = await openAnother(rollingBack(2));
    const started = await leasehold.startJobSequence(once);
    let runs = 0;
    await leasehold.completeJobSequence({
      ...started,
      complete: async ({ job, complete }) => {
        await complete(job, () => `charged in run ${(runs += 1)}`);
      },
    });
    assert.equal((await completion(started)).output, "charged in run 3");
    assert.equal(events.all("jobCompleted").length, 1);
  });

  test("so are a cancellation, a redrive and its dry run, and a deletion", jobTypes, async (story) => {
    const { leasehold } = story;
    const { id } = await leasehold.startJobSequence(once);
    const again = async () => story.openAnother(rollingBack(4));
    const cancelling = await again();
    assert.deepEqual(await cancelling.leasehold.jobs.cancel({ ids: [id] }), {
      changed: [{ id, failedIds: [] }],
      skipped: [],
      cursor: null,
    });
    assert.deepEqual(cancelling.events.all("stateAdapterError"), []);
    const rehearsal = await (await again()).leasehold.jobs.redrive({ ids: [id], dryRun: true });
    assert.equal((await leasehold.jobs.get({ id }))?.status, "failed");
    assert.deepEqual(await (await again()).leasehold.jobs.redrive({ ids: [id] }), rehearsal);
    assert.equal((await leasehold.jobs.get({ id }))?.status, "pending");
    const deletion = await (await again()).leasehold.deleteJobSequences({ rootSequenceIds: [id] });
    assert.deepEqual(deletion.changed, [{ id, jobs: 1 }]);
  });

  test(
    "the user's own transaction is run again where the store aborts what meets a conflict, and only there",
    jobTypes,
    async ({ openAnother, queue }) => {
      let runs = 0;
      const attempt = async (conflicts: "wait" | "abort"): Promise<void> => {
        const { leasehold } = await openAnother(rollingBack(2, conflicts));
        await leasehold.runInTransaction(async (ctx) => {
          runs += 1;
          await leasehold.startJobSequence({ ...ctx, ...once });
        });
      };
      await assert.rejects(attempt("wait"), Deadlock);
      assert.equal(runs, 1);
      runs = 0;
      await attempt("abort");
      assert.equal(runs, 3);
      const { leasehold } = await openAnother();
      assert.deepEqual(
        (await leasehold.jobs.count({ queue })).map(({ count }) => count),
        [1],
      );
    },
  );

  test("a transaction that is rolled back on and on is given up", jobTypes, async ({ openAnother }) => {
    const { leasehold } = await openAnother(rollingBack(1_000, "abort"));
    let runs = 0;
    const attempt = leasehold.runInTransaction(async () => {
      runs += 1;
    });
    await assert.rejects(attempt, Deadlock);
    assert.ok(runs > 5 && runs <= 100, `it ran ${runs} times`);
  });

  test("complete is run again within the attempt", jobTypes, async ({ openAnother, queue }) => {
    const { leasehold, work, completion, events } = await openAnother(withDeadlocks);
    const mayDeadlock = deadlocks(3);
    let handlerRuns = 0;
    await work(
      leasehold.createWorker().implementJobType({
        typeName: "charge",
        process: async ({ complete }) => {
          handlerRuns += 1;
          return complete(async (ctx) => {
            const { id } = await leasehold.startJobSequence({ ...ctx, typeName: "receipt" });
            mayDeadlock();
            return id;
          });
        },
      }),
    );
    const started = await leasehold.startJobSequence(once);

    const { output } = await completion(started);

    assert.equal(handlerRuns, 1);
    assert.equal((await leasehold.jobs.get({ id: started.id }))?.attempt, 1);
    const { jobs } = await leasehold.jobs.list({ queue, typeName: "receipt" });
    assert.deepEqual(
      jobs.map(({ id }) => id),
      [output],
    );
    assert.deepEqual(
      events.all("jobAttemptTransactionRepeated").map(({ id, operation, run }) => [id, operation, run]),
      [1, 2, 3].map((run) => [started.id, "complete", run]),
    );
    assert.deepEqual(events.all("jobAttemptFailed"), []);
  });

  test("a job whose complete is rolled back on and on is given back at no cost", jobTypes, async (story) => {
    const { leasehold, work, completion, events } = await story.openAnother(withDeadlocks);
    const mayDeadlock = deadlocks(7);
    await work(
      leasehold.createWorker().implementJobType({
        typeName: "charge",
        process: async ({ complete }) =>
          complete(() => {
            mayDeadlock();
            return "charged";
          }),
      }),
    );
    const started = await leasehold.startJobSequence(once);
    await completion(started);
    const released = await events.first("jobAttemptReleased");
    assert.deepEqual([released.id, released.attempt], [started.id, 1]);
    assert.ok(released.error instanceof Error);
    assert.equal(released.error.name, "Deadlock");
    assert.equal((await leasehold.jobs.get({ id: started.id }))?.attempt, 1);
  });

  test("an atomic prepare is run again until the handler has its result", jobTypes, async (story) => {
    const { leasehold, work, completion } = await story.openAnother(withDeadlocks);
    const mayDeadlock = deadlocks(2);
    let handlerRuns = 0;
    await work(
      leasehold.createWorker().implementJobType({
        typeName: "charge",
        process: async ({ prepare, complete }) => {
          handlerRuns += 1;
          const read = await prepare({ mode: "atomic" }, () => {
            mayDeadlock();
            return "read";
          });
          return complete(() => read);
        },
      }),
    );
    await completion(await leasehold.startJobSequence(once));
    assert.equal(handlerRuns, 1);
  });

  for (const where of ["in complete", "between prepare and complete"] as const) {
    test(`atomic, rolled back ${where}: the job is given back at no cost`, jobTypes, async (story) => {
      const { leasehold, work, completion, events } = await story.openAnother(withDeadlocks);
      const mayDeadlock = deadlocks(1);
      let handlerRuns = 0;
      let prepareRuns = 0;
      await work(
        leasehold.createWorker().implementJobType({
          typeName: "charge",
          process: async ({ prepare, complete }) => {
            handlerRuns += 1;
            await prepare({ mode: "atomic" }, () => {
              prepareRuns += 1;
            });
            if (where === "between prepare and complete") mayDeadlock();
            return complete(() => {
              mayDeadlock();
              return "charged";
            });
          },
        }),
      );
      const started = await leasehold.startJobSequence(once);
      await completion(started);
      assert.deepEqual([handlerRuns, prepareRuns], [2, 2]);
      assert.equal((await leasehold.jobs.get({ id: started.id }))?.attempt, 1);
      assert.equal(events.all("jobAttemptReleased").length, 1);
    });
  }

  test("a staged prepare is run again within the attempt", jobTypes, async ({ openAnother, queue }) => {
    const { leasehold, work, completion, events } = await openAnother(withDeadlocks);
    const mayDeadlock = deadlocks(2);
    await work(
      leasehold.createWorker().implementJobType({
        typeName: "charge",
        process: async ({ prepare, complete }) => {
          const receiptId = await prepare({ mode: "staged" }, async (ctx) => {
            const { id } = await leasehold.startJobSequence({ ...ctx, typeName: "receipt" });
            mayDeadlock();
            return id;
          });
          return complete(() => receiptId);
        },
      }),
    );
    const { output } = await completion(await leasehold.startJobSequence(once));
    const { jobs } = await leasehold.jobs.list({ queue, typeName: "receipt" });
    assert.deepEqual(
      jobs.map(({ id }) => id),
      [output],
    );
    const [first] = events.all("jobAttemptTransactionRepeated");
    assert.equal(first?.operation, "prepare");
  });

  test(
    "a staged prepare that may have committed is left to the next attempt, at no cost",
    jobTypes,
    async ({ openAnother }) => {
      const { leasehold, work, completion } = await openAnother(losingFirstCommit(true));
      let handlerRuns = 0;
      let prepareRuns = 0;
      await work(
        leasehold.createWorker().implementJobType({
          typeName: "charge",
          process: async ({ prepare, complete }) => {
            handlerRuns += 1;
            await prepare({ mode: "staged" }, () => {
              prepareRuns += 1;
            });
            return complete(() => "charged");
          },
        }),
      );
      const started = await leasehold.startJobSequence(once);
      await completion(started);
      assert.deepEqual([handlerRuns, prepareRuns], [2, 2]);
      assert.equal((await leasehold.jobs.get({ id: started.id }))?.attempt, 1);
    },
  );

  for (const mode of [undefined, "atomic"] as const) {
    const name = mode ? "an atomic complete" : "a complete";

    test(`${name} whose commit was not answered is recognised`, jobTypes, async ({ openAnother, queue }) => {
      const { leasehold, work, completion, events } = await openAnother(losingFirstCommit(true));
      let callbackRuns = 0;
      const worker = await work(
        leasehold.createWorker().implementJobType({
          typeName: "charge",
          process: async ({ prepare, complete }) => {
            if (mode) await prepare({ mode });
            return complete(async (ctx) => {
              callbackRuns += 1;
              const { id } = await leasehold.startJobSequence({ ...ctx, typeName: "receipt" });
              return id;
            });
          },
        }),
      );
      const started = await leasehold.startJobSequence(once);
      const { output } = await completion(started);
      await events.first("jobAttemptCompleted");
      await worker.stop();
      assert.equal(callbackRuns, 1);
      const { jobs } = await leasehold.jobs.list({ queue, typeName: "receipt" });
      assert.deepEqual(
        jobs.map(({ id }) => id),
        [output],
      );
      // As if the answer had come: everybody is told, once, and nobody of a lost lease.
      assert.equal(events.all("jobCompleted").length, 1);
      assert.equal(events.all("jobAttemptCompleted").length, 1);
      assert.deepEqual(events.all("jobAttemptFenced"), []);
      assert.deepEqual(events.all("jobAttemptReleased"), []);
    });

    test(`${name} that did not commit is not taken for one that did`, jobTypes, async (story) => {
      const { leasehold, work, completion } = await story.openAnother(losingFirstCommit(false));
      let callbackRuns = 0;
      await work(
        leasehold.createWorker().implementJobType({
          typeName: "charge",
          process: async ({ prepare, complete }) => {
            if (mode) await prepare({ mode });
            return complete(async (ctx) => {
              callbackRuns += 1;
              const { id } = await leasehold.startJobSequence({ ...ctx, typeName: "receipt" });
              return id;
            });
          },
        }),
      );
      const started = await leasehold.startJobSequence(once);
      const { output } = await completion(started);
      assert.equal(callbackRuns, 2);
      const { jobs } = await leasehold.jobs.list({ queue: story.queue, typeName: "receipt" });
      assert.deepEqual(
        jobs.map(({ id }) => id),
        [output],
      );
      assert.equal((await leasehold.jobs.get({ id: started.id }))?.attempt, 1);
    });
  }

  test("what the handler makes of it counts: it may put the job off", jobTypes, async (story) => {
    const { leasehold, work, completion, events } = await story.openAnother(withDeadlocks);
    let callbackRuns = 0;
    await work(
      leasehold.createWorker().implementJobType({
        typeName: "charge",
        process: async ({ complete }) =>
          complete(() => {
            callbackRuns += 1;
            if (callbackRuns === 1) rescheduleJob({ afterMs: 1 }, new Deadlock("the reason"));
            return "charged";
          }),
      }),
    );
    await completion(await leasehold.startJobSequence(once));
    assert.equal(callbackRuns, 2);
    assert.deepEqual(events.all("jobAttemptTransactionRepeated"), []);
    assert.equal(events.all("jobAttemptRescheduled").length, 1);
  });

  test("errors that are not transient cost an attempt", jobTypes, async (story) => {
    const { leasehold, work, failure, events } = await story.openAnother(withDeadlocks);
    await work(
      leasehold.createWorker().implementJobType({
        typeName: "charge",
        process: async ({ complete }) =>
          complete(() => {
            throw new Error("declined");
          }),
      }),
    );
    assert.equal((await failure(await leasehold.startJobSequence(once))).reason, "attempts_exhausted");
    assert.deepEqual(events.all("jobAttemptTransactionRepeated"), []);
  });
};
