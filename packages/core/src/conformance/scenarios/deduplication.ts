import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { DeduplicationOptions } from "../../jobs/api/start.ts";
import type { DefineBlocker } from "../../job-types/markers.ts";
import { defineUnionJobTypes } from "../../job-types/define.ts";
import { until } from "../patience.ts";
import type { Scenario } from "../scenario.ts";

const jobTypes = defineUnionJobTypes<{
  sync: { input: { user: number }; output: number };
  other: { input: { user: number }; output: number };
  report: { input: null; output: null; blockers: [DefineBlocker<"sync">] };
}>();

export const describeDeduplication: Scenario = ({ test }) => {
  test(
    "a second start with the same key returns the first sequence",
    jobTypes,
    async ({ leasehold, queue }) => {
      const deduplication = { key: randomUUID() };
      const first = await leasehold.startJobSequence({ typeName: "sync", input: { user: 1 }, deduplication });
      const second = await leasehold.startJobSequence({
        typeName: "sync",
        input: { user: 2 },
        deduplication,
      });

      assert.deepEqual([first.deduplicated, second.deduplicated], [false, true]);
      assert.equal(second.id, first.id);
      assert.deepEqual(second.input, { user: 1 });
      assert.deepEqual(await leasehold.jobs.count({ queue }), [
        { queue, typeName: "sync", status: "pending", count: 1 },
      ]);
    },
  );

  test("other keys, other types and no key at all are other sequences", jobTypes, async ({ leasehold }) => {
    const deduplication = { key: randomUUID() };
    const input = { user: 1 };
    const started = [
      await leasehold.startJobSequence({ typeName: "sync", input, deduplication }),
      await leasehold.startJobSequence({ typeName: "sync", input, deduplication: { key: randomUUID() } }),
      await leasehold.startJobSequence({ typeName: "other", input, deduplication }),
      await leasehold.startJobSequence({ typeName: "sync", input }),
    ];
    assert.deepEqual(
      started.map(({ deduplicated }) => deduplicated),
      [false, false, false, false],
    );
    assert.equal(new Set(started.map(({ id }) => id)).size, 4);
  });

  test(
    "by default a finished sequence no longer counts",
    jobTypes,
    async ({ leasehold, work, completion }) => {
      await work(
        leasehold
          .createWorker()
          .implementJobType({ typeName: "sync", process: async ({ job }) => job.input.user }),
      );
      const deduplication = { key: randomUUID() };
      const first = await leasehold.startJobSequence({ typeName: "sync", input: { user: 1 }, deduplication });
      await completion(first);

      const second = await leasehold.startJobSequence({
        typeName: "sync",
        input: { user: 2 },
        deduplication,
      });

      assert.equal(second.deduplicated, false);
      assert.equal((await completion(second)).output, 2);
    },
  );

  test("nor does a failed one", jobTypes, async ({ leasehold }) => {
    const deduplication = { key: randomUUID() };
    const first = await leasehold.startJobSequence({ typeName: "sync", input: { user: 1 }, deduplication });
    await leasehold.jobs.cancel({ ids: [first.id] });
    const second = await leasehold.startJobSequence({ typeName: "sync", input: { user: 2 }, deduplication });
    assert.equal(second.deduplicated, false);
  });

  test("with the strategy all it does", jobTypes, async ({ leasehold, work, completion }) => {
    await work(
      leasehold
        .createWorker()
        .implementJobType({ typeName: "sync", process: async ({ job }) => job.input.user }),
    );
    const deduplication = { key: randomUUID(), strategy: "all" as const };
    const first = await leasehold.startJobSequence({ typeName: "sync", input: { user: 1 }, deduplication });
    await completion(first);

    const second = await leasehold.startJobSequence({ typeName: "sync", input: { user: 2 }, deduplication });

    assert.ok(second.status === "completed");
    assert.deepEqual([second.id, second.deduplicated, second.output], [first.id, true, 1]);
  });

  test("the strategy `completed` means `unfinished`", jobTypes, async ({ leasehold }) => {
    const start = (deduplication: DeduplicationOptions) =>
      leasehold.startJobSequence({ typeName: "sync", input: { user: 1 }, deduplication });
    const key = randomUUID();
    const first = await start({ key, strategy: "all" });
    await leasehold.jobs.cancel({ ids: [first.id] });
    assert.equal((await start({ key, strategy: "all" })).id, first.id);
    assert.equal((await start({ key, strategy: "completed" })).deduplicated, false);
    assert.equal((await start({ key, strategy: "completed" })).deduplicated, true);
  });

  test("a sequence older than the window does not count", jobTypes, async ({ leasehold, stateAdapter }) => {
    const key = randomUUID();
    const input = { user: 1 };
    const first = await leasehold.startJobSequence({ typeName: "sync", input, deduplication: { key } });
    await until(
      async () => (await stateAdapter.getTime()) > first.createdAt.getTime() + 5,
      "time has passed",
    );

    const inWindow = await leasehold.startJobSequence({
      typeName: "sync",
      input,
      deduplication: { key, windowMs: 3_600_000 },
    });
    assert.deepEqual([inWindow.id, inWindow.deduplicated], [first.id, true]);
    const outside = await leasehold.startJobSequence({
      typeName: "sync",
      input,
      deduplication: { key, windowMs: 5 },
    });
    assert.equal(outside.deduplicated, false);
  });

  test("blockers are not started for a duplicate", jobTypes, async ({ leasehold, queue }) => {
    const deduplication = { key: randomUUID() };
    let called = 0;
    const start = () =>
      leasehold.startJobSequence({
        typeName: "report",
        deduplication,
        startBlockers: async () => {
          called += 1;
          return [await leasehold.startJobSequence({ typeName: "sync", input: { user: 1 } })];
        },
      });
    const first = await start();
    const second = await start();

    assert.deepEqual([second.id, second.deduplicated, second.status], [first.id, true, "blocked"]);
    assert.equal(called, 1);
    const counts = await leasehold.jobs.count({ queue });
    assert.deepEqual(
      new Map(counts.map(({ typeName, count }) => [typeName, count])),
      new Map([
        ["report", 1],
        ["sync", 1],
      ]),
    );
  });

  test("of twenty concurrent starts one creates", jobTypes, async ({ leasehold, openAnother, queue }) => {
    const other = await openAnother();
    const deduplication = { key: randomUUID() };
    const started = await Promise.all(
      Array.from({ length: 20 }, (_, user) =>
        (user % 2 === 0 ? leasehold : other.leasehold).startJobSequence({
          typeName: "sync",
          input: { user },
          deduplication,
        }),
      ),
    );
    assert.equal(started.filter(({ deduplicated }) => !deduplicated).length, 1);
    assert.equal(new Set(started.map(({ id }) => id)).size, 1);
    assert.deepEqual(await leasehold.jobs.count({ queue }), [
      { queue, typeName: "sync", status: "pending", count: 1 },
    ]);
  });

  test("in bulk, the elements of one call count too", jobTypes, async ({ leasehold, queue }) => {
    const deduplication = { key: randomUUID() };
    const [one, two, three] = await leasehold.startJobSequences({
      sequences: [
        { typeName: "sync", input: { user: 1 }, deduplication },
        { typeName: "sync", input: { user: 2 }, deduplication },
        { typeName: "sync", input: { user: 3 } },
      ],
    });
    assert.deepEqual([one.deduplicated, two.deduplicated, three.deduplicated], [false, true, false]);
    assert.equal(two.id, one.id);
    assert.deepEqual(await leasehold.jobs.count({ queue }), [
      { queue, typeName: "sync", status: "pending", count: 2 },
    ]);
  });
};
