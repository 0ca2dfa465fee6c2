import { describe, expect, it } from "vitest";
import { defineUnionJobTypes } from "../job-types/define.ts";
import { createLeasehold } from "../leasehold.ts";
import { createInProcessStateAdapter } from "../memory/state-adapter.ts";
import type { CheckResult } from "../store/contract/diagnostics.ts";
import type { AnyStateAdapter } from "../store/contract/state-adapter.ts";
import { createManualClock } from "../testing/manual-clock.ts";
import { findRunnableTypes } from "./checks.ts";
import { checkClock, checkStore, type ExamineStoreOptions, readStoreFacts } from "./examine.ts";

const jobTypes = defineUnionJobTypes<{
  mail: { input: null; output: null };
  approval: { input: null; output: null };
}>();

const minute = 60_000;

const openStore = async () => {
  const clock = createManualClock({ startAt: Date.now() });
  const stateAdapter = createInProcessStateAdapter({ clock });
  const leasehold = await createLeasehold({ stateAdapter, jobTypes, statistics: false });
  return { clock, stateAdapter, leasehold };
};

const examine = async (
  stateAdapter: AnyStateAdapter,
  check: string,
  options?: ExamineStoreOptions,
): Promise<CheckResult[]> =>
  (await checkStore(stateAdapter, options)).filter((finding) => finding.check === check);

/** A process with a worker, as it would report itself. */
const reportWorker = (stateAdapter: AnyStateAdapter, queue: string, typeName: string): Promise<number> =>
  stateAdapter.history!.writeReport({
    reporter: {
      id: "process",
      deployment: null,
      startedAt: 0,
      info: JSON.stringify({
        workers: [{ id: "w", queues: [{ name: queue, concurrency: 1 }], typeNames: [typeName] }],
      }),
    },
    buckets: [],
    causes: [],
    maxAgeMs: minute,
  });

describe("a store that is well", () => {
  it("has only findings that are ok, one for each check", async () => {
    const { stateAdapter, leasehold } = await openStore();
    await leasehold.startJobSequence({ typeName: "mail", input: null });
    const findings = await checkStore(stateAdapter);
    expect(findings.map(({ check, status }) => [check, status])).toEqual(
      ["clock", "leases", "queues", "failures", "retention"].map((check) => [check, "ok"]),
    );
    expect(findings.at(-1)?.summary).toMatch(/^About 1 jobs are kept, the oldest from \d{4}-\d\d-\d\d\.$/);
  });
});

describe("a queue whose jobs wait too long", () => {
  it("counts only jobs that a worker could run now", async () => {
    const { clock, stateAdapter, leasehold } = await openStore();
    await leasehold.startJobSequence({ typeName: "mail", input: null });
    const later = { schedule: { afterMs: 60 * minute } };
    await leasehold.startJobSequence({ typeName: "mail", input: null, ...later });
    await clock.advanceBy(6 * minute);
    const [found] = await examine(stateAdapter, "queues");
    expect(found?.summary).toMatch(/^1 job of type mail in queue default/);
  });

  it("is a problem if nothing suggests that anybody serves it", async () => {
    const { clock, stateAdapter, leasehold } = await openStore();
    await leasehold.startJobSequence({ typeName: "mail", input: null });
    await clock.advanceBy(4 * minute);
    expect(await examine(stateAdapter, "queues")).toMatchObject([{ status: "ok" }]);
    await clock.advanceBy(2 * minute);
    expect(await examine(stateAdapter, "queues")).toMatchObject([
      {
        status: "problem",
        summary:
          "1 job of type mail in queue default, runnable for 6m: nothing of it runs, nothing has finished lately.",
      },
    ]);
    expect(await examine(stateAdapter, "queues", { workerless: ["mail"] })).toMatchObject([{ status: "ok" }]);
  });

  it("is behind if a live worker serves it, if its jobs run, or if some finished lately", async () => {
    const { clock, stateAdapter, leasehold } = await openStore();
    const status = async () => (await examine(stateAdapter, "queues"))[0]?.status;
    const jobs = await leasehold.startJobSequences({
      sequences: Array.from({ length: 3 }, () => ({ typeName: "mail" as const, input: null })),
    });
    await clock.advanceBy(10 * minute);
    await reportWorker(stateAdapter, "default", "other");
    expect(await status()).toBe("problem");
    await reportWorker(stateAdapter, "default", "mail");
    expect(await status()).toBe("warning");
    // Then it is no longer alive.
    await clock.advanceBy(2 * minute);
    expect(await status()).toBe("problem");
    await leasehold.jobs.cancel({ ids: [jobs[0]!.id] });
    expect(await status()).toBe("warning");
    await clock.advanceBy(6 * minute);
    expect(await status()).toBe("problem");
    await stateAdapter.claimJobs({
      workerId: "w",
      leaseToken: "token",
      leaseMs: minute,
      requests: [{ queue: "default", typeNames: null, limit: 1 }],
      limit: 1,
    });
    expect(await status()).toBe("warning");
    // A lease that has expired says nothing about anybody being there.
    await clock.advanceBy(2 * minute);
    expect(await status()).toBe("problem");
  });

  it("is not behind while a limit or a rate delays its jobs", async () => {
    const { clock, stateAdapter, leasehold } = await openStore();
    const limits = { limited: { concurrency: 1 }, rated: { rate: { limit: 1, perMs: 60 * minute } } };
    for (const [queue, limit] of Object.entries(limits)) {
      await leasehold.limits.set({ queue, ...limit });
      for (let count = 0; count < 2; count += 1)
        await leasehold.startJobSequence({ typeName: "mail", input: null, queue });
      await stateAdapter.claimJobs({
        workerId: "busy",
        leaseToken: queue,
        leaseMs: 60 * minute,
        requests: [{ queue, typeNames: null, limit: 1 }],
        limit: 1,
      });
    }
    await clock.advanceBy(10 * minute);
    expect(await examine(stateAdapter, "queues")).toMatchObject([{ status: "ok" }]);
    await leasehold.limits.set({ queue: "limited", concurrency: 2 });
    expect(await examine(stateAdapter, "queues")).toMatchObject([
      { status: "warning", summary: "1 job of type mail in queue limited, the oldest runnable for 10m." },
    ]);
  });

  it("needs no worker for a type that a process has declared workerless", async () => {
    const { clock, stateAdapter, leasehold } = await openStore();
    await leasehold.startJobSequence({ typeName: "approval", input: null });
    await clock.advanceBy(10 * minute);
    expect(await examine(stateAdapter, "queues")).toMatchObject([{ status: "problem" }]);
    await stateAdapter.history.writeReport({
      reporter: {
        id: "web",
        deployment: null,
        startedAt: clock.now(),
        info: JSON.stringify({ workerless: ["approval"] }),
      },
      buckets: [],
      causes: [],
      maxAgeMs: minute,
    });
    expect(await examine(stateAdapter, "queues")).toMatchObject([{ status: "ok" }]);
    // Also after the process has ended: its type still needs no worker.
    await clock.advanceBy(10 * minute);
    expect(await examine(stateAdapter, "queues")).toMatchObject([{ status: "ok" }]);
  });

  it("is not behind while it is paused, as a whole or for the type", async () => {
    const { clock, stateAdapter, leasehold } = await openStore();
    await leasehold.startJobSequence({ typeName: "mail", input: null });
    await clock.advanceBy(10 * minute);
    const lateTypes = async () => findRunnableTypes(readStoreFacts(stateAdapter), { stalledMs: minute });
    expect(await lateTypes()).toMatchObject([{ queue: "default", typeName: "mail", isServed: false }]);
    for (const scope of [{ queue: "default" }, { typeName: "mail" as const }]) {
      await leasehold.limits.pause(scope);
      expect(await lateTypes()).toEqual([]);
      expect(await examine(stateAdapter, "limits")).toMatchObject([{ status: "warning" }]);
      await leasehold.limits.resume(scope);
    }
  });
});

describe("running jobs", () => {
  it("are a problem when their leases ran out long ago", async () => {
    const { clock, stateAdapter, leasehold } = await openStore();
    const { id } = await leasehold.startJobSequence({ typeName: "mail", input: null });
    await stateAdapter.claimJobs({
      workerId: "gone",
      leaseToken: "token",
      leaseMs: 1_000,
      requests: [{ queue: "default", typeNames: null, limit: 1 }],
      limit: 1,
    });
    await clock.advanceBy(minute);
    expect(await examine(stateAdapter, "leases")).toMatchObject([
      { status: "ok", summary: "1 running job, none with a lease long gone." },
    ]);
    await clock.advanceBy(2_000);
    const [finding] = await examine(stateAdapter, "leases");
    expect(finding).toMatchObject({ status: "problem", summary: expect.stringContaining(id) });
  });
});

describe("failures", () => {
  it("are worth a warning for an hour", async () => {
    const { clock, stateAdapter, leasehold } = await openStore();
    const { id } = await leasehold.startJobSequence({ typeName: "mail", input: null });
    await leasehold.jobs.cancel({ ids: [id] });
    expect(await examine(stateAdapter, "failures")).toMatchObject([
      { status: "warning", summary: "1 job failed in the last hour; 1 in all." },
    ]);
    await clock.advanceBy(60 * minute + 1);
    expect(await examine(stateAdapter, "failures")).toMatchObject([{ status: "ok" }]);
  });
});

describe("what the store says of itself", () => {
  const withDiagnostics = async (examineIt: () => Promise<readonly CheckResult[]>) => {
    const { stateAdapter } = await openStore();
    return { ...stateAdapter, diagnostics: { runChecks: examineIt, estimateJobs: async () => 2_000_000 } };
  };

  it("comes after the clock, and ends the examination where there are no tables", async () => {
    const finding = {
      check: "migrations",
      status: "problem",
      summary: "3 pending.",
      advice: "Migrate.",
    } as const;
    const findings = await checkStore(await withDiagnostics(async () => [finding]));
    expect(findings.map(({ check }) => check)).toEqual(["clock", "migrations"]);
  });

  it("is a warning if it cannot be had, with the reason apart", async () => {
    const failing = await withDiagnostics(() => Promise.reject(new Error("no route to 10.0.0.1")));
    const findings = await checkStore(failing);
    expect(findings.find(({ check }) => check === "database")).toMatchObject({
      status: "warning",
      summary: "This could not be checked.",
      cause: "no route to 10.0.0.1",
    });
    expect(findings.at(-1)).toMatchObject({
      check: "retention",
      status: "warning",
      summary: "More than 1,000,000 jobs are kept.",
    });
  });
});

describe("clocks", () => {
  it("may differ by what asking takes, and by two seconds more", async () => {
    const statusFor = async (storeTime: number) => {
      const readings = [10_000, 11_000];
      const [finding] = await checkClock(
        { getTime: async () => storeTime },
        { now: () => readings.shift()! },
      );
      return finding?.status;
    };
    expect(await statusFor(13_000)).toBe("ok");
    expect(await statusFor(13_001)).toBe("warning");
    expect(await statusFor(7_999)).toBe("warning");
  });
});

describe("options", () => {
  it("are checked", async () => {
    const { stateAdapter } = await openStore();
    const wrong = { depth: "deep" } as unknown as ExamineStoreOptions;
    await expect(checkStore(stateAdapter, wrong)).rejects.toMatchObject({ code: "InvalidOption" });
    const unknown = { stalled: 1 } as unknown as ExamineStoreOptions;
    await expect(checkStore(stateAdapter, unknown)).rejects.toMatchObject({ code: "InvalidOption" });
  });
});

describe("a recurring job whose job cannot be started", () => {
  it("is a problem, with the error", async () => {
    const { stateAdapter, leasehold } = await openStore();
    const { recurring, runInTransaction } = stateAdapter;
    await leasehold.recurring.put({ id: "nightly", cron: "0 2 * * *", job: { typeName: "mail" } });
    expect(await examine(stateAdapter, "recurring jobs")).toMatchObject([{ status: "ok" }]);
    await runInTransaction(async (ctx) => {
      const row = (await recurring!.lockRecurring({ ctx, ids: ["nightly"] }))[0]!;
      const failure = { since: 0, tries: 3, error: { name: "Error", message: "value too long" } };
      const tickHistory = JSON.stringify({ ...(JSON.parse(row.tickHistory) as object), failure });
      await recurring!.advanceRecurring({ ctx, jobs: [{ ...row, tickHistory }] });
    });
    const [found] = await examine(stateAdapter, "recurring jobs");
    expect(found).toMatchObject({
      status: "problem",
      summary: "1 recurring job cannot start its job, such as nightly, tried 3 times.",
      cause: "value too long",
    });
  });
});
