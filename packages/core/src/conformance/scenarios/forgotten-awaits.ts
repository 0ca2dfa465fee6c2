import assert from "node:assert/strict";
import { ProcessMisuseError } from "../../store/errors.ts";
import { defineUnionJobTypes } from "../../job-types/define.ts";
import { createGate } from "../gate.ts";
import { createDeferred } from "../../base/async.ts";
import type { Scenario } from "../scenario.ts";

const jobTypes = defineUnionJobTypes<{
  charge: { input: null; output: null };
  receipt: { input: null; output: null };
}>();

const once = { typeName: "charge", maxAttempts: 1 } as const;

/** A promise that nobody waits for. */
const forget = (promise: Promise<unknown>): void => void promise;

const assertMisuse = (cause: unknown, message: RegExp): void => {
  assert.ok(cause instanceof Error);
  assert.equal(cause.name, "ProcessMisuseError");
  assert.match(cause.message, message);
};

export const describeForgottenAwaits: Scenario = ({ test }) => {
  test("before complete: the attempt fails, and nothing of it is committed", jobTypes, async (story) => {
    const { leasehold, work, failure, queue } = story;
    const ended = createGate();
    await work(
      leasehold.createWorker().implementJobType({
        typeName: "charge",
        process: async ({ complete }) => {
          const begun = createGate();
          forget(
            complete(async (ctx) => {
              begun.open();
              await leasehold.startJobSequence({ ...ctx, typeName: "receipt" });
              ended.open();
              return null;
            }),
          );
          await begun.opened;
          return null;
        },
      }),
    );

    const { cause } = await failure(await leasehold.startJobSequence(once));

    assertMisuse(cause, /while `complete` was still running.*`return complete\(…\)`/);
    // The callback is not cut off: what it wrote after its transaction would not be undone with it.
    await ended.opened;
    assert.deepEqual(await leasehold.jobs.count({ queue, typeName: "receipt" }), []);
  });

  test("before complete, at once: the callback does not even run", jobTypes, async (story) => {
    const { leasehold, work, failure, queue } = story;
    await work(
      leasehold.createWorker().implementJobType({
        typeName: "charge",
        process: async ({ complete }) => {
          forget(
            complete(async (ctx) => {
              await leasehold.startJobSequence({ ...ctx, typeName: "receipt" });
              return null;
            }),
          );
        },
      }),
    );
    const { cause } = await failure(await leasehold.startJobSequence(once));
    assertMisuse(cause, /`return complete\(…\)`/);
    assert.deepEqual(await leasehold.jobs.count({ queue, typeName: "receipt" }), []);
  });

  test(
    "before a complete that never ends: it is given up after the grace period",
    jobTypes,
    async (story) => {
      const { leasehold, work, failure } = story;
      await work(
        leasehold.createWorker().implementJobType({
          typeName: "charge",
          process: async ({ complete }) => {
            const begun = createGate();
            forget(
              complete(() => {
                begun.open();
                return new Promise<never>(() => undefined);
              }),
            );
            await begun.opened;
          },
        }),
        { abortGraceMs: 20 },
      );
      const { cause } = await failure(await leasehold.startJobSequence(once));
      assertMisuse(cause, /`return complete\(…\)`/);
    },
  );

  test("before a complete that fails: its error fails the attempt", jobTypes, async (story) => {
    const { leasehold, work, failure } = story;
    await work(
      leasehold.createWorker().implementJobType({
        typeName: "charge",
        process: async ({ complete }) => {
          const failing = complete(() => {
            throw new Error("declined");
          });
          // As if something else had been waited for meanwhile.
          await Promise.allSettled([failing]);
        },
      }),
    );
    const { cause } = await failure(await leasehold.startJobSequence(once));
    assert.ok(cause instanceof Error);
    assert.equal(cause.message, "declined");
  });

  for (const mode of ["staged", "atomic"] as const) {
    test(
      `before prepare, ${mode}: the attempt fails, and nothing of it is committed`,
      jobTypes,
      async (story) => {
        const { leasehold, work, failure, queue } = story;
        await work(
          leasehold.createWorker().implementJobType({
            typeName: "charge",
            process: async ({ prepare }) => {
              const begun = createGate();
              forget(
                prepare({ mode }, async (ctx) => {
                  begun.open();
                  await leasehold.startJobSequence({ ...ctx, typeName: "receipt" });
                }),
              );
              await begun.opened;
            },
          }),
        );
        const { cause } = await failure(await leasehold.startJobSequence(once));
        assertMisuse(cause, /while `prepare` was still running.*`await prepare\(…\)`/);
        assert.deepEqual(await leasehold.jobs.count({ queue, typeName: "receipt" }), []);
      },
    );

    test(`before a prepare that fails, ${mode}: complete fails too`, jobTypes, async (story) => {
      const { leasehold, work, failure, queue } = story;
      await work(
        leasehold.createWorker().implementJobType({
          typeName: "charge",
          process: async ({ prepare, complete }) => {
            forget(
              prepare({ mode }, () => {
                throw new Error("out of stock");
              }),
            );
            return complete(async (ctx) => {
              await leasehold.startJobSequence({ ...ctx, typeName: "receipt" });
              return null;
            });
          },
        }),
      );
      const { cause } = await failure(await leasehold.startJobSequence(once));
      assert.ok(cause instanceof Error);
      assert.equal(cause.message, "out of stock");
      assert.deepEqual(await leasehold.jobs.count({ queue, typeName: "receipt" }), []);
    });
  }

  test("a commit on its way wins: the job is completed with its writes", jobTypes, async (story) => {
    const { openAnother, queue } = story;
    const writing = createGate();
    const { leasehold, work, completion, events } = await openAnother({
      store: (adapter) => ({
        commitOutcomes: (call) => {
          writing.open();
          return adapter.commitOutcomes(call);
        },
      }),
    });
    await work(
      leasehold.createWorker().implementJobType({
        typeName: "charge",
        process: async ({ complete }) => {
          forget(
            complete(async (ctx) => {
              await leasehold.startJobSequence({ ...ctx, typeName: "receipt" });
              return null;
            }),
          );
          await writing.opened;
        },
      }),
    );
    const started = await leasehold.startJobSequence(once);
    await completion(started);
    const { error, id } = await events.first("jobAttemptErrorAfterCompletion");
    assert.equal(id, started.id);
    assertMisuse(error, /`return complete\(…\)`/);
    const [receipts] = await leasehold.jobs.count({ queue, typeName: "receipt" });
    assert.equal(receipts?.count, 1);
    assert.deepEqual(events.all("jobAttemptFailed"), []);
  });

  test("a handler that throws beside an open complete: nothing is committed", jobTypes, async (story) => {
    const { leasehold, work, failure, queue } = story;
    await work(
      leasehold.createWorker().implementJobType({
        typeName: "charge",
        process: async ({ complete }) => {
          const begun = createGate();
          forget(
            complete(async (ctx) => {
              begun.open();
              await leasehold.startJobSequence({ ...ctx, typeName: "receipt" });
              return null;
            }),
          );
          await begun.opened;
          throw new Error("meanwhile");
        },
      }),
    );
    const { cause } = await failure(await leasehold.startJobSequence(once));
    assert.ok(cause instanceof Error);
    assert.equal(cause.message, "meanwhile");
    assert.deepEqual(await leasehold.jobs.count({ queue, typeName: "receipt" }), []);
  });

  test("before reportProgress on a cancelled job: the worker goes on", jobTypes, async (story) => {
    const { leasehold, work, completion, failure } = story;
    const refused = createDeferred<unknown>();
    await work(
      leasehold.createWorker().implementJobType({
        typeName: "charge",
        process: async ({ job, reportProgress }) => {
          if (job.priority === 0) return;
          await leasehold.jobs.cancel({ ids: [job.sequenceId] });
          reportProgress(1).then(() => refused.resolve(undefined), refused.resolve);
          forget(reportProgress(2));
        },
      }),
    );
    const cancelled = await leasehold.startJobSequence({ typeName: "charge", priority: 1 });
    assert.equal((await failure(cancelled)).reason, "cancelled");
    assert.ok((await refused.promise) instanceof Error);
    await completion(await leasehold.startJobSequence({ typeName: "charge" }));
  });

  test("before next: the attempt fails", jobTypes, async (story) => {
    const { leasehold, work, failure } = story;
    const goOn = createGate();
    await work(
      leasehold
        .createWorker()
        .use(async (_context, next) => {
          forget(next());
        })
        .implementJobType({
          typeName: "charge",
          process: async () => {
            await goOn.opened;
            throw new Error("seen by nobody");
          },
        }),
    );
    const { cause } = await failure(await leasehold.startJobSequence(once));
    goOn.open();
    assertMisuse(cause, /`return next\(\)`/);
  });

  test("before complete, without a worker: nothing is committed", jobTypes, async (story) => {
    const { leasehold, queue } = story;
    const started = await leasehold.startJobSequence({ typeName: "charge" });
    const completing = leasehold.completeJobSequence({
      id: started.id,
      typeName: "charge",
      complete: async ({ job, complete }) => {
        assert.ok(job.status === "pending");
        forget(
          complete(job, async (ctx) => {
            await leasehold.startJobSequence({ ...ctx, typeName: "receipt" });
            return null;
          }),
        );
      },
    });
    await assert.rejects(completing, ProcessMisuseError);
    assert.equal((await leasehold.jobs.get({ id: started.id }))?.status, "pending");
    assert.deepEqual(await leasehold.jobs.count({ queue, typeName: "receipt" }), []);
  });
};
