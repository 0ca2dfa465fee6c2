import assert from "node:assert/strict";
import type { DefineContinuationInput, DefineContinuationOutput } from "../../job-types/markers.ts";
import { defineUnionJobTypes } from "../../job-types/define.ts";
import { createGate } from "../gate.ts";
import { until } from "../patience.ts";
import type { Scenario } from "../scenario.ts";

const jobTypes = defineUnionJobTypes<{
  fetch: { input: { url: string }; output: DefineContinuationOutput<"resize"> | { skipped: true } };
  resize: { input: DefineContinuationInput<{ bytes: number }>; output: DefineContinuationOutput<"publish"> };
  publish: { input: DefineContinuationInput<{ bytes: number }>; output: { published: number } };
}>();

export const describeContinuations: Scenario = ({ test }) => {
  test("a sequence of three runs one after the other", jobTypes, async ({ leasehold, work, completion }) => {
    const ran: string[] = [];
    await work(
      leasehold
        .createWorker()
        .implementJobType({
          typeName: "fetch",
          process: async ({ job, complete }) =>
            complete(async ({ continueWith }) => {
              ran.push("fetch");
              return continueWith({ typeName: "resize", input: { bytes: job.input.url.length } });
            }),
        })
        .implementJobType({
          typeName: "resize",
          process: async ({ job, complete }) =>
            complete(async ({ continueWith }) => {
              ran.push("resize");
              return continueWith({ typeName: "publish", input: { bytes: job.input.bytes * 2 } });
            }),
        })
        .implementJobType({
          typeName: "publish",
          process: async ({ job }) => {
            ran.push("publish");
            return { published: job.input.bytes };
          },
        }),
    );

    const started = await leasehold.startJobSequence({ typeName: "fetch", input: { url: "12345" } });
    const completed = await completion(started);

    assert.deepEqual(ran, ["fetch", "resize", "publish"]);
    assert.deepEqual(completed.output, { published: 10 });
    assert.deepEqual(completed.input, { url: "12345" });
    assert.equal(completed.currentTypeName, "publish");

    const { jobs, cursor } = await leasehold.jobs.listInSequence({ id: started.id, typeName: "fetch" });
    assert.equal(cursor, null);
    const [fetch, resize, publish] = jobs;
    assert.deepEqual(
      jobs.map((job) => [
        job.typeName,
        job.status,
        job.originId,
        job.sequenceId,
        job.sequenceTypeName,
        job.rootSequenceId,
      ]),
      [
        ["fetch", "completed", null, started.id, "fetch", started.id],
        ["resize", "completed", fetch?.id, started.id, "fetch", started.id],
        ["publish", "completed", resize?.id, started.id, "fetch", started.id],
      ],
    );
    assert.deepEqual(
      jobs.map((job) => job.status === "completed" && [job.continuedToId, job.output]),
      [
        [resize?.id, undefined],
        [publish?.id, undefined],
        [null, { published: 10 }],
      ],
    );
    assert.equal(completed.currentJobId, publish?.id);
  });

  test("in the middle, the sequence is what its current job is", jobTypes, async (story) => {
    const { leasehold, work, completion } = story;
    const inResize = createGate();
    const goOn = createGate();
    await work(
      leasehold
        .createWorker()
        .implementJobType({
          typeName: "fetch",
          process: async ({ complete }) =>
            complete(({ continueWith }) => continueWith({ typeName: "resize", input: { bytes: 1 } })),
        })
        .implementJobType({
          typeName: "resize",
          process: async ({ complete }) => {
            inResize.open();
            await goOn.opened;
            return complete(({ continueWith }) =>
              continueWith({ typeName: "publish", input: { bytes: 2 }, schedule: { afterMs: 3_600_000 } }),
            );
          },
        })
        .implementJobType({
          typeName: "publish",
          process: async ({ job }) => ({ published: job.input.bytes }),
        }),
    );
    const started = await leasehold.startJobSequence({ typeName: "fetch", input: { url: "" } });

    await inResize.opened;
    const halfway = await leasehold.jobs.getSequence({ id: started.id, typeName: "fetch" });
    assert.deepEqual([halfway?.status, halfway?.currentTypeName], ["running", "resize"]);
    assert.notEqual(halfway?.currentJobId, started.id);

    goOn.open();
    await story.events.first("jobCompleted", ({ typeName }) => typeName === "resize");
    const nearlyThere = await leasehold.jobs.getSequence({ id: started.id, typeName: "fetch" });
    assert.deepEqual([nearlyThere?.status, nearlyThere?.currentTypeName], ["pending", "publish"]);

    await leasehold.completeJobSequence({
      id: started.id,
      typeName: "fetch",
      complete: async ({ job, complete }) => {
        assert.ok(job.typeName === "publish");
        await complete(job, () => ({ published: 0 }));
      },
    });
    assert.deepEqual((await completion(started)).output, { published: 0 });
  });

  test(
    "a job may end the sequence instead of continuing it",
    jobTypes,
    async ({ leasehold, work, completion }) => {
      await work(
        leasehold
          .createWorker()
          .implementJobType({ typeName: "fetch", process: async () => ({ skipped: true }) }),
      );
      const { output } = await completion(
        await leasehold.startJobSequence({ typeName: "fetch", input: { url: "" } }),
      );
      assert.deepEqual(output, { skipped: true });
    },
  );

  test(
    "continuing twice is an error and leaves no continuation",
    jobTypes,
    async ({ leasehold, work, failure }) => {
      await work(
        leasehold.createWorker().implementJobType({
          typeName: "fetch",
          process: async ({ complete }) =>
            complete(async ({ continueWith }) => {
              await continueWith({ typeName: "resize", input: { bytes: 1 } });
              return continueWith({ typeName: "resize", input: { bytes: 2 } });
            }),
        }),
      );
      const started = await leasehold.startJobSequence({
        typeName: "fetch",
        input: { url: "" },
        maxAttempts: 1,
      });

      const { cause } = await failure(started);

      assert.ok(cause instanceof Error);
      assert.deepEqual(
        [cause.name, cause.message],
        ["ProcessMisuseError", "continueWith can only be called once"],
      );
      assert.equal((await leasehold.jobs.listInSequence({ id: started.id })).jobs.length, 1);
    },
  );

  test("not returning the continuation is an error", jobTypes, async ({ leasehold, work, failure }) => {
    await work(
      leasehold.createWorker().implementJobType({
        typeName: "fetch",
        process: async ({ complete }) =>
          complete(async ({ continueWith }) => {
            await continueWith({ typeName: "resize", input: { bytes: 1 } });
            return { skipped: true };
          }),
      }),
    );
    const started = await leasehold.startJobSequence({
      typeName: "fetch",
      input: { url: "" },
      maxAttempts: 1,
    });

    const { cause } = await failure(started);

    assert.ok(cause instanceof Error);
    assert.equal(cause.name, "ProcessMisuseError");
    assert.match(cause.message, /must return its result/);
    assert.equal((await leasehold.jobs.listInSequence({ id: started.id })).jobs.length, 1);
  });

  test("a continuation has its own options", jobTypes, async ({ leasehold, work, events, queue }) => {
    await work(
      leasehold.createWorker().implementJobType({
        typeName: "fetch",
        process: async ({ complete }) =>
          complete(({ continueWith }) =>
            continueWith({
              typeName: "resize",
              input: { bytes: 1 },
              queue: `${queue}-images`,
              priority: 5,
              maxAttempts: 2,
              timeoutMs: 1_000,
            }),
          ),
      }),
    );
    const started = await leasehold.startJobSequence({ typeName: "fetch", input: { url: "" } });

    const { continuedToId } = await events.first("jobCompleted", ({ id }) => id === started.id);

    const next = await leasehold.jobs.get({ id: continuedToId ?? "", typeName: "resize" });
    assert.deepEqual(
      [next?.queue, next?.priority, next?.maxAttempts, next?.timeoutMs, next?.status],
      [`${queue}-images`, 5, 2, 1_000, "pending"],
    );
  });

  test(
    "continueWith returns the new job, and complete the completed one",
    jobTypes,
    async ({ leasehold, work, events }) => {
      const created: { readonly returned: object; readonly stored: object }[] = [];
      const completed = new Map<string, object>();
      const worker = leasehold.createWorker().implementJobType({
        typeName: "fetch",
        process: async ({ job, prepare, complete, reportProgress }) => {
          const { url } = job.input;
          if (url === "atomic") await prepare({ mode: "atomic" });
          else await reportProgress({ of: url });
          const done = await complete(async ({ continueWith }) => {
            if (url === "skip") return { skipped: true };
            const next = await continueWith({ typeName: "resize", input: { bytes: url.length } });
            const { blockers: _none, ...stored } = (await leasehold.jobs.get({
              id: next.id,
              typeName: next.typeName,
            }))!;
            created.push({ returned: { ...next }, stored });
            return next;
          });
          completed.set(done.id, done);
          return done;
        },
      });
      const ids: string[] = [];
      for (const url of ["skip", "staged", "atomic"])
        ids.push((await leasehold.startJobSequence({ typeName: "fetch", input: { url } })).id);
      await work(worker);
      for (const id of ids) await events.first("jobCompleted", (job) => job.id === id);
      await until(() => completed.size === ids.length, "the handlers have the completed jobs");

      assert.equal(created.length, 2);
      for (const { returned, stored } of created) assert.deepEqual(returned, stored);
      for (const id of ids)
        assert.deepEqual({ ...completed.get(id) }, await leasehold.jobs.get({ id, typeName: "fetch" }));
    },
  );
};
