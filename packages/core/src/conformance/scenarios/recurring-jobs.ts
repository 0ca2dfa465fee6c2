import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { RecurringPolicies } from "../../recurring/api.ts";
import type { Recurring } from "../../store/contract/recurring.ts";
import { defineUnionJobTypes } from "../../job-types/define.ts";
import { createLeasehold } from "../../leasehold.ts";
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

  test("a recurring job whose job the store refuses holds up no other, and is made up for later", async (story) => {
    const { leasehold } = story;
    const bad = await putSoon(story, 1);
    const good = await putSoon(story, 3);
    let refuses = true;
    const app = await story.openAnother({
      store: (adapter) => ({
        createJobs: async (call) => {
          const isBad = call.jobs.some(({ recurrence }) => recurrence?.includes(bad.id));
          if (refuses && isBad) throw new Error("value too long");
          return adapter.createJobs(call);
        },
      }),
    });
    await workOn(app);
    await until(
      async () => (await leasehold.recurring.get({ id: good.id }))?.nextAt === null,
      "every time of the good one has come",
    );
    const { counts } = (await leasehold.recurring.get({ id: good.id }))!;
    assert.equal(counts.started + counts.caught_up, 3);
    const { failure, nextAt } = (await leasehold.recurring.get({ id: bad.id }))!;
    assert.deepEqual(failure?.error, { name: "Error", message: "value too long" });
    assert.ok(failure.tries >= 1 && failure.retryAt !== null);
    assert.equal(nextAt?.getTime(), bad.anchorAt.getTime(), "its time stays");
    const failed = await app.events.first("recurringJobFailed");
    assert.deepEqual([failed.recurringJobId, failed.typeName, failed.tries], [bad.id, "report", 1]);

    refuses = false;
    await until(
      async () => (await leasehold.recurring.get({ id: bad.id }))?.nextAt === null,
      "it was made up for",
    );
    const mended = (await leasehold.recurring.get({ id: bad.id }))!;
    assert.equal(mended.failure, null);
    assert.equal(mended.counts.started + mended.counts.caught_up, 1);
  });

  test("a recurring job whose job the store refuses is not put", async (story) => {
    const refused = new Error("value too long");
    const app = await story.openAnother({ store: () => ({ createJobs: () => Promise.reject(refused) }) });
    const recurring = await soon(story, 1);
    await assert.rejects(app.leasehold.recurring.put(recurring), {
      code: "RecurringJobRefused",
      id: recurring.id,
      cause: refused,
    });
    assert.equal(await story.leasehold.recurring.get({ id: recurring.id }), undefined);
    const { jobs } = await story.leasehold.jobs.list({ queue: story.queue });
    assert.deepEqual(jobs, []);
    await story.leasehold.recurring.put({ ...recurring, paused: true });
    assert.deepEqual(
      (await story.leasehold.jobs.list({ queue: story.queue })).jobs,
      [],
      "a job that was only tried does not stay",
    );
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

  test("a clock that is set back silences no recurring job, and brings no time twice", async (story) => {
    let setBackMs = 0;
    const app = await story.openAnother({
      store: (adapter) => {
        const getTime: typeof adapter.getTime = async (call) => (await adapter.getTime(call)) - setBackMs;
        return {
          getTime,
          ...withRecurring(adapter, (part) => ({
            nextRecurringIn: async (call) => part.nextRecurringIn({ ...call, now: await getTime(call) }),
            lockDueRecurring: async (call) => part.lockDueRecurring({ ...call, now: await getTime(call) }),
          })),
        };
      },
    });
    const recurring = { ...(await soon(story, 1)), endAt: null };
    await story.leasehold.recurring.put(recurring);
    await workOn(app);
    const ticksOf = () =>
      app.events
        .all("recurringJobTicked")
        .filter(({ recurringJobId }) => recurringJobId === recurring.id)
        .map(({ nominalAt }) => nominalAt);
    await until(() => ticksOf().length >= 2, "it runs");
    setBackMs = 2 * 3_600_000;
    const before = ticksOf().length;
    await until(() => ticksOf().length >= before + 3, "it goes on");
    await story.leasehold.recurring.delete({ id: recurring.id });
    const times = ticksOf();
    assert.equal(new Set(times).size, times.length);
    assert.ok(times.at(-1)! < times[0]!, "times are counted from the present");
    const { jobs } = await story.leasehold.jobs.list({ recurringJobId: recurring.id, limit: 100 });
    const nominal = jobs.map(({ recurrence }) => recurrence!.nominalAt.getTime());
    assert.equal(new Set(nominal).size, nominal.length);
    const [setBack] = app.events.all("storeClockSetBack");
    assert.ok(setBack && setBack.recurringJobs >= 1 && setBack.byMs > 7_000_000);
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

  test("jobs can be listed, counted and cancelled by the recurring job that started them", async (story) => {
    const { leasehold } = story;
    const [nightly, hourly] = [await soon(story, 1), await soon(story, 1)];
    const started: string[] = [];
    for (const recurring of [nightly, hourly]) {
      await leasehold.recurring.put({ ...recurring, paused: true });
      started.push((await leasehold.recurring.trigger({ id: recurring.id })).sequenceId!);
    }
    const filter = { recurringJobId: nightly.id };
    const { jobs } = await leasehold.jobs.list(filter);
    assert.deepEqual(
      jobs.map(({ id }) => id),
      [started[0]],
    );
    const [count] = await leasehold.jobs.count({ recurringJobId: [nightly.id, hourly.id] });
    assert.equal(count?.count, 2);
    const { changed } = await leasehold.jobs.cancel({ filter });
    assert.deepEqual(changed, [{ id: started[0], failedIds: [] }]);
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

  test("declared ones are read and written together, and nothing is written if none has changed", async ({
    stateAdapter,
  }) => {
    const prefix = randomUUID();
    const owner = `shop-${prefix}`;
    const declared = Array.from({ length: 1_200 }, (_, index) => ({
      id: `${prefix}-${String(index).padStart(4, "0")}`,
      everyMs: 3_600_000,
      paused: true,
      job: { typeName: "report" as const },
    }));
    const start = async (jobs: typeof declared, removeOthers = false) => {
      const calls = { reads: 0, locks: 0, writes: 0, transactions: 0 };
      const part = stateAdapter.recurring!;
      const recurring: Recurring<StoryTransaction> = {
        ...part,
        getRecurring: (call) => ((calls.reads += 1), part.getRecurring(call)),
        listRecurring: (call) => ((calls.reads += 1), part.listRecurring(call)),
        lockRecurring: (call) => ((calls.locks += 1), part.lockRecurring(call)),
        putRecurring: (call) => ((calls.writes += 1), part.putRecurring(call)),
        deleteRecurring: (call) => ((calls.writes += 1), part.deleteRecurring(call)),
      };
      const runInTransaction: StoryStateAdapter["runInTransaction"] = (callback, parent, options) => {
        // The trial of the jobs is a savepoint, or a transaction of its own in a store without them.
        if (parent === undefined) calls.transactions += 1;
        return stateAdapter.runInTransaction(callback, parent, options);
      };
      await createLeasehold({
        stateAdapter: { ...stateAdapter, recurring, runInTransaction },
        jobTypes,
        recurringJobs: { jobs, owner, removeOthers },
      });
      return calls;
    };
    const own = async () => {
      const rows = await stateAdapter.recurring!.listRecurring({ owner, limit: 2_000, after: null });
      return rows.map(({ id, version }) => [id, version]);
    };
    const trials = stateAdapter.capabilities.savepoints ? 0 : 1;

    const first = await start(declared);
    assert.deepEqual(first, { reads: 2, locks: 3, writes: 3, transactions: 3 + 3 * trials });
    assert.deepEqual(
      await own(),
      declared.map(({ id }) => [id, 1]),
    );
    const nothing = { reads: 2, locks: 0, writes: 0, transactions: 0 };
    assert.deepEqual(await start(declared), nothing);
    assert.deepEqual(await start(declared, true), nothing);

    const changed = declared.map((job, index) => (index % 600 === 7 ? { ...job, everyMs: 60_000 } : job));
    assert.deepEqual(await start(changed), { reads: 2, locks: 1, writes: 1, transactions: 1 + trials });
    const fewer = changed.slice(0, 100);
    assert.deepEqual(await start(fewer, true), { reads: 2, locks: 0, writes: 1, transactions: 0 });
    assert.deepEqual(
      await own(),
      fewer.map(({ id }, index) => [id, index === 7 ? 2 : 1]),
    );
    await start([], true);
  });

  test("of declared ones whose job the store refuses, the error names the first, and its portion is not put", async ({
    stateAdapter,
  }) => {
    const prefix = randomUUID();
    const jobs = ["a", "b", "c"].map((name) => ({
      id: `${prefix}-${name}`,
      everyMs: 3_600_000,
      paused: true,
      job: { typeName: "report" as const, priority: name === "b" ? 13 : 0 },
    }));
    const refused = new Error("value too long");
    const createJobs: StoryStateAdapter["createJobs"] = async (call) => {
      if (call.jobs.some(({ priority }) => priority === 13)) throw refused;
      return stateAdapter.createJobs(call);
    };
    await assert.rejects(
      createLeasehold({
        stateAdapter: { ...stateAdapter, createJobs },
        jobTypes,
        recurringJobs: { jobs, owner: prefix },
      }),
      { code: "RecurringJobRefused", id: jobs[1]!.id, cause: refused },
    );
    const rows = await stateAdapter.recurring!.listRecurring({ owner: prefix, limit: 10, after: null });
    assert.deepEqual(rows, []);
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
