import assert from "node:assert/strict";
import { InvalidOptionError } from "../../base/errors.ts";
import { defineJobTypes, defineUnionJobTypes, typeOnly } from "../../job-types/define.ts";
import { createLeasehold } from "../../leasehold.ts";
import { createNoopNotifyAdapter } from "../../notify/in-process.ts";
import { QueueRequiredError, StorePartMissingError } from "../../store/errors.ts";
import type { Scenario } from "../scenario.ts";
import type { Story } from "../story.ts";

const jobTypes = defineJobTypes({ work: { input: typeOnly<{ n: number }>() } });

type JobTypesOf<T> = T extends { readonly "~definitions"?: infer TDefs } ? TDefs : never;

type ScopesStory = Story<JobTypesOf<typeof jobTypes>>;

/** A process that has no settings of any type, such as the command line. */
const openWithoutSettings = ({ stateAdapter }: ScopesStory) =>
  createLeasehold({
    stateAdapter,
    notifyAdapter: createNoopNotifyAdapter(),
    jobTypes: defineUnionJobTypes<Record<string, { input: null; output: null }>>(),
  });

/** Which queue a call on the limits of a type means. */
export const describeLimitScopes: Scenario = ({ test: register }) => {
  const test = (name: string, tell: (story: ScopesStory) => Promise<void>): void =>
    register(name, jobTypes, async (story) => {
      if (story.stateAdapter.limits !== undefined) return tell(story);
      const outside = await openWithoutSettings(story);
      await assert.rejects(outside.limits.pause({ typeName: "unknown" }), StorePartMissingError);
    });

  const isRefused = (typeName: string, queues: readonly string[]) => (error: unknown) => {
    assert.ok(error instanceof QueueRequiredError);
    assert.deepEqual([error.typeName, error.queues], [typeName, queues]);
    for (const queue of queues) assert.ok(error.message.includes(queue));
    return true;
  };

  test("without settings of a type, its limits are those of the queue that has its jobs", async (story) => {
    const outside = await openWithoutSettings(story);
    const typeName = `mail ${story.queue}`;
    const { queue } = story;
    const job = await outside.startJobSequence({ typeName, input: null, queue, group: "acme" });
    assert.equal((await outside.limits.pause({ typeName })).queue, queue);
    const { summary } = await outside.jobs.explain(job);
    assert.match(summary, /paused/);
    assert.equal((await outside.limits.set({ typeName, concurrency: 3 })).queue, queue);
    assert.deepEqual(
      (await outside.limits.listGroups({ typeName })).groups.map(({ group }) => group),
      ["acme"],
    );
    // The rule shows the queue when the jobs are gone.
    await outside.deleteJobSequences({ rootSequenceIds: [job.id] });
    const resumed = await outside.limits.resume({ typeName });
    assert.deepEqual([resumed.queue, resumed.paused, resumed.concurrency], [queue, false, 3]);
  });

  test("limits of one group are shown in the rule of its type, and go one by one", async (story) => {
    const outside = await openWithoutSettings(story);
    const typeName = `mail ${story.queue}`;
    const { queue } = story;
    const job = await outside.startJobSequence({ typeName, input: null, queue, group: "acme" });
    const rate = { limit: 5, perMs: 60_000, burst: null };
    const set = await outside.limits.set({ typeName, group: "acme", concurrency: 2, rate });
    assert.deepEqual([set.queue, set.concurrency, set.perGroup], [queue, null, null]);
    assert.deepEqual(set.groups, { acme: { concurrency: 2, rate } });
    const listed = await outside.limits.list({ queue });
    assert.deepEqual(listed.find((rule) => rule.typeName === typeName)?.groups, set.groups);
    const kept = await outside.limits.set({ typeName, group: "acme", concurrency: null });
    assert.deepEqual(kept.groups, { acme: { concurrency: null, rate } });
    await outside.deleteJobSequences({ rootSequenceIds: [job.id] });
    // The rule shows the queue when the jobs are gone.
    assert.deepEqual((await outside.limits.set({ typeName, group: "acme", rate: null })).groups, {});
  });

  test("the groups of a type come in pages by name", async (story) => {
    const outside = await openWithoutSettings(story);
    const typeName = `mail ${story.queue}`;
    for (const group of ["c", "a", "d", "b", "e"])
      await outside.startJobSequence({ typeName, input: null, queue: story.queue, group });
    const first = await outside.limits.listGroups({ typeName, limit: 2 });
    const second = await outside.limits.listGroups({ typeName, limit: 2, cursor: first.cursor });
    const third = await outside.limits.listGroups({ typeName, limit: 2, cursor: second.cursor });
    const pages = [first, second, third].map(({ groups }) => groups.map(({ group }) => group).join(""));
    assert.deepEqual([...pages, third.cursor], ["ab", "cd", "e", null]);
    assert.equal((await outside.limits.listGroups({ typeName, limit: 2, order: "waiting" })).cursor, null);
    await assert.rejects(
      outside.limits.listGroups({ typeName, order: "waiting", cursor: first.cursor }),
      (error) => error instanceof InvalidOptionError && error.option === "cursor",
    );
  });

  test("with jobs of the type in several queues, the call is refused; with none, the default queue is meant", async (story) => {
    const outside = await openWithoutSettings(story);
    const typeName = `mail ${story.queue}`;
    const queues = [`${story.queue}-a`, `${story.queue}-b`];
    const calls = [
      () => outside.limits.pause({ typeName }),
      () => outside.limits.set({ typeName, concurrency: 1 }),
      () => outside.limits.resume({ typeName }),
      () => outside.limits.resume({ typeName, group: "acme" }),
    ];
    const listGroups = () => outside.limits.listGroups({ typeName });
    assert.deepEqual(await listGroups(), { groups: [], cursor: null });
    assert.equal((await outside.limits.resume({ typeName })).queue, "default");
    for (const queue of queues) await outside.startJobSequence({ typeName, input: null, queue });
    for (const call of [...calls, listGroups]) await assert.rejects(call(), isRefused(typeName, queues));
    const rules = await Promise.all([...queues, "default"].map((queue) => outside.limits.list({ queue })));
    assert.ok(
      rules.flat().every((rule) => rule.typeName !== typeName),
      "no rule was made",
    );
    assert.equal((await outside.limits.pause({ typeName, queue: queues[1]! })).paused, true);
  });

  test("a process with settings of a type means the queue that they name", async (story) => {
    const { leasehold, queue } = story;
    assert.equal((await leasehold.limits.pause({ typeName: "work" })).queue, queue);
    await leasehold.limits.resume({ typeName: "work" });
  });

  test("a handler pauses its group for a time, and the next job of the group runs when that is over", async (story) => {
    const { leasehold, work, completion } = story;
    const [first, second, other] = await leasehold.startJobSequences({
      sequences: ["acme", "acme", "globex"].map((group, n) => ({
        typeName: "work" as const,
        input: { n },
        group,
      })),
    });
    const begun: number[] = [];
    let pausedUntil = Infinity;
    const worker = leasehold.createWorker().implementJobType({
      typeName: "work",
      process: async ({ job }) => {
        begun[job.input.n] = (await leasehold.getTime()).getTime();
        if (job.input.n > 0) return;
        const pauseFor = (afterMs: number) =>
          leasehold.limits.pause({ typeName: "work", group: "acme", until: { afterMs } });
        await pauseFor(600_000);
        const explained = await leasehold.jobs.explain(second!);
        assert.ok(explained.state === "throttled" && explained.by === "paused");
        assert.match(explained.summary, /Group "acme" .* is paused until/);
        pausedUntil = (await leasehold.getTime()).getTime() + 300;
        await pauseFor(300);
      },
    });
    await work(worker, { concurrency: 1, prefetch: 0, pollIntervalMs: 600_000 });
    for (const sequence of [first!, other!, second!]) await completion(sequence);
    assert.ok(begun[1]! >= pausedUntil, "not before the end");
  });
};
