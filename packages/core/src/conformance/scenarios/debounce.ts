import assert from "node:assert/strict";
import { InvalidOptionError } from "../../base/errors.ts";
import { defineUnionJobTypes } from "../../job-types/define.ts";
import { createGate } from "../gate.ts";
import type { Scenario } from "../scenario.ts";

const jobTypes = defineUnionJobTypes<{
  index: { input: { version: number }; output: number };
}>();

const hour = 3_600_000;

export const describeDebounce: Scenario = ({ test }) => {
  test("starts in a row are one job with the last input", jobTypes, async ({ leasehold, queue }) => {
    const start = (version: number) =>
      leasehold.startJobSequence({
        typeName: "index",
        input: { version },
        debounce: { key: queue, waitMs: hour, maxWaitMs: 2 * hour },
      });
    const first = await start(1);
    assert.deepEqual([first.deduplicated, first.replaced], [false, false]);
    const { createdAt, scheduledAt } = (await leasehold.jobs.get({ id: first.id }))!;
    assert.equal(scheduledAt.getTime() - createdAt.getTime(), hour);
    // The store's clock moves on between two starts, at last.
    let job = await leasehold.jobs.get({ id: first.id });
    let version = 1;
    while (job!.scheduledAt.getTime() === scheduledAt.getTime()) {
      version += 1;
      const next = await start(version);
      assert.deepEqual([next.id, next.deduplicated, next.replaced], [first.id, true, true]);
      job = await leasehold.jobs.get({ id: first.id });
    }
    assert.ok(job!.scheduledAt.getTime() > scheduledAt.getTime());
    assert.deepEqual(job!.input, { version });
  });

  test("never later than maxWaitMs after the first start", jobTypes, async ({ leasehold, queue }) => {
    const start = (version: number) =>
      ({
        typeName: "index",
        input: { version },
        debounce: { key: queue, waitMs: hour, maxWaitMs: hour },
      }) as const;
    const [first, second] = await leasehold.startJobSequences({ sequences: [start(1), start(2)] });
    assert.deepEqual([second.id, second.replaced], [first.id, true]);
    const { createdAt } = (await leasehold.jobs.get({ id: first.id }))!;
    while ((await leasehold.getTime()).getTime() <= createdAt.getTime());
    await leasehold.runInTransaction((ctx) => leasehold.startJobSequence({ ...ctx, ...start(3) }));
    const job = await leasehold.jobs.get({ id: first.id });
    assert.equal(job!.scheduledAt.getTime() - createdAt.getTime(), hour);
    assert.deepEqual(job!.input, { version: 3 });
  });

  test("a start while the job runs leads to another run", jobTypes, async (story) => {
    const { leasehold, work, completion, queue } = story;
    const began = createGate();
    const mayEnd = createGate();
    await work(
      leasehold.createWorker().implementJobType({
        typeName: "index",
        process: async ({ job }) => {
          began.open();
          await mayEnd.opened;
          return job.input.version;
        },
      }),
    );
    const start = (version: number) =>
      leasehold.startJobSequence({
        typeName: "index",
        input: { version },
        debounce: { key: queue, waitMs: 1, maxWaitMs: 1 },
      });
    const first = await start(1);
    await began.opened;
    const second = await start(2);
    mayEnd.open();

    assert.equal(second.deduplicated, false);
    assert.equal((await completion(first)).output, 1);
    assert.equal((await completion(second)).output, 2);
  });

  test("it excludes the options that it implies", jobTypes, async ({ leasehold, queue }) => {
    const debounce = { key: "k", waitMs: 10, maxWaitMs: 100 };
    const refusals: readonly (readonly [string, object])[] = [
      ["schedule", { debounce, schedule: { afterMs: 1 } }],
      ["deduplication", { debounce, deduplication: { key: "k" } }],
      ["debounce", { debounce: "k" }],
      ["debounce.key", { debounce: { ...debounce, key: "" } }],
      ["debounce.waitMs", { debounce: { ...debounce, waitMs: 0 } }],
      ["debounce.maxWaitMs", { debounce: { ...debounce, maxWaitMs: undefined } }],
      ["debounce.maxWaitMs", { debounce: { ...debounce, maxWaitMs: 9 } }],
      ["debounce.maxDelayMs", { debounce: { ...debounce, maxDelayMs: 9 } }],
    ];
    for (const [option, wrong] of refusals) {
      const start = { typeName: "index", input: { version: 1 }, ...wrong } as never;
      const isRefusal = (error: unknown): boolean =>
        error instanceof InvalidOptionError && error.option === option;
      await assert.rejects(leasehold.startJobSequence(start), isRefusal, option);
      await assert.rejects(leasehold.startJobSequences({ sequences: [start] }), isRefusal, option);
    }
    await assert.rejects(
      leasehold.recurring.put({
        id: queue,
        everyMs: hour,
        job: { typeName: "index", input: { version: 1 }, debounce } as never,
      }),
      InvalidOptionError,
    );
    assert.deepEqual(await leasehold.jobs.count({ queue }), []);
  });
};
