import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { RecurringPolicies } from "../../recurring/api.ts";
import type { Recurring } from "../../store/contract/recurring.ts";
import { defineUnionJobTypes } from "../../job-types/define.ts";
import { until } from "../patience.ts";
import type { Scenario, ScenarioSuite } from "../scenario.ts";
import type { Story, StoryApp, StoryStateAdapter, StoryTransaction } from "../story.ts";

interface Types {
  report: { input: null; output: null };
}
const jobTypes = defineUnionJobTypes<Types>();
const each = { overlap: "allow", catchUp: "all" } as const;

/** Times that begin soon, a second apart. */
const soon = async ({ stateAdapter }: Story<Types>, times: number, leadMs = 100) => {
  const anchorAt = new Date((await stateAdapter.getTime()) + leadMs);
  const endAt = new Date(anchorAt.getTime() + 1_000 * (times - 1) + 500);
  return {
    id: `recurring-${randomUUID()}`,
    everyMs: 1_000,
    anchorAt,
    endAt,
    ...each,
    job: { typeName: "report" },
  } as const;
};

/**
 * Puts one before its first time comes, however slow the machine is: a time before that would not count. From then on times
 * may come late, but none is left out.
 */
const putSoon = async (story: Story<Types>, times: number, policies: RecurringPolicies = each) => {
  for (let leadMs = 100; ; leadMs *= 2) {
    const recurring = { ...(await soon(story, times, leadMs)), ...policies };
    const { nextAt } = await story.leasehold.recurring.put(recurring);
    if (nextAt?.getTime() === recurring.anchorAt.getTime()) return recurring;
    await story.leasehold.recurring.delete({ id: recurring.id });
  }
};

type Process = (options: { readonly signal: AbortSignal }) => Promise<null>;
const workOn = ({ leasehold, work }: StoryApp<Types>, process: Process = async () => null) =>
  work(leasehold.createWorker().implementJobType({ typeName: "report", process }));

/** When every time has come: what it became, and the jobs that are there. */
const readEnd = async ({ leasehold, queue }: Story<Types>, id: string) => {
  await until(async () => (await leasehold.recurring.get({ id }))?.nextAt === null, "every time has come");
  const { jobs } = await leasehold.jobs.list({ queue, order: "oldest" });
  return { recurring: (await leasehold.recurring.get({ id }))!, jobs };
};

/** The same store with a few methods of its recurring jobs replaced. */
const withRecurring = (
  adapter: StoryStateAdapter,
  replace: (recurring: Recurring<StoryTransaction>) => Partial<Recurring<StoryTransaction>>,
): Partial<StoryStateAdapter> => ({ recurring: { ...adapter.recurring!, ...replace(adapter.recurring!) } });

const expectOncePerTime = async (story: Story<Types>, id: string, anchorAt: Date, times: number) => {
  const { recurring, jobs } = await readEnd(story, id);
  const expected = Array.from({ length: times }, (_, index) => anchorAt.getTime() + index * 1_000);
  assert.deepEqual(
    jobs.map(({ recurrence }) => [recurrence?.id, recurrence?.nominalAt.getTime()]),
    expected.map((time) => [id, time]),
  );
  assert.equal(recurring.counts.started + recurring.counts.caught_up, times);
  assert.deepEqual(
    recurring.recent.map(({ sequenceId }) => sequenceId).toReversed(),
    jobs.map((job) => job.id),
  );
};

const isOffered = (story: Story<Types>): boolean => story.stateAdapter.recurring !== undefined;

/** A story for stores that have recurring jobs; the others must say that they have none. */
const tell =
  ({ test }: ScenarioSuite) =>
  (name: string, told: (story: Story<Types>) => Promise<void>): void =>
    test(name, jobTypes, async (story) => {
      if (isOffered(story)) return told(story);
      const put = story.leasehold.recurring.put({
        id: "none",
        everyMs: 1_000,
        job: { typeName: "report" },
      });
      return assert.rejects(put, { code: "StorePartMissing", part: "recurring" });
    });

export const describeRecurringJobs: Scenario = (suite) => {
  const test = tell(suite);

  test("three workers that tick start one job at each time", async (story) => {
    const recurring = await putSoon(story, 3);
    const apps = [story, await story.openAnother(), await story.openAnother()];
    await Promise.all(apps.map((app) => workOn(app)));
    await expectOncePerTime(story, recurring.id, recurring.anchorAt, 3);
    const ticks = apps.flatMap(({ events }) => events.all("recurringJobTicked"));
    const own = ticks.filter(({ recurringJobId }) => recurringJobId === recurring.id);
    assert.ok(own.length <= 3, "no tick is told twice");
  });

  test("a tick that fails halfway has not happened", async (story) => {
    let failures = 0;
    const app = await story.openAnother({
      store: (adapter) =>
        withRecurring(adapter, (part) => ({
          advanceRecurring: async (call) => {
            failures += 1;
            if (failures <= 2) throw new Error("The process is gone.");
            return part.advanceRecurring(call);
          },
        })),
    });
    const recurring = await putSoon(story, 2);
    await workOn(app);
    await expectOncePerTime(story, recurring.id, recurring.anchorAt, 2);
    assert.ok(failures > 2);
  });

  test("a tick whose answer is lost has happened, and does not happen again", async (story) => {
    const recurring = await putSoon(story, 2);
    let lost = 0;
    const app = await story.openAnother({
      store: (adapter) => {
        let isTick = false;
        return {
          ...withRecurring(adapter, (part) => ({
            advanceRecurring: async (call) => {
              isTick ||= call.jobs.some(({ id }) => id === recurring.id);
              return part.advanceRecurring(call);
            },
          })),
          runInTransaction: async (callback, parent, options) => {
            const answer = await adapter.runInTransaction(callback, parent, options);
            if (!isTick || lost > 0) return answer;
            lost += 1;
            throw new Error("The connection was lost.");
          },
        };
      },
    });
    await workOn(app);
    await expectOncePerTime(story, recurring.id, recurring.anchorAt, 2);
    assert.equal(lost, 1);
  });

  test("`skip` leaves out a time at which the last sequence runs, `replace` ends the sequence", async (story) => {
    const { leasehold } = story;
    const skipping = await putSoon(story, 1, { overlap: "skip", catchUp: "last" });
    const replacing = await putSoon(story, 1, { overlap: "replace", catchUp: "last" });
    const started: string[] = [];
    for (const recurring of [skipping, replacing]) {
      started.push((await leasehold.recurring.trigger({ id: recurring.id })).sequenceId!);
    }
    const untilAborted = ({ signal }: { readonly signal: AbortSignal }) =>
      new Promise<null>((resolve) => signal.addEventListener("abort", () => resolve(null)));
    await workOn(story, untilAborted);
    const { recurring: skipped } = await readEnd(story, skipping.id);
    assert.deepEqual(
      skipped.recent.map(({ result, sequenceId }) => [result, sequenceId]),
      [
        ["skipped", started[0]],
        ["started", started[0]],
      ],
    );
    const { recurring: replaced } = await readEnd(story, replacing.id);
    assert.equal(replaced.counts.started + replaced.counts.caught_up, 2);
    assert.equal((await leasehold.jobs.get({ id: started[1]! }))?.status, "failed");
  });

  test("a put, a trigger and a deletion belong to the caller's transaction", async (story) => {
    const { leasehold } = story;
    const recurring = { ...(await soon(story, 2)), paused: true };
    const undo = new Error("undone");
    const attempt = leasehold.runInTransaction(async (ctx) => {
      await leasehold.recurring.put({ ...ctx, ...recurring });
      const { sequenceId } = await leasehold.recurring.trigger({ ...ctx, id: recurring.id });
      assert.ok(await leasehold.jobs.get({ ...ctx, id: sequenceId! }));
      throw undo;
    });
    await assert.rejects(attempt, undo);
    assert.equal(await leasehold.recurring.get({ id: recurring.id }), undefined);

    await leasehold.recurring.put(recurring);
    const { sequenceId } = await leasehold.recurring.trigger({ id: recurring.id });
    assert.equal((await leasehold.jobs.get({ id: sequenceId! }))?.recurrence?.id, recurring.id);
    await assert.rejects(
      leasehold.runInTransaction(async (ctx) => {
        await leasehold.recurring.delete({ ...ctx, id: recurring.id });
        throw undo;
      }),
      undo,
    );
    assert.deepEqual(await leasehold.recurring.delete({ id: recurring.id }), { deleted: true });
    assert.ok(await leasehold.jobs.get({ id: sequenceId! }), "what it has started stays");
  });

  test("of many that put the same new one at once, one creates it and the others find it", async (story) => {
    const recurring = await soon(story, 2);
    const put = await Promise.all(
      Array.from({ length: 8 }, (_, index) =>
        story.leasehold.recurring.put({ ...recurring, paused: true, jitterMs: index % 2 }),
      ),
    );
    // Each change is seen by the next: none is lost, and none is made twice.
    const { version } = (await story.leasehold.recurring.get({ id: recurring.id }))!;
    assert.equal(Math.max(...put.map((job) => job.version)), version);
    assert.equal(put.filter((job) => job.version === 1).length > 0, true);
  });
};
