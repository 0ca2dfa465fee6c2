import { describe, expect, it } from "vitest";
import type { History } from "../store/contract/history.ts";
import { defineUnionJobTypes } from "../job-types/define.ts";
import { createLeasehold } from "../leasehold.ts";
import { createInProcessStateAdapter } from "../memory/state-adapter.ts";
import { StorePartMissingError, UnrecoverableJobError } from "../store/errors.ts";
import { createTestKit, type TestKit } from "../testing/test-kit.ts";

interface Types {
  charge: { input: { order: number; error?: string; ms?: number }; output: number };
  mail: { input: number; output: null };
}

const jobTypes = defineUnionJobTypes<Types>();

const createKit = async (statistics = true) => {
  const kit: TestKit<Types> = await createTestKit({ jobTypes, statistics, deployment: "v1" });
  const worker = kit.leasehold
    .createWorker()
    .implementJobType({
      typeName: "charge",
      process: async ({ job }) => {
        const { order, error, ms } = job.input;
        if (ms !== undefined) await new Promise<void>((resolve) => kit.clock.setTimer(resolve, ms));
        if (error === "declined") throw new UnrecoverableJobError(`Order ${order} was declined`);
        if (error === "type") throw new UnrecoverableJobError("bad", { cause: new TypeError(`no ${order}`) });
        return order;
      },
    })
    .implementJobType({
      typeName: "mail",
      process: () => Promise.reject(new UnrecoverableJobError("Order 1 was declined")),
    });
  const charge = (order: number, error?: string) =>
    kit.leasehold.startJobSequence({
      typeName: "charge",
      input: { order, ...(error !== undefined && { error }) },
    });
  return { ...kit, worker, charge };
};

describe("causes of failures", () => {
  it("brings together what failed with the same kind of error, the most first", async () => {
    const kit = await createKit();
    const startedAt = kit.clock.now();
    await kit.charge(1, "declined");
    await kit.charge(2, "type");
    await kit.drain(kit.worker);
    await kit.clock.advanceBy(60_000);
    await kit.charge(3, "declined");
    const last = await kit.charge(4, "declined");
    const cancelled = await kit.charge(5);
    await kit.leasehold.jobs.cancel({ ids: [cancelled.id] });
    const lastAt = kit.clock.now();
    await kit.drain(kit.worker);

    const { causes, capped } = await kit.leasehold.history.listCauses();
    expect(capped).toBe(false);
    expect(causes.map(({ name, message, count }) => [name, message, count])).toEqual([
      ["UnrecoverableJobError", "Order # was declined", 3],
      [null, null, 1],
      ["UnrecoverableJobError", "bad", 1],
    ]);
    const [declined, byPeople] = causes;
    expect(declined).toMatchObject({
      firstDeployment: "v1",
      firstFailedAt: new Date(startedAt),
      lastFailedAt: new Date(lastAt),
      exampleId: last.id,
      jobs: [{ queue: "default", typeName: "charge", reason: "unrecoverable", count: 3 }],
    });
    expect(declined!.frame).toMatch(/process \(.*history\.test\.ts\)/);
    expect(declined!.firstSeenAt!.getTime()).toBeLessThan(startedAt + 60_000);
    expect(byPeople).toMatchObject({ fingerprint: null, jobs: [{ reason: "cancelled" }] });
    expect(declined).not.toHaveProperty("trend");

    const minute = (at: number): Date => new Date(Math.floor(at / 60_000) * 60_000);
    const [withTrend] = (await kit.leasehold.history.listCauses({ everyMs: 60_000 })).causes;
    expect(withTrend).toEqual({
      ...declined,
      trend: [
        { from: minute(startedAt), count: 1 },
        { from: minute(lastAt), count: 2 },
      ],
    });
  });

  it("finds the jobs of a cause, counts them and revives them", async () => {
    const kit = await createKit();
    for (const error of ["declined", "type", "declined"]) await kit.charge(1, error);
    await kit.drain(kit.worker);
    const { causes } = await kit.leasehold.history.listCauses({ typeName: "charge", queue: ["default"] });
    const fingerprint = causes[0]!.fingerprint!;
    expect((await kit.leasehold.jobs.list({ fingerprint })).jobs.length).toBe(2);
    expect(await kit.leasehold.jobs.count({ fingerprint: [fingerprint] })).toMatchObject([{ count: 2 }]);
    const { changed: redriven } = await kit.leasehold.jobs.redrive({ filter: { fingerprint } });
    expect(redriven.length).toBe(2);
    expect((await kit.leasehold.history.listCauses()).causes.map(({ message }) => message)).toEqual(["bad"]);
  });

  it("describes a cause that no process has reported by a job that failed with it", async () => {
    const kit = await createKit(false);
    await kit.charge(1, "declined");
    await kit.drain(kit.worker);
    const { causes } = await kit.leasehold.history.listCauses();
    expect(causes).toMatchObject([
      {
        name: "UnrecoverableJobError",
        message: "Order # was declined",
        firstSeenAt: null,
        firstDeployment: null,
      },
    ]);
  });

  it("says when there are more failed jobs than it has looked at", async () => {
    const kit = await createKit();
    for (const order of [1, 2, 3]) await kit.charge(order, "declined");
    await kit.drain(kit.worker);
    const { causes, capped } = await kit.leasehold.history.listCauses({ scanLimit: 2 });
    expect([causes[0]!.count, capped]).toEqual([2, true]);
  });
});

describe("processes", () => {
  it("are alive until they have been silent for a minute, and listed for a day", async () => {
    const kit = await createKit();
    expect(await kit.leasehold.history.listProcesses()).toEqual([]);
    const running = await kit.clock.runUntil(
      kit.worker.start({ workerId: "w", queues: { default: 2, mails: 1 } }),
    );
    await kit.clock.advanceBy(2_000);
    expect(await kit.leasehold.history.listProcesses()).toMatchObject([
      {
        alive: true,
        deployment: "v1",
        pid: process.pid,
        nodeVersion: process.version,
        workers: [
          { id: "w", typeNames: ["charge", "mail"], queues: [{ name: "default" }, { name: "mails" }] },
        ],
      },
    ]);
    await kit.clock.runUntil(running.stop());
    await kit.clock.advanceBy(61_000);
    expect(await kit.leasehold.history.listProcesses()).toMatchObject([
      { alive: false, closed: false, workers: [] },
    ]);
    await kit.clock.advanceBy(86_400_000);
    expect(await kit.leasehold.history.listProcesses()).toEqual([]);
  });

  it("are not alive when they have closed", async () => {
    const kit = await createKit();
    const running = await kit.clock.runUntil(kit.worker.start());
    await kit.clock.advanceBy(2_000);
    const reader = await createLeasehold({ stateAdapter: kit.stateAdapter, jobTypes, statistics: false });
    await kit.clock.runUntil(kit.leasehold.close());
    expect(await reader.history.listProcesses()).toMatchObject([{ alive: false, closed: true }]);
    expect((await running.stop()).clean).toBe(true);
  });
});

describe("statistics", () => {
  it("count by queue and type, with rates and estimates", async () => {
    const kit = await createKit();
    const from = new Date(kit.clock.now());
    for (const order of [1, 2, 3]) await kit.charge(order);
    await kit.charge(4, "declined");
    await kit.leasehold.startJobSequence({ typeName: "charge", input: { order: 5, ms: 2_000 } });
    await kit.leasehold.startJobSequence({ typeName: "mail", input: 1, queue: "mails" });
    await kit.drain(kit.worker, { queues: { default: 5, mails: 1 } });
    const before = new Date(from.getTime() + 100_000);
    const rows = await kit.leasehold.history.getStatistics({ from, before });
    expect(rows.map(({ queue, typeName }) => [queue, typeName])).toEqual([
      ["default", "charge"],
      ["mails", "mail"],
    ]);
    expect(rows[0]).toMatchObject({
      from,
      before,
      deployment: null,
      created: 5,
      completed: 4,
      failed: 1,
      failedByReason: { unrecoverable: 1, cancelled: 0 },
      retried: 0,
      perSecond: { created: 0.05, completed: 0.04, failed: 0.01 },
    });
    const { runTimeMs, timeToStartMs } = rows[0]!.estimated;
    expect(runTimeMs!.p50).toBeLessThanOrEqual(1);
    expect(runTimeMs!.p99).toBeGreaterThan(2_000 / Math.SQRT2);
    expect(runTimeMs!.p99).toBeLessThan(2_000 * Math.SQRT2);
    expect(timeToStartMs!.p99).toBeLessThanOrEqual(1);
    expect((await kit.leasehold.history.getStatistics({ from, before, typeName: "mail" })).length).toBe(1);
    expect((await kit.leasehold.history.getStatistics({ from, before, queue: "default" })).length).toBe(1);
  });

  it("count all types of a queue together where that is asked for", async () => {
    const kit = await createKit();
    const from = new Date(kit.clock.now());
    for (const order of [1, 2, 3]) await kit.charge(order);
    await kit.leasehold.startJobSequence({ typeName: "charge", input: { order: 4, ms: 2_000 } });
    await kit.leasehold.startJobSequence({ typeName: "mail", input: 1 });
    await kit.leasehold.startJobSequence({ typeName: "mail", input: 2, queue: "mails" });
    await kit.drain(kit.worker, { queues: { default: 5, mails: 1 } });
    const before = new Date(from.getTime() + 100_000);
    const rows = await kit.leasehold.history.getStatistics({ from, before, byType: false });
    expect(rows).toMatchObject([
      { queue: "default", typeName: null, created: 5, completed: 4, failed: 1 },
      { queue: "mails", typeName: null, created: 1, completed: 0, failed: 1 },
    ]);
    // One of five ran for two seconds.
    const { runTimeMs } = rows[0]!.estimated;
    expect(runTimeMs!.p50).toBeLessThanOrEqual(1);
    expect(runTimeMs!.p95).toBeGreaterThan(2_000 / Math.SQRT2);
  });

  it("are the same after they have been folded, by stretch and by deployment", async () => {
    const kit = await createKit();
    const from = new Date(kit.clock.now());
    const running = await kit.clock.runUntil(
      kit.worker.start({ pollIntervalMs: 600_000, reapIntervalMs: 600_000 }),
    );
    for (const pause of [30_000, 60_000, 3_600_000, 3_600_000]) {
      await kit.charge(1);
      await kit.clock.advanceBy(pause);
    }
    const before = new Date(kit.clock.now());
    expect(await kit.leasehold.history.getStatistics({ from, before })).toMatchObject([
      { created: 4, completed: 4 },
    ]);
    const rows = await kit.leasehold.history.getStatistics({
      from,
      before,
      everyMs: 3_600_000,
      byDeployment: true,
    });
    expect(
      rows.map((row) => [(row.from.getTime() - from.getTime()) / 3_600_000, row.created, row.deployment]),
    ).toEqual([
      [0, 3, "v1"],
      [1, 1, "v1"],
    ]);
    expect(rows.at(-1)!.before.getTime()).toBeLessThanOrEqual(before.getTime());
    await kit.clock.runUntil(running.stop());
  });

  it("are read to the end, however many rows there are", async () => {
    const kit = await createKit();
    const { history } = kit.stateAdapter as unknown as { history: History<object> };
    const now = Math.floor(kit.clock.now() / 10_000) * 10_000;
    const buckets = Array.from({ length: 12_000 }, (_, n) => ({
      bucketMs: 10_000,
      from: now - (n % 4) * 10_000,
      queue: `q${n}`,
      typeName: "charge",
      deployment: "",
      processId: "r",
      counts: "[0,1]",
    }));
    const reporter = { id: "r", deployment: null, startedAt: 0, info: "" };
    await history.writeReport({ reporter, buckets, causes: [], maxAgeMs: 1e12 });
    const rows = await kit.leasehold.history.getStatistics({
      from: new Date(now - 60_000),
      before: new Date(now + 10_000),
    });
    expect(rows.length).toBe(12_000);
  });
});

describe("why a job is not running", () => {
  it("says whether a live worker serves it, and when it may start", async () => {
    const kit = await createKit();
    const first = await kit.charge(1);
    expect(await kit.leasehold.jobs.explain(first)).toMatchObject({ state: "runnable", workers: null });
    await kit.clock.advanceBy(1_000);
    expect(await kit.leasehold.jobs.explain(first)).toMatchObject({
      state: "runnable",
      workers: 0,
      estimatedStart: null,
      summary:
        'It is runnable. No live worker is known that serves queue "default" and type "charge". Start one.',
    });
    const later = await kit.leasehold.startJobSequence({
      typeName: "mail",
      input: 1,
      schedule: { afterMs: 600_000 },
    });
    expect(await kit.leasehold.jobs.explain(later)).toMatchObject({ state: "scheduled", workers: 0 });

    const running = await kit.clock.runUntil(kit.worker.start({ concurrency: 1 }));
    for (let n = 0; n < 60; n++)
      await kit.leasehold.startJobSequence({ typeName: "charge", input: { order: n, ms: 1_000 } });
    await kit.clock.advanceBy(30_500);
    const last = await kit.charge(99);
    const now = kit.clock.now();
    const explanation = await kit.leasehold.jobs.explain(last);
    if (explanation.state !== "runnable") throw new Error(explanation.summary);
    expect(explanation.workers).toBe(1);
    expect(explanation.aheadInQueue).toBeGreaterThan(15);
    const waitMs = explanation.estimatedStart!.getTime() - now;
    expect(waitMs).toBeGreaterThan(15_000);
    expect(waitMs).toBeLessThan(60_000);
    expect(explanation.summary).toMatch(/jobs ahead of it in queue "default"\. It may start at about /);
    expect(await kit.leasehold.jobs.explain(later)).toMatchObject({ state: "scheduled", workers: 1 });
    await kit.clock.runUntil(running.stop());
  });

  it.each([9_500, 12_000, 20_000, 61_000])(
    "estimates the start within a factor of two, %i ms after the first job",
    async (afterMs) => {
      const kit = await createKit();
      // In the middle of a bucket of statistics.
      await kit.clock.advanceBy(7_000);
      const running = await kit.clock.runUntil(kit.worker.start({ concurrency: 2 }));
      for (let order = 0; order < 300; order += 1)
        await kit.leasehold.startJobSequence({ typeName: "charge", input: { order, ms: 500 } });
      const last = await kit.charge(300);
      await kit.clock.advanceBy(afterMs);
      const now = kit.clock.now();
      const explanation = await kit.leasehold.jobs.explain(last);
      if (explanation.state !== "runnable") throw new Error(explanation.summary);
      const estimatedMs = explanation.estimatedStart!.getTime() - now;
      while ((await kit.leasehold.jobs.get(last))?.status === "pending") await kit.clock.advanceBy(500);
      const actualMs = kit.clock.now() - now;
      expect(estimatedMs).toBeGreaterThan(actualMs / 2);
      expect(estimatedMs).toBeLessThan(actualMs * 2);
      await kit.clock.runUntil(running.stop());
    },
  );

  it("leaves out types that its workers do not implement, and says when they are busy", async () => {
    const kit = await createKit();
    const types = kit.leasehold.createWorker().implementJobType({
      typeName: "charge",
      process: () => new Promise<number>((resolve) => kit.clock.setTimer(() => resolve(1), 60_000)),
    });
    const running = await kit.clock.runUntil(types.start({ concurrency: 1 }));
    await kit.charge(1);
    await kit.clock.advanceBy(12_000);
    for (let n = 0; n < 3; n += 1) await kit.leasehold.startJobSequence({ typeName: "mail", input: n });
    const job = await kit.charge(2);
    expect(await kit.leasehold.jobs.explain(job)).toMatchObject({
      state: "runnable",
      aheadInQueue: 0,
      slots: { running: 1, concurrency: 1 },
      summary:
        'It is first in queue "default". The workers that serve it (1) run 1 of 1 jobs. It starts when one of them ends.',
    });
    await kit.clock.runUntil(running.stop({ deadlineMs: 1 }));
  });

  it("counts up to 10,000 jobs ahead, and says that there are more", async () => {
    const kit = await createKit();
    const running = await kit.clock.runUntil(kit.worker.start({ queues: { other: 1 } }));
    const sequences = Array.from({ length: 10_002 }, (_, order) => ({
      typeName: "charge" as const,
      input: { order, ms: 1 },
    }));
    const started: { readonly id: string }[] = [];
    while (sequences.length > 0)
      started.push(...(await kit.leasehold.startJobSequences({ sequences: sequences.splice(0, 1_000) })));
    const explain = (place: number) => kit.leasehold.jobs.explain({ id: started[place]!.id });
    expect(await explain(10_000)).toMatchObject({ aheadInQueue: 10_000, aheadCapped: false });
    expect(await explain(10_001)).toMatchObject({
      aheadInQueue: 10_000,
      aheadCapped: true,
      estimatedStart: null,
      summary: expect.stringContaining('with more than 10,000 jobs ahead of it in queue "default".'),
    });
    await kit.clock.runUntil(running.stop());
  });

  it("finds the jobs that a worker holds", async () => {
    const kit = await createKit();
    await kit.leasehold.startJobSequence({ typeName: "charge", input: { order: 1, ms: 1_000 } });
    await kit.charge(2);
    const running = await kit.clock.runUntil(kit.worker.start({ workerId: "w" }));
    await kit.clock.advanceBy(500);
    const { jobs } = await kit.leasehold.jobs.list({ leasedBy: "w" });
    expect(jobs.map(({ input }) => input)).toEqual([{ order: 1, ms: 1_000 }]);
    expect((await kit.leasehold.jobs.list({ leasedBy: ["other"] })).jobs).toEqual([]);
    await kit.clock.runUntil(running.stop());
  });
});

describe("a store that keeps no history", () => {
  it("is named in the error of whoever asks for it", async () => {
    const stateAdapter = { ...createInProcessStateAdapter(), history: undefined };
    const leasehold = await createLeasehold({ stateAdapter, jobTypes });
    const calls = [
      () => leasehold.history.listCauses(),
      () => leasehold.history.listProcesses(),
      () => leasehold.history.getStatistics({ from: new Date(0) }),
      () => leasehold.jobs.list({ fingerprint: "0123456789abcdef" }),
      () => leasehold.jobs.count({ fingerprint: "0123456789abcdef" }),
      () => leasehold.jobs.redrive({ filter: { fingerprint: "0123456789abcdef" } }),
    ];
    for (const call of calls) await expect(call()).rejects.toThrow(StorePartMissingError);
    const { id } = await leasehold.startJobSequence({ typeName: "mail", input: 1 });
    expect(await leasehold.jobs.explain({ id })).toMatchObject({
      state: "runnable",
      workers: null,
      estimatedStart: null,
      summary: expect.stringContaining("If it stays there, no running worker"),
    });
    await leasehold.close();
  });
});
