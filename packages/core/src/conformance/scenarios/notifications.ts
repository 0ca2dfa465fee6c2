import assert from "node:assert/strict";
import type { NotifyAdapter } from "../../notify/contract.ts";
import { createNoopNotifyAdapter } from "../../notify/in-process.ts";
import { defineUnionJobTypes } from "../../job-types/define.ts";
import { createGate } from "../gate.ts";
import { until } from "../patience.ts";
import type { Scenario } from "../scenario.ts";

const jobTypes = defineUnionJobTypes<{
  ping: { input: null; output: null };
}>();

/** Sends nothing, and remembers what it was asked to send. */
const recordHints = () => {
  const hints: [string, number][] = [];
  const finished: string[] = [];
  const lost: string[] = [];
  const adapter: NotifyAdapter = {
    ...createNoopNotifyAdapter(),
    notifyJobScheduled: async (typeName, count) => {
      hints.push([typeName, count]);
    },
    notifyJobSequenceCompleted: async (ids) => {
      finished.push(...ids);
    },
    notifyJobOwnershipLost: async (ids) => {
      lost.push(...ids);
    },
  };
  return { adapter, hints, finished, lost };
};

export const describeNotifications: Scenario = ({ test }) => {
  test("a start without a transaction tells workers at once", jobTypes, async ({ openAnother }) => {
    const { adapter, hints } = recordHints();
    const { leasehold } = await openAnother({ notifyAdapter: adapter });
    await leasehold.startJobSequence({ typeName: "ping" });
    assert.deepEqual(hints, [["ping", 1]]);
  });

  test("runInTransaction tells them once, after it has committed", jobTypes, async ({ openAnother }) => {
    const { adapter, hints } = recordHints();
    const { leasehold } = await openAnother({ notifyAdapter: adapter });
    await leasehold.runInTransaction(async (ctx) => {
      for (let n = 0; n < 3; n += 1) await leasehold.startJobSequence({ ...ctx, typeName: "ping" });
      assert.deepEqual(hints, []);
    });
    assert.deepEqual(hints, [["ping", 3]]);
  });

  test("a transaction that rolls back tells nobody", jobTypes, async ({ openAnother }) => {
    const { adapter, hints } = recordHints();
    const { leasehold, events } = await openAnother({ notifyAdapter: adapter });
    await assert.rejects(
      leasehold.runInTransaction(async () => {
        await leasehold.startJobSequence({ typeName: "ping" });
        throw new Error("rolled back");
      }),
      /rolled back/,
    );
    assert.deepEqual(hints, []);
    assert.equal(events.all("jobCreated").length, 0);
  });

  test(
    "withNotify does so around a transaction opened elsewhere",
    jobTypes,
    async ({ openAnother, stateAdapter }) => {
      const { adapter, hints } = recordHints();
      const { leasehold, events } = await openAnother({ notifyAdapter: adapter });
      const result = await leasehold.withNotify(async () => {
        const started = await stateAdapter.runInTransaction((ctx) =>
          leasehold.startJobSequence({ ...ctx, typeName: "ping" }),
        );
        assert.deepEqual(hints, []);
        return started.typeName;
      });
      assert.equal(result, "ping");
      assert.deepEqual(hints, [["ping", 1]]);
      assert.equal(events.all("notifyContextAbsence").length, 0);
    },
  );

  test(
    "without it, the hint is left out and that is reported",
    jobTypes,
    async ({ openAnother, stateAdapter }) => {
      const { adapter, hints } = recordHints();
      const { leasehold, events } = await openAnother({ notifyAdapter: adapter });
      await stateAdapter.runInTransaction((ctx) => leasehold.startJobSequence({ ...ctx, typeName: "ping" }));
      assert.deepEqual(hints, []);
      assert.deepEqual(events.all("notifyContextAbsence"), [{ operation: "startJobSequence" }]);
    },
  );

  test(
    "withNotify drops the hints of a callback that fails",
    jobTypes,
    async ({ openAnother, stateAdapter }) => {
      const { adapter, hints } = recordHints();
      const { leasehold } = await openAnother({ notifyAdapter: adapter });
      const attempt = leasehold.withNotify(() =>
        stateAdapter.runInTransaction(async (ctx) => {
          await leasehold.startJobSequence({ ...ctx, typeName: "ping" });
          throw new Error("rolled back");
        }),
      );
      await assert.rejects(attempt, /rolled back/);
      assert.deepEqual(hints, []);
    },
  );

  test(
    "the holder of a job, and whoever waits for it, is notified when others end it",
    jobTypes,
    async (story) => {
      const goOn = createGate();
      const worker = await story.work(
        story.leasehold.createWorker().implementJobType({ typeName: "ping", process: () => goOn.opened }),
      );
      const { adapter, finished, lost } = recordHints();
      const { leasehold } = await story.openAnother({ notifyAdapter: adapter });
      const completed = await leasehold.startJobSequence({ typeName: "ping" });
      const cancelled = await leasehold.startJobSequence({ typeName: "ping" });
      const deleted = await leasehold.startJobSequence({ typeName: "ping" });
      await until(() => worker.health().runningJobs === 3, "all three are running");

      await leasehold.completeJobSequence({
        id: completed.id,
        typeName: "ping",
        complete: async ({ job, complete }) => void (await complete(job, () => null)),
      });
      await leasehold.jobs.cancel({ ids: [cancelled.id] });
      await leasehold.deleteJobSequences({ rootSequenceIds: [deleted.id] });

      await until(() => lost.length >= 3, "the hints have been sent");
      assert.deepEqual(lost, [completed.id, cancelled.id, deleted.id]);
      assert.deepEqual(finished.slice(0, 2), [completed.id, cancelled.id]);
      goOn.open();
    },
  );

  test("a transport that fails fails nothing else", jobTypes, async ({ openAnother }) => {
    const broken = (): Promise<never> => Promise.reject(new Error("the line is dead"));
    const notifyAdapter: NotifyAdapter = {
      notifyJobScheduled: broken,
      listenJobScheduled: broken,
      notifyJobSequenceCompleted: broken,
      listenJobSequenceCompleted: broken,
      notifyJobOwnershipLost: broken,
      listenJobOwnershipLost: broken,
      notifyQueueResumed: broken,
      listenQueueResumed: broken,
      close: async () => {},
    };
    const { leasehold, work, completion, events } = await openAnother({ notifyAdapter });
    await work(leasehold.createWorker().implementJobType({ typeName: "ping", process: async () => {} }));
    const started = await leasehold.startJobSequence({ typeName: "ping" });
    assert.equal((await completion(started)).status, "completed");
    const operations = new Set(events.all("notifyAdapterError").map(({ operation }) => operation));
    assert.ok(operations.has("notifyJobScheduled") && operations.has("listenJobScheduled"));
  });
};
