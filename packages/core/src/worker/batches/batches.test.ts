import { describe, expect, it } from "vitest";
import { createDeferred } from "../../base/async.ts";
import { defineJobTypes, defineUnionJobTypes, typeOnly } from "../../job-types/define.ts";
import type { ClaimCall } from "../../store/contract/claims.ts";
import type { CommitOutcomesCall } from "../../store/contract/outcomes.ts";
import { recordCalls } from "../../testing/record-calls.ts";
import { createTestKit } from "../../testing/test-kit.ts";
import { failJob, rescheduleJob } from "../outcome.ts";

interface Types {
  index: { input: number; output: number };
  ping: { input: number; output: null };
}

const jobTypes = defineUnionJobTypes<Types>();

const startPages = (count: number, options: object = {}) =>
  Array.from({ length: count }, (_, page) => ({ typeName: "index" as const, input: page, ...options }));

/** A kit whose store calls are recorded. */
const createRecordedKit = async () => {
  let recorded: ReturnType<typeof recordCalls> | undefined;
  const kit = await createTestKit({
    jobTypes,
    wrapStateAdapter: (adapter) => {
      const calls = recordCalls(adapter);
      recorded = calls;
      return calls.adapter;
    },
  });
  return { ...kit, callsOf: (method: string) => recorded!.callsOf(method).map(({ args }) => args[0]) };
};

const sleepOn = (clock: { setTimer(callback: () => void, ms: number): unknown }, ms: number): Promise<void> =>
  new Promise((resolve) => clock.setTimer(resolve, ms));

describe("a batch", () => {
  it("is full before a second one is begun, and takes one slot", async () => {
    const kit = await createTestKit({ jobTypes });
    const sizes: number[] = [];
    let running = 0;
    let most = 0;
    const worker = kit.leasehold.createWorker().implementJobTypeBatch({
      typeName: "index",
      maxSize: 10,
      process: async ({ jobs }) => {
        sizes.push(jobs.length);
        most = Math.max(most, (running += 1));
        await sleepOn(kit.clock, 100);
        running -= 1;
        return jobs.map(({ input }) => input);
      },
    });
    await kit.leasehold.startJobSequences({ sequences: startPages(45) });
    await kit.drain(worker, { concurrency: 2, prefetch: 0 });
    expect(sizes).toEqual([10, 10, 10, 10, 5]);
    expect(most).toBe(2);
    expect(await kit.leasehold.jobs.count({ status: "completed" })).toMatchObject([{ count: 45 }]);
    expect(kit.clock.pendingTimers).toBe(0);
  });

  it("is claimed in one go, as many jobs as its slots can take", async () => {
    const kit = await createRecordedKit();
    const worker = kit.leasehold
      .createWorker()
      .implementJobTypeBatch({
        typeName: "index",
        maxSize: 50,
        process: async ({ jobs }) => jobs.map(({ input }) => input),
      })
      .implementJobType({ typeName: "ping", process: async () => null });
    const running = await kit.clock.runUntil(worker.start({ concurrency: 4, prefetch: 0 }));
    await kit.clock.runUntil(() => kit.callsOf("claimJobs").length > 0);
    const [first] = kit.callsOf("claimJobs") as ClaimCall[];
    expect(first!.requests).toEqual([
      { queue: "default", typeNames: ["ping"], limit: 2 },
      { queue: "default", typeNames: ["index"], limit: 100 },
    ]);
    await kit.clock.runUntil(running.stop());
  });

  it("waits for more jobs as long as it may, and not when it is full", async () => {
    const kit = await createTestKit({ jobTypes });
    const calls: { readonly at: number; readonly size: number }[] = [];
    const worker = kit.leasehold.createWorker().implementJobTypeBatch({
      typeName: "index",
      maxSize: 3,
      maxWaitMs: 200,
      process: async ({ jobs }) => {
        calls.push({ at: kit.clock.now(), size: jobs.length });
        return jobs.map(({ input }) => input);
      },
    });
    const running = await kit.clock.runUntil(worker.start());
    const startedAt = kit.clock.now();
    await kit.clock.runUntil(kit.leasehold.startJobSequences({ sequences: startPages(1) }));
    await kit.clock.advanceBy(100);
    await kit.clock.runUntil(kit.leasehold.startJobSequences({ sequences: startPages(1) }));
    await kit.clock.runUntil(() => calls.length === 1);
    expect(calls[0]!.size).toBe(2);
    expect(calls[0]!.at - startedAt).toBeGreaterThanOrEqual(200);
    expect(calls[0]!.at - startedAt).toBeLessThan(210);
    const before = kit.clock.now();
    await kit.clock.runUntil(kit.leasehold.startJobSequences({ sequences: startPages(3) }));
    await kit.clock.runUntil(() => calls.length === 2);
    expect(calls[1]!.size).toBe(3);
    expect(calls[1]!.at - before).toBeLessThan(10);
    await kit.clock.runUntil(running.stop());
    expect(kit.clock.pendingTimers).toBe(0);
  });

  it("has jobs of one group only, where that is asked for", async () => {
    const kit = await createTestKit({ jobTypes });
    const groupsOfCalls: (string | null)[][] = [];
    const worker = kit.leasehold.createWorker().implementJobTypeBatch({
      typeName: "index",
      maxSize: 10,
      maxWaitMs: 100,
      sameGroup: true,
      process: async ({ jobs }) => {
        groupsOfCalls.push(jobs.map(({ group }) => group));
        return jobs.map(({ input }) => input);
      },
    });
    const groups = ["a", "b", undefined];
    await kit.leasehold.startJobSequences({
      sequences: startPages(9).map((page, n) => ({ ...page, group: groups[n % 3] })),
    });
    await kit.drain(worker);
    expect(groupsOfCalls).toHaveLength(3);
    expect(groupsOfCalls).toEqual(
      expect.arrayContaining([
        ["a", "a", "a"],
        ["b", "b", "b"],
        [null, null, null],
      ]),
    );
  });

  it("takes no slot while it waits", async () => {
    const kit = await createTestKit({ jobTypes });
    const order: string[] = [];
    const worker = kit.leasehold
      .createWorker()
      .implementJobTypeBatch({
        typeName: "index",
        maxSize: 3,
        maxWaitMs: 500,
        process: async ({ jobs }) => {
          order.push("index");
          return jobs.map(({ input }) => input);
        },
      })
      .implementJobType({
        typeName: "ping",
        process: async () => {
          order.push("ping");
          return null;
        },
      });
    await kit.leasehold.startJobSequences({ sequences: startPages(1) });
    await kit.leasehold.startJobSequence({ typeName: "ping", input: 1 });
    await kit.drain(worker, { concurrency: 1 });
    expect(order).toEqual(["ping", "index"]);
  });

  it("takes turns with the other types of its queue", async () => {
    const kit = await createTestKit({ jobTypes });
    const order: string[] = [];
    const worker = kit.leasehold
      .createWorker()
      .implementJobTypeBatch({
        typeName: "index",
        maxSize: 2,
        process: async ({ jobs }) => {
          order.push("index");
          await sleepOn(kit.clock, 10);
          return jobs.map(({ input }) => input);
        },
      })
      .implementJobType({
        typeName: "ping",
        process: async () => {
          order.push("ping");
          await sleepOn(kit.clock, 10);
          return null;
        },
      });
    await kit.leasehold.startJobSequences({ sequences: startPages(40) });
    const pings = Array.from({ length: 20 }, (_, input) => ({ typeName: "ping" as const, input }));
    await kit.leasehold.startJobSequences({ sequences: pings });
    await kit.drain(worker, { concurrency: 1 });
    const firstHalf = order.slice(0, 20).filter((name) => name === "ping").length;
    expect(firstHalf).toBeGreaterThan(6);
    expect(firstHalf).toBeLessThan(14);
    expect(order.length).toBe(40);
  });

  it("has jobs of one timeout", async () => {
    const kit = await createTestKit({ jobTypes });
    const calls: (number | null)[][] = [];
    const worker = kit.leasehold.createWorker().implementJobTypeBatch({
      typeName: "index",
      maxSize: 10,
      process: async ({ jobs }) => {
        calls.push(jobs.map(({ timeoutMs }) => timeoutMs));
        return jobs.map(({ input }) => input);
      },
    });
    await kit.leasehold.startJobSequences({
      sequences: [...startPages(2), ...startPages(2, { timeoutMs: 100 }), ...startPages(1)],
    });
    await kit.drain(worker, { prefetch: 0 });
    expect(calls).toEqual([
      [null, null, null],
      [100, 100],
    ]);
  });

  it("that takes too long is aborted, and its jobs are tried again alone", async () => {
    const kit = await createTestKit({ jobTypes });
    const sizes: number[] = [];
    const reasons: unknown[] = [];
    const worker = kit.leasehold.createWorker().implementJobTypeBatch({
      typeName: "index",
      maxSize: 3,
      timeoutMs: 1_000,
      retry: { type: "fixed", delayMs: 10 },
      process: async ({ jobs, signal, signalOf }) => {
        sizes.push(jobs.length);
        if (jobs.length > 1) {
          await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
          reasons.push(signal.reason, ...jobs.map((job) => signalOf(job).reason));
        }
        return jobs.map(({ input }) => input);
      },
    });
    await kit.leasehold.startJobSequences({ sequences: startPages(3) });
    await kit.advance(worker, 5_000);
    expect(sizes).toEqual([3, 1, 1, 1]);
    expect(reasons).toEqual(["timeout", "timeout", "timeout", "timeout"]);
    const { jobs } = await kit.leasehold.jobs.list({ status: "completed" });
    expect(jobs.map(({ attempt, lastError }) => [attempt, lastError?.code])).toEqual([
      [2, "JobTimeout"],
      [2, "JobTimeout"],
      [2, "JobTimeout"],
    ]);
  });

  it("whose handler ignores its signal gives its slot up after the grace period", async () => {
    const events: string[] = [];
    const kit = await createTestKit({ jobTypes, log: ({ event }) => void events.push(event) });
    const never = createDeferred<number[]>();
    let calls = 0;
    const worker = kit.leasehold.createWorker().implementJobTypeBatch({
      typeName: "index",
      maxSize: 3,
      timeoutMs: 100,
      retry: { type: "fixed", delayMs: 0 },
      process: async ({ jobs }) => {
        calls += 1;
        return calls === 1 ? never.promise : jobs.map(({ input }) => input);
      },
    });
    await kit.leasehold.startJobSequences({ sequences: startPages(3) });
    await kit.drain(worker, { concurrency: 1, abortGraceMs: 500 });
    expect(calls).toBe(4);
    expect(await kit.leasehold.jobs.count({})).toMatchObject([{ status: "completed", count: 3 }]);
    expect(events.filter((event) => event === "jobAttemptStuck").length).toBe(3);
    never.resolve([0, 1, 2]);
    await kit.clock.advanceBy(1);
    expect(events.filter((event) => event === "jobAttemptLateResult").length).toBe(3);
  });

  it("reschedules all of its jobs at no cost when it asks for it", async () => {
    const kit = await createTestKit({ jobTypes });
    const sizes: number[] = [];
    const worker = kit.leasehold.createWorker().implementJobTypeBatch({
      typeName: "index",
      maxSize: 3,
      process: async ({ jobs }) => {
        sizes.push(jobs.length);
        if (sizes.length === 1) rescheduleJob({ afterMs: 1_000 });
        return jobs.map(({ input }) => input);
      },
    });
    await kit.leasehold.startJobSequences({ sequences: startPages(3) });
    await kit.advance(worker, 2_000);
    expect(sizes).toEqual([3, 3]);
    const { jobs } = await kit.leasehold.jobs.list({ status: "completed" });
    expect(jobs.map(({ attempt }) => attempt)).toEqual([1, 1, 1]);
  });

  it("fails only the job whose output cannot be stored, or whose input cannot be read", async () => {
    const types = defineJobTypes({
      index: { input: typeOnly<number>(), output: typeOnly<unknown>() },
    });
    const kit = await createTestKit({ jobTypes: types });
    const sizes: number[] = [];
    const worker = kit.leasehold.createWorker().implementJobTypeBatch({
      typeName: "index",
      maxSize: 4,
      maxAttempts: 2,
      retry: { type: "fixed", delayMs: 0 },
      process: async ({ jobs }) => {
        sizes.push(jobs.length);
        return jobs.map(({ input }) => (input === 2 ? Number.NaN : input));
      },
    });
    await kit.leasehold.startJobSequences({ sequences: startPages(4) });
    await kit.drain(worker);
    const failed = await kit.leasehold.jobs.list({ status: "failed" });
    expect(failed.jobs.map(({ input }) => input)).toEqual([2]);
    expect(failed.jobs[0]?.lastError?.code).toBe("PayloadNotStorable");
    expect(sizes).toEqual([4, 1]);
  });

  it("loses one job without the others: only its own signal aborts", async () => {
    const kit = await createTestKit({ jobTypes });
    const seen = createDeferred<void>();
    const goOn = createDeferred<void>();
    let signals: unknown[] = [];
    const worker = kit.leasehold.createWorker().implementJobTypeBatch({
      typeName: "index",
      maxSize: 3,
      process: async ({ jobs, signal, signalOf }) => {
        const all = [signal, ...jobs.map((job) => signalOf(job))];
        seen.resolve();
        await goOn.promise;
        signals = all.map(({ reason }) => reason);
        return jobs.map(({ input }) => input);
      },
    });
    const started = await kit.leasehold.startJobSequences({ sequences: startPages(3) });
    const running = await kit.clock.runUntil(worker.start());
    await kit.clock.runUntil(seen.promise);
    await kit.clock.runUntil(kit.leasehold.jobs.cancel({ ids: [started[1]!.id] }));
    await kit.clock.advanceBy(20_000);
    goOn.resolve();
    await kit.clock.runUntil(running.stop());
    expect(signals).toEqual([undefined, undefined, "cancelled", undefined]);
    const statuses = await Promise.all(
      started.map(async ({ id }) => (await kit.leasehold.jobs.get({ id }))?.status),
    );
    expect(statuses).toEqual(["completed", "failed", "completed"]);
  });

  it("that has lost all of its jobs is aborted", async () => {
    const kit = await createTestKit({ jobTypes });
    const seen = createDeferred<void>();
    const aborted = createDeferred<unknown>();
    const worker = kit.leasehold.createWorker().implementJobTypeBatch({
      typeName: "index",
      maxSize: 3,
      process: async ({ jobs, signal }) => {
        signal.addEventListener("abort", () => aborted.resolve(signal.reason));
        seen.resolve();
        await aborted.promise;
        return jobs.map(({ input }) => input);
      },
    });
    const started = await kit.leasehold.startJobSequences({ sequences: startPages(3) });
    const running = await kit.clock.runUntil(worker.start());
    await kit.clock.runUntil(seen.promise);
    const ids = started.map(({ id }) => id);
    await kit.clock.runUntil(kit.leasehold.jobs.cancel({ ids }));
    expect(await kit.clock.runUntil(aborted.promise)).toBe("cancelled");
    expect(await kit.clock.runUntil(running.stop())).toMatchObject({ clean: true });
    expect(await kit.leasehold.jobs.count({})).toMatchObject([{ status: "failed", count: 3 }]);
  });
});

describe("a worker that stops", () => {
  it("gives back the jobs that wait for a fuller batch", async () => {
    const kit = await createTestKit({ jobTypes });
    const worker = kit.leasehold.createWorker().implementJobTypeBatch({
      typeName: "index",
      maxSize: 10,
      maxWaitMs: 60_000,
      process: async ({ jobs }) => jobs.map(({ input }) => input),
    });
    await kit.leasehold.startJobSequences({ sequences: startPages(4) });
    const running = await kit.clock.runUntil(worker.start());
    await kit.clock.runUntil(() => running.health().bufferedJobs === 4);
    expect(await kit.clock.runUntil(running.stop())).toMatchObject({ clean: true, releasedJobs: 4 });
    const { jobs } = await kit.leasehold.jobs.list({ status: "pending" });
    expect(jobs.map(({ attempt }) => attempt)).toEqual([0, 0, 0, 0]);
    expect(kit.clock.pendingTimers).toBe(0);
  });

  it("aborts a batch at the deadline and gives its jobs back", async () => {
    const kit = await createTestKit({ jobTypes });
    const seen = createDeferred<void>();
    const worker = kit.leasehold.createWorker().implementJobTypeBatch({
      typeName: "index",
      maxSize: 3,
      process: async ({ signal }) => {
        seen.resolve();
        await new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));
        throw signal.reason;
      },
    });
    await kit.leasehold.startJobSequences({ sequences: startPages(3) });
    const running = await kit.clock.runUntil(worker.start());
    await kit.clock.runUntil(seen.promise);
    expect(running.health()).toMatchObject({ runningJobs: 3, bufferedJobs: 0 });
    expect(await kit.clock.runUntil(running.stop({ deadlineMs: 100 }))).toMatchObject({ abortedJobs: 3 });
    const { jobs } = await kit.leasehold.jobs.list({ status: "pending" });
    expect(jobs.map(({ attempt }) => attempt)).toEqual([0, 0, 0]);
  });
});

describe("complete of a batch", () => {
  it("locks and commits in one call each, however many jobs there are", async () => {
    const kit = await createRecordedKit();
    const worker = kit.leasehold.createWorker().implementJobTypeBatch({
      typeName: "index",
      maxSize: 50,
      process: async ({ complete }) => complete(({ jobs }) => jobs.map(({ input }) => input)),
    });
    await kit.leasehold.startJobSequences({ sequences: startPages(50) });
    await kit.drain(worker);
    expect(kit.callsOf("lockHeldJobs").length).toBe(1);
    const commits = kit.callsOf("commitOutcomes") as CommitOutcomesCall[];
    expect(commits.map(({ outcomes }) => outcomes.length)).toEqual([50]);
  });

  it("waits as often for fifty jobs as for two, between the callback and the commit", async () => {
    const turns = async (size: number): Promise<number> => {
      let counted = 0;
      let isCounting = false;
      const count = (): void => {
        counted += 1;
        if (isCounting) queueMicrotask(count);
      };
      const kit = await createTestKit({
        jobTypes,
        wrapStateAdapter: (adapter) => ({
          ...adapter,
          commitOutcomes: (call) => {
            isCounting = false;
            return adapter.commitOutcomes(call);
          },
        }),
      });
      const worker = kit.leasehold.createWorker().implementJobTypeBatch({
        typeName: "index",
        maxSize: size,
        process: async ({ complete }) =>
          complete(({ jobs }) => {
            isCounting = true;
            queueMicrotask(count);
            return jobs.map(({ input }) => input);
          }),
      });
      await kit.leasehold.startJobSequences({ sequences: startPages(size) });
      await kit.drain(worker);
      expect(isCounting).toBe(false);
      return counted;
    };
    expect(await turns(50)).toBe(await turns(2));
  });

  it("runs again without a job that was lost while the callback ran", async () => {
    const kit = await createTestKit({ jobTypes });
    const runs: number[][] = [];
    const worker = kit.leasehold.createWorker().implementJobTypeBatch({
      typeName: "index",
      maxSize: 2,
      maxWaitMs: 10_000,
      process: async ({ complete }) =>
        complete(async ({ jobs }) => {
          runs.push(jobs.map(({ input }) => input));
          // No lease can be renewed while the transaction has the rows, and the first is the first to end.
          if (runs.length === 1) await sleepOn(kit.clock, 800);
          return jobs.map(({ input }) => input);
        }),
    });
    const running = await kit.clock.runUntil(worker.start({ leaseMs: 1_000, pollIntervalMs: 10 }));
    // Just after a heartbeat, so that the next one comes too late for both.
    await kit.clock.advanceBy(340);
    await kit.clock.runUntil(kit.leasehold.startJobSequences({ sequences: startPages(1) }));
    await kit.clock.advanceBy(260);
    const [second] = await kit.clock.runUntil(
      kit.leasehold.startJobSequences({ sequences: [{ typeName: "index", input: 7 }] }),
    );
    await kit.clock.runUntil(
      async () => (await kit.leasehold.jobs.get({ id: second!.id }))?.status === "completed",
    );
    expect(runs.slice(0, 2)).toEqual([[0, 7], [7]]);
    await kit.clock.runUntil(running.stop());
  });

  it("refuses what a single handler is refused, with the same errors", async () => {
    const kit = await createTestKit({ jobTypes });
    const errors: unknown[] = [];
    const worker = kit.leasehold.createWorker().implementJobTypeBatch({
      typeName: "index",
      maxSize: 2,
      maxAttempts: 1,
      process: async ({ jobs, complete, signalOf }) => {
        const attempts = [
          () => complete("no function" as never),
          () => complete(() => [], { isolationLevel: "loose" as never }),
          () => signalOf({ id: "another" }),
        ];
        for (const attempt of attempts) {
          try {
            await attempt();
          } catch (error) {
            errors.push((error as { code: string }).code);
          }
        }
        await complete(() => jobs.map(({ input }) => input));
        return complete(() => []);
      },
    });
    await kit.leasehold.startJobSequences({ sequences: startPages(1) });
    await kit.drain(worker);
    expect(errors).toEqual(["InvalidOption", "InvalidOption", "InvalidOption"]);
    // What the first complete has committed stands.
    expect(await kit.leasehold.jobs.count({})).toMatchObject([{ status: "completed", count: 1 }]);
  });

  it("that is forgotten does not commit, and says what to write", async () => {
    const kit = await createTestKit({ jobTypes });
    const worker = kit.leasehold.createWorker().implementJobTypeBatch({
      typeName: "index",
      maxSize: 2,
      maxAttempts: 1,
      process: async ({ jobs, complete }) => {
        void complete(async () => {
          await sleepOn(kit.clock, 50);
          return jobs.map(({ input }) => input);
        });
        return jobs.map(({ input }) => input);
      },
    });
    await kit.leasehold.startJobSequences({ sequences: startPages(2) });
    await kit.drain(worker);
    const { jobs } = await kit.leasehold.jobs.list({ status: "failed" });
    expect(jobs.map(({ lastError }) => lastError?.message)).toEqual([
      expect.stringContaining("`return complete(…)`"),
      expect.stringContaining("`return complete(…)`"),
    ]);
  });

  it("refuses a continuation that is returned without it", async () => {
    const kit = await createTestKit({ jobTypes });
    let leaked: unknown;
    const worker = kit.leasehold.createWorker().implementJobTypeBatch({
      typeName: "index",
      maxSize: 2,
      maxAttempts: 1,
      process: async ({ complete }) => {
        const failing = complete((options) => {
          const { continueWith } = options as unknown as { continueWith: (options: object) => unknown };
          leaked = continueWith({ typeName: "ping", input: 1 });
          throw new Error("changed its mind");
        });
        await failing.catch(() => {});
        return [leaked] as never;
      },
    });
    await kit.leasehold.startJobSequences({ sequences: startPages(1) });
    await kit.drain(worker);
    const { jobs } = await kit.leasehold.jobs.list({ status: "failed" });
    expect(jobs[0]?.lastError?.message).toContain("changed its mind");
  });
});

describe("the jobs of a batch", () => {
  it("have exactly one outcome each, whatever is in their places", async () => {
    const kit = await createRecordedKit();
    const worker = kit.leasehold.createWorker().implementJobTypeBatch({
      typeName: "index",
      maxSize: 30,
      maxAttempts: 2,
      retry: { type: "fixed", delayMs: 0 },
      process: async ({ jobs }) =>
        jobs.map(({ input }) => (input % 3 === 0 ? failJob(new Error(`no ${input}`)) : input + 1_000)),
    });
    await kit.leasehold.startJobSequences({ sequences: startPages(30) });
    await kit.drain(worker);
    const { jobs } = await kit.leasehold.jobs.list({ limit: 100 });
    for (const job of jobs) {
      if (job.input! % 3 === 0) {
        expect(job).toMatchObject({ status: "failed", attempt: 2 });
        expect(job.lastError?.message).toBe(`no ${job.input}`);
      } else expect(job).toMatchObject({ status: "completed", attempt: 1, output: job.input! + 1_000 });
    }
    const written = (kit.callsOf("commitOutcomes") as CommitOutcomesCall[]).flatMap(({ outcomes }) =>
      outcomes.map(({ jobId, leaseToken }) => `${jobId} ${leaseToken}`),
    );
    expect(new Set(written).size).toBe(written.length);
    expect(written.length).toBe(40);
  });
});

describe("middleware of batches", () => {
  const index = {
    typeName: "index",
    maxSize: 3,
    process: async ({ jobs }: { jobs: readonly { input: number }[] }) => jobs.map(({ input }) => input),
  } as const;

  it("wraps the call, the one added first outermost", async () => {
    const kit = await createTestKit({ jobTypes });
    const order: unknown[] = [];
    const worker = kit.leasehold
      .createWorker()
      .useForBatches(async ({ jobs, workerId, signalOf, signal }, next) => {
        order.push("outer", jobs.length, workerId, signal.aborted, signalOf(jobs[0]!).aborted);
        const outputs = (await next()) as number[];
        order.push("outer again");
        return outputs.map((output) => output + 100);
      })
      .useForBatches(async (_context, next) => {
        order.push("inner");
        return next();
      })
      .implementJobTypeBatch(index);
    await kit.leasehold.startJobSequences({ sequences: startPages(3) });
    await kit.drain(worker, { workerId: "w1" });
    expect(order).toEqual(["outer", 3, "w1", false, false, "inner", "outer again"]);
    const { jobs } = await kit.leasehold.jobs.list({ status: "completed", order: "oldest" });
    expect(jobs.map((job) => job.status === "completed" && job.output)).toEqual([100, 101, 102]);
  });

  it("has to be given where other handlers have some", async () => {
    const kit = await createTestKit({ jobTypes });
    const worker = kit.leasehold
      .createWorker()
      .use((_context, next) => next())
      .implementJobTypeBatch(index);
    await expect(worker.start()).rejects.toMatchObject({ code: "InvalidOption", option: "useForBatches" });
    worker.useForBatches((_context, next) => next());
    await kit.leasehold.startJobSequences({ sequences: startPages(1) });
    await kit.drain(worker);
    expect(await kit.leasehold.jobs.count({})).toMatchObject([{ status: "completed", count: 1 }]);
  });
});
