import assert from "node:assert/strict";
import { ProcessMisuseError } from "../../store/errors.ts";
import { defineUnionJobTypes } from "../../job-types/define.ts";
import type { RetryPolicy } from "../../job-types/retry-policy.ts";
import type { Scenario } from "../scenario.ts";

const jobTypes = defineUnionJobTypes<{
  charge: { input: { cents: number }; output: { receiptId: string } };
  receipt: { input: { cents: number }; output: null };
}>();

const atOnce: RetryPolicy = { type: "fixed", delayMs: 0 };

export const describePrepareAndComplete: Scenario = ({ test }) => {
  test(
    "what complete writes commits together with the completion",
    jobTypes,
    async ({ leasehold, work, completion }) => {
      await work(
        leasehold.createWorker().implementJobType({
          typeName: "charge",
          process: async ({ job, complete }) =>
            complete(async (ctx) => {
              const { id } = await leasehold.startJobSequence({
                ...ctx,
                typeName: "receipt",
                input: job.input,
              });
              return { receiptId: id };
            }),
        }),
      );
      const { output } = await completion(
        await leasehold.startJobSequence({ typeName: "charge", input: { cents: 5 } }),
      );
      const receipt = await leasehold.jobs.get({ id: output.receiptId, typeName: "receipt" });
      assert.deepEqual([receipt?.status, receipt?.input], ["pending", { cents: 5 }]);
    },
  );

  test("and rolls back with it", jobTypes, async ({ leasehold, work, completion, queue }) => {
    await work(
      leasehold.createWorker().implementJobType({
        typeName: "charge",
        retry: atOnce,
        process: async ({ job, complete }) =>
          complete(async (ctx) => {
            const { id } = await leasehold.startJobSequence({
              ...ctx,
              typeName: "receipt",
              input: job.input,
            });
            if (job.attempt === 1) throw new Error("the card reader is jammed");
            return { receiptId: id };
          }),
      }),
    );
    const { output } = await completion(
      await leasehold.startJobSequence({ typeName: "charge", input: { cents: 5 } }),
    );
    const { jobs } = await leasehold.jobs.list({ queue, typeName: "receipt" });
    assert.deepEqual(
      jobs.map(({ id }) => id),
      [output.receiptId],
    );
  });

  test(
    "staged: prepare commits by itself, complete later",
    jobTypes,
    async ({ leasehold, work, completion, queue }) => {
      let between: unknown;
      await work(
        leasehold.createWorker().implementJobType({
          typeName: "charge",
          process: async ({ job, prepare, complete }) => {
            const prepared = await prepare({ mode: "staged" }, async (ctx) => {
              const { id } = await leasehold.startJobSequence({
                ...ctx,
                typeName: "receipt",
                input: job.input,
              });
              return id;
            });
            between = (await leasehold.jobs.get({ id: prepared }))?.status;
            return complete(() => ({ receiptId: prepared }));
          },
        }),
      );
      const { output } = await completion(
        await leasehold.startJobSequence({ typeName: "charge", input: { cents: 5 } }),
      );
      assert.equal(between, "pending");
      const { jobs } = await leasehold.jobs.list({ queue, typeName: "receipt" });
      assert.deepEqual(
        jobs.map(({ id }) => id),
        [output.receiptId],
      );
    },
  );

  test("staged: a handler that fails afterwards keeps what prepare wrote", jobTypes, async (story) => {
    const { leasehold, work, failure, queue } = story;
    await work(
      leasehold.createWorker().implementJobType({
        typeName: "charge",
        process: async ({ job, prepare }) => {
          await prepare({ mode: "staged" }, (ctx) =>
            leasehold.startJobSequence({ ...ctx, typeName: "receipt", input: job.input }),
          );
          throw new Error("declined");
        },
      }),
    );
    await failure(
      await leasehold.startJobSequence({ typeName: "charge", input: { cents: 5 }, maxAttempts: 1 }),
    );
    assert.deepEqual(await leasehold.jobs.count({ queue, typeName: "receipt" }), [
      { queue, typeName: "receipt", status: "pending", count: 1 },
    ]);
  });

  test(
    "atomic: all of it commits at the end",
    jobTypes,
    async ({ leasehold, openAnother, work, completion }) => {
      const reader = await openAnother();
      let unseen: unknown = "not looked at";
      await work(
        leasehold.createWorker().implementJobType({
          typeName: "charge",
          process: async ({ job, prepare, complete }) => {
            const receiptId = await prepare({ mode: "atomic" }, async (ctx) => {
              const { id } = await leasehold.startJobSequence({
                ...ctx,
                typeName: "receipt",
                input: job.input,
              });
              return id;
            });
            unseen = await reader.leasehold.jobs.get({ id: receiptId });
            return complete(() => ({ receiptId }));
          },
        }),
      );
      const { output } = await completion(
        await leasehold.startJobSequence({ typeName: "charge", input: { cents: 5 } }),
      );
      assert.equal(unseen, undefined);
      assert.equal((await leasehold.jobs.get({ id: output.receiptId }))?.status, "pending");
    },
  );

  test("atomic: a handler that throws takes back what prepare wrote", jobTypes, async (story) => {
    const { leasehold, work, failure, queue } = story;
    let prepared = 0;
    await work(
      leasehold.createWorker().implementJobType({
        typeName: "charge",
        retry: atOnce,
        process: async ({ job, prepare }) => {
          await prepare({ mode: "atomic" }, async (ctx) => {
            await leasehold.startJobSequence({ ...ctx, typeName: "receipt", input: job.input });
            prepared += 1;
          });
          throw new Error("declined");
        },
      }),
    );
    const started = await leasehold.startJobSequence({
      typeName: "charge",
      input: { cents: 5 },
      maxAttempts: 2,
    });
    const { cause } = await failure(started);
    assert.ok(cause instanceof Error);
    assert.equal(cause.message, "declined");
    assert.equal(prepared, 2);
    assert.deepEqual(await leasehold.jobs.count({ queue, typeName: "receipt" }), []);
  });

  test("atomic: a handler may return its output without calling complete", jobTypes, async (story) => {
    const { leasehold, work, completion } = story;
    await work(
      leasehold.createWorker().implementJobType({
        typeName: "charge",
        process: async ({ job, prepare }) => {
          const { id } = await prepare({ mode: "atomic" }, (ctx) =>
            leasehold.startJobSequence({ ...ctx, typeName: "receipt", input: job.input }),
          );
          return { receiptId: id };
        },
      }),
    );
    const { output } = await completion(
      await leasehold.startJobSequence({ typeName: "charge", input: { cents: 5 } }),
    );
    assert.equal((await leasehold.jobs.get({ id: output.receiptId }))?.status, "pending");
  });

  test("an error in prepare fails the attempt", jobTypes, async ({ leasehold, work, failure }) => {
    for (const mode of ["staged", "atomic"] as const) {
      const worker = await work(
        leasehold.createWorker().implementJobType({
          typeName: "charge",
          process: async ({ prepare }) => {
            await prepare({ mode }, () => {
              throw new Error(`${mode} went wrong`);
            });
            return { receiptId: "" };
          },
        }),
      );
      const started = await leasehold.startJobSequence({
        typeName: "charge",
        input: { cents: 5 },
        maxAttempts: 1,
      });
      const { cause } = await failure(started);
      assert.ok(cause instanceof Error);
      assert.equal(cause.message, `${mode} went wrong`);
      await worker.stop();
    }
  });

  test("prepare can be called once", jobTypes, async ({ leasehold, work, failure }) => {
    await work(
      leasehold.createWorker().implementJobType({
        typeName: "charge",
        process: async ({ prepare }) => {
          await prepare({ mode: "staged" });
          // Caught or forgotten is the same from outside, and what it was to write is not there.
          await prepare({ mode: "staged" }).catch(() => undefined);
          return { receiptId: "" };
        },
      }),
    );
    const started = await leasehold.startJobSequence({
      typeName: "charge",
      input: { cents: 5 },
      maxAttempts: 1,
    });
    const { cause } = await failure(started);
    assert.ok(cause instanceof Error);
    assert.deepEqual([cause.name, cause.message], ["ProcessMisuseError", "Prepare can only be called once"]);
  });

  test("prepare read too late says where to read it", jobTypes, async ({ leasehold, work, completion }) => {
    const errors: unknown[] = [];
    await work(
      leasehold.createWorker({ retry: { type: "fixed", delayMs: 0 } }).implementJobType({
        typeName: "charge",
        process: async (options) => {
          const { job } = options;
          const prepareLate = (): Promise<unknown> =>
            options.prepare({ mode: "staged" }).catch((error: unknown) => errors.push(error));
          if (job.input.cents === 1) {
            const completed = options.complete(() => ({ receiptId: "" }));
            await prepareLate();
            return completed;
          }
          await Promise.resolve();
          // The attempt fails: what was to be prepared is not there.
          if (job.attempt === 1) await prepareLate();
          return { receiptId: String(job.attempt) };
        },
      }),
    );
    await completion(await leasehold.startJobSequence({ typeName: "charge", input: { cents: 1 } }));
    const second = await leasehold.startJobSequence({ typeName: "charge", input: { cents: 2 } });
    assert.deepEqual((await completion(second)).output, { receiptId: "2" });
    assert.equal(errors.length, 2);
    for (const error of errors) {
      assert.ok(error instanceof ProcessMisuseError);
      assert.match(error.message, /before the first `await`/);
    }
  });

  test("complete can be called once", jobTypes, async ({ leasehold, work, completion }) => {
    let second: unknown;
    await work(
      leasehold.createWorker().implementJobType({
        typeName: "charge",
        process: async ({ complete }) => {
          const completed = await complete(() => ({ receiptId: "first" }));
          await complete(() => ({ receiptId: "second" })).catch((error: unknown) => {
            second = error;
          });
          return completed;
        },
      }),
    );
    const { output } = await completion(
      await leasehold.startJobSequence({ typeName: "charge", input: { cents: 5 } }),
    );
    assert.equal(output.receiptId, "first");
    assert.ok(second instanceof Error);
    assert.deepEqual(
      [second.name, second.message],
      ["ProcessMisuseError", "Complete can only be called once"],
    );
  });

  test("a handler that throws before complete has completed nothing", jobTypes, async (story) => {
    const { leasehold, work, failure, events } = story;
    await work(
      leasehold.createWorker().implementJobType({
        typeName: "charge",
        process: async ({ complete }) => {
          if (Date.now() > 0) throw new Error("in time");
          return complete(() => ({ receiptId: "never" }));
        },
      }),
    );
    const started = await leasehold.startJobSequence({
      typeName: "charge",
      input: { cents: 5 },
      maxAttempts: 1,
    });
    const { cause } = await failure(started);
    assert.ok(cause instanceof Error);
    assert.equal(cause.message, "in time");
    assert.deepEqual(events.all("jobAttemptErrorAfterCompletion"), []);
  });

  test(
    "a handler that throws after complete has completed its job, and the error is reported",
    jobTypes,
    async (story) => {
      const { leasehold, work, completion, events } = story;
      let ran = 0;
      const worker = await work(
        leasehold.createWorker().implementJobType({
          typeName: "charge",
          retry: atOnce,
          process: async ({ complete }) => {
            ran += 1;
            await complete(() => ({ receiptId: "kept" }));
            throw new TypeError("too late to matter");
          },
        }),
      );
      const started = await leasehold.startJobSequence({ typeName: "charge", input: { cents: 5 } });
      const { output } = await completion(started);
      const { id, attempt, error } = await events.first("jobAttemptErrorAfterCompletion");
      await worker.stop();
      assert.deepEqual([output.receiptId, ran, id, attempt], ["kept", 1, started.id, 1]);
      assert.ok(error instanceof Error);
      assert.deepEqual([error.name, error.message], ["TypeError", "too late to matter"]);
      assert.equal((await leasehold.jobs.get({ id: started.id }))?.status, "completed");
      assert.deepEqual(events.all("jobAttemptFailed"), []);
    },
  );

  test("a second complete that nobody waits for is reported", jobTypes, async (story) => {
    const { leasehold, work, completion, events } = story;
    await work(
      leasehold.createWorker().implementJobType({
        typeName: "charge",
        process: async ({ complete }) => {
          const completed = await complete(() => ({ receiptId: "first" }));
          await Promise.allSettled([complete(() => ({ receiptId: "second" }))]);
          return completed;
        },
      }),
    );
    await completion(await leasehold.startJobSequence({ typeName: "charge", input: { cents: 5 } }));
    const { error } = await events.first("jobAttemptErrorAfterCompletion");
    assert.ok(error instanceof Error);
    assert.equal(error.message, "Complete can only be called once");
  });
};
