import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { NewJob } from "../../../store/contract/creation.ts";
import type { StateJob } from "../../../store/contract/job.ts";
import { baseTime } from "../../state-fixture.ts";
import { completion } from "../../state-scenario.ts";
import type { StateSuite } from "../../state-suite.ts";

const texts = [
  "null",
  "-1e+300",
  '""',
  JSON.stringify("ä 漢 😀 \u2028 \n \" \\ '"),
  "[[1,[2,[3]]]]",
  '{"b":1,"a":2,"":{"$ne":null},"a.b":0}',
  '{"n":1.0,"large":12345678901234567890}',
  JSON.stringify("x".repeat(300_000)),
];

export const describeCreateJobs = ({ test }: StateSuite): void => {
  test("stores inputs and outputs to the letter", async ({ start, run, end, reload }) => {
    for (const text of texts) {
      const job = await start({ input: text });
      const running = await run(job);
      await end(running, { ...completion, output: text });
      const ended = await reload(job);
      assert.deepEqual([job.input, running.input, ended.input, ended.output], [text, text, text, text]);
    }
  });

  test("stores every field as given, and the rest as a job that has not begun", async ({
    adapter,
    queue,
    typeName,
  }) => {
    const [id, sequenceId, rootSequenceId, originId] = [
      randomUUID(),
      randomUUID(),
      randomUUID(),
      randomUUID(),
    ];
    const root = {
      id: rootSequenceId,
      sequenceId: rootSequenceId,
      rootSequenceId,
      originId: null,
      sequenceIndex: 0,
      sequenceCreatedAt: null,
    };
    const rest = {
      queue,
      typeName,
      sequenceTypeName: `${typeName}-sequence`,
      priority: -7,
      traceContext: '{"traceparent":"00-1-2-01"}',
      input: '{"n":1}',
      schedule: { at: baseTime + 5_000 },
      maxAttempts: 9,
      timeoutMs: 3_000_000_000,
      leaseMs: 45_000,
      onBlockerFailure: "wait",
      group: null,
      ordered: null,
      awaitsBlockers: false,
      deduplication: null,
    } as const;
    const first = { ...root, id: sequenceId, sequenceId, originId };
    const second = { ...first, id, sequenceIndex: 1, sequenceCreatedAt: baseTime - 9_000 };
    const created = await adapter.createJobs({
      jobs: [root, first, second].map((own) => ({ ...rest, ...own })),
      now: baseTime,
    });

    assert.deepEqual(created[2], {
      deduplicated: false,
      job: {
        id,
        typeName,
        sequenceId,
        sequenceTypeName: `${typeName}-sequence`,
        sequenceIndex: 1,
        sequenceCreatedAt: baseTime - 9_000,
        rootSequenceId,
        originId,
        traceContext: '{"traceparent":"00-1-2-01"}',
        queue,
        priority: -7,
        status: "pending",
        input: '{"n":1}',
        output: null,
        progress: null,
        createdAt: baseTime,
        scheduledAt: baseTime + 5_000,
        attempt: 0,
        group: null,
        ordered: null,
        limited: false,
        maxAttempts: 9,
        maxAttemptsGiven: true,
        timeoutMs: 3_000_000_000,
        leaseMs: 45_000,
        leaseToken: null,
        leaseVersion: 0,
        leasedBy: null,
        deployment: null,
        leasedUntil: null,
        expiredLeases: 0,
        lastAttemptAt: null,
        lastError: null,
        lastFailedAt: null,
        completedAt: null,
        completedBy: null,
        continuedToId: null,
        failedAt: null,
        failureReason: null,
        failedBlockerId: null,
        deduplicationKey: null,
        replacedBy: null,
        expireAfterMs: null,
        onBlockerFailure: "wait",
        blockerCount: 0,
        openBlockers: 0,
        recurrence: null,
      },
    });
    assert.deepEqual(await adapter.getJobs({ jobIds: [id] }), [created[2]?.job]);
  });

  test("counts a delay from the store's now", async ({ start }) => {
    const job = await start({ schedule: { afterMs: 1_500 } }, baseTime + 10);
    assert.equal(job.createdAt, baseTime + 10);
    assert.equal(job.scheduledAt, baseTime + 1_510);
  });

  test("keeps the moment of a schedule, be it as late as a date can be; a past one is now", async (scenario) => {
    const moments = [0, baseTime - 1, baseTime, baseTime + 1, 8_640_000_000_000_000];
    const jobs = await scenario.startMany(moments.map((at) => ({ schedule: { at } })));
    for (const found of [jobs, await scenario.reloadAll(jobs)]) {
      assert.deepEqual(
        found.map(({ scheduledAt }) => scheduledAt),
        moments.map((at) => Math.max(at, baseTime)),
      );
    }
  });

  test("starts a job that awaits blockers as blocked", async ({ start }) => {
    assert.equal((await start({ awaitsBlockers: true })).status, "blocked");
  });

  test("answers in the order given", async ({ adapter, newJob, reloadAll }) => {
    const jobs = Array.from({ length: 250 }, () => newJob());
    const created = await adapter.createJobs({ jobs, now: baseTime });
    assert.deepEqual(
      created.map(({ job }) => job.id),
      jobs.map(({ id }) => id),
    );
    assert.deepEqual(
      await reloadAll(jobs),
      created.map(({ job }) => job),
    );
  });

  test("returns text exactly as it was", async ({ startMany, reloadAll }) => {
    const texts = [
      "",
      " ",
      "null",
      "'\"\\`;--$1{}%",
      "äß漢字🦀\u2028\r\n\t",
      '{"__proto__":1}',
      "x".repeat(300_000),
    ];
    const jobs = await startMany(texts.map((input) => ({ input })));
    assert.deepEqual(
      (await reloadAll(jobs)).map(({ input }) => input),
      texts,
    );
  });

  test("stores a long list as a whole or not at all", async ({ adapter, newJob, start }) => {
    const known = await start();
    const jobs = Array.from({ length: 2_500 }, () => newJob());
    const last = newJob({ id: known.id, sequenceId: known.id, rootSequenceId: known.id });
    await assert.rejects(adapter.createJobs({ jobs: [...jobs, last], now: baseTime }), {
      code: "JobAlreadyExists",
    });
    const jobIds = jobs.map(({ id }) => id);
    assert.ok((await adapter.getJobs({ jobIds })).every((job) => job === undefined));
    const created = await adapter.createJobs({ jobs, now: baseTime });
    assert.deepEqual(
      created.map(({ job }) => job.id),
      jobIds,
    );
  });

  test("takes an empty batch", async ({ adapter }) => {
    assert.deepEqual(await adapter.createJobs({ jobs: [], now: baseTime }), []);
  });

  test("refuses an empty id, and stores nothing of the call", async ({ adapter, newJob }) => {
    const job = newJob();
    const empty = newJob({ id: "", sequenceId: "", rootSequenceId: "" });
    for (const jobs of [[empty], [job, empty]])
      await assert.rejects(adapter.createJobs({ jobs, now: baseTime }), { code: "InvalidOption" });
    await assert.rejects(adapter.createJobs({ jobs: [empty] }), { code: "InvalidOption" });
    assert.deepEqual(await adapter.getJobs({ jobIds: [job.id] }), [undefined]);
  });

  test("refuses ids that exist, names them all, and stores nothing of the call", async ({
    adapter,
    newJob,
    startMany,
  }) => {
    const [one, two] = [newJob(), newJob()];
    const stored = await startMany([one, two]);
    const fresh = newJob();
    await assert.rejects(
      adapter.createJobs({ jobs: [fresh, { ...one, input: "other" }, two], now: baseTime + 1 }),
      (error: { code?: string; ids?: string[] }) => {
        assert.equal(error.code, "JobAlreadyExists");
        assert.deepEqual([...(error.ids ?? [])].sort(), [one.id, two.id].sort());
        return true;
      },
    );
    assert.deepEqual(await adapter.getJobs({ jobIds: [fresh.id, one.id, two.id] }), [undefined, ...stored]);
  });

  test("names only the taken ids, also of jobs that its own transaction has created", async ({
    adapter,
    newJob,
  }) => {
    const [known, fresh] = [newJob(), newJob()];
    const creating = adapter.runInTransaction(async (ctx) => {
      await adapter.createJobs({ jobs: [known], ctx, now: baseTime });
      await adapter.createJobs({ jobs: [fresh, known], ctx, now: baseTime });
    });
    await assert.rejects(creating, { code: "JobAlreadyExists", ids: [known.id] });
  });

  test("refuses a place in a sequence that is taken, and names the job that wanted it", async (scenario) => {
    const { adapter } = scenario;
    const [continued, other] = await scenario.startMany([{}, {}]);
    const next = {
      sequenceTypeName: continued!.sequenceTypeName,
      sequenceIndex: 1,
      sequenceCreatedAt: baseTime,
    };
    const nextOf = ({ sequenceId }: StateJob): NewJob =>
      scenario.newJob({ ...next, sequenceId, rootSequenceId: sequenceId });
    await adapter.createJobs({ jobs: [nextOf(continued!)], now: baseTime });

    const [wrong, right] = [nextOf(continued!), nextOf(other!)];
    await assert.rejects(adapter.createJobs({ jobs: [wrong, right], now: baseTime }), {
      code: "JobAlreadyExists",
      ids: [wrong.id],
    });
    assert.deepEqual(await adapter.getJobs({ jobIds: [wrong.id, right.id] }), [undefined, undefined]);
  });

  test("refuses the same id twice in one call", async ({ adapter, newJob }) => {
    const job = newJob();
    await assert.rejects(adapter.createJobs({ jobs: [job, job], now: baseTime }), {
      code: "JobAlreadyExists",
    });
    assert.deepEqual(await adapter.getJobs({ jobIds: [job.id] }), [undefined]);
  });
};
