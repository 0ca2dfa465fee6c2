import assert from "node:assert/strict";
import { defineUnionJobTypes } from "../../job-types/define.ts";
import type { DefineBlocker } from "../../job-types/markers.ts";
import { JobAttemptEndedError } from "../../store/errors.ts";
import { createGate } from "../gate.ts";
import { within } from "../patience.ts";
import type { Scenario } from "../scenario.ts";
import type { Story } from "../story.ts";
import { rescheduleJob } from "../../worker/outcome.ts";
import { aborted } from "../story-signals.ts";

interface Definitions {
  run: { input: { tools: number }; output: null };
  tool: { input: { calls: number }; output: null };
  call: { input: null; output: null };
  report: { input: null; output: null; blockers: [DefineBlocker<"call">, DefineBlocker<"call">] };
}

const jobTypes = defineUnionJobTypes<Definitions>();

type AgentStory = Story<Definitions>;

/** Notices a cancellation without a notification, and does not lose its lease on a busy machine. */
const patientHeartbeat = { leaseMs: 6_000 } as const;

const far = { afterMs: 3_600_000 } as const;

/** Starts a tree whose jobs above `call` have completed: run → tools → calls. The calls wait for their time. */
const growTree = async ({ leasehold, work, completion }: AgentStory, tools: number, calls: number) => {
  const worker = await work(
    leasehold
      .createWorker()
      .implementJobType({
        typeName: "run",
        process: async ({ job }) => {
          await leasehold.startJobSequences({
            sequences: Array.from(
              { length: job.input.tools },
              () => ({ typeName: "tool", input: { calls } }) as const,
            ),
          });
          return null;
        },
      })
      .implementJobType({
        typeName: "tool",
        process: async ({ job }) => {
          await leasehold.startJobSequences({
            sequences: Array.from(
              { length: job.input.calls },
              () => ({ typeName: "call", schedule: far }) as const,
            ),
          });
          return null;
        },
      }),
  );
  const root = await leasehold.startJobSequence({ typeName: "run", input: { tools } });
  await completion(root);
  const list = async (typeName: "tool" | "call") =>
    (await leasehold.jobs.list({ rootSequenceId: root.id, typeName, order: "oldest", limit: 1_000 })).jobs;
  const toolJobs = await list("tool");
  for (const { id } of toolJobs) await completion({ id, typeName: "tool" });
  await worker.stop();
  return { root, tools: toolJobs, calls: await list("call"), list };
};

const idsOf = (jobs: readonly { readonly id: string }[]): string[] => jobs.map(({ id }) => id).sort();

export const describeCancellationOfChildren: Scenario = ({ test }) => {
  test("without the option children continue", jobTypes, async (story) => {
    const { leasehold, work, failure } = story;
    const began = createGate();
    let childId = "";
    await work(
      leasehold.createWorker().implementJobType({
        typeName: "run",
        process: async ({ signal }) => {
          ({ id: childId } = await leasehold.startJobSequence({ typeName: "call", schedule: far }));
          began.open();
          await aborted(signal);
          return null;
        },
      }),
      patientHeartbeat,
    );
    const root = await leasehold.startJobSequence({ typeName: "run", input: { tools: 0 } });
    await began.opened;

    const report = await leasehold.jobs.cancel({ ids: [root.id] });

    assert.deepEqual(report, {
      changed: [{ id: root.id, failedIds: [] }],
      skipped: [],
      cursor: null,
    });
    assert.equal((await failure(root)).reason, "cancelled");
    assert.equal((await leasehold.jobs.get({ id: childId }))?.status, "pending");
  });

  test("every generation below a sequence, also one that has completed", jobTypes, async (story) => {
    const { leasehold } = story;
    const tree = await growTree(story, 2, 2);
    const other = await leasehold.startJobSequence({ typeName: "call", schedule: far });

    const report = await leasehold.jobs.cancel({
      ids: [tree.root.id],
      withChildren: true,
      reason: "The user closed the page.",
    });

    assert.deepEqual(idsOf(report.changed), idsOf(tree.calls));
    assert.deepEqual(report.skipped, [{ id: tree.root.id, reason: "already_completed" }]);
    for (const call of await tree.list("call")) {
      assert.ok(call.status === "failed");
      assert.equal(call.failure.reason, "cancelled");
      assert.equal(call.failure.error?.message, "The user closed the page.");
    }
    assert.equal((await leasehold.jobs.get({ id: other.id }))?.status, "pending");
  });

  test("only below the sequences that were chosen", jobTypes, async (story) => {
    const { leasehold } = story;
    const { tools, calls, list } = await growTree(story, 3, 2);
    const chosen = [tools[0]!.id, tools[2]!.id];

    await leasehold.jobs.cancel({ ids: chosen, withChildren: true });

    const below = (await list("call")).filter(({ status }) => status === "failed");
    assert.deepEqual(idsOf(below), idsOf(calls.filter(({ originId }) => chosen.includes(originId ?? ""))));
  });

  test("a dry run reports the children and changes none", jobTypes, async (story) => {
    const { leasehold, events } = story;
    const { root, calls, list } = await growTree(story, 1, 3);

    const plan = await leasehold.jobs.cancel({ ids: [root.id], withChildren: true, dryRun: true });

    assert.deepEqual(idsOf(plan.changed), idsOf(calls));
    assert.ok((await list("call")).every(({ status }) => status === "pending"));
    assert.equal(events.all("jobCancelled").length, 0);
    assert.deepEqual(await leasehold.jobs.cancel({ ids: [root.id], withChildren: true }), plan);
  });

  test("a limit is one of chosen jobs, and the cursor continues after them", jobTypes, async (story) => {
    const { leasehold, work, queue, events } = story;
    const worker = await work(
      leasehold.createWorker().implementJobType({
        typeName: "run",
        process: async () => {
          await leasehold.startJobSequence({ typeName: "call", schedule: far });
          return rescheduleJob(far);
        },
      }),
    );
    const roots = await leasehold.startJobSequences({
      sequences: [1, 2, 3].map(() => ({ typeName: "run", input: { tools: 0 } }) as const),
    });
    for (const { id } of roots) await events.first("jobAttemptRescheduled", (event) => event.id === id);
    await worker.stop();
    const filter = { queue, typeName: "run" } as const;
    const counts: number[] = [];
    let cursor: string | null = null;
    do {
      const report = await leasehold.jobs.cancel({ filter, withChildren: true, limit: 2, cursor });
      counts.push(report.changed.length);
      ({ cursor } = report);
    } while (cursor !== null);

    assert.deepEqual(counts, [4, 2]);
    const left = await leasehold.jobs.count({ queue });
    assert.deepEqual(
      left.map(({ status, count }) => [status, count]),
      [
        ["failed", 3],
        ["failed", 3],
      ],
    );
  });

  test(
    "blockers that were started with a sequence, and none that were there before",
    jobTypes,
    async (story) => {
      const { leasehold } = story;
      const before = await leasehold.startJobSequence({ typeName: "call", schedule: far });
      let ownId = "";
      const report = await leasehold.startJobSequence({
        typeName: "report",
        startBlockers: async () => {
          const own = await leasehold.startJobSequence({ typeName: "call", schedule: far });
          ownId = own.id;
          return [before, own];
        },
      });

      const { changed } = await leasehold.jobs.cancel({ ids: [report.id], withChildren: true });

      assert.deepEqual(changed, [
        { id: report.id, failedIds: [] },
        { id: ownId, failedIds: [] },
      ]);
      assert.equal((await leasehold.jobs.get({ id: before.id }))?.status, "pending");
    },
  );

  test("portions of 500, each once", jobTypes, async (story) => {
    const { openAnother } = story;
    const { root, calls } = await growTree(story, 2, 400);
    const portions: number[] = [];
    const { leasehold } = await openAnother({
      store: (adapter) => ({
        cancelSequences: (call) => {
          portions.push(call.sequenceIds.length);
          return adapter.cancelSequences(call);
        },
      }),
    });

    const { changed } = await leasehold.jobs.cancel({ ids: [root.id], withChildren: true });

    assert.deepEqual(idsOf(changed), idsOf(calls));
    assert.equal(
      portions.reduce((sum, size) => sum + size, 0),
      801,
    );
    assert.ok(Math.max(...portions) <= 500, `portions of ${portions.join(", ")}`);
  });

  test("children that are started while others are cancelled", jobTypes, async (story) => {
    const { leasehold, work, openAnother } = story;
    const began = createGate();
    const found = createGate();
    const started = createGate();
    let lateId = "";
    const worker = await work(
      leasehold
        .createWorker()
        .implementJobType({
          typeName: "run",
          process: async () => {
            await leasehold.startJobSequence({ typeName: "tool", input: { calls: 1 } });
            return null;
          },
        })
        .implementJobType({
          typeName: "tool",
          process: async ({ signal }) => {
            began.open();
            await found.opened;
            ({ id: lateId } = await leasehold.startJobSequence({ typeName: "call", schedule: far }));
            started.open();
            await aborted(signal);
            return null;
          },
        }),
      patientHeartbeat,
    );
    const root = await leasehold.startJobSequence({ typeName: "run", input: { tools: 1 } });
    await began.opened;
    // The handler starts a child after its own sequence was found, and before that is cancelled.
    const operator = await openAnother({
      store: (adapter) => ({
        listJobs: async (call) => {
          const page = await adapter.listJobs(call);
          found.open();
          await within(started.opened, "the child to be started");
          return page;
        },
      }),
    });

    const { changed } = await operator.leasehold.jobs.cancel({ ids: [root.id], withChildren: true });

    assert.ok(changed.some(({ id }) => id === lateId));
    const late = await leasehold.jobs.get({ id: lateId });
    assert.ok(late?.status === "failed");
    assert.equal(late.failure.reason, "cancelled");
    await worker.stop();
  });

  test("a child of a transaction that commits while its parent is cancelled", jobTypes, async (story) => {
    const { leasehold, work, openAnother, completion } = story;
    const inside = createGate();
    const asked = createGate();
    let childId = "";
    await work(
      leasehold.createWorker().implementJobType({
        typeName: "run",
        process: async ({ complete }) =>
          complete(async (ctx) => {
            const child = await leasehold.startJobSequence({ ...ctx, typeName: "call", schedule: far });
            childId = child.id;
            inside.open();
            await asked.opened;
            return null;
          }),
      }),
      patientHeartbeat,
    );
    const root = await leasehold.startJobSequence({ typeName: "run", input: { tools: 0 } });
    await inside.opened;

    // The completion holds the lock on its job, so the cancellation waits for it, or is tried again.
    const operator = await openAnother({
      store: (adapter) => ({
        runInTransaction: (...call) => {
          asked.open();
          return adapter.runInTransaction(...call);
        },
      }),
    });
    const { changed, skipped } = await operator.leasehold.jobs.cancel({ ids: [root.id], withChildren: true });

    await completion(root);
    assert.deepEqual(skipped, [{ id: root.id, reason: "already_completed" }]);
    assert.deepEqual(changed, [{ id: childId, failedIds: [] }]);
  });

  test("a handler starts nothing in the tree once its signal says cancelled", jobTypes, async (story) => {
    const { leasehold, work, queue } = story;
    const began = createGate();
    const settled = createGate();
    const refusals: unknown[] = [];
    let detachedId = "";
    await work(
      leasehold.createWorker().implementJobType({
        typeName: "run",
        process: async ({ signal }) => {
          began.open();
          await aborted(signal);
          const late = { typeName: "call", schedule: far } as const;
          const refuse = (error: unknown): void => void refusals.push(error);
          await leasehold.startJobSequence(late).catch(refuse);
          await leasehold.startJobSequences({ sequences: [late] }).catch(refuse);
          ({ id: detachedId } = await leasehold.startJobSequence({ ...late, detached: true }));
          settled.open();
          return null;
        },
      }),
      patientHeartbeat,
    );
    const root = await leasehold.startJobSequence({ typeName: "run", input: { tools: 0 } });
    await began.opened;

    await leasehold.jobs.cancel({ ids: [root.id], withChildren: true });
    await within(settled.opened, "the handler to settle");

    assert.equal(refusals.length, 2);
    for (const refusal of refusals) {
      assert.ok(refusal instanceof JobAttemptEndedError);
      assert.equal(refusal.reason, "cancelled");
    }
    const { jobs } = await leasehold.jobs.list({ queue, typeName: "call" });
    assert.deepEqual(
      jobs.map(({ id, status }) => [id, status]),
      [[detachedId, "pending"]],
    );
  });

  test("in a transaction", jobTypes, async (story) => {
    const { leasehold } = story;
    const { root, calls, list } = await growTree(story, 1, 2);
    const statuses = async () => (await list("call")).map(({ status }) => status);

    await assert.rejects(
      leasehold.runInTransaction(async (ctx) => {
        const { changed } = await leasehold.jobs.cancel({ ...ctx, ids: [root.id], withChildren: true });
        assert.deepEqual(idsOf(changed), idsOf(calls));
        throw new Error("second thoughts");
      }),
      /second thoughts/,
    );
    assert.deepEqual(await statuses(), ["pending", "pending"]);

    await leasehold.runInTransaction((ctx) =>
      leasehold.jobs.cancel({ ...ctx, ids: [root.id], withChildren: true }),
    );
    assert.deepEqual(await statuses(), ["failed", "failed"]);
  });
};
