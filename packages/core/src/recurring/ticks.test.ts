import { describe, expect, it } from "vitest";
import { createSystemRuntime } from "../base/runtime.ts";
import { defineUnionJobTypes } from "../job-types/define.ts";
import { createLeasehold } from "../leasehold.ts";
import type { LeaseholdEvents } from "../observability/events.ts";
import { type FaultPlan, onNthCall } from "../testing/fault-plans.ts";
import { withFaults } from "../testing/faults.ts";
import { createTestKit } from "../testing/test-kit.ts";
import type { PutRecurringJobOptions } from "./api.ts";

interface Types {
  report: { input: null; output: null };
}

const jobTypes = defineUnionJobTypes<Types>();

const minuteMs = 60_000;

const hourMs = 60 * minuteMs;
// The ticker sleeps until something is due, whatever these say.
const calmly = { pollIntervalMs: 10 * minuteMs, reapIntervalMs: 10 * minuteMs };

/** A worker whose handler takes `takesMs`, and what became of every time. */
const createStory = async ({ takesMs = 0, startAt = "2030-01-01T00:00:00Z" } = {}) => {
  const ticks: LeaseholdEvents["recurringJobTicked"][] = [];
  const runs: string[] = [];
  const missed: number[] = [];
  const kit = await createTestKit({
    jobTypes,
    observabilityAdapter: { recurringJobTicked: (tick) => ticks.push(tick) },
  });
  kit.clock.stepWallClock(Date.parse(startAt) - kit.clock.now());
  const { leasehold, clock } = kit;
  const worker = leasehold.createWorker().implementJobType({
    typeName: "report",
    process: async ({ job, signal }) => {
      runs.push(job.recurrence!.nominalAt.toISOString().slice(0, 16));
      missed.push(job.recurrence!.missed);
      if (takesMs > 0)
        await new Promise<void>((resolve) => {
          const cancel = clock.setTimer(resolve, takesMs);
          signal.addEventListener("abort", () => {
            cancel();
            resolve();
          });
        });
      return null;
    },
  });
  const put = (options: Partial<PutRecurringJobOptions<Types, "report">> = {}) =>
    leasehold.recurring.put({
      id: "hourly",
      job: { typeName: "report" },
      ...("cron" in options ? {} : { everyMs: hourMs }),
      ...options,
    } as PutRecurringJobOptions<Types, "report">);
  return {
    ...kit,
    runs,
    missed,
    ticks,
    put,
    results: () => ticks.map(({ result, count }) => (count === 1 ? result : `${result} ${count}`)),
    /** Time passes with a worker. */
    pass: (ms: number) => kit.advance(worker, ms, calmly),
    /** Time passes with a worker that is stopped at the end, whatever it is at. */
    passAndStop: async (ms: number) => {
      const running = await clock.runUntil(worker.start(calmly));
      await clock.advanceBy(ms);
      await clock.runUntil(running.stop({ deadlineMs: 0 }));
    },
    /** Time passes without one. */
    outage: (ms: number) => clock.advanceBy(ms),
    read: async () => (await leasehold.recurring.get({ id: "hourly" }))!,
  };
};

describe("a recurring job", () => {
  it("starts a job at each of its times, without delay", async () => {
    const story = await createStory();
    await story.put();
    await story.pass(3 * hourMs + 1);
    expect(story.runs).toEqual(["2030-01-01T01:00", "2030-01-01T02:00", "2030-01-01T03:00"]);
    expect(story.missed).toEqual([0, 0, 0]);
    expect(story.ticks).toHaveLength(3);
    expect(story.ticks[0]).toMatchObject({
      recurringJobId: "hourly",
      typeName: "report",
      queue: "default",
      result: "started",
      latenessMs: 0,
      count: 1,
      triggered: false,
    });
    const { counts, recent, nextAt, lastSequenceId } = await story.read();
    expect(counts).toEqual({ started: 3, caught_up: 0, skipped: 0, dropped: 0 });
    expect(nextAt).toEqual(new Date("2030-01-01T04:00:00Z"));
    expect(recent.map(({ nominalAt }) => nominalAt.getUTCHours())).toEqual([3, 2, 1]);
    expect(recent[0]?.sequenceId).toBe(lastSequenceId);
    const job = await story.leasehold.jobs.get({ id: lastSequenceId! });
    expect(job).toMatchObject({ status: "completed", originId: null, rootSequenceId: lastSequenceId });
  });

  it("that is put while a worker sleeps wakes it", async () => {
    const story = await createStory();
    await story.put({ everyMs: 24 * hourMs });
    const worker = story.leasehold
      .createWorker()
      .implementJobType({ typeName: "report", process: async () => null });
    const running = await story.clock.runUntil(worker.start());
    await story.clock.advanceBy(5_000);
    await story.put({ id: "soon", everyMs: 10_000 });
    await story.clock.advanceBy(5_100);
    expect(story.ticks).toMatchObject([{ recurringJobId: "soon", latenessMs: 0 }]);
    await story.clock.runUntil(running.stop());
  });

  it("that another process puts first is seen within 15 seconds, without a notification", async () => {
    const story = await createStory();
    const worker = story.leasehold
      .createWorker()
      .implementJobType({ typeName: "report", process: async () => null });
    const running = await story.clock.runUntil(worker.start({ reapIntervalMs: 5_000 }));
    await story.clock.advanceBy(1_000);
    const { clock } = story;
    const runtime = { ...createSystemRuntime(), clock };
    const elsewhere = await createLeasehold({ stateAdapter: { ...story.stateAdapter }, jobTypes, runtime });
    await elsewhere.recurring.put({ id: "first", everyMs: 20_000, job: { typeName: "report" } });
    await clock.advanceBy(20_000);
    expect(story.ticks).toMatchObject([{ recurringJobId: "first", latenessMs: 0 }]);
    await clock.runUntil(running.stop());
  });

  it("ends before `endAt`", async () => {
    const story = await createStory();
    await story.put({ startAt: new Date("2030-01-01T02:00:00Z"), endAt: new Date("2030-01-01T04:00:00Z") });
    await story.pass(8 * hourMs);
    expect(story.runs).toEqual(["2030-01-01T02:00", "2030-01-01T03:00"]);
    expect((await story.read()).nextAt).toBeNull();
  });

  it("begins later by its jitter, and never as late as the next time", async () => {
    const story = await createStory();
    await story.put({ jitterMs: 24 * hourMs });
    await story.pass(6 * hourMs);
    expect(story.runs.slice(0, 5)).toEqual([1, 2, 3, 4, 5].map((hour) => `2030-01-01T0${hour}:00`));
    expect(story.ticks.every(({ latenessMs }) => latenessMs === 0)).toBe(true);
    const { jobs } = await story.leasehold.jobs.list({ order: "oldest" });
    const delays = jobs.map(
      ({ createdAt, recurrence }) => createdAt.getTime() - recurrence!.nominalAt.getTime(),
    );
    expect(Math.max(...delays)).toBeGreaterThan(minuteMs);
    expect(Math.max(...delays)).toBeLessThan(hourMs);
  });

  it("keeps to the clock on the wall through daylight saving", async () => {
    const story = await createStory({ startAt: "2030-03-30T00:00:00Z" });
    await story.put({ cron: "30 2 * * *", timeZone: "Europe/Berlin" });
    await story.pass(3 * 24 * hourMs);
    // 02:30 does not exist on the 31st: clocks go from 02:00 to 03:00, which is 01:00 UTC.
    expect(story.runs).toEqual(["2030-03-30T01:30", "2030-03-31T01:00", "2030-04-01T00:30"]);
    story.clock.stepWallClock(Date.parse("2030-10-26T00:00:00Z") - story.clock.now());
    await story.leasehold.recurring.pause({ id: "hourly" });
    await story.leasehold.recurring.resume({ id: "hourly" });
    story.runs.length = 0;
    await story.pass(3 * 24 * hourMs);
    // 02:30 comes twice on the 27th, and the job once.
    expect(story.runs).toEqual(["2030-10-26T00:30", "2030-10-27T00:30", "2030-10-28T01:30"]);
  });
});

describe("a tick", () => {
  const createFaulty = async (plan: FaultPlan) => {
    const kit = await createTestKit({ jobTypes, wrapStateAdapter: (adapter) => withFaults(adapter, plan) });
    const worker = kit.leasehold
      .createWorker()
      .implementJobType({ typeName: "report", process: async () => null });
    await kit.leasehold.recurring.put({ id: "hourly", everyMs: hourMs, job: { typeName: "report" } });
    await kit.advance(worker, hourMs + minuteMs);
    return kit.leasehold;
  };

  // The put creates a job, too, and rolls it back.
  it.each([
    ["lockDueRecurring", 1],
    ["createJobs", 2],
    ["advanceRecurring", 1],
  ])("whose %s fails has not happened, and comes again", async (method, nth) => {
    const leasehold = await createFaulty(onNthCall(method, nth, { kind: "fail_before" }));
    expect((await leasehold.jobs.list()).jobs).toHaveLength(1);
    expect((await leasehold.recurring.get({ id: "hourly" }))?.counts).toMatchObject({ started: 1 });
  });
});

describe("a recurring job whose job the store refuses", () => {
  const createRefusing = async () => {
    const tries: number[] = [];
    let refuses = false;
    const kit = await createTestKit({
      jobTypes,
      wrapStateAdapter: (adapter) => ({
        ...adapter,
        createJobs: async (call) => {
          if (refuses && call.jobs.some(({ recurrence }) => recurrence?.includes("bad")))
            throw new Error("value too long");
          return adapter.createJobs(call);
        },
      }),
      observabilityAdapter: { recurringJobFailed: ({ retryInMs }) => tries.push(retryInMs) },
    });
    const { recurring } = kit.leasehold;
    for (const id of ["bad", "good"])
      await recurring.put({
        id,
        everyMs: hourMs,
        job: { typeName: "report" },
        catchUp: "all",
        overlap: "allow",
      });
    const worker = kit.leasehold
      .createWorker()
      .implementJobType({ typeName: "report", process: async () => null });
    return {
      tries,
      recurring,
      refuse: (on: boolean) => {
        refuses = on;
      },
      pass: (ms: number) => kit.advance(worker, ms, calmly),
    };
  };

  it("holds up no other, and is tried again within a minute each time", async () => {
    const { tries, recurring, refuse, pass } = await createRefusing();
    refuse(true);
    await pass(2 * hourMs + minuteMs);
    expect(await recurring.get({ id: "good" })).toMatchObject({ failure: null, counts: { started: 2 } });
    expect(await recurring.get({ id: "bad" })).toMatchObject({
      failure: { tries: tries.length, error: { name: "Error", message: "value too long" } },
      counts: { started: 0 },
    });
    expect(tries.length).toBeGreaterThan(60);
    expect(tries.length).toBeLessThan(140);
    expect(tries[0]).toBeLessThanOrEqual(1_000);
    expect(Math.max(...tries)).toBeLessThanOrEqual(minuteMs);

    refuse(false);
    await pass(minuteMs);
    expect(await recurring.get({ id: "bad" })).toMatchObject({ failure: null, counts: { caught_up: 2 } });
  });

  it("is tried at once when it is changed", async () => {
    const { recurring, refuse, pass } = await createRefusing();
    refuse(true);
    await pass(hourMs + 10 * minuteMs);
    refuse(false);
    await recurring.put({ id: "bad", everyMs: hourMs, job: { typeName: "report", priority: 1 } });
    await pass(10);
    expect(await recurring.get({ id: "bad" })).toMatchObject({ failure: null, counts: { caught_up: 1 } });
  });
});

describe("a time that was computed with older zone data", () => {
  const compute = async (outageMs: number) => {
    const story = await createStory();
    await story.put({ cron: "0 * * * *", timeZone: "Europe/Berlin" });
    const { recurring, runInTransaction } = story.stateAdapter;
    await runInTransaction(async (ctx) => {
      const row = (await recurring!.lockRecurring({ ctx, ids: ["hourly"] }))[0]!;
      // By these data, the time was half an hour earlier.
      const at = row.nextNominalAt! - hourMs / 2;
      await recurring!.putRecurring({
        ctx,
        jobs: [{ ...row, timeZoneVersion: "2000a", nextNominalAt: at, runsAt: at }],
      });
    });
    await story.outage(outageMs);
    await story.pass(minuteMs);
    return story;
  };

  it("is run if it was due", async () => {
    const story = await compute(hourMs / 2);
    expect(story.ticks).toHaveLength(1);
    expect(story.ticks[0]).toMatchObject({ nominalAt: Date.parse("2030-01-01T00:30:00Z") });
  });

  it("is computed anew if it is still to come", async () => {
    const story = await compute(0);
    await story.pass(hourMs);
    expect(story.runs).toEqual(["2030-01-01T01:00"]);
  });
});

describe("while the last sequence has not finished", () => {
  it("`skip` starts no other, and says so", async () => {
    const story = await createStory({ takesMs: 2.5 * hourMs });
    await story.put();
    await story.passAndStop(4.5 * hourMs);
    expect(story.runs).toEqual(["2030-01-01T01:00", "2030-01-01T04:00"]);
    expect(story.results()).toEqual(["started", "skipped", "skipped", "started"]);
    expect(story.ticks[1]?.sequenceId).toBe(story.ticks[0]?.sequenceId);
    expect((await story.read()).counts).toMatchObject({ started: 2, skipped: 2 });
  });

  it("`queue_one` lets one wait", async () => {
    const story = await createStory({ takesMs: 5 * minuteMs });
    await story.put({ overlap: "queue_one", everyMs: 2 * minuteMs });
    await story.passAndStop(9 * minuteMs);
    // What is for 00:04 begins when the first has finished, at 00:07. Then 00:08 waits.
    expect(story.runs).toEqual(["2030-01-01T00:02", "2030-01-01T00:04"]);
    expect(story.results()).toEqual(["started", "skipped", "caught_up"]);
    expect(story.ticks[2]!.latenessMs).toBeLessThan(3 * minuteMs + 2_000);
    expect((await story.read()).waitingFor).toEqual(new Date("2030-01-01T00:08:00Z"));
  });

  it("`replace` cancels it", async () => {
    const story = await createStory({ takesMs: 1.5 * hourMs });
    await story.put({ overlap: "replace" });
    await story.passAndStop(2.2 * hourMs);
    expect(story.runs).toEqual(["2030-01-01T01:00", "2030-01-01T02:00"]);
    const [first] = (await story.leasehold.jobs.list({ order: "oldest" })).jobs;
    expect(first).toMatchObject({ status: "failed", failure: { reason: "cancelled" } });
  });

  it("`allow` starts another", async () => {
    const story = await createStory({ takesMs: 1.5 * hourMs });
    await story.put({ overlap: "allow" });
    await story.passAndStop(2.2 * hourMs);
    expect(story.results()).toEqual(["started", "started"]);
    expect(await story.leasehold.jobs.count({ status: "failed" })).toEqual([]);
  });
});

describe("after an outage", () => {
  it("`last` makes up for the latest time, and tells how many were missed", async () => {
    const story = await createStory();
    await story.put();
    await story.outage(5.5 * hourMs);
    await story.pass(minuteMs);
    expect(story.runs).toEqual(["2030-01-01T05:00"]);
    expect(story.missed).toEqual([4]);
    expect(story.results()).toEqual(["dropped 4", "caught_up"]);
    expect(story.ticks[1]?.latenessMs).toBe(0.5 * hourMs);
    expect((await story.read()).counts).toEqual({ started: 0, caught_up: 1, skipped: 0, dropped: 4 });
  });

  it("of seconds, `last` and `none` run the latest time and drop what it overtook", async () => {
    for (const catchUp of ["last", "none"] as const) {
      const story = await createStory();
      await story.put({ everyMs: 1_000, catchUp });
      await story.outage(10_000);
      await story.pass(10);
      expect(story.results()).toEqual(["dropped 9", "started"]);
      expect(story.missed).toEqual([9]);
    }
  });

  it("`last` leaves alone what is past the window", async () => {
    const story = await createStory();
    await story.put({ catchUpWindowMs: 10 * minuteMs });
    await story.outage(5.5 * hourMs);
    await story.pass(minuteMs);
    expect(story.results()).toEqual(["dropped 5"]);
    await story.pass(hourMs);
    expect(story.runs).toEqual(["2030-01-01T06:00"]);
  });

  it("`none` makes up for nothing", async () => {
    const story = await createStory();
    await story.put({ catchUp: "none" });
    await story.outage(2.5 * hourMs);
    await story.pass(hourMs);
    expect(story.runs).toEqual(["2030-01-01T03:00"]);
    expect(story.results()).toEqual(["dropped 2", "started"]);
  });

  it("`all` makes up for every time within the window, oldest first", async () => {
    const story = await createStory();
    await story.put({ catchUp: "all", overlap: "allow", catchUpWindowMs: 3 * hourMs });
    await story.outage(5.5 * hourMs);
    await story.pass(minuteMs);
    expect(story.runs).toEqual(["2030-01-01T03:00", "2030-01-01T04:00", "2030-01-01T05:00"]);
    expect(story.results()).toEqual(["dropped 2", "caught_up", "caught_up", "caught_up"]);
  });

  it("of months, a job for every second takes no longer", async () => {
    const story = await createStory();
    await story.put({ cron: "* * * * * *" });
    story.clock.stepWallClock(100 * 24 * hourMs);
    await story.pass(10);
    expect(story.results()).toEqual(["dropped 1000", "started"]);
    expect(story.missed).toEqual([1_000]);
  });

  it("more times than fit into one tick are made up for in several", async () => {
    const story = await createStory();
    await story.put({ cron: "* * * * * *", catchUp: "all", overlap: "allow" });
    await story.outage(2_500_000);
    await story.pass(500);
    const { counts } = await story.read();
    expect(counts.started + counts.caught_up).toBeGreaterThanOrEqual(2_500);
    const nominal = story.ticks.map(({ nominalAt }) => nominalAt);
    expect(new Set(nominal).size).toBe(nominal.length);
  });
});

describe("when the clock of the store is set back", () => {
  /** What the jobs are for, in the order in which they were started. */
  const nominalTimes = (story: Awaited<ReturnType<typeof createStory>>) =>
    story.ticks.map(({ nominalAt }) => new Date(nominalAt).toISOString().slice(11));

  it("times go on from the present, and none comes twice", async () => {
    const story = await createStory({ startAt: "2030-01-01T08:00:00Z" });
    await story.put();
    await story.pass(3.5 * hourMs);
    story.clock.stepWallClock(-2 * hourMs);
    await story.pass(3 * hourMs);
    expect(nominalTimes(story)).toEqual([
      "09:00:00.000Z",
      "10:00:00.000Z",
      "11:00:00.000Z",
      "10:00:00.001Z",
      "11:00:00.001Z",
      "12:00:00.000Z",
    ]);
    expect(story.results()).toEqual(Array.from({ length: 6 }, () => "started"));
  });

  it("a worker that sleeps notices it", async () => {
    const story = await createStory();
    await story.put({ everyMs: 10 * minuteMs });
    const worker = story.leasehold
      .createWorker()
      .implementJobType({ typeName: "report", process: async () => null });
    const running = await story.clock.runUntil(worker.start());
    await story.clock.advanceBy(30 * minuteMs);
    story.clock.stepWallClock(-hourMs);
    await story.clock.advanceBy(31 * minuteMs);
    expect(story.ticks).toHaveLength(6);
    expect(new Set(story.ticks.map(({ nominalAt }) => nominalAt)).size).toBe(6);
    await story.clock.runUntil(running.stop());
  });

  it("again and again, times still do not come twice, nor by pausing and resuming", async () => {
    const story = await createStory();
    await story.put({ everyMs: minuteMs });
    for (let round = 0; round < 4; round += 1) {
      await story.pass(10 * minuteMs);
      story.clock.stepWallClock(-(5 + round) * minuteMs);
      if (round === 2) {
        await story.leasehold.recurring.pause({ id: "hourly" });
        await story.leasehold.recurring.resume({ id: "hourly" });
      }
    }
    await story.pass(20 * minuteMs);
    const times = story.ticks.map(({ nominalAt }) => nominalAt);
    expect(new Set(times).size).toBe(times.length);
    expect(times.length).toBeGreaterThanOrEqual(58);
    expect((await story.read()).counts).toMatchObject({ dropped: 0, skipped: 0 });
  });

  it("a job that comes every night does not run twice in one night", async () => {
    const story = await createStory();
    await story.put({ cron: "30 2 * * *" });
    await story.pass(3 * hourMs);
    story.clock.stepWallClock(-2 * hourMs);
    await story.pass(24 * hourMs);
    expect(story.runs).toEqual(["2030-01-01T02:30"]);
    expect((await story.read()).nextAt).toEqual(new Date("2030-01-02T02:30:00Z"));
    await story.leasehold.recurring.pause({ id: "hourly" });
    await story.leasehold.recurring.resume({ id: "hourly" });
    expect((await story.read()).nextAt).toEqual(new Date("2030-01-02T02:30:00Z"));
    await story.pass(2 * hourMs);
    expect(story.runs).toEqual(["2030-01-01T02:30", "2030-01-02T02:30"]);
  });

  it("after it was a year ahead, a job does not wait for a year", async () => {
    const story = await createStory();
    await story.put({ cron: "30 2 * * *" });
    story.clock.stepWallClock(365 * 24 * hourMs);
    await story.pass(minuteMs);
    expect(story.results()).toEqual(["dropped 364", "caught_up"]);
    story.clock.stepWallClock(-365 * 24 * hourMs);
    await story.pass(48 * hourMs);
    expect(nominalTimes(story).slice(2)).toEqual(["02:30:00.001Z", "02:30:00.001Z"]);
  });

  it("by less than a minute, times wait for it", async () => {
    const story = await createStory();
    await story.put({ everyMs: 10_000 });
    await story.pass(30_500);
    story.clock.stepWallClock(-50_000);
    await story.leasehold.recurring.pause({ id: "hourly" });
    await story.leasehold.recurring.resume({ id: "hourly" });
    await story.pass(60_000);
    expect(nominalTimes(story)).toEqual(["00:00:10.000Z", "00:00:20.000Z", "00:00:30.000Z", "00:00:40.000Z"]);
  });
});

describe("a recurring job that is paused", () => {
  it("starts nothing, and makes up for nothing when it goes on", async () => {
    const story = await createStory();
    await story.put();
    await story.leasehold.recurring.pause({ id: "hourly" });
    await story.pass(2.5 * hourMs);
    expect(story.ticks).toEqual([]);
    expect(await story.leasehold.recurring.resume({ id: "hourly" })).toMatchObject({
      paused: false,
      nextAt: new Date("2030-01-01T03:00:00Z"),
      version: 3,
    });
    await story.pass(hourMs);
    expect(story.runs).toEqual(["2030-01-01T03:00"]);
  });

  it("by a put makes up for nothing when a put resumes it", async () => {
    const story = await createStory();
    await story.put({ catchUp: "all", overlap: "allow" });
    await story.put({ catchUp: "all", overlap: "allow", paused: true });
    await story.outage(4.5 * hourMs);
    expect(await story.put({ catchUp: "all", overlap: "allow", paused: false })).toMatchObject({
      nextAt: new Date("2030-01-01T05:00:00Z"),
    });
    await story.pass(hourMs);
    expect(story.runs).toEqual(["2030-01-01T05:00"]);
  });

  it("drops the run that waits", async () => {
    const story = await createStory({ takesMs: 10 * hourMs });
    await story.put({ overlap: "queue_one" });
    await story.passAndStop(2.1 * hourMs);
    expect((await story.read()).waitingFor).toEqual(new Date("2030-01-01T02:00:00Z"));
    const paused = await story.leasehold.recurring.pause({ id: "hourly" });
    expect(paused).toMatchObject({ waitingFor: null, counts: { dropped: 1 } });
  });
});

describe("triggering a recurring job", () => {
  it("starts a job at once and leaves its times alone", async () => {
    const story = await createStory();
    await story.put();
    const { result, sequenceId } = await story.leasehold.recurring.trigger({ id: "hourly" });
    expect(result).toBe("started");
    expect(await story.leasehold.jobs.get({ id: sequenceId! })).toMatchObject({
      recurrence: { id: "hourly", nominalAt: new Date("2030-01-01T00:00:00Z"), missed: 0 },
    });
    expect(await story.read()).toMatchObject({
      nextAt: new Date("2030-01-01T01:00:00Z"),
      lastSequenceId: sequenceId,
      recent: [{ result: "started", triggered: true }],
    });
  });

  it("keeps to its overlap policy", async () => {
    const story = await createStory();
    await story.put();
    const first = await story.leasehold.recurring.trigger({ id: "hourly" });
    const again = await story.leasehold.recurring.trigger({ id: "hourly" });
    expect(again).toEqual({ result: "skipped", sequenceId: first.sequenceId });
    await story.put({ overlap: "queue_one" });
    const waiting = await story.leasehold.recurring.trigger({ id: "hourly" });
    expect(waiting).toEqual({ result: "waiting", sequenceId: null });
    await story.put({ overlap: "replace" });
    expect(await story.leasehold.recurring.trigger({ id: "hourly" })).toMatchObject({ result: "started" });
    expect(await story.leasehold.jobs.get({ id: first.sequenceId! })).toMatchObject({ status: "failed" });
  });

  it("starts what waits as soon as the last has finished", async () => {
    const story = await createStory();
    await story.put({ overlap: "queue_one" });
    await story.leasehold.recurring.trigger({ id: "hourly" });
    await story.leasehold.recurring.trigger({ id: "hourly" });
    await story.pass(5_000);
    expect(story.runs).toHaveLength(2);
  });

  it("works while it is paused", async () => {
    const story = await createStory();
    await story.put({ paused: true, overlap: "queue_one" });
    expect(await story.leasehold.recurring.trigger({ id: "hourly" })).toMatchObject({ result: "started" });
    // Nothing can wait there: no tick would come.
    expect(await story.leasehold.recurring.trigger({ id: "hourly" })).toMatchObject({ result: "skipped" });
  });
});
