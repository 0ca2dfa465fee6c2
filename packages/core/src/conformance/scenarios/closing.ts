import assert from "node:assert/strict";
import { InvalidOptionError, LeaseholdClosedError } from "../../base/errors.ts";
import { defineUnionJobTypes } from "../../job-types/define.ts";
import { createGate } from "../gate.ts";
import type { Scenario } from "../scenario.ts";

const jobTypes = defineUnionJobTypes<{
  work: { input: null; output: string };
  next: { input: null; output: null };
}>();

export const describeClosing: Scenario = ({ test }) => {
  test(
    "workers finish what they run, whose handlers can still make calls",
    jobTypes,
    async ({ leasehold, openAnother, work }) => {
      const running = createGate();
      const goOn = createGate();
      const builder = leasehold.createWorker().implementJobType({
        typeName: "work",
        process: async () => {
          running.open();
          await goOn.opened;
          const { id } = await leasehold.startJobSequence({ typeName: "next" });
          return id;
        },
      });
      const worker = await work(builder);
      const started = await leasehold.startJobSequence({ typeName: "work" });
      await running.opened;

      const closing = leasehold.close();
      await assert.rejects(builder.start(), LeaseholdClosedError);
      goOn.open();
      await closing;

      assert.equal(worker.health().state, "stopped");
      const other = await openAnother();
      const { output } = await other.leasehold.waitForJobSequenceCompletion(started);
      assert.equal((await other.leasehold.jobs.get({ id: output }))?.typeName, "next");
    },
  );

  test("later calls, and waits that are under way, are refused", jobTypes, async ({ leasehold }) => {
    const started = await leasehold.startJobSequence({ typeName: "work" });
    const waiting = assert.rejects(leasehold.waitForJobSequenceCompletion(started), LeaseholdClosedError);
    await leasehold.getTime();
    await leasehold.close();
    await waiting;
    await leasehold.close();
    await leasehold[Symbol.asyncDispose]();

    const calls: (() => Promise<unknown>)[] = [
      () => leasehold.startJobSequence({ typeName: "work" }),
      () => leasehold.startJobSequences({ sequences: [{ typeName: "work" }] }),
      () => leasehold.waitForJobSequenceCompletion(started),
      () => leasehold.jobs.get({ id: started.id }),
      () => leasehold.getTime(),
      () => leasehold.runInTransaction(async () => undefined),
      () =>
        leasehold
          .createWorker()
          .implementJobType({ typeName: "next", process: async () => null })
          .start(),
    ];
    for (const call of calls) await assert.rejects(call(), LeaseholdClosedError);
  });

  test("a deadline that is none is refused, and nothing is closed", jobTypes, async ({ leasehold }) => {
    await assert.rejects(leasehold.close({ deadlineMs: -1 }), InvalidOptionError);
    await leasehold.startJobSequence({ typeName: "work" });
  });

  test("others that share the store go on", jobTypes, async ({ leasehold, openAnother }) => {
    const other = await openAnother();
    await leasehold.close();
    const { id } = await other.leasehold.startJobSequence({ typeName: "work" });
    assert.equal((await other.leasehold.jobs.get({ id }))?.status, "pending");
  });
};
