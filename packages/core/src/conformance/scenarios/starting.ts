import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { InvalidOptionError } from "../../base/errors.ts";
import { JobAlreadyExistsError } from "../../store/errors.ts";
import { defineUnionJobTypes } from "../../job-types/define.ts";
import { until } from "../patience.ts";
import type { Scenario } from "../scenario.ts";

const jobTypes = defineUnionJobTypes<{
  count: { input: { n: number }; output: number };
  note: { input: string; output: null };
}>();

export const describeStarting: Scenario = ({ test }) => {
  test(
    "a thousand in one call, each started and run once",
    jobTypes,
    async ({ leasehold, work, events, queue }) => {
      const sequences = Array.from({ length: 1_000 }, (_, n) => ({
        typeName: "count" as const,
        input: { n },
      }));
      const started = await leasehold.startJobSequences({ sequences });

      assert.deepEqual(
        started.map(({ input }) => input.n),
        sequences.map(({ input }) => input.n),
      );
      assert.equal(new Set(started.map(({ id }) => id)).size, 1_000);
      assert.deepEqual(await leasehold.jobs.count({ queue }), [
        { queue, typeName: "count", status: "pending", count: 1_000 },
      ]);

      const ran: number[] = [];
      await work(
        leasehold.createWorker().implementJobType({
          typeName: "count",
          process: async ({ job }) => {
            ran.push(job.input.n);
            return job.input.n;
          },
        }),
        { concurrency: 50 },
      );
      await until(() => events.all("jobCompleted").length >= 1_000, "all jobs have completed");
      assert.deepEqual(
        ran.toSorted((a, b) => a - b),
        sequences.map(({ input }) => input.n),
      );
      assert.deepEqual(await leasehold.jobs.count({ queue }), [
        { queue, typeName: "count", status: "completed", count: 1_000 },
      ]);
    },
  );

  test("in bulk, results stand in order and keep their types", jobTypes, async ({ leasehold }) => {
    const [count, note] = await leasehold.startJobSequences({
      sequences: [
        { typeName: "count", input: { n: 1 }, priority: 3 },
        { typeName: "note", input: "milk", schedule: { afterMs: 3_600_000 } },
      ],
    });
    assert.deepEqual([count.input.n, note.input, note.deduplicated], [1, "milk", false]);
    assert.equal((await leasehold.jobs.get({ id: count.id }))?.priority, 3);
    assert.equal((await leasehold.jobs.explain({ id: note.id })).state, "scheduled");
    assert.deepEqual(await leasehold.startJobSequences({ sequences: [] }), []);
  });

  test("in bulk, one id that is taken means none is started", jobTypes, async ({ leasehold, queue }) => {
    const taken = randomUUID();
    await leasehold.startJobSequence({ typeName: "count", input: { n: 0 }, id: taken });

    await assert.rejects(
      leasehold.startJobSequences({
        sequences: [
          { typeName: "count", input: { n: 1 } },
          { typeName: "count", input: { n: 2 }, id: taken },
          { typeName: "count", input: { n: 3 } },
        ],
      }),
      (error) => error instanceof JobAlreadyExistsError && error.ids.length === 1 && error.ids[0] === taken,
    );
    assert.deepEqual(await leasehold.jobs.count({ queue }), [
      { queue, typeName: "count", status: "pending", count: 1 },
    ]);
  });

  test(
    "in bulk, one bad option means none is started, and it is named",
    jobTypes,
    async ({ leasehold, queue }) => {
      const bad = { typeName: "count", input: { n: 2 }, priority: 1.5 } as const;
      await assert.rejects(
        leasehold.startJobSequences({ sequences: [{ typeName: "count", input: { n: 1 } }, bad] }),
        (error) => error instanceof InvalidOptionError && error.option.endsWith("priority"),
      );
      assert.deepEqual(await leasehold.jobs.count({ queue }), []);
    },
  );

  test("the caller's id is the job's", jobTypes, async ({ leasehold }) => {
    const id = randomUUID();
    const started = await leasehold.startJobSequence({ typeName: "count", input: { n: 1 }, id });
    assert.deepEqual([started.id, started.currentJobId, started.rootSequenceId], [id, id, id]);
  });

  test("the same id twice is an error, and the first stays as it is", jobTypes, async ({ leasehold }) => {
    const id = randomUUID();
    await leasehold.startJobSequence({ typeName: "count", input: { n: 1 }, id });
    await assert.rejects(
      leasehold.startJobSequence({ typeName: "count", input: { n: 2 }, id }),
      (error) => error instanceof JobAlreadyExistsError && error.ids[0] === id,
    );
    assert.deepEqual((await leasehold.jobs.get({ id, typeName: "count" }))?.input, { n: 1 });
  });

  test("of ten concurrent starts with the same id one succeeds", jobTypes, async ({ leasehold, queue }) => {
    const id = randomUUID();
    const results = await Promise.allSettled(
      Array.from({ length: 10 }, (_, n) =>
        leasehold.startJobSequence({ typeName: "count", input: { n }, id }),
      ),
    );
    assert.equal(results.filter(({ status }) => status === "fulfilled").length, 1);
    for (const result of results) {
      if (result.status === "rejected") assert.ok(result.reason instanceof JobAlreadyExistsError);
    }
    assert.equal((await leasehold.jobs.list({ queue })).jobs.length, 1);
  });
};
