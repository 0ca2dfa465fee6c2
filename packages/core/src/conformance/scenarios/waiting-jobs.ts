import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { InvalidOptionError, SchemaValidationError } from "../../base/errors.ts";
import { StorePartMissingError } from "../../store/errors.ts";
import type { DefineBlocker } from "../../job-types/markers.ts";
import { defineJobTypes, defineUnionJobTypes, typeOnly } from "../../job-types/define.ts";
import type { JobTypes } from "../../job-types/define.ts";
import { createGate } from "../gate.ts";
import type { Scenario, Tell } from "../scenario.ts";
import type { Story } from "../story.ts";

interface Definitions {
  index: { input: { version: number }; output: number };
  publish: { input: null; output: null; blockers: [DefineBlocker<"index">] };
}

const jobTypes = defineUnionJobTypes<Definitions>();

const fragileTypes = defineJobTypes({
  quote: { input: typeOnly<{ symbol: string }>(), output: typeOnly<null>(), expireAfterMs: 1 },
});

const wholeNumber = {
  "~standard": {
    version: 1 as const,
    vendor: "test",
    validate: (value: unknown) =>
      Number.isInteger(value)
        ? { value: value as number }
        : { issues: [{ message: "must be a whole number" }] },
    types: undefined as unknown as { readonly input: number; readonly output: number },
  },
};
const checkedTypes = defineJobTypes({ count: { input: wholeNumber, output: typeOnly<number>() } });

const later = { afterMs: 3_600_000 };

const now = { afterMs: 0 };

/** Indexes what it is given, and remembers it. */
const startIndexer = async ({ leasehold, work }: Story<Definitions>): Promise<number[]> => {
  const versions: number[] = [];
  await work(
    leasehold
      .createWorker()
      .implementJobType({
        typeName: "index",
        process: async ({ job }) => {
          versions.push(job.input.version);
          return job.input.version;
        },
      })
      .implementJobType({ typeName: "publish", process: async () => null }),
  );
  return versions;
};

export const describeWaitingJobs: Scenario = ({ test: tellAnyStore }) => {
  /** On a store without the part `edits` there is nothing to tell, except that it says so. */
  const test: Tell = <TDefs>(
    name: string,
    types: JobTypes<TDefs>,
    tell: (story: Story<TDefs>) => Promise<void>,
  ): void =>
    tellAnyStore(name, types, async (story) => {
      if (story.stateAdapter.edits !== undefined) return tell(story);
      await assert.rejects(story.leasehold.jobs.update({ ids: [], schedule: now }), StorePartMissingError);
    });

  tellAnyStore("a store without the part refuses, and writes nothing", jobTypes, async (story) => {
    const other = await story.openAnother({ store: () => ({ edits: undefined }) });
    const { leasehold } = other;
    const start = { typeName: "index", input: { version: 1 } } as const;
    for (const refused of [
      () => leasehold.startJobSequence({ ...start, expireAfterMs: 1_000 }),
      () => leasehold.startJobSequence({ ...start, deduplication: { key: "k", strategy: "pending" } }),
      () => leasehold.startJobSequence({ ...start, deduplication: { key: "k", onDuplicate: "replace" } }),
      () =>
        leasehold.startJobSequences({
          sequences: [
            start,
            { ...start, deduplication: { key: "k", onDuplicate: { debounce: { maxDelayMs: 1 } } } },
          ],
        }),
      () => leasehold.jobs.update({ ids: [], priority: 1 }),
      () => leasehold.jobs.update({ filter: {}, schedule: now }),
    ])
      await assert.rejects(refused(), (error) => {
        assert.ok(error instanceof StorePartMissingError);
        assert.equal(error.part, "edits");
        return true;
      });
    const kept = { key: randomUUID(), onDuplicate: "keep" } as const;
    assert.equal((await leasehold.startJobSequence({ ...start, deduplication: kept })).deduplicated, false);
    assert.deepEqual(
      (await leasehold.jobs.count({ queue: story.queue })).map(({ count }) => count),
      [1],
    );
  });

  test("a later start takes the place of one that waits", jobTypes, async (story) => {
    const { leasehold, completion, events } = story;
    const key = randomUUID();
    const start = (version: number) =>
      leasehold.startJobSequence({
        typeName: "index",
        input: { version },
        deduplication: { key, strategy: "pending", onDuplicate: "replace" },
      });
    const first = await start(1);
    const second = await start(2);
    assert.deepEqual([first.deduplicated, first.replaced], [false, false]);
    assert.deepEqual([second.id, second.deduplicated, second.replaced], [first.id, true, true]);
    assert.deepEqual(second.input, { version: 2 });
    assert.deepEqual(
      events.all("jobUpdated").map(({ id, changedBy }) => [id, changedBy]),
      [[first.id, "start"]],
    );
    const { summary } = await leasehold.jobs.explain(first);
    assert.match(summary, /later start/);
    const versions = await startIndexer(story);
    assert.equal((await completion(first)).output, 2);
    assert.deepEqual(versions, [2]);
  });

  test(
    "a start beside a running one runs after it, or is told that it does not count",
    jobTypes,
    async (story) => {
      const { leasehold, work, completion } = story;
      const key = randomUUID();
      const started = createGate();
      const mayEnd = createGate();
      await work(
        leasehold.createWorker().implementJobType({
          typeName: "index",
          process: async ({ job }) => {
            started.open();
            await mayEnd.opened;
            return job.input.version;
          },
        }),
      );
      const start = (version: number, strategy: "pending" | "unfinished") =>
        leasehold.startJobSequence({
          typeName: "index",
          input: { version },
          deduplication: { key, strategy, onDuplicate: "replace" },
        });
      const first = await start(1, "unfinished");
      await started.opened;
      const refused = await start(2, "unfinished");
      assert.deepEqual([refused.id, refused.deduplicated, refused.replaced], [first.id, true, false]);
      const second = await start(3, "pending");
      assert.equal(second.deduplicated, false);
      mayEnd.open();
      assert.equal((await completion(first)).output, 1);
      assert.equal((await completion(second)).output, 3);
    },
  );

  test("debounce puts a job off, and the last input runs", jobTypes, async (story) => {
    const { leasehold } = story;
    const start = (version: number) =>
      leasehold.startJobSequence({
        typeName: "index",
        input: { version },
        schedule: later,
        deduplication: {
          key: story.queue,
          strategy: "pending",
          onDuplicate: { debounce: { maxDelayMs: later.afterMs + 1_000 } },
        },
      });
    const { id } = await start(1);
    const before = await leasehold.jobs.get({ id });
    let after = before;
    for (let version = 2; after!.scheduledAt.getTime() === before!.scheduledAt.getTime(); version += 1) {
      assert.equal((await start(version)).replaced, true);
      after = await leasehold.jobs.get({ id });
    }
    const delay = after!.scheduledAt.getTime() - after!.createdAt.getTime();
    assert.ok(delay > later.afterMs && delay <= later.afterMs + 1_000, String(delay));
  });

  test("in bulk and in transactions, too", jobTypes, async (story) => {
    const { leasehold } = story;
    const deduplication = { key: randomUUID(), strategy: "pending", onDuplicate: "replace" } as const;
    const start = (version: number) => ({ typeName: "index", input: { version }, deduplication }) as const;
    const [one, two] = await leasehold.startJobSequences({ sequences: [start(1), start(2)] });
    assert.deepEqual([two.id, one.replaced, two.replaced], [one.id, false, true]);
    await assert.rejects(
      leasehold.runInTransaction(async (ctx) => {
        assert.equal((await leasehold.startJobSequence({ ...ctx, ...start(3) })).replaced, true);
        throw new Error("changed my mind");
      }),
      /changed my mind/,
    );
    assert.deepEqual((await leasehold.jobs.getSequence({ id: one.id }))?.input, { version: 2 });
    await leasehold.runInTransaction((ctx) => leasehold.startJobSequence({ ...ctx, ...start(4) }));
    assert.deepEqual((await leasehold.jobs.getSequence({ id: one.id }))?.input, { version: 4 });
  });

  test(
    "of fifty concurrent starts in two applications one creates, and one job runs",
    jobTypes,
    async (story) => {
      const { leasehold, openAnother, completion } = story;
      const other = await openAnother();
      const deduplication = { key: randomUUID(), strategy: "pending", onDuplicate: "replace" } as const;
      const answers = await Promise.all(
        Array.from({ length: 50 }, (_, version) =>
          (version % 2 === 0 ? leasehold : other.leasehold).startJobSequence({
            typeName: "index",
            input: { version },
            deduplication,
          }),
        ),
      );
      assert.equal(new Set(answers.map(({ id }) => id)).size, 1);
      assert.equal(answers.filter(({ replaced }) => replaced).length, 49);
      const { input } = (await leasehold.jobs.getSequence({ id: answers[0]!.id }))!;
      const versions = await startIndexer(story);
      await completion(answers[0]!);
      assert.deepEqual(versions, [(input as { version: number }).version]);
    },
  );

  test("a job for later runs now", jobTypes, async (story) => {
    const { leasehold, completion, work, events } = story;
    await work(
      leasehold
        .createWorker()
        .implementJobType({ typeName: "index", process: async ({ job }) => job.input.version }),
    );
    const started = await leasehold.startJobSequence({
      typeName: "index",
      input: { version: 1 },
      schedule: later,
    });
    const report = await leasehold.jobs.update({ ids: [started.id], schedule: now });
    assert.deepEqual(
      report.changed.map(({ id, sequenceId, status }) => [id, sequenceId, status]),
      [[started.id, started.id, "pending"]],
    );
    assert.deepEqual([report.skipped, report.cursor], [[], null]);
    assert.equal((await completion(started)).output, 1);
    assert.deepEqual(
      events.all("jobUpdated").map(({ changedBy }) => changedBy),
      ["update"],
    );
  });

  test(
    "time, priority and input of jobs that wait, with a reason for all others",
    jobTypes,
    async (story) => {
      const { leasehold, completion } = story;
      const blocker = await leasehold.startJobSequence({
        typeName: "index",
        input: { version: 1 },
        schedule: later,
      });
      const blocked = await leasehold.startJobSequence({
        typeName: "publish",
        startBlockers: () => [blocker],
      });
      const nobody = "01890000-0000-7000-8000-000000000000";
      const at = new Date("2999-01-01");
      const report = await leasehold.jobs.update({
        ids: [blocker.id, blocked.id, nobody],
        typeName: "index",
        input: { version: 2 },
        schedule: { at },
        priority: 7,
      });
      assert.deepEqual(report, {
        changed: [
          { id: blocker.id, sequenceId: blocker.id, status: "pending", scheduledAt: at, priority: 7 },
        ],
        skipped: [
          { id: blocked.id, reason: "other_type", status: "blocked" },
          { id: nobody, reason: "not_found", status: null },
        ],
        cursor: null,
      });
      assert.match((await leasehold.jobs.explain(blocker)).summary, /changed while it waited/);
      assert.equal((await leasehold.jobs.update({ ids: [blocked.id], priority: 3 })).changed.length, 1);
      await leasehold.jobs.update({ ids: [blocker.id], schedule: now });
      const versions = await startIndexer(story);
      await completion(blocked);
      assert.deepEqual(versions, [2]);
      const again = await leasehold.jobs.update({ ids: [blocker.id, blocked.id], priority: 1 });
      assert.deepEqual(again.skipped, [
        { id: blocker.id, reason: "not_waiting", status: "completed" },
        { id: blocked.id, reason: "not_waiting", status: "completed" },
      ]);
    },
  );

  test("by filter, on trial first, and in portions", jobTypes, async ({ leasehold, queue }) => {
    for (let version = 1; version <= 3; version += 1)
      await leasehold.startJobSequence({ typeName: "index", input: { version }, schedule: later });
    const change = { filter: { queue, typeName: "index" }, priority: 5 } as const;
    const priorities = async () =>
      (await leasehold.jobs.list({ queue })).jobs.map(({ priority }) => priority);
    assert.equal((await leasehold.jobs.update({ ...change, dryRun: true })).changed.length, 3);
    assert.deepEqual(await priorities(), [0, 0, 0]);
    const first = await leasehold.jobs.update({ ...change, limit: 2 });
    assert.equal(first.changed.length, 2);
    const second = await leasehold.jobs.update({ ...change, limit: 2, cursor: first.cursor });
    assert.deepEqual([second.changed.length, second.cursor], [1, null]);
    assert.deepEqual(await priorities(), [5, 5, 5]);
  });

  test("an update in a transaction that is rolled back has not happened", jobTypes, async ({ leasehold }) => {
    const start = { typeName: "index", input: { version: 1 } } as const;
    const { id } = await leasehold.startJobSequence(start);
    await assert.rejects(
      leasehold.runInTransaction(async (ctx) => {
        await leasehold.jobs.update({ ...ctx, ids: [id], priority: 9 });
        assert.equal((await leasehold.jobs.get({ ...ctx, id }))?.priority, 9);
        throw new Error("changed my mind");
      }),
      /changed my mind/,
    );
    assert.equal((await leasehold.jobs.get({ id }))?.priority, 0);
  });

  test("a new input has to fit the schema of the type", checkedTypes, async ({ leasehold }) => {
    const { id } = await leasehold.startJobSequence({ typeName: "count", input: 1 });
    const update = (input: number) => leasehold.jobs.update({ ids: [id], typeName: "count", input });
    await assert.rejects(update(1.5), SchemaValidationError);
    assert.equal((await leasehold.jobs.get({ id }))?.input, 1);
    await update(2);
    assert.equal((await leasehold.jobs.get({ id }))?.input, 2);
  });

  test("what makes no sense is refused", jobTypes, async ({ leasehold }) => {
    const ids: string[] = [];
    const wrong = (options: object) =>
      assert.rejects(leasehold.jobs.update(options as never), InvalidOptionError);
    await wrong({ ids });
    await wrong({ ids, filter: {}, priority: 1 });
    await wrong({ priority: 1 });
    await wrong({ ids, typeName: "index" });
    await wrong({ ids, input: { version: 1 } });
    await wrong({ ids, priority: 1.5 });
    await wrong({ ids, schedule: {} });
    await wrong({ ids, priority: 1, limit: 5 });
    const start = (deduplication: object) =>
      assert.rejects(
        leasehold.startJobSequence({
          typeName: "index",
          input: { version: 1 },
          deduplication: { key: "k", ...deduplication },
        }),
        InvalidOptionError,
      );
    await start({ strategy: "waiting" });
    await start({ strategy: "pending", windowMs: 5 });
    await start({ onDuplicate: "swap" });
    await start({ onDuplicate: {} });
    await start({ onDuplicate: { debounce: {} } });
    await start({ onDuplicate: { debounce: { maxDelayMs: 0 } } });
    await start({ onDuplicate: { debounce: { maxDelayMs: 1, every: 2 } } });
  });

  test("a worker does not run what has waited too long", fragileTypes, async (story) => {
    const { leasehold, work, failure, events } = story;
    const started = await leasehold.startJobSequence({ typeName: "quote", input: { symbol: "X" } });
    const job = await leasehold.jobs.get({ id: started.id });
    assert.equal(job?.expireAfterMs, 1);
    const explanation = await leasehold.jobs.explain(started);
    const expiresAt = new Date(job.scheduledAt.getTime() + 1);
    // The millisecond may have passed already.
    assert.ok(explanation.state === "runnable" || explanation.state === "expired");
    assert.deepEqual(explanation.state === "runnable" ? explanation.expiresAt : explanation.since, expiresAt);
    // By the store's clock, whose milliseconds pass by themselves.
    while ((await leasehold.getTime()).getTime() <= expiresAt.getTime());
    assert.equal((await leasehold.jobs.explain(started)).state, "expired");
    let ran = 0;
    await work(
      leasehold.createWorker().implementJobType({
        typeName: "quote",
        process: async () => {
          ran += 1;
          return null;
        },
      }),
      { reapIntervalMs: 3_600_000 },
    );
    const { reason } = await failure(started);
    assert.equal(reason, "expired");
    assert.equal(ran, 0);
    // The wait may read the store before the worker has its answer.
    assert.equal((await events.first("jobFailed")).reason, "expired");
    assert.match((await leasehold.jobs.explain(started)).summary, /expired/);
  });

  test("what nobody claims expires, too, with all that waits for it", jobTypes, async (story) => {
    const { leasehold, work, failure } = story;
    await work(
      leasehold.createWorker().implementJobType({ typeName: "publish", process: async () => null }),
      { reapIntervalMs: 50 },
    );
    const started = await leasehold.startJobSequence({
      typeName: "index",
      input: { version: 1 },
      expireAfterMs: 20,
    });
    const waiting = await leasehold.startJobSequence({ typeName: "publish", startBlockers: () => [started] });
    assert.equal((await failure(started)).reason, "expired");
    assert.equal((await failure(waiting)).reason, "blocker_failed");
  });

  test("a redriven job has its whole time again, and runs", fragileTypes, async (story) => {
    const { leasehold, work, completion, failure } = story;
    const started = await leasehold.startJobSequence({
      typeName: "quote",
      input: { symbol: "X" },
      expireAfterMs: 200,
    });
    const idle = await work(
      leasehold.createWorker().implementJobType({ typeName: "quote", process: async () => null }),
      {
        queues: { "nothing here": 1 },
        reapIntervalMs: 20,
      },
    );
    await failure(started);
    await idle.stop();
    await work(leasehold.createWorker().implementJobType({ typeName: "quote", process: async () => null }));
    await leasehold.jobs.redrive({ ids: [started.id] });
    await completion(started);
  });
};
