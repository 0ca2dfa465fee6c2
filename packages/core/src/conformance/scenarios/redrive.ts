import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { InvalidOptionError } from "../../base/errors.ts";
import { UnrecoverableJobError } from "../../store/errors.ts";
import type { DefineBlocker } from "../../job-types/markers.ts";
import { defineUnionJobTypes } from "../../job-types/define.ts";
import type { Scenario } from "../scenario.ts";
import type { Story } from "../story.ts";

interface Definitions {
  send: { input: { to: string }; output: string };
  digest: { input: null; output: string; blockers: [DefineBlocker<"send">] };
  gather: { input: null; output: string; blockers: [DefineBlocker<"digest">] };
}

const jobTypes = defineUnionJobTypes<Definitions>();

/** Its server refuses until it is mended. */
const startMailer = async ({ leasehold, work }: Story<Definitions>): Promise<{ mend(): void }> => {
  let broken = true;
  await work(
    leasehold
      .createWorker()
      .implementJobType({
        typeName: "send",
        process: async ({ job }) => {
          if (broken) throw new UnrecoverableJobError("refused");
          return job.input.to;
        },
      })
      .implementJobType({ typeName: "digest", process: async ({ job }) => `${job.blockers[0].output}!` })
      .implementJobType({ typeName: "gather", process: async ({ job }) => `${job.blockers[0].output}!` }),
  );
  return {
    mend: () => {
      broken = false;
    },
  };
};

const unknownId = "01890000-0000-7000-8000-000000000000";

export const describeRedrive: Scenario = ({ test }) => {
  test("a redriven job starts again from its first attempt", jobTypes, async (story) => {
    const { leasehold, completion, failure, events } = story;
    const mailer = await startMailer(story);
    const started = await leasehold.startJobSequence({ typeName: "send", input: { to: "Ada" } });
    await failure(started);
    mailer.mend();

    const report = await leasehold.jobs.redrive({ ids: [started.id] });

    assert.deepEqual(report, {
      changed: [{ id: started.id, sequenceId: started.id, revivedIds: [] }],
      skipped: [],
      cursor: null,
    });
    assert.equal((await completion(started)).output, "Ada");
    assert.equal((await leasehold.jobs.get({ id: started.id }))?.attempt, 1);
    assert.equal(events.all("jobRedriven").length, 1);
  });

  test("by filter, only what matches and has failed", jobTypes, async (story) => {
    const { leasehold, completion, failure, queue } = story;
    const mailer = await startMailer(story);
    const send = (to: string) => leasehold.startJobSequence({ typeName: "send", input: { to } });
    const [one, two] = [await send("Ada"), await send("Bob")];
    await Promise.all([failure(one), failure(two)]);
    const cancelled = await leasehold.startJobSequence({
      typeName: "send",
      input: { to: "Cy" },
      schedule: { afterMs: 3_600_000 },
    });
    await leasehold.jobs.cancel({ ids: [cancelled.id] });
    mailer.mend();
    const done = await send("Dot");
    await completion(done);

    const report = await leasehold.jobs.redrive({ filter: { queue, failureReason: "unrecoverable" } });

    assert.deepEqual(
      report.changed.map(({ id }) => id),
      [one.id, two.id],
    );
    assert.deepEqual(report.skipped, []);
    assert.deepEqual([(await completion(one)).output, (await completion(two)).output], ["Ada", "Bob"]);
    assert.equal((await leasehold.jobs.get({ id: cancelled.id }))?.status, "failed");
  });

  test(
    "no more than the limit, and the report says where to go on",
    jobTypes,
    async ({ leasehold, queue }) => {
      const ids: string[] = [];
      for (let n = 0; n < 3; n += 1) {
        ids.push((await leasehold.startJobSequence({ typeName: "send", input: { to: "" } })).id);
      }
      await leasehold.jobs.cancel({ ids });

      const report = await leasehold.jobs.redrive({ filter: { queue }, limit: 2 });

      assert.equal(report.changed.length, 2);
      const counts = await leasehold.jobs.count({ queue });
      assert.deepEqual(
        new Map(counts.map(({ status, count }) => [status, count])),
        new Map([
          ["pending", 2],
          ["failed", 1],
        ]),
      );
      assert.ok(report.cursor);
      const rest = await leasehold.jobs.redrive({ filter: { queue }, limit: 2, cursor: report.cursor });
      assert.deepEqual([rest.changed.length, rest.cursor], [1, null]);
      await assert.rejects(leasehold.jobs.redrive({ ids, cursor: report.cursor }), InvalidOptionError);
      await assert.rejects(leasehold.jobs.redrive({ filter: { queue }, cursor: "?" }), InvalidOptionError);
    },
  );

  test("going on gets past what cannot be redriven", jobTypes, async ({ leasehold, queue }) => {
    const deduplication = { key: randomUUID() };
    const start = (options: object = {}) =>
      leasehold.startJobSequence({ typeName: "send", input: { to: "" }, ...options });
    const replaced = await start({ deduplication });
    const plain = await start();
    await leasehold.jobs.cancel({ ids: [replaced.id, plain.id] });
    await start({ deduplication });
    const first = await leasehold.jobs.redrive({ filter: { queue }, limit: 1 });
    assert.deepEqual(first.skipped, [{ id: replaced.id, reason: "duplicate_live" }]);
    const second = await leasehold.jobs.redrive({ filter: { queue }, limit: 1, cursor: first.cursor });
    assert.deepEqual(
      second.changed.map(({ id }) => id),
      [plain.id],
    );
  });

  test(
    "a job that is both chosen and revived counts once",
    jobTypes,
    async ({ leasehold, events, queue }) => {
      const send = await leasehold.startJobSequence({ typeName: "send", input: { to: "Ada" } });
      const digest = await leasehold.startJobSequence({ typeName: "digest", startBlockers: () => [send] });
      const gather = await leasehold.startJobSequence({ typeName: "gather", startBlockers: () => [digest] });
      const ids = [digest.id, send.id, send.id];
      for (const choice of [{ ids }, { filter: { queue, typeName: ["send", "digest"] as const } }]) {
        await leasehold.jobs.cancel({ ids: [send.id] });
        const { changed, skipped } = await leasehold.jobs.redrive(choice);
        const alive = changed.flatMap(({ id, revivedIds }) => [id, ...revivedIds]);
        assert.deepEqual(alive.sort(), [send.id, digest.id, gather.id].sort());
        assert.deepEqual(skipped, []);
      }
      assert.equal(events.all("jobRedriven").length, 6);
    },
  );

  test(
    "events of failures, redrives and deletions balance",
    jobTypes,
    async ({ leasehold, events, queue }) => {
      const send = await leasehold.startJobSequence({ typeName: "send", input: { to: "Ada" } });
      const digest = await leasehold.startJobSequence({ typeName: "digest", startBlockers: () => [send] });
      const gather = await leasehold.startJobSequence({ typeName: "gather", startBlockers: () => [digest] });
      const failed = (): number =>
        events.all("jobFailed").length -
        events.all("jobRedriven").length -
        events.all("jobDeleted").filter(({ status }) => status === "failed").length;
      const stored = async (): Promise<number> =>
        (await leasehold.jobs.count({ queue, status: "failed" })).reduce((sum, { count }) => sum + count, 0);

      await leasehold.jobs.cancel({ ids: [send.id, send.id] });
      await leasehold.jobs.cancel({ ids: [send.id] });
      assert.deepEqual([failed(), await stored()], [3, 3]);
      await leasehold.jobs.redrive({ ids: [send.id] });
      assert.deepEqual([failed(), await stored()], [0, 0]);
      assert.deepEqual(
        events.all("jobRedriven").map(({ id, revivedBy }) => [id, revivedBy]),
        [
          [send.id, null],
          [digest.id, send.id],
          [gather.id, send.id],
        ],
      );
      await leasehold.jobs.cancel({ ids: [digest.id] });
      assert.deepEqual([failed(), await stored()], [2, 2]);
      await leasehold.deleteJobSequences({ rootSequenceIds: [send.id, digest.id, gather.id] });
      assert.deepEqual([failed(), await stored()], [0, 0]);
    },
  );

  test("it revives what had failed because of it", jobTypes, async (story) => {
    const { leasehold, completion, failure } = story;
    const mailer = await startMailer(story);
    const send = await leasehold.startJobSequence({
      typeName: "send",
      input: { to: "Ada" },
      schedule: { afterMs: 50 },
    });
    const digest = await leasehold.startJobSequence({ typeName: "digest", startBlockers: () => [send] });
    const gather = await leasehold.startJobSequence({ typeName: "gather", startBlockers: () => [digest] });
    await Promise.all([failure(send), failure(digest), failure(gather)]);
    mailer.mend();

    const { changed: redriven } = await leasehold.jobs.redrive({ ids: [send.id] });

    assert.deepEqual(new Set(redriven[0]?.revivedIds), new Set([digest.id, gather.id]));
    assert.equal((await completion(gather)).output, "Ada!!");
  });

  test("a dry run tells the same and changes nothing", jobTypes, async ({ leasehold, events }) => {
    const send = await leasehold.startJobSequence({ typeName: "send", input: { to: "Ada" } });
    const digest = await leasehold.startJobSequence({ typeName: "digest", startBlockers: () => [send] });
    await leasehold.jobs.cancel({ ids: [send.id] });
    const before = [await leasehold.jobs.get({ id: send.id }), await leasehold.jobs.get({ id: digest.id })];

    const rehearsal = await leasehold.jobs.redrive({ ids: [send.id], dryRun: true });

    assert.deepEqual(
      [await leasehold.jobs.get({ id: send.id }), await leasehold.jobs.get({ id: digest.id })],
      before,
    );
    assert.equal(events.all("jobRedriven").length, 0);
    const performance = await leasehold.jobs.redrive({ ids: [send.id] });
    assert.deepEqual(rehearsal, performance);
    assert.deepEqual(performance.changed, [{ id: send.id, sequenceId: send.id, revivedIds: [digest.id] }]);
  });

  test(
    "a dry run inside a transaction changes nothing, or is refused where it could not be undone alone",
    jobTypes,
    async ({ leasehold, stateAdapter }) => {
      const send = await leasehold.startJobSequence({ typeName: "send", input: { to: "Ada" } });
      await leasehold.jobs.cancel({ ids: [send.id] });
      await leasehold.runInTransaction(async () => {
        const rehearsal = leasehold.jobs.redrive({ ids: [send.id], dryRun: true });
        if (stateAdapter.capabilities.savepoints) assert.equal((await rehearsal).changed.length, 1);
        else await assert.rejects(rehearsal, { code: "InvalidOption", option: "dryRun" });
        // Refused before anything was tried, so the transaction goes on.
        assert.equal((await leasehold.jobs.get({ id: send.id }))?.status, "failed");
      });
      assert.equal((await leasehold.jobs.get({ id: send.id }))?.status, "failed");
    },
  );

  test("what cannot be redriven is skipped, with the reason", jobTypes, async ({ leasehold }) => {
    const deduplication = { key: randomUUID() };
    const pending = await leasehold.startJobSequence({ typeName: "send", input: { to: "Ada" } });
    const blocker = await leasehold.startJobSequence({ typeName: "send", input: { to: "Bob" } });
    const dependant = await leasehold.startJobSequence({
      typeName: "digest",
      startBlockers: () => [blocker],
    });
    const replaced = await leasehold.startJobSequence({
      typeName: "send",
      input: { to: "Cy" },
      deduplication,
    });
    await leasehold.jobs.cancel({ ids: [blocker.id, replaced.id] });
    const replacement = await leasehold.startJobSequence({
      typeName: "send",
      input: { to: "Cy" },
      deduplication,
    });
    assert.notEqual(replacement.id, replaced.id);

    const report = await leasehold.jobs.redrive({ ids: [pending.id, unknownId, dependant.id, replaced.id] });

    assert.deepEqual(report, {
      changed: [],
      skipped: [
        { id: pending.id, reason: "not_failed" },
        { id: unknownId, reason: "not_found" },
        { id: dependant.id, reason: "blocker_failed" },
        { id: replaced.id, reason: "duplicate_live" },
      ],
      cursor: null,
    });
  });
};
