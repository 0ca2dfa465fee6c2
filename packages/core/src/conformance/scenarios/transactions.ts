import assert from "node:assert/strict";
import { InvalidOptionError } from "../../base/errors.ts";
import { StateNotInTransactionError } from "../../store/errors.ts";
import type { DefineBlocker } from "../../job-types/markers.ts";
import { defineUnionJobTypes } from "../../job-types/define.ts";
import type { Scenario } from "../scenario.ts";
import type { StoryTransaction } from "../story.ts";

const jobTypes = defineUnionJobTypes<{
  greet: { input: { name: string }; output: string };
  greetAll: { input: null; output: string; blockers: [DefineBlocker<"greet">] };
}>();

export const describeTransactions: Scenario = ({ test }) => {
  test(
    "a job started in a transaction that rolls back never runs",
    jobTypes,
    async ({ leasehold, work, completion }) => {
      const greeted: string[] = [];
      await work(
        leasehold.createWorker().implementJobType({
          typeName: "greet",
          process: async ({ job }) => {
            greeted.push(job.input.name);
            return "";
          },
        }),
      );
      let id = "";
      await assert.rejects(
        leasehold.runInTransaction(async (ctx) => {
          ({ id } = await leasehold.startJobSequence({
            ...ctx,
            typeName: "greet",
            input: { name: "Nobody" },
          }));
          assert.equal((await leasehold.jobs.get({ ...ctx, id }))?.status, "pending");
          throw new Error("rolled back");
        }),
        /rolled back/,
      );
      assert.equal(await leasehold.jobs.get({ id }), undefined);
      await completion(await leasehold.startJobSequence({ typeName: "greet", input: { name: "Ada" } }));
      assert.deepEqual(greeted, ["Ada"]);
    },
  );

  test("one that commits makes all its jobs runnable", jobTypes, async ({ leasehold, work, completion }) => {
    await work(
      leasehold
        .createWorker()
        .implementJobType({ typeName: "greet", process: async ({ job }) => `Hello ${job.input.name}` }),
    );
    const started = await leasehold.runInTransaction(async (ctx) => [
      await leasehold.startJobSequence({ ...ctx, typeName: "greet", input: { name: "Ada" } }),
      await leasehold.startJobSequence({ ...ctx, typeName: "greet", input: { name: "Bob" } }),
    ]);
    const outputs = await Promise.all(started.map(async (sequence) => (await completion(sequence)).output));
    assert.deepEqual(outputs, ["Hello Ada", "Hello Bob"]);
  });

  test(
    "a context that has ended is refused, and its keys are named",
    jobTypes,
    async ({ leasehold, queue }) => {
      let ended: StoryTransaction | undefined;
      await leasehold.runInTransaction(async (ctx) => {
        ended = ctx;
      });
      assert.ok(ended);
      const context: StoryTransaction = ended;

      await assert.rejects(
        leasehold.startJobSequence({ ...context, typeName: "greet", input: { name: "Ada" } }),
        (error) =>
          error instanceof StateNotInTransactionError &&
          Object.keys(context).length > 0 &&
          Object.keys(context).every((key) => error.message.includes(`"${key}"`)),
      );
      assert.deepEqual(await leasehold.jobs.count({ queue }), []);
    },
  );

  test("a misspelt option is named", jobTypes, async ({ leasehold, queue }) => {
    const misspelt = { typeName: "greet", input: { name: "Ada" }, piority: 3 } as const;
    await assert.rejects(
      leasehold.startJobSequence(misspelt),
      (error) => error instanceof InvalidOptionError && error.message.includes("Did you mean `priority`?"),
    );
    await assert.rejects(
      leasehold.runInTransaction((ctx) => leasehold.startJobSequence({ ...ctx, ...misspelt })),
      (error) => error instanceof InvalidOptionError && error.option === "piority",
    );
    assert.deepEqual(await leasehold.jobs.count({ queue }), []);
  });

  test(
    "an option that does not exist is refused, and not taken for a context",
    jobTypes,
    async ({ leasehold, queue }) => {
      const greet = { typeName: "greet", input: { name: "Ada" } } as const;
      for (const unknown of [
        { delay: 100 },
        { to: "Bob" },
        { max: undefined },
        { settings: { tz: "UTC" } },
      ]) {
        const isRefused = (error: unknown): boolean =>
          error instanceof InvalidOptionError &&
          error.option === Object.keys(unknown)[0] &&
          error.message.includes("`typeName`");
        await assert.rejects(leasehold.startJobSequence({ ...greet, ...unknown }), isRefused);
        await assert.rejects(
          leasehold.runInTransaction((ctx) => leasehold.startJobSequence({ ...ctx, ...greet, ...unknown })),
          isRefused,
        );
      }
      assert.deepEqual(await leasehold.jobs.count({ queue }), []);
    },
  );

  test(
    "a context key that is undefined is refused: the call would commit by itself",
    jobTypes,
    async ({ leasehold, queue }) => {
      const { id, typeName } = await leasehold.startJobSequence({
        typeName: "greet",
        input: { name: "Ada" },
      });
      const keys = await leasehold.runInTransaction(async (ctx) => Object.keys(ctx));
      const forgotten = Object.fromEntries(
        keys.map((key) => [key, undefined]),
      ) as unknown as StoryTransaction;
      const bob = { typeName: "greet", input: { name: "Bob" } } as const;
      const calls: Record<string, () => Promise<unknown>> = {
        startJobSequence: () => leasehold.startJobSequence({ ...forgotten, ...bob }),
        startJobSequences: () => leasehold.startJobSequences({ ...forgotten, sequences: [bob] }),
        completeJobSequence: () =>
          leasehold.completeJobSequence({ ...forgotten, id, typeName, complete: async () => undefined }),
        "jobs.cancel": () => leasehold.jobs.cancel({ ...forgotten, ids: [id] }),
        "jobs.redrive": () => leasehold.jobs.redrive({ ...forgotten, ids: [id] }),
        deleteJobSequences: () => leasehold.deleteJobSequences({ ...forgotten, rootSequenceIds: [id] }),
        "jobs.get": () => leasehold.jobs.get({ ...forgotten, id }),
        "jobs.getSequence": () => leasehold.jobs.getSequence({ ...forgotten, id }),
        "jobs.list": () => leasehold.jobs.list({ ...forgotten, queue }),
        "jobs.listInSequence": () => leasehold.jobs.listInSequence({ ...forgotten, id }),
        "jobs.listBlockers": () => leasehold.jobs.listBlockers({ ...forgotten, id }),
        "jobs.listBlocked": () => leasehold.jobs.listBlocked({ ...forgotten, id }),
        "jobs.count": () => leasehold.jobs.count({ ...forgotten, queue }),
        "jobs.explain": () => leasehold.jobs.explain({ ...forgotten, id }),
      };
      for (const [name, call] of Object.entries(calls)) {
        await assert.rejects(
          call,
          (error) =>
            error instanceof StateNotInTransactionError &&
            error.message.startsWith(`${name} was given "${keys[0]}"`),
          name,
        );
      }
      assert.equal((await leasehold.jobs.list({ queue })).jobs.length, 1);
    },
  );

  test(
    "calls inside runInTransaction belong to it without being told",
    jobTypes,
    async ({ leasehold, queue }) => {
      await assert.rejects(
        leasehold.runInTransaction(async () => {
          const { id } = await leasehold.startJobSequence({ typeName: "greet", input: { name: "Ada" } });
          assert.equal((await leasehold.jobs.get({ id }))?.status, "pending");
          assert.equal((await leasehold.jobs.list({ queue })).jobs.length, 1);
          throw new Error("rolled back");
        }),
        /rolled back/,
      );
      assert.deepEqual(await leasehold.jobs.count({ queue }), []);
    },
  );

  test("so do calls inside startBlockers", jobTypes, async ({ leasehold, queue }) => {
    const attempt = leasehold.startJobSequence({
      typeName: "greetAll",
      startBlockers: async () => {
        await leasehold.startJobSequence({ typeName: "greet", input: { name: "Ada" } });
        throw new Error("rolled back");
      },
    });
    await assert.rejects(attempt, /rolled back/);
    assert.deepEqual(await leasehold.jobs.count({ queue }), []);
  });

  test("and inside complete", jobTypes, async ({ leasehold, work, failure, queue }) => {
    await work(
      leasehold.createWorker().implementJobType({
        typeName: "greet",
        process: async ({ complete }) =>
          complete(async () => {
            await leasehold.startJobSequence({ typeName: "greet", input: { name: "Echo" } });
            throw new Error("rolled back");
          }),
      }),
    );
    const started = await leasehold.startJobSequence({
      typeName: "greet",
      input: { name: "Ada" },
      maxAttempts: 1,
    });
    await failure(started);
    const { jobs } = await leasehold.jobs.list({ queue });
    assert.deepEqual(
      jobs.map(({ id }) => id),
      [started.id],
    );
  });

  test("and inside the callback of prepare", jobTypes, async ({ leasehold, work, failure, queue }) => {
    await work(
      leasehold.createWorker().implementJobType({
        typeName: "greet",
        process: async ({ prepare }) =>
          prepare({ mode: "staged" }, async () => {
            await leasehold.startJobSequence({ typeName: "greet", input: { name: "Echo" } });
            throw new Error("rolled back");
          }),
      }),
    );
    const started = await leasehold.startJobSequence({
      typeName: "greet",
      input: { name: "Ada" },
      maxAttempts: 1,
    });
    await failure(started);
    const { jobs } = await leasehold.jobs.list({ queue });
    assert.deepEqual(
      jobs.map(({ id }) => id),
      [started.id],
    );
  });

  test(
    "so does a transaction inside it, which fails alone with savepoints, and else takes the outer one with it",
    jobTypes,
    async ({ leasehold, stateAdapter, events, queue }) => {
      const { savepoints } = stateAdapter.capabilities;
      const outer = leasehold.runInTransaction(async () => {
        await leasehold.startJobSequence({ typeName: "greet", input: { name: "Ada" } });
        const inner = leasehold.runInTransaction(async (ctx) => {
          await leasehold.startJobSequence({ ...ctx, typeName: "greet", input: { name: "Nobody" } });
          throw new Error("rolled back");
        });
        await assert.rejects(inner, /rolled back/);
        if (!savepoints) return;
        await leasehold.runInTransaction(() =>
          leasehold.startJobSequence({ typeName: "greet", input: { name: "Bob" } }),
        );
      });
      if (savepoints) await outer;
      else await assert.rejects(outer, (error) => !(error instanceof assert.AssertionError));
      const { jobs } = await leasehold.jobs.list({ queue, typeName: "greet", order: "oldest" });
      const names = savepoints ? ["Ada", "Bob"] : [];
      assert.deepEqual(
        jobs.map(({ input }) => input.name),
        names,
      );
      assert.equal(events.all("jobCreated").length, names.length);
    },
  );

  test("and goes with it", jobTypes, async ({ leasehold, events, queue }) => {
    await assert.rejects(
      leasehold.runInTransaction(async () => {
        await leasehold.runInTransaction(() =>
          leasehold.startJobSequence({ typeName: "greet", input: { name: "Ada" } }),
        );
        throw new Error("rolled back");
      }),
      /rolled back/,
    );
    assert.deepEqual(await leasehold.jobs.count({ queue }), []);
    assert.deepEqual(events.all("jobCreated"), []);
  });

  test(
    "runInTransaction, prepare and complete take any isolation level of the store",
    jobTypes,
    async ({ leasehold, stateAdapter, work, completion }) => {
      const { isolationLevels } = stateAdapter.capabilities;
      await work(
        leasehold.createWorker().implementJobType({
          typeName: "greet",
          process: async ({ job, prepare, complete }) => {
            const [isolationLevel, mode] = job.input.name.split("/") as [never, "atomic" | "staged"];
            await prepare({ mode, isolationLevel }, async (ctx) =>
              leasehold.jobs.get({ ...ctx, id: job.id }),
            );
            return complete(async () => `Hello ${mode}`, mode === "atomic" ? {} : { isolationLevel });
          },
        }),
      );
      for (const isolationLevel of isolationLevels) {
        const started = await leasehold.runInTransaction(
          async (ctx) => [
            await leasehold.startJobSequence({
              ...ctx,
              typeName: "greet",
              input: { name: `${isolationLevel}/atomic` },
            }),
            await leasehold.startJobSequence({
              ...ctx,
              typeName: "greet",
              input: { name: `${isolationLevel}/staged` },
            }),
          ],
          { isolationLevel },
        );
        const outputs = await Promise.all(
          started.map(async (sequence) => (await completion(sequence)).output),
        );
        assert.deepEqual(outputs, ["Hello atomic", "Hello staged"]);
      }
    },
  );

  test(
    "an isolation level that does not exist, or comes too late, is refused",
    jobTypes,
    async ({ leasehold, stateAdapter, work, failure }) => {
      const isolationLevel = stateAdapter.capabilities.isolationLevels.at(-1) ?? "serializable";
      const refused = { code: "InvalidOption", option: "isolationLevel" };
      const wrong = { isolationLevel: "chaos" as "serializable" };
      const nothing = async (): Promise<void> => {};
      await assert.rejects(leasehold.runInTransaction(nothing, wrong), refused);
      await assert.rejects(
        leasehold.runInTransaction(() => leasehold.runInTransaction(nothing, { isolationLevel })),
        refused,
      );
      await assert.rejects(leasehold.runInTransaction(nothing, { isolation: "serializable" } as {}), {
        code: "InvalidOption",
        option: "isolation",
      });
      await work(
        leasehold.createWorker().implementJobType({
          typeName: "greet",
          process: async ({ prepare, complete }) => {
            await prepare({ mode: "atomic" });
            return complete(async () => "", { isolationLevel });
          },
        }),
      );
      const input = { name: "Ada" };
      const started = await leasehold.startJobSequence({ typeName: "greet", input, maxAttempts: 1 });
      await failure(started);
      const job = await leasehold.jobs.get({ id: started.id });
      assert.match(JSON.stringify(job), /isolation level of an atomic attempt/);
    },
  );

  test("the result of the callback is the result of runInTransaction", jobTypes, async ({ leasehold }) => {
    assert.equal(await leasehold.runInTransaction(async () => 42), 42);
  });
};
