import assert from "node:assert/strict";
import { InvalidOptionError } from "../../base/errors.ts";
import {
  JobNotFoundError,
  JobSequenceFailedError,
  WaitForJobSequenceCompletionTimeoutError,
} from "../../store/errors.ts";
import type { WaitSettings } from "../../jobs/api/operate.ts";
import { defineUnionJobTypes } from "../../job-types/define.ts";
import type { Scenario } from "../scenario.ts";

const jobTypes = defineUnionJobTypes<{
  cook: { input: null; output: string };
  bake: { input: null; output: string };
}>();

const unknownId = "01890000-0000-7000-8000-000000000000";

export const describeWaiting: Scenario = ({ test }) => {
  test(
    "it gives up after its time, and the sequence goes on",
    jobTypes,
    async ({ leasehold, work, completion }) => {
      const started = await leasehold.startJobSequence({ typeName: "cook" });
      await assert.rejects(
        leasehold.waitForJobSequenceCompletion({ ...started, timeoutMs: 30, pollIntervalMs: 5 }),
        (error) =>
          error instanceof WaitForJobSequenceCompletionTimeoutError &&
          error.sequenceId === started.id &&
          error.timeoutMs === 30,
      );
      await work(
        leasehold.createWorker().implementJobType({ typeName: "cook", process: async () => "soup" }),
      );
      assert.equal((await completion(started)).output, "soup");
    },
  );

  test("the settings can be a second argument", jobTypes, async ({ leasehold }) => {
    const { waitForJobSequenceCompletion } = leasehold;
    const started = await leasehold.startJobSequence({ typeName: "cook" });
    await assert.rejects(
      waitForJobSequenceCompletion(started, { timeoutMs: 30, pollIntervalMs: 5 }),
      (error) => error instanceof WaitForJobSequenceCompletionTimeoutError && error.timeoutMs === 30,
    );
    await assert.rejects(
      waitForJobSequenceCompletion(
        { ...started, timeoutMs: 30 },
        { timeoutMs: undefined, pollIntervalMs: 5 },
      ),
      (error) => error instanceof WaitForJobSequenceCompletionTimeoutError && error.timeoutMs === 30,
    );
    const unknown: object = { timeout: 30 };
    const refused: [WaitSettings, string][] = [
      [{ timeoutMs: 0 }, "timeoutMs"],
      [unknown, "timeout"],
    ];
    for (const [settings, option] of refused) {
      await assert.rejects(
        waitForJobSequenceCompletion(started, settings),
        (error) => error instanceof InvalidOptionError && error.option === option,
      );
    }
    await assert.rejects(
      waitForJobSequenceCompletion({ ...started, timeoutMs: 30 }, { timeoutMs: 40 }),
      (error) => error instanceof InvalidOptionError && error.option === "timeoutMs",
    );
  });

  test("a sequence that does not exist is an error at once", jobTypes, async ({ leasehold }) => {
    await assert.rejects(
      leasehold.waitForJobSequenceCompletion({ id: unknownId, typeName: "cook" }),
      (error) => error instanceof JobNotFoundError && error.id === unknownId,
    );
  });

  test("so is one of another type", jobTypes, async ({ leasehold }) => {
    const { id } = await leasehold.startJobSequence({ typeName: "cook" });
    await assert.rejects(
      leasehold.waitForJobSequenceCompletion({ id, typeName: "bake" }),
      (error) => error instanceof InvalidOptionError && error.option === "typeName",
    );
  });

  test("a signal ends the waiting with its reason", jobTypes, async ({ leasehold }) => {
    const started = await leasehold.startJobSequence({ typeName: "cook" });
    const controller = new AbortController();
    const waiting = leasehold.waitForJobSequenceCompletion({
      ...started,
      signal: controller.signal,
      pollIntervalMs: 3_600_000,
      timeoutMs: 3_600_000,
    });
    controller.abort(new Error("lost interest"));
    await assert.rejects(waiting, /lost interest/);
    assert.equal((await leasehold.jobs.get({ id: started.id }))?.status, "pending");
  });

  test("a signal that has aborted before does so at once", jobTypes, async ({ leasehold }) => {
    const started = await leasehold.startJobSequence({ typeName: "cook" });
    const signal = AbortSignal.abort(new Error("lost interest"));
    await assert.rejects(leasehold.waitForJobSequenceCompletion({ ...started, signal }), /lost interest/);
  });

  test(
    "a sequence that has already ended is returned at once",
    jobTypes,
    async ({ leasehold, work, completion }) => {
      await work(
        leasehold.createWorker().implementJobType({ typeName: "cook", process: async () => "soup" }),
      );
      const cooked = await leasehold.startJobSequence({ typeName: "cook" });
      await completion(cooked);
      const burnt = await leasehold.startJobSequence({ typeName: "bake" });
      await leasehold.jobs.cancel({ ids: [burnt.id] });

      const { output } = await leasehold.waitForJobSequenceCompletion({ ...cooked, timeoutMs: 1 });
      assert.equal(output, "soup");
      await assert.rejects(
        leasehold.waitForJobSequenceCompletion({ ...burnt, timeoutMs: 1 }),
        JobSequenceFailedError,
      );
    },
  );

  test("many can wait for one", jobTypes, async ({ leasehold, openAnother, work, completion }) => {
    const started = await leasehold.startJobSequence({ typeName: "cook" });
    const other = await openAnother();
    const waiting = Promise.all([completion(started), completion(started), other.completion(started)]);
    await work(leasehold.createWorker().implementJobType({ typeName: "cook", process: async () => "soup" }));
    assert.deepEqual(
      (await waiting).map(({ output }) => output),
      ["soup", "soup", "soup"],
    );
  });
};
