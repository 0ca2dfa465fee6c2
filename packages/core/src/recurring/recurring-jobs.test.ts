import { describe, expect, it } from "vitest";
import { z } from "zod";
import { defineJobTypes } from "../job-types/define.ts";
import { createLeasehold } from "../leasehold.ts";
import { createInProcessStateAdapter } from "../memory/state-adapter.ts";
import { createTestKit } from "../testing/test-kit.ts";

const jobTypes = defineJobTypes({
  report: { input: z.object({ country: z.string() }), output: z.string(), queue: "reports", maxAttempts: 2 },
  clean: { output: z.null() },
});

const nightly = {
  id: "nightly",
  cron: "30 2 * * *",
  timeZone: "Europe/Berlin",
  job: { typeName: "report", input: { country: "DE" } },
} as const;

const createKit = () => createTestKit({ jobTypes });

describe("putting a recurring job", () => {
  it("stores it with its next time", async () => {
    const { leasehold } = await createKit();
    const put = await leasehold.recurring.put(nightly);
    expect(put).toEqual({
      id: "nightly",
      version: 1,
      cron: "30 2 * * *",
      timeZone: "Europe/Berlin",
      everyMs: null,
      anchorAt: null,
      startAt: null,
      endAt: null,
      overlap: "skip",
      catchUp: "last",
      catchUpWindowMs: 86_400_000,
      jitterMs: 0,
      job: {
        typeName: "report",
        input: { country: "DE" },
        queue: "reports",
        priority: 0,
        maxAttempts: 2,
        timeoutMs: null,
        group: null,
        expireAfterMs: null,
      },
      paused: false,
      owner: null,
      nextAt: new Date("2030-01-01T01:30:00Z"),
      waitingFor: null,
      lastSequenceId: null,
      failure: null,
      counts: { started: 0, caught_up: 0, skipped: 0, dropped: 0 },
      recent: [],
      createdAt: new Date("2030-01-01"),
      updatedAt: new Date("2030-01-01"),
    });
    expect(await leasehold.recurring.get({ id: "nightly" })).toEqual(put);
    expect(await leasehold.recurring.get({ id: "hourly" })).toBeUndefined();
  });

  it("changes nothing when nothing has changed", async () => {
    const { leasehold, clock } = await createKit();
    const put = await leasehold.recurring.put(nightly);
    await clock.advanceBy(60_000);
    expect(await leasehold.recurring.put({ ...nightly, overlap: "skip", paused: false })).toEqual(put);
  });

  it("counts new times from now on, and keeps those that have not changed", async () => {
    const { leasehold, clock } = await createKit();
    await leasehold.recurring.put(nightly);
    // Due at 01:30 UTC, and nobody ticks.
    await clock.advanceBy(2 * 3_600_000);
    const other = { typeName: "report", input: { country: "FR" } } as const;
    expect(await leasehold.recurring.put({ ...nightly, job: other })).toMatchObject({
      version: 2,
      job: { input: { country: "FR" } },
      nextAt: new Date("2030-01-01T01:30:00Z"),
    });
    expect(await leasehold.recurring.put({ ...nightly, cron: "0 1 * * *" })).toMatchObject({
      version: 3,
      nextAt: new Date("2030-01-02T00:00:00Z"),
    });
  });

  it("is refused when somebody else was faster", async () => {
    const { leasehold } = await createKit();
    await leasehold.recurring.put({ ...nightly, expectedVersion: 0 });
    await expect(leasehold.recurring.put({ ...nightly, expectedVersion: 0 })).rejects.toMatchObject({
      code: "VersionMismatch",
      what: 'recurring job "nightly"',
      expected: 0,
      actual: 1,
    });
    await leasehold.recurring.pause({ id: "nightly", expectedVersion: 1 });
    await expect(leasehold.recurring.resume({ id: "nightly", expectedVersion: 1 })).rejects.toMatchObject({
      code: "VersionMismatch",
    });
    await expect(leasehold.recurring.put({ ...nightly, id: "x", expectedVersion: 3 })).rejects.toThrow(
      /does not exist, but version 3 was expected/,
    );
  });

  it.each([
    [{ ...nightly, id: "" }, "id"],
    [{ ...nightly, id: "x".repeat(10_000) }, "id"],
    [{ ...nightly, cron: "30 2 31 2 *" }, "cron"],
    [{ ...nightly, timeZone: "Mars/Olympus" }, "timeZone"],
    [{ ...nightly, everyMs: 1_000 }, "cron"],
    [{ ...nightly, overlap: "sometimes" }, "overlap"],
    [{ ...nightly, catchUp: "all" }, "catchUp"],
    [{ ...nightly, catchUpWindowMs: 5 }, "catchUpWindowMs"],
    [{ ...nightly, jitterMs: -1 }, "jitterMs"],
    [{ ...nightly, jitterMs: 1e18 }, "jitterMs"],
    [{ ...nightly, paused: "no" }, "paused"],
    [{ ...nightly, expectedVersion: -1 }, "expectedVersion"],
    [{ ...nightly, job: undefined }, "job"],
    [{ ...nightly, job: { ...nightly.job, schedule: { afterMs: 1 } } }, "job.schedule"],
    [{ ...nightly, job: { ...nightly.job, priority: "high" } }, "priority"],
    [{ ...nightly, corn: "* * * * *" }, "corn"],
  ])("is refused, and nothing is written: %o", async (options, option) => {
    const { leasehold } = await createKit();
    await expect(leasehold.recurring.put(options as never)).rejects.toMatchObject({
      code: "InvalidOption",
      option,
    });
    expect((await leasehold.recurring.list()).recurringJobs).toEqual([]);
  });

  it("validates the input, and the type, at once", async () => {
    const { leasehold } = await createKit();
    const put = (job: unknown) => leasehold.recurring.put({ ...nightly, job } as never);
    await expect(put({ typeName: "report", input: { country: 7 } })).rejects.toMatchObject({
      code: "SchemaValidation",
    });
    await expect(put({ typeName: "rapport", input: {} })).rejects.toMatchObject({ code: "UnknownJobType" });
  });

  it("belongs to the transaction it is put in", async () => {
    const { leasehold } = await createKit();
    await expect(
      leasehold.runInTransaction(async (ctx) => {
        await leasehold.recurring.put({ ...ctx, ...nightly });
        throw new Error("roll back");
      }),
    ).rejects.toThrow("roll back");
    expect(await leasehold.recurring.get({ id: "nightly" })).toBeUndefined();
  });
});

describe("recurring jobs", () => {
  it("are listed page by page", async () => {
    const { leasehold } = await createKit();
    for (const id of ["c", "a", "b"]) await leasehold.recurring.put({ ...nightly, id });
    const first = await leasehold.recurring.list({ limit: 2 });
    expect(first.recurringJobs.map(({ id }) => id)).toEqual(["a", "b"]);
    const second = await leasehold.recurring.list({ limit: 2, cursor: first.cursor });
    expect(second.recurringJobs.map(({ id }) => id)).toEqual(["c"]);
    expect(second.cursor).toBeNull();
  });

  it("are deleted", async () => {
    const { leasehold } = await createKit();
    await leasehold.recurring.put(nightly);
    expect(await leasehold.recurring.delete({ id: "nightly" })).toEqual({ deleted: true });
    expect(await leasehold.recurring.delete({ id: "nightly" })).toEqual({ deleted: false });
    await expect(leasehold.recurring.pause({ id: "nightly" })).rejects.toMatchObject({
      code: "RecurringJobNotFound",
    });
    await expect(leasehold.recurring.trigger({ id: "nightly" })).rejects.toMatchObject({
      code: "RecurringJobNotFound",
    });
  });

  it("are previewed with what clocks on the wall will show", async () => {
    const { leasehold } = await createKit();
    const from = new Date("2026-10-24T00:00:00Z");
    const expected = [
      { at: new Date("2026-10-24T00:30:00Z"), local: "2026-10-24T02:30:00+02:00" },
      { at: new Date("2026-10-25T00:30:00Z"), local: "2026-10-25T02:30:00+02:00" },
      { at: new Date("2026-10-26T01:30:00Z"), local: "2026-10-26T02:30:00+01:00" },
    ];
    const { cron, timeZone } = nightly;
    expect(await leasehold.recurring.preview({ cron, timeZone, from, count: 3 })).toEqual(expected);
    await leasehold.recurring.put(nightly);
    expect(await leasehold.recurring.preview({ id: "nightly", from, count: 3 })).toEqual(expected);
    expect(await leasehold.recurring.preview({ everyMs: 60_000, count: 1 })).toEqual([
      { at: new Date("2030-01-01T00:01:00Z"), local: "2030-01-01T00:01:00+00:00" },
    ]);
    await expect(leasehold.recurring.preview({ id: "x" })).rejects.toMatchObject({
      code: "RecurringJobNotFound",
    });
    await expect(leasehold.recurring.preview({ id: "nightly", cron } as never)).rejects.toMatchObject({
      option: "cron",
    });
  });

  it("need a store that has them", async () => {
    const { recurring: _flow, ...stateAdapter } = createInProcessStateAdapter();
    const leasehold = await createLeasehold({ stateAdapter, jobTypes });
    const missing = { code: "StorePartMissing", part: "recurring" };
    await expect(leasehold.recurring.put(nightly)).rejects.toMatchObject(missing);
    await expect(leasehold.recurring.list()).rejects.toMatchObject(missing);
    await expect(leasehold.recurring.trigger({ id: "x" })).rejects.toMatchObject(missing);
    await expect(
      createLeasehold({ stateAdapter, jobTypes, recurringJobs: { jobs: [nightly] } }),
    ).rejects.toMatchObject(missing);
    // Times alone need none.
    expect(await leasehold.recurring.preview({ cron: "@daily", count: 1 })).toHaveLength(1);
  });
});

describe("recurring jobs in the code of a program", () => {
  const other = { id: "cleanup", everyMs: 60_000, job: { typeName: "clean" } } as const;
  type Declared = (typeof nightly | typeof other)[];

  const createPrograms = () => {
    const stateAdapter = createInProcessStateAdapter();
    const start = (owner: string | undefined, jobs: Declared, removeOthers?: boolean) =>
      createLeasehold({ stateAdapter, jobTypes, recurringJobs: { owner, jobs, removeOthers } });
    const list = async () => {
      const leasehold = await createLeasehold({ stateAdapter, jobTypes });
      const { recurringJobs } = await leasehold.recurring.list();
      return recurringJobs.map(({ id, owner, version }) => [id, owner, version]);
    };
    return { start, list };
  };

  it("are put when Leasehold is created, and changed only if they have changed", async () => {
    const { start, list } = createPrograms();
    await start(undefined, [nightly, other]);
    await start(undefined, [nightly, other]);
    expect(await list()).toEqual([
      ["cleanup", "default", 1],
      ["nightly", "default", 1],
    ]);
  });

  it("are removed on request when the code no longer names them", async () => {
    const { start, list } = createPrograms();
    const program = await start("shop", [nightly, other]);
    await program.recurring.put({ ...nightly, id: "by hand" });
    await start("crm", [{ ...nightly, id: "crm" as "nightly" }], true);
    await start("shop", [other]);
    expect((await list()).map(([id]) => id)).toEqual(["by hand", "cleanup", "crm", "nightly"]);
    await start("shop", [other], true);
    expect((await list()).map(([id]) => id)).toEqual(["by hand", "cleanup", "crm"]);
    await start("shop", [], true);
    expect((await list()).map(([id]) => id)).toEqual(["by hand", "crm"]);
  });

  it("stay paused when an operator has paused them", async () => {
    const { start } = createPrograms();
    const program = await start("shop", [nightly]);
    await program.recurring.pause({ id: "nightly" });
    await start("shop", [nightly]);
    expect(await program.recurring.get({ id: "nightly" })).toMatchObject({ paused: true, nextAt: null });
  });

  it("cannot be declared by two programs", async () => {
    const { start } = createPrograms();
    await start("shop", [nightly]);
    await expect(start("crm", [nightly])).rejects.toMatchObject({
      code: "RecurringJobOwnedByOther",
      id: "nightly",
      owner: "shop",
    });
  });

  it("are all checked before the first is put", async () => {
    const { start, list } = createPrograms();
    const wrong = { ...nightly, id: "wrong" as "nightly", cron: "30 2 31 2 *" as "30 2 * * *" };
    await expect(start("shop", [nightly, wrong])).rejects.toMatchObject({ option: "cron" });
    await expect(start("shop", [nightly, nightly])).rejects.toMatchObject({
      option: "recurringJobs.jobs[1].id",
    });
    expect(await list()).toEqual([]);
  });
});
