import assert from "node:assert/strict";
import { defineUnionJobTypes } from "../../job-types/define.ts";
import { createDeferred } from "../../base/async.ts";
import { createGate } from "../gate.ts";
import { within } from "../patience.ts";
import type { Scenario } from "../scenario.ts";

const jobTypes = defineUnionJobTypes<{
  upload: { input: null; output: string };
}>();

export const describeProgress: Scenario = ({ test }) => {
  test(
    "readers see it while the job runs and after it has ended",
    jobTypes,
    async ({ leasehold, openAnother, work, completion }) => {
      const reader = await openAnother();
      const halfway = createGate();
      const goOn = createGate();
      const started = await leasehold.startJobSequence({ typeName: "upload" });
      assert.equal((await leasehold.jobs.get({ id: started.id }))?.progress, null);
      await work(
        leasehold.createWorker().implementJobType({
          typeName: "upload",
          process: async ({ reportProgress }) => {
            await reportProgress({ percent: 10 });
            await reportProgress({ percent: 50, file: "a.png" });
            halfway.open();
            await goOn.opened;
            return "done";
          },
        }),
      );

      await within(halfway.opened, "the handler to be halfway");
      const running = await reader.leasehold.jobs.get({ id: started.id });
      assert.deepEqual([running?.status, running?.progress], ["running", { percent: 50, file: "a.png" }]);

      goOn.open();
      await completion(started);
      assert.deepEqual((await leasehold.jobs.get({ id: started.id }))?.progress, {
        percent: 50,
        file: "a.png",
      });
    },
  );

  test(
    "a later attempt finds what the one before reported",
    jobTypes,
    async ({ leasehold, work, completion }) => {
      await work(
        leasehold.createWorker().implementJobType({
          typeName: "upload",
          retry: { type: "fixed", delayMs: 0 },
          process: async ({ job, reportProgress }) => {
            if (job.attempt === 2) return `resumed at ${JSON.stringify(job.progress)}`;
            await reportProgress(7);
            throw new Error("interrupted");
          },
        }),
      );
      const { output } = await completion(await leasehold.startJobSequence({ typeName: "upload" }));
      assert.equal(output, "resumed at 7");
    },
  );

  test("what cannot be stored is refused", jobTypes, async ({ leasehold, work, failure }) => {
    await work(
      leasehold.createWorker().implementJobType({
        typeName: "upload",
        process: async ({ reportProgress }) => {
          await reportProgress({ speed: Number.NaN });
          return "done";
        },
      }),
    );
    const { cause } = await failure(await leasehold.startJobSequence({ typeName: "upload", maxAttempts: 1 }));
    assert.ok(cause instanceof Error);
    assert.equal(cause.name, "PayloadNotStorableError");
    assert.match(cause.message, /progress\.speed/);
  });

  test(
    "inside an atomic attempt nobody could see it, so it is refused",
    jobTypes,
    async ({ leasehold, work, failure }) => {
      await work(
        leasehold.createWorker().implementJobType({
          typeName: "upload",
          process: async ({ prepare, reportProgress }) => {
            await prepare({ mode: "atomic" });
            await reportProgress(50);
            return "done";
          },
        }),
      );
      const { cause } = await failure(
        await leasehold.startJobSequence({ typeName: "upload", maxAttempts: 1 }),
      );
      assert.ok(cause instanceof Error);
      assert.equal(cause.name, "ProcessMisuseError");
    },
  );

  test("a job that is no longer running here refuses it", jobTypes, async ({ leasehold, work }) => {
    const running = createGate();
    const cancelled = createGate();
    const refusal = createDeferred<unknown>();
    await work(
      leasehold.createWorker().implementJobType({
        typeName: "upload",
        process: async ({ reportProgress }) => {
          running.open();
          await cancelled.opened;
          refusal.resolve(await reportProgress(99).catch((error: unknown) => error));
          return "done";
        },
      }),
    );
    const started = await leasehold.startJobSequence({ typeName: "upload" });
    await running.opened;
    await leasehold.jobs.cancel({ ids: [started.id] });
    cancelled.open();

    const error = await within(refusal.promise, "the refusal");
    assert.ok(error instanceof Error);
    assert.ok(["JobAlreadyFailedError", "JobAttemptEndedError"].includes(error.name), error.name);
    assert.equal((await leasehold.jobs.get({ id: started.id }))?.progress, null);
  });
};
