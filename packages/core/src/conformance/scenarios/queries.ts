import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { InvalidOptionError } from "../../base/errors.ts";
import type {
  DefineBlocker,
  DefineContinuationInput,
  DefineContinuationOutput,
} from "../../job-types/markers.ts";
import { defineUnionJobTypes } from "../../job-types/define.ts";
import type { Scenario } from "../scenario.ts";
import type { Story } from "../story.ts";

interface Definitions {
  load: { input: { n: number }; output: number };
  transform: { input: null; output: DefineContinuationOutput<"store"> };
  store: { input: DefineContinuationInput<null>; output: null };
  report: { input: null; output: null; blockers: [DefineBlocker<"load">] };
}

const jobTypes = defineUnionJobTypes<Definitions>();

interface SearchDefinitions {
  look: {
    input: { id?: string | number | null; tags?: string[]; inner?: { id: string | number } };
    output: null;
  };
}

const searchTypes = defineUnionJobTypes<SearchDefinitions>();

const unknownId = "01890000-0000-7000-8000-000000000000";

/** One job of nearly every kind. */
const setScene = async ({ leasehold, work, events, completion, queue }: Story<Definitions>) => {
  const worker = await work(
    leasehold
      .createWorker()
      .implementJobType({ typeName: "load", process: async ({ job }) => job.input.n })
      .implementJobType({
        typeName: "transform",
        process: async ({ complete }) =>
          complete(({ continueWith }) =>
            continueWith({ typeName: "store", schedule: { afterMs: 3_600_000 } }),
          ),
      }),
  );
  const completed = await leasehold.startJobSequence({ typeName: "load", input: { n: 1 } });
  await completion(completed);
  const continued = await leasehold.startJobSequence({ typeName: "transform" });
  const { continuedToId } = await events.first("jobCompleted", ({ id }) => id === continued.id);
  await worker.stop();
  const pending = await leasehold.startJobSequence({
    typeName: "load",
    input: { n: 2 },
    queue: `${queue}-other`,
  });
  const blocked = await leasehold.startJobSequence({ typeName: "report", startBlockers: () => [pending] });
  const failed = await leasehold.startJobSequence({ typeName: "load", input: { n: 3 } });
  await leasehold.jobs.cancel({ ids: [failed.id] });
  return { completed, continued, continuation: { id: continuedToId ?? "" }, pending, blocked, failed };
};

export const describeQueries: Scenario = ({ test }) => {
  test("jobs by a value inside their input", searchTypes, async ({ leasehold, queue }) => {
    const inputs: SearchDefinitions["look"]["input"][] = [
      { id: 4, tags: ["a", "b"] },
      { id: 42, tags: [], inner: { id: "42" } },
      { id: "42" },
      { tags: ['"id":42'], inner: { id: 42 } },
      { id: null, tags: ["b"] },
      { id: -0 },
      { id: 0 },
    ];
    const sequences = inputs.map((input) => ({ typeName: "look" as const, input }));
    for (const sequence of sequences) await leasehold.startJobSequence(sequence);
    const find = async (path: readonly (string | number)[], equals: string | number | boolean | null) => {
      const found: number[] = [];
      let cursor: string | null = null;
      do {
        const page: {
          readonly jobs: readonly { readonly input: unknown }[];
          readonly cursor: string | null;
        } = await leasehold.jobs.list({ queue, input: { path, equals }, order: "oldest", limit: 1, cursor });
        for (const { input } of page.jobs)
          found.push(inputs.findIndex((one) => isDeepStrictEqual(one, input)));
        cursor = page.cursor;
      } while (cursor !== null);
      return found;
    };
    assert.deepEqual(await find(["id"], 4), [0]);
    assert.deepEqual(await find(["id"], 42), [1]);
    assert.deepEqual(await find(["id"], "42"), [2]);
    assert.deepEqual(await find(["inner", "id"], 42), [3]);
    assert.deepEqual(await find(["id"], null), [4]);
    assert.deepEqual(await find(["id"], -0), [5]);
    assert.deepEqual(await find(["id"], 0), [6]);
    assert.deepEqual(await find(["tags", 0], "b"), [4]);
    assert.deepEqual(await find(["tags", "length"], 0), []);
    assert.deepEqual(await find([], true), []);
  });

  test("jobs by a text in their input", searchTypes, async ({ leasehold, queue }) => {
    const inputs: SearchDefinitions["look"]["input"][] = [
      { id: "Zoë 50%_" },
      { id: 'a "quoted" \\ word\n' },
      { tags: ["inner zoë"] },
      { inner: { id: 4711 } },
      { id: null },
    ];
    for (const input of inputs) await leasehold.startJobSequence({ typeName: "look" as const, input });
    const find = async (contains: string, status?: "pending" | "failed") => {
      const found: number[] = [];
      let cursor: string | null = null;
      do {
        const page: {
          readonly jobs: readonly { readonly input: unknown }[];
          readonly cursor: string | null;
          readonly searchedTo?: Date | null;
        } = await leasehold.jobs.list({
          queue,
          status,
          input: { contains },
          order: "oldest",
          limit: 1,
          cursor,
        });
        for (const { input } of page.jobs)
          found.push(inputs.findIndex((one) => isDeepStrictEqual(one, input)));
        cursor = page.cursor;
        assert.equal(page.searchedTo instanceof Date, cursor !== null);
      } while (cursor !== null);
      return found;
    };
    assert.deepEqual(await find("Zoë"), [0]);
    assert.deepEqual(await find("zoë"), [2]);
    assert.deepEqual(await find("%_"), [0]);
    assert.deepEqual(await find('"quoted" \\ w'), [1]);
    assert.deepEqual(await find("word\n"), [1]);
    assert.deepEqual(await find("471"), [3]);
    assert.deepEqual(await find("inner"), [2, 3]);
    assert.deepEqual(await find("inner", "pending"), [2, 3]);
    assert.deepEqual(await find("inner", "failed"), []);
    assert.deepEqual(await find("nowhere"), []);
  });

  test("a job by its id, of whatever or of a given type", jobTypes, async ({ leasehold, queue }) => {
    const started = await leasehold.startJobSequence({
      typeName: "load",
      input: { n: 5 },
      priority: -2,
      maxAttempts: 7,
      timeoutMs: 900,
    });
    const job = await leasehold.jobs.get({ id: started.id, typeName: "load" });
    assert.deepEqual(job, {
      id: started.id,
      status: "pending",
      typeName: "load",
      sequenceId: started.id,
      sequenceTypeName: "load",
      rootSequenceId: started.id,
      originId: null,
      queue,
      priority: -2,
      input: { n: 5 },
      createdAt: started.createdAt,
      scheduledAt: started.createdAt,
      attempt: 0,
      maxAttempts: 7,
      timeoutMs: 900,
      expireAfterMs: null,
      progress: null,
      lastError: null,
      lastAttemptAt: null,
      lastFailedAt: null,
      deduplicationKey: null,
      group: null,
      recurrence: null,
      replacedBy: null,
      blockers: [],
    });
    assert.deepEqual(await leasehold.jobs.get({ id: started.id }), job);
    assert.equal(await leasehold.jobs.get({ id: unknownId }), undefined);
    await assert.rejects(leasehold.jobs.get({ id: started.id, typeName: "report" }), InvalidOptionError);
  });

  test("a sequence by its id", jobTypes, async ({ leasehold }) => {
    const { deduplicated, replaced, ...started } = await leasehold.startJobSequence({
      typeName: "load",
      input: { n: 5 },
    });
    assert.deepEqual([deduplicated, replaced], [false, false]);
    assert.deepEqual(await leasehold.jobs.getSequence({ id: started.id, typeName: "load" }), started);
    assert.equal(await leasehold.jobs.getSequence({ id: unknownId }), undefined);
    await assert.rejects(
      leasehold.jobs.getSequence({ id: started.id, typeName: "report" }),
      InvalidOptionError,
    );
  });

  test("jobs by every filter", jobTypes, async (story) => {
    const { leasehold, queue } = story;
    const { completed, continued, continuation, pending, blocked, failed } = await setScene(story);
    const other = `${queue}-other`;
    const all = { queue: [queue, other] };
    type Filter = NonNullable<Parameters<typeof leasehold.jobs.list>[0]>;
    const ids = async (filter: Filter): Promise<string[]> =>
      (await leasehold.jobs.list({ ...filter, order: "oldest" })).jobs.map(({ id }) => id);
    const job = async (id: string) => {
      const found = await leasehold.jobs.get({ id });
      assert.ok(found);
      return found;
    };
    const expect = async (filter: Filter, expected: readonly { readonly id: string }[]): Promise<void> => {
      const expectedIds = expected.map(({ id }) => id);
      assert.deepEqual(await ids(filter), expectedIds, JSON.stringify(filter));
      const total = (await leasehold.jobs.count(filter)).reduce((sum, { count }) => sum + count, 0);
      assert.equal(total, expectedIds.length, JSON.stringify(filter));
    };

    await expect(all, [completed, continued, continuation, pending, blocked, failed]);
    await expect({ queue: other }, [pending]);
    await expect({ id: blocked.id }, [blocked]);
    await expect({ id: [failed.id, completed.id, unknownId] }, [completed, failed]);
    await expect({ ...all, status: "completed" }, [completed, continued]);
    await expect({ ...all, status: ["blocked", "failed"] }, [blocked, failed]);
    await expect({ ...all, typeName: "load" }, [completed, pending, failed]);
    await expect({ ...all, typeName: ["store", "report"] }, [continuation, blocked]);
    await expect({ ...all, sequenceTypeName: "transform" }, [continued, continuation]);
    await expect({ ...all, sequenceTypeName: ["load", "report"] }, [completed, pending, blocked, failed]);
    await expect({ sequenceId: continued.id }, [continued, continuation]);
    await expect({ rootSequenceId: continued.id }, [continued, continuation]);
    await expect({ ...all, failureReason: "cancelled" }, [failed]);
    await expect({ ...all, failureReason: ["unrecoverable", "blocker_failed"] }, []);
    await expect({ ...all, status: "completed", typeName: "transform" }, [continued]);

    const { createdAt } = await job(completed.id);
    await expect({ id: completed.id, createdFrom: createdAt }, [completed]);
    await expect({ id: completed.id, createdFrom: new Date(createdAt.getTime() + 1) }, []);
    await expect({ id: completed.id, createdBefore: createdAt }, []);
    await expect({ id: completed.id, createdBefore: new Date(createdAt.getTime() + 1) }, [completed]);
    const failedJob = await job(failed.id);
    assert.ok(failedJob.status === "failed");
    const finishedAt = failedJob.failure.at;
    await expect({ id: failed.id, finishedFrom: finishedAt }, [failed]);
    await expect({ id: failed.id, finishedFrom: new Date(finishedAt.getTime() + 1) }, []);
    await expect({ id: failed.id, finishedBefore: finishedAt }, []);
    await expect({ ...all, finishedBefore: new Date(finishedAt.getTime() + 1) }, [
      completed,
      continued,
      failed,
    ]);
  });

  test("a filter that does not exist or does not fit is refused", jobTypes, async ({ leasehold }) => {
    type Filter = NonNullable<Parameters<typeof leasehold.jobs.list>[0]>;
    await assert.rejects(leasehold.jobs.list({ statsu: "failed" } as Filter), /`statsu`.*`status`/);
    await assert.rejects(leasehold.jobs.list({ status: "lost" } as unknown as Filter), InvalidOptionError);
    await assert.rejects(leasehold.jobs.list({ limit: 1e9 }), InvalidOptionError);
    await assert.rejects(leasehold.jobs.list({ cursor: "nonsense" }), InvalidOptionError);
  });

  test("page by page, both ways, while jobs are added", jobTypes, async ({ leasehold, queue }) => {
    const start = (n: number) => leasehold.startJobSequence({ typeName: "load", input: { n } });
    const started: string[] = [];
    for (let n = 0; n < 23; n += 1) started.push((await start(n)).id);

    for (const order of ["newest", "oldest"] as const) {
      const seen: string[] = [];
      let cursor: string | null = null;
      let pages = 0;
      do {
        const page: Awaited<ReturnType<typeof leasehold.jobs.list>> = await leasehold.jobs.list({
          queue,
          createdBefore: new Date("2999-01-01"),
          order,
          limit: 5,
          cursor,
        });
        assert.ok(page.jobs.length <= 5);
        seen.push(...page.jobs.map(({ id }) => id));
        cursor = page.cursor;
        pages += 1;
        // Newer jobs are not part of what was there when a listing from the newest began.
        if (order === "newest") await start(100 + pages);
      } while (cursor !== null);
      if (order === "newest") assert.deepEqual(seen, started.toReversed());
      else assert.deepEqual(seen.slice(0, 23), started);
      assert.equal(new Set(seen).size, seen.length);
    }
  });

  test("the jobs of a sequence, page by page", jobTypes, async ({ leasehold }) => {
    const started = await leasehold.startJobSequence({ typeName: "transform" });
    await leasehold.completeJobSequence({
      id: started.id,
      typeName: "transform",
      complete: async ({ job, complete }) => {
        assert.ok(job.typeName === "transform");
        await complete(job, ({ continueWith }) => continueWith({ typeName: "store" }));
      },
    });
    const first = await leasehold.jobs.listInSequence({ id: started.id, typeName: "transform", limit: 1 });
    assert.deepEqual([first.jobs.length, first.jobs[0]?.typeName], [1, "transform"]);
    const second = await leasehold.jobs.listInSequence({ id: started.id, limit: 1, cursor: first.cursor });
    assert.deepEqual([second.jobs.length, second.jobs[0]?.typeName, second.cursor], [1, "store", null]);
  });

  test("sequences by every filter", jobTypes, async (story) => {
    const { leasehold } = story;
    const before = await leasehold.getTime();
    const { completed, continued, continuation, pending, blocked, failed } = await setScene(story);
    const child = await leasehold.runInTransaction(async () =>
      leasehold.startJobSequence({
        typeName: "report",
        startBlockers: async () => [await leasehold.startJobSequence({ typeName: "load", input: { n: 4 } })],
      }),
    );
    const [blocker] = await leasehold.jobs.listBlockers({ id: child.id });
    const all = [completed, continued, pending, blocked, failed, child, blocker!];
    const inScene = new Set(all.map(({ id }) => id));
    type Filter = NonNullable<Parameters<typeof leasehold.jobs.listSequences>[0]>;
    const list = async (filter: Filter) => {
      const found: { readonly id: string; readonly currentJobId: string; readonly status: string }[] = [];
      let cursor: string | null = null;
      do {
        const page: Awaited<ReturnType<typeof leasehold.jobs.listSequences>> =
          await leasehold.jobs.listSequences({ createdFrom: before, ...filter, limit: 2, cursor });
        found.push(...page.sequences);
        cursor = page.cursor;
      } while (cursor !== null);
      return found.filter(({ id }) => inScene.has(id));
    };
    const expect = async (filter: Filter, expected: readonly { readonly id: string }[]): Promise<void> => {
      const ids = (sequences: readonly { readonly id: string }[]) => sequences.map(({ id }) => id).sort();
      assert.deepEqual(ids(await list(filter)), ids(expected), JSON.stringify(filter));
    };

    await expect({}, all);
    await expect({ rootsOnly: true }, [completed, continued, pending, blocked, failed, child]);
    await expect({ typeName: "transform" }, [continued]);
    await expect({ typeName: ["transform", "report"] }, [continued, blocked, child]);
    await expect({ rootSequenceId: child.id }, [child, blocker!]);
    await expect({ createdBefore: before }, []);
    await expect({ status: "failed" }, [failed]);
    await expect({ status: "completed" }, [completed]);
    await expect({ status: ["pending", "completed"] }, [completed, continued, pending, blocker!]);
    await expect({ status: "pending", rootsOnly: true }, [continued, pending]);
    await expect({ status: "pending", typeName: "load" }, [pending, blocker!]);
    await expect({ status: "blocked", createdBefore: before }, []);
    await expect({ status: [] }, []);

    const [first] = await list({ typeName: "transform" });
    assert.deepEqual([first?.currentJobId, first?.status], [continuation.id, "pending"]);
    const newest = await list({});
    const oldest = await list({ order: "oldest" });
    assert.deepEqual(newest.toReversed(), oldest);
    const { cursor } = await leasehold.jobs.listSequences({ limit: 1 });
    await assert.rejects(leasehold.jobs.listSequences({ status: "pending", cursor }), InvalidOptionError);
  });

  test("blockers and blocked jobs", jobTypes, async (story) => {
    const { leasehold } = story;
    const { pending, blocked, completed } = await setScene(story);
    const blockers = await leasehold.jobs.listBlockers({ id: blocked.id });
    assert.deepEqual(
      blockers.map(({ id, status }) => [id, status]),
      [[pending.id, "pending"]],
    );
    const { jobs, cursor } = await leasehold.jobs.listBlocked({ id: pending.id });
    assert.deepEqual(
      jobs.map(({ id, status }) => [id, status]),
      [[blocked.id, "blocked"]],
    );
    assert.equal(cursor, null);
    assert.deepEqual(await leasehold.jobs.listBlockers({ id: completed.id }), []);
    assert.deepEqual((await leasehold.jobs.listBlocked({ id: completed.id })).jobs, []);
  });

  test("a typeName that does not fit the id is refused", jobTypes, async (story) => {
    const { leasehold } = story;
    const { pending, blocked } = await setScene(story);
    const { listInSequence, listBlockers, listBlocked } = leasehold.jobs;
    await assert.rejects(listInSequence({ id: pending.id, typeName: "report" }), InvalidOptionError);
    await assert.rejects(listBlockers({ id: blocked.id, typeName: "load" }), InvalidOptionError);
    await assert.rejects(listBlocked({ id: pending.id, typeName: "report" }), InvalidOptionError);

    const { jobs } = await listInSequence({ id: pending.id, typeName: "load" });
    assert.deepEqual(
      jobs.map(({ id }) => id),
      [pending.id],
    );
    assert.equal((await listBlockers({ id: blocked.id, typeName: "report" })).length, 1);
    assert.equal((await listBlocked({ id: pending.id, typeName: "load" })).jobs.length, 1);
    assert.deepEqual(await listBlockers({ id: randomUUID(), typeName: "load" }), []);
  });

  test("counts by queue, type and status", jobTypes, async (story) => {
    const { leasehold, queue } = story;
    await setScene(story);
    const other = `${queue}-other`;
    const counts = await leasehold.jobs.count({ queue: [queue, other] });
    assert.deepEqual(
      new Set(counts.map((row) => JSON.stringify([row.queue, row.typeName, row.status, row.count]))),
      new Set(
        [
          [queue, "load", "completed", 1],
          [queue, "load", "failed", 1],
          [queue, "transform", "completed", 1],
          [queue, "store", "pending", 1],
          [queue, "report", "blocked", 1],
          [other, "load", "pending", 1],
        ].map((row) => JSON.stringify(row)),
      ),
    );
    assert.equal(counts.length, 6);
    assert.deepEqual(await leasehold.jobs.count({ queue, typeName: "store" }), [
      { queue, typeName: "store", status: "pending", count: 1 },
    ]);
  });
};
