import assert from "node:assert/strict";
import type { NotifyAdapter } from "../../notify/contract.ts";
import { createNoopNotifyAdapter } from "../../notify/in-process.ts";
import { defineUnionJobTypes } from "../../job-types/define.ts";
import { createGate } from "../gate.ts";
import { until } from "../patience.ts";
import type { Scenario } from "../scenario.ts";
import type { StoryTransaction } from "../story.ts";

const jobTypes = defineUnionJobTypes<{
  ping: { input: null; output: null };
}>();

const relayTypes = defineUnionJobTypes<{
  ping: { input: null; output: null };
  relay: { input: "staged" | "atomic"; output: null };
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
    "withNotify inside a transaction leaves the announcement to its commit",
    jobTypes,
    async ({ openAnother }) => {
      const { adapter, hints } = recordHints();
      const { leasehold, events } = await openAnother({ notifyAdapter: adapter });
      await leasehold.runInTransaction(async (ctx) => {
        await leasehold.withNotify(() => leasehold.startJobSequence({ ...ctx, typeName: "ping" }));
        await leasehold.withNotify(() =>
          leasehold.withNotify(() => leasehold.startJobSequence({ typeName: "ping" })),
        );
        assert.deepEqual(hints, []);
        assert.equal(events.all("jobCreated").length, 0);
      });
      assert.deepEqual(hints, [["ping", 2]]);
      assert.equal(events.all("jobCreated").length, 2);
      assert.equal(events.all("jobSequenceCreated").length, 2);
      assert.equal(events.all("notifyContextAbsence").length, 0);
    },
  );

  test(
    "withNotify inside a transaction that rolls back publishes nothing",
    jobTypes,
    async ({ openAnother }) => {
      const { adapter, hints } = recordHints();
      const { leasehold, events } = await openAnother({ notifyAdapter: adapter });
      const attempt = leasehold.runInTransaction(async (ctx) => {
        await leasehold.withNotify(() => leasehold.startJobSequence({ ...ctx, typeName: "ping" }));
        throw new Error("rolled back");
      });
      await assert.rejects(attempt, /rolled back/);
      assert.deepEqual(hints, []);
      assert.equal(events.all("jobCreated").length, 0);
    },
  );

  test(
    "withNotify in a nested transaction that rolls back publishes nothing of it",
    jobTypes,
    async ({ openAnother, stateAdapter }) => {
      const { adapter, hints } = recordHints();
      const { leasehold, events } = await openAnother({ notifyAdapter: adapter });
      const outer = leasehold.runInTransaction(async () => {
        await leasehold.withNotify(() => leasehold.startJobSequence({ typeName: "ping" }));
        const inner = leasehold.runInTransaction(async () => {
          await leasehold.withNotify(() => leasehold.startJobSequence({ typeName: "ping" }));
          throw new Error("rolled back");
        });
        await assert.rejects(inner, /rolled back/);
      });
      // Without savepoints the failure of the inner transaction ends the outer one.
      const { savepoints } = stateAdapter.capabilities;
      if (savepoints) await outer;
      else await assert.rejects(outer);
      assert.deepEqual(hints, savepoints ? [["ping", 1]] : []);
      assert.equal(events.all("jobCreated").length, savepoints ? 1 : 0);
    },
  );

  test(
    "withNotify around a helper that uses it too publishes once, when the outer one ends",
    jobTypes,
    async ({ openAnother, stateAdapter }) => {
      const { adapter, hints } = recordHints();
      const { leasehold, events } = await openAnother({ notifyAdapter: adapter });
      await leasehold.withNotify(async () => {
        await stateAdapter.runInTransaction((ctx) =>
          leasehold.withNotify(() => leasehold.startJobSequence({ ...ctx, typeName: "ping" })),
        );
        assert.deepEqual(hints, []);
        assert.equal(events.all("jobCreated").length, 0);
      });
      assert.deepEqual(hints, [["ping", 1]]);
      assert.equal(events.all("jobCreated").length, 1);
    },
  );

  test("withNotify inside prepare and complete waits for their commits", relayTypes, async (story) => {
    const { adapter, hints } = recordHints();
    const { leasehold, events, work, completion } = await story.openAnother({ notifyAdapter: adapter });
    const createdBeforeCommit: number[] = [];
    const startPing = async (ctx: StoryTransaction): Promise<null> => {
      const before = events.all("jobCreated").length;
      await leasehold.withNotify(() => leasehold.startJobSequence({ ...ctx, typeName: "ping" }));
      createdBeforeCommit.push(events.all("jobCreated").length - before);
      return null;
    };
    const started = [
      await leasehold.startJobSequence({ typeName: "relay", input: "staged" }),
      await leasehold.startJobSequence({ typeName: "relay", input: "atomic" }),
    ];
    const worker = leasehold.createWorker().implementJobType({
      typeName: "relay",
      process: async ({ job, prepare, complete }) => {
        await prepare({ mode: job.input }, (ctx) => startPing(ctx));
        return complete((ctx) => startPing(ctx));
      },
    });
    await work(worker, { concurrency: 1 });
    for (const sequence of started) await completion(sequence);
    assert.deepEqual(createdBeforeCommit, [0, 0, 0, 0]);
    assert.equal(events.all("jobCreated").length, 6);
    const sentPings = (): number =>
      hints.reduce((sum, [typeName, count]) => sum + (typeName === "ping" ? count : 0), 0);
    await until(() => sentPings() === 4, "workers were notified of all four");
  });

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
