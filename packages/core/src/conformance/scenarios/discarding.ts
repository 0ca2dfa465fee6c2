import assert from "node:assert/strict";
import { defineUnionJobTypes, type JobTypes } from "../../job-types/define.ts";
import type {
  DefineBlocker,
  DefineContinuationInput,
  DefineContinuationOutput,
} from "../../job-types/markers.ts";
import { JobNotFoundError } from "../../store/errors.ts";
import { until } from "../patience.ts";
import type { Scenario } from "../scenario.ts";
import type { AppOptions, StoryApp, StoryStateAdapter } from "../story.ts";

interface Types {
  ping: { input: null; output: string };
  parent: { input: null; output: null };
  first: { input: null; output: DefineContinuationOutput<"last"> };
  last: { input: DefineContinuationInput<null>; output: null };
  waits: { input: null; output: null; blockers: [DefineBlocker<"ping">] };
}

const nothing = { retention: { completedMs: 0 } } as const;

const jobTypes: JobTypes<Types> = defineUnionJobTypes<Types>({
  ping: nothing,
  parent: nothing,
  first: nothing,
  last: nothing,
  waits: nothing,
});

type App = Pick<StoryApp<Types>, "leasehold" | "work">;

// What is kept must not be pruned while the test looks at it.
const calmly = { pruneIntervalMs: 2 ** 31 - 1 };

const workOn = async ({ leasehold, work }: App): Promise<void> => {
  await work(
    leasehold
      .createWorker()
      .implementJobType({ typeName: "ping", process: async () => "pong" })
      .implementJobType({
        typeName: "parent",
        process: async () => {
          await leasehold.startJobSequence({ typeName: "ping" });
          return null;
        },
      })
      .implementJobType({
        typeName: "first",
        process: async ({ complete }) =>
          complete(async ({ continueWith }) => continueWith({ typeName: "last" })),
      })
      .implementJobType({ typeName: "last", process: async () => null })
      .implementJobType({ typeName: "waits", process: async () => null }),
    calmly,
  );
};

class ConnectionLost extends Error {
  override readonly name = "ConnectionLost";
}

/** Loses the reply to the first call or to the first transaction: after it has taken effect, or before it does. */
const losing = (
  what: "commitOutcomes" | "createJobs" | "runInTransaction",
  mayLose: () => Promise<void> = async () => {},
): AppOptions => {
  let isFirst = true;
  return {
    store: (adapter: StoryStateAdapter) => ({
      isTransientError: (error) => error instanceof ConnectionLost || adapter.isTransientError(error),
      // The store must not commit before the end of the callback, where this one fails.
      ...(what === "runInTransaction" && {
        commitOutcomes: ({ isLast: _isLast, ...call }: Parameters<StoryStateAdapter["commitOutcomes"]>[0]) =>
          adapter.commitOutcomes(call),
      }),
      [what]: async (...args: unknown[]) => {
        const call = adapter[what] as (...given: unknown[]) => Promise<unknown>;
        const result = await call.apply(adapter, args);
        const isNested = what === "runInTransaction" && args[1] !== undefined;
        if (!isFirst || isNested) return result;
        isFirst = false;
        await mayLose();
        throw new ConnectionLost("the reply is lost");
      },
    }),
  };
};

export const describeDiscarding: Scenario = ({ test }) => {
  test(
    "a type of which nothing is kept: events and counts as ever, and no job left",
    jobTypes,
    async (story) => {
      const { leasehold, events, stateAdapter } = story;
      const started = await leasehold.startJobSequence({ typeName: "ping" });
      await workOn(story);
      await events.first("jobSequenceCompleted", ({ id }) => id === started.id);
      const names = ["jobAttemptCompleted", "jobCompleted", "jobDuration", "jobSequenceDuration"] as const;
      for (const name of names) assert.equal(events.all(name).length, 1, name);
      assert.deepEqual(events.all("jobDeleted"), []);
      if (stateAdapter.capabilities.discardsCompleted !== true) return;
      assert.equal(await leasehold.jobs.get({ id: started.id }), undefined);
      await assert.rejects(leasehold.waitForJobSequenceCompletion(started), JobNotFoundError);
    },
  );

  test("a process that waits gets the output, and the job is kept", jobTypes, async (story) => {
    const { leasehold, openAnother } = story;
    const started = await leasehold.startJobSequence({ typeName: "ping" });
    const other = await openAnother();
    const waiting = [story.completion(started), other.completion(started)];
    await workOn(story);
    for (const { output } of await Promise.all(waiting)) assert.equal(output, "pong");
    assert.equal((await leasehold.jobs.get({ id: started.id }))?.status, "completed");
  });

  test(
    "trees, longer sequences, blockers and keys are kept until they are pruned",
    jobTypes,
    async (story) => {
      const { leasehold, events } = story;
      const parent = await leasehold.startJobSequence({ typeName: "parent" });
      const first = await leasehold.startJobSequence({ typeName: "first" });
      const blocker = await leasehold.startJobSequence({ typeName: "ping" });
      const waits = await leasehold.startJobSequence({ typeName: "waits", startBlockers: () => [blocker] });
      const keyed = await leasehold.startJobSequence({
        typeName: "ping",
        deduplication: { key: parent.id, strategy: "all" },
      });
      await workOn(story);
      await until(() => events.all("jobCompleted").length === 7, "all have completed");
      for (const { id } of [parent, first, blocker, waits, keyed])
        assert.equal((await leasehold.jobs.getSequence({ id }))?.status, "completed");
      const again = await leasehold.startJobSequence({
        typeName: "ping",
        deduplication: { key: parent.id, strategy: "all" },
      });
      assert.deepEqual([again.id, again.deduplicated], [keyed.id, true]);
    },
  );

  test(
    "a completion whose reply is lost is not taken for a lost lease",
    jobTypes,
    async ({ openAnother }) => {
      const app = await openAnother(losing("commitOutcomes"));
      const started = await app.leasehold.startJobSequence({ typeName: "ping" });
      await workOn(app);
      await app.events.first("commitBatch");
      for (const name of ["jobAttemptFenced", "jobAttemptAlreadyCompleted"] as const)
        assert.deepEqual(app.events.all(name), []);
      assert.equal(app.events.all("stateAdapterError").length, 1);
      const job = await app.leasehold.jobs.get({ id: started.id });
      assert.ok(job === undefined || job.status === "completed");
    },
  );

  test("a job is kept if a start that it did not wait for is still on its way", jobTypes, async (story) => {
    const started = await story.leasehold.startJobSequence({ typeName: "parent" });
    const app = await story.openAnother({
      store: (adapter) => ({
        createJobs: async (call) => {
          await app.events.first("jobCompleted", ({ id }) => id === started.id);
          return adapter.createJobs(call);
        },
      }),
    });
    let child: Promise<unknown> | undefined;
    await app.work(
      app.leasehold.createWorker().implementJobType({
        typeName: "parent",
        process: async () => {
          child = app.leasehold.startJobSequence({ typeName: "ping" });
          return null;
        },
      }),
      calmly,
    );
    await app.events.first("jobCompleted", ({ id }) => id === started.id);
    await child;
    assert.equal((await app.leasehold.jobs.get({ id: started.id }))?.status, "completed");
  });

  test("a job that was deleted while it ran has not completed", jobTypes, async (story) => {
    const { leasehold, events, work, stateAdapter } = story;
    const started = await leasehold.startJobSequence({ typeName: "ping" });
    await work(
      leasehold.createWorker().implementJobType({
        typeName: "ping",
        process: async () => {
          // Not by leasehold, which would notify the worker.
          await stateAdapter.deleteSequences({ rootSequenceIds: [started.id] });
          return "pong";
        },
      }),
      calmly,
    );
    const { refusal } = await events.first("jobAttemptFenced", ({ id }) => id === started.id);
    assert.equal(refusal, "not_found");
    assert.deepEqual(events.all("jobCompleted"), []);
  });

  for (const what of ["runInTransaction", "commitOutcomes"] as const)
    test(
      `a transaction that completes its job is recognised without the reply to ${what}`,
      jobTypes,
      async (story) => {
        const app = await story.openAnother(losing(what));
        const started = await app.leasehold.startJobSequence({ typeName: "ping" });
        let isResolved = false;
        await app.work(
          app.leasehold.createWorker().implementJobType({
            typeName: "ping",
            process: async ({ complete }) => {
              const result = await complete(async () => "pong");
              isResolved = true;
              return result;
            },
          }),
          calmly,
        );
        await app.events.first("jobCompleted", ({ id }) => id === started.id);
        await until(() => isResolved, "the handler has gone on");
        for (const name of ["jobAttemptFenced", "jobAttemptAlreadyCompleted"] as const)
          assert.deepEqual(app.events.all(name), []);
        assert.equal(app.events.all("jobCompleted").length, 1);
        const job = await app.leasehold.jobs.get({ id: started.id });
        assert.ok(job === undefined || job.status === "completed");
      },
    );

  test("a transaction that was rolled back has not deleted a job that is gone", jobTypes, async (story) => {
    const started = await story.leasehold.startJobSequence({ typeName: "ping" });
    let isFirst = true;
    const app = await story.openAnother({
      store: (adapter) => ({
        commitOutcomes: ({ isLast: _isLast, ...call }) => adapter.commitOutcomes(call),
        isConflictRollback: (error) => error instanceof ConnectionLost || adapter.isConflictRollback(error),
        runInTransaction: async (callback, parent, options) => {
          if (!isFirst || parent !== undefined) return adapter.runInTransaction(callback, parent, options);
          isFirst = false;
          const rolledBack = adapter.runInTransaction(async (ctx) => {
            await callback(ctx);
            throw new ConnectionLost("rolled back in favour of another transaction");
          });
          await rolledBack.catch(() => {});
          await adapter.deleteSequences({ rootSequenceIds: [started.id] });
          return rolledBack;
        },
      }),
    });
    const ended = new Promise((resolve) => {
      void app.work(
        app.leasehold.createWorker().implementJobType({
          typeName: "ping",
          process: async ({ complete }) => {
            const completing = complete(async () => "pong");
            completing.then(() => resolve("completed"), resolve);
            return completing;
          },
        }),
        calmly,
      );
    });
    assert.ok((await ended) instanceof JobNotFoundError);
    assert.deepEqual(app.events.all("jobCompleted"), []);
  });

  test("a start whose reply is lost does not run its job twice", jobTypes, async (story) => {
    const { events, stateAdapter } = story;
    await workOn(story);
    const starting = await story.openAnother(
      losing("createJobs", async () => {
        await events.first("jobSequenceCompleted");
      }),
    );
    const start = starting.leasehold.startJobSequence({ typeName: "ping" });
    if (stateAdapter.capabilities.discardsCompleted === true) await assert.rejects(start, ConnectionLost);
    else await start;
    // The worker takes jobs in order: after this one it would have taken the other a second time.
    await story.completion(await story.leasehold.startJobSequence({ typeName: "ping" }));
    assert.equal(events.all("jobCompleted").length, 2);
  });

  test("a start whose reply is lost is recognised while its job is there", jobTypes, async (story) => {
    const { leasehold } = await story.openAnother(losing("createJobs"));
    const started = await leasehold.startJobSequence({ typeName: "ping" });
    assert.equal((await story.leasehold.jobs.get({ id: started.id }))?.status, "pending");
  });
};
