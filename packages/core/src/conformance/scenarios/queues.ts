import assert from "node:assert/strict";
import { defineUnionJobTypes } from "../../job-types/define.ts";
import { createGate } from "../gate.ts";
import { until } from "../patience.ts";
import type { Scenario } from "../scenario.ts";

const jobTypes = defineUnionJobTypes<{
  step: { input: { n: number }; output: null };
  other: { input: null; output: null };
}>();

/** Counts who is inside, and lets nobody out before `atLeast` have been in at the same time. */
const createRoom = (atLeast: number): { visit(): Promise<void>; readonly most: number } => {
  const full = createGate();
  let inside = 0;
  let most = 0;
  return {
    visit: async () => {
      inside += 1;
      most = Math.max(most, inside);
      if (inside >= atLeast) full.open();
      await full.opened;
      // Gives anybody who may not come in the time to do so.
      await new Promise(setImmediate);
      inside -= 1;
    },
    get most() {
      return most;
    },
  };
};

export const describeQueues: Scenario = ({ test }) => {
  test(
    "no more jobs of a queue run at once than it allows",
    jobTypes,
    async ({ leasehold, work, events, queue }) => {
      const room = createRoom(3);
      const sequences = Array.from({ length: 30 }, (_, n) => ({ typeName: "step" as const, input: { n } }));
      await leasehold.startJobSequences({ sequences });
      await work(
        leasehold.createWorker().implementJobType({ typeName: "step", process: () => room.visit() }),
        {
          concurrency: 10,
          queues: { [queue]: 3 },
        },
      );
      await until(() => events.all("jobCompleted").length === 30, "all jobs have completed");
      assert.equal(room.most, 3);
    },
  );

  test(
    "no more jobs run at once than the worker allows in all",
    jobTypes,
    async ({ leasehold, work, events, queue }) => {
      const room = createRoom(4);
      const queues = [`${queue}-a`, `${queue}-b`, `${queue}-c`];
      const sequences = Array.from({ length: 30 }, (_, n) => ({
        typeName: "step" as const,
        input: { n },
        queue: queues[n % 3],
      }));
      await leasehold.startJobSequences({ sequences });
      await work(
        leasehold.createWorker().implementJobType({ typeName: "step", process: () => room.visit() }),
        {
          concurrency: 4,
          queues: Object.fromEntries(queues.map((name) => [name, 3])),
        },
      );
      await until(() => events.all("jobCompleted").length === 30, "all jobs have completed");
      assert.equal(room.most, 4);
    },
  );

  test(
    "a queue full of slow jobs leaves room for another",
    jobTypes,
    async ({ leasehold, work, completion, queue }) => {
      const letGo = createGate();
      const [busy, quiet] = [`${queue}-busy`, `${queue}-quiet`];
      const sequences = Array.from({ length: 20 }, (_, n) => ({
        typeName: "step" as const,
        input: { n },
        queue: busy,
      }));
      await leasehold.startJobSequences({ sequences });
      const worker = await work(
        leasehold
          .createWorker()
          .implementJobType({ typeName: "step", process: () => letGo.opened })
          .implementJobType({ typeName: "other", process: async () => {} }),
        { concurrency: 3, queues: { [busy]: 2, [quiet]: 2 } },
      );
      await until(() => worker.health().runningJobs === 2, "the busy queue has taken its share");

      await completion(await leasehold.startJobSequence({ typeName: "other", queue: quiet }));
      letGo.open();
    },
  );

  test("a long queue does not starve a short one, even with a single slot", jobTypes, async (story) => {
    const { leasehold, work, completion, queue } = story;
    const [long, short] = [`${queue}-long`, `${queue}-short`];
    let before = 0;
    const sequences = Array.from({ length: 200 }, (_, n) => ({
      typeName: "step" as const,
      input: { n },
      queue: long,
    }));
    await leasehold.startJobSequences({ sequences });
    const started = await leasehold.startJobSequence({ typeName: "other", queue: short });
    let ahead: number | undefined;
    await work(
      leasehold
        .createWorker()
        .implementJobType({
          typeName: "step",
          process: async () => {
            before += 1;
          },
        })
        .implementJobType({
          typeName: "other",
          process: async () => {
            ahead = before;
          },
        }),
      { concurrency: 1, queues: { [long]: 1, [short]: 1 } },
    );
    await completion(started);
    assert.ok(ahead !== undefined && ahead <= 20, `${ahead} jobs of the long queue ran first`);
  });

  test("with one slot, higher priority goes first", jobTypes, async ({ leasehold, work, completion }) => {
    const priorities = [0, 5, -3, 10, 5, 0];
    const started = [];
    for (const [n, priority] of priorities.entries()) {
      started.push(await leasehold.startJobSequence({ typeName: "step", input: { n }, priority }));
    }
    const order: number[] = [];
    await work(
      leasehold.createWorker().implementJobType({
        typeName: "step",
        process: async ({ job }) => {
          order.push(job.input.n);
        },
      }),
      { concurrency: 1 },
    );
    for (const sequence of started) await completion(sequence);
    assert.deepEqual(order, [3, 1, 4, 0, 5, 2]);
  });

  test("with one slot, jobs of one priority run in the order they were started", jobTypes, async (story) => {
    const { leasehold, work, events } = story;
    const numbered = (from: number, count: number) =>
      Array.from({ length: count }, (_, n) => ({ typeName: "step" as const, input: { n: from + n } }));
    await leasehold.startJobSequences({ sequences: numbered(0, 40) });
    for (const options of numbered(40, 10)) await leasehold.startJobSequence(options);
    await leasehold.startJobSequences({ sequences: numbered(50, 30) });
    const order: number[] = [];
    await work(
      leasehold.createWorker().implementJobType({
        typeName: "step",
        process: async ({ job }) => {
          order.push(job.input.n);
        },
      }),
      { concurrency: 1 },
    );
    await until(() => events.all("jobCompleted").length === 80, "all jobs have completed");
    assert.deepEqual(
      order,
      Array.from({ length: 80 }, (_, n) => n),
    );
  });

  test(
    "a worker leaves the queues alone that it does not serve",
    jobTypes,
    async ({ leasehold, work, completion, queue }) => {
      const elsewhere = await leasehold.startJobSequence({
        typeName: "other",
        queue: `${queue}-elsewhere`,
        priority: 9,
      });
      await work(leasehold.createWorker().implementJobType({ typeName: "other", process: async () => {} }), {
        queues: { [queue]: 1 },
      });
      await completion(await leasehold.startJobSequence({ typeName: "other" }));
      const job = await leasehold.jobs.get({ id: elsewhere.id });
      assert.deepEqual([job?.status, job?.attempt], ["pending", 0]);
    },
  );
};
