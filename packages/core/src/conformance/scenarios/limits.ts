import assert from "node:assert/strict";
import { InvalidOptionError } from "../../base/errors.ts";
import { defineJobTypes, typeOnly } from "../../job-types/define.ts";
import { StorePartMissingError, UnknownJobTypeError, VersionMismatchError } from "../../store/errors.ts";
import { createGate } from "../gate.ts";
import { until, within } from "../patience.ts";
import type { Scenario } from "../scenario.ts";
import type { Story } from "../story.ts";

const jobTypes = defineJobTypes({
  work: { input: typeOnly<{ n: number }>(), output: typeOnly<number>() },
  sync: {
    input: typeOnly<{ account: string; n: number }>(),
    group: ({ account }) => account,
    ordered: true,
  },
  import: {
    input: typeOnly<{ account: string; n: number }>(),
    group: ({ account }) => account,
    ordered: { onFailure: "stop" },
  },
  report: { blockers: ["work"] },
});

type JobTypesOf<T> = T extends { readonly "~definitions"?: infer TDefs } ? TDefs : never;

type LimitsStory = Story<JobTypesOf<typeof jobTypes>>;

// Longer than any test: what happens in one of these happens without polling.
const never = 600_000;

const startSteps = (leasehold: LimitsStory["leasehold"], count: number) =>
  leasehold.startJobSequences({
    sequences: Array.from({ length: count }, (_, n) => ({ typeName: "work" as const, input: { n } })),
  });

/** How many are inside at once. Each waits until it is let out. */
const createCounter = () => {
  let inside = 0;
  let most = 0;
  return {
    visit: async <T>(result: T): Promise<T> => {
      inside += 1;
      most = Math.max(most, inside);
      await new Promise((resolve) => setTimeout(resolve, 2));
      inside -= 1;
      return result;
    },
    get most() {
      return most;
    },
  };
};

export const describeLimits: Scenario = ({ test: register }) => {
  /** A store without the part refuses; there is nothing else to tell about it. */
  const test = (name: string, tell: (story: LimitsStory) => Promise<void>): void =>
    register(name, jobTypes, async (story) => {
      if (story.stateAdapter.limits !== undefined) return tell(story);
      await assert.rejects(story.leasehold.limits.pause({ queue: story.queue }), StorePartMissingError);
      await assert.rejects(
        story.leasehold.startJobSequence({ typeName: "work", input: { n: 1 }, group: "a" }),
        StorePartMissingError,
      );
    });

  test("jobs can be listed, counted, changed and cancelled by their group", async ({ leasehold, queue }) => {
    const [acme, other] = [`acme ${queue}`, `other ${queue}`];
    const sequences = [acme, acme, other].map((account, n) => ({
      typeName: "sync" as const,
      input: { account, n },
    }));
    const started = (await leasehold.startJobSequences({ sequences })).map(({ id }) => id);
    const filter = { group: acme };
    const { jobs } = await leasehold.jobs.list({ ...filter, order: "oldest" });
    assert.deepEqual(
      jobs.map(({ id }) => id),
      started.slice(0, 2),
    );
    assert.equal((await leasehold.jobs.count({ group: [acme, other] }))[0]?.count, 3);
    assert.equal((await leasehold.jobs.update({ filter, priority: 1 })).changed.length, 2);
    assert.equal((await leasehold.jobs.cancel({ filter })).changed.length, 2);
    assert.equal((await leasehold.jobs.redrive({ filter, dryRun: true })).changed.length, 2);
    assert.equal((await leasehold.deleteJobSequences({ filter })).changed.length, 2);
    assert.deepEqual(
      (await leasehold.jobs.list({ group: [acme, other] })).jobs.map(({ id }) => id),
      started.slice(2),
    );
  });

  test("a limit holds over all workers, and no job waits for a poll", async (story) => {
    const { leasehold, work, openAnother, completion } = story;
    const other = await openAnother();
    await leasehold.limits.set({ typeName: "work", concurrency: 3 });
    const counter = createCounter();
    const started = await startSteps(leasehold, 40);
    for (const app of [leasehold, other.leasehold]) {
      const worker = app
        .createWorker()
        .implementJobType({ typeName: "work", process: ({ job }) => counter.visit(job.input.n) });
      await work(worker, { concurrency: 10, pollIntervalMs: never });
    }
    await Promise.all(started.map(completion));
    assert.equal(counter.most, 3);
    const state = (await leasehold.limits.list({ queue: story.queue })).find(
      ({ typeName }) => typeName === "work",
    );
    assert.equal(state?.running, 0);
    assert.equal(state?.concurrency, 3);
  });

  test("jobs that only wait in a worker leave the slots of their limit to another worker", async (story) => {
    const { leasehold, work, openAnother, completion } = story;
    const other = await openAnother();
    await leasehold.limits.set({ typeName: "work", concurrency: 4 });
    const stuck = createGate();
    const goOn = createGate();
    const hoarder = await work(
      leasehold.createWorker().implementJobType({
        typeName: "work",
        process: async ({ job }) => {
          // Quick until others wait behind it in this worker; the first that finds them holds them up.
          if (hoarder.health().bufferedJobs > 0) {
            stuck.open();
            await goOn.opened;
          }
          return job.input.n;
        },
      }),
      { concurrency: 1, prefetch: 20 },
    );
    const started = await startSteps(leasehold, 60);
    await within(stuck.opened, "a job with others behind it");
    let inside = 0;
    await other.work(
      other.leasehold.createWorker().implementJobType({
        typeName: "work",
        process: async ({ job }) => {
          inside += 1;
          await goOn.opened;
          return job.input.n;
        },
      }),
      { concurrency: 10 },
    );
    await until(() => inside === 3, "the other worker runs all that the limit allows");
    goOn.open();
    await Promise.all(started.map(completion));
  });

  test("a paused queue starts nothing until it is resumed", async (story) => {
    const { leasehold, work, completion, events, queue } = story;
    await leasehold.limits.pause({ queue });
    const started = await leasehold.startJobSequence({ typeName: "work", input: { n: 7 } });
    await work(
      leasehold
        .createWorker()
        .implementJobType({ typeName: "work", process: async ({ job }) => job.input.n }),
    );
    await until(() => events.all("claimBatch").length > 0, "the worker has looked");
    const explanation = await leasehold.jobs.explain(started);
    assert.ok(explanation.state === "throttled");
    assert.equal(explanation.by, "paused");
    assert.match(explanation.summary, /is paused\. Resume it/);
    await leasehold.limits.resume({ queue });
    assert.equal((await completion(started)).output, 7);
  });

  test("a raised limit lets jobs start", async (story) => {
    const { leasehold, work, completion, queue } = story;
    await leasehold.limits.set({ queue, concurrency: 1 });
    const gate = createGate();
    let inside = 0;
    await work(
      leasehold.createWorker().implementJobType({
        typeName: "work",
        process: async ({ job }) => {
          inside += 1;
          await gate.opened;
          return job.input.n;
        },
      }),
    );
    const started = await startSteps(leasehold, 3);
    await until(() => inside === 1, "one runs");
    const waiting = started.find(({ id }) => id !== started[0]!.id)!;
    const explanation = await leasehold.jobs.explain(waiting);
    assert.ok(explanation.state === "throttled");
    assert.deepEqual(
      [explanation.by, explanation.limit, explanation.inUse, explanation.scope],
      ["concurrency", 1, 1, { queue, typeName: null, group: null }],
    );
    await leasehold.limits.set({ queue, concurrency: 3 });
    await until(() => inside === 3, "all run");
    gate.open();
    await Promise.all(started.map(completion));
  });

  test("an ordered group runs one after the other, also through retries", async (story) => {
    const { leasehold, work, completion } = story;
    const order: string[] = [];
    const failedOnce = new Set<number>();
    const started = await leasehold.startJobSequences({
      sequences: Array.from({ length: 12 }, (_, n) => ({
        typeName: "sync" as const,
        input: { account: n % 2 === 0 ? "even" : "odd", n },
      })),
    });
    await work(
      leasehold.createWorker().implementJobType({
        typeName: "sync",
        retry: { type: "fixed", delayMs: 5 },
        process: async ({ job: { input, group } }) => {
          assert.equal(group, input.account);
          if (input.n % 3 === 0 && !failedOnce.has(input.n)) {
            failedOnce.add(input.n);
            throw new Error("not yet");
          }
          order.push(`${input.account} ${input.n}`);
          return null;
        },
      }),
      { concurrency: 8 },
    );
    await Promise.all(started.map(completion));
    for (const account of ["even", "odd"]) {
      const numbers = order
        .filter((entry) => entry.startsWith(account))
        .map((entry) => Number(entry.split(" ")[1]));
      assert.deepEqual(
        numbers,
        [...numbers].sort((a, b) => a - b),
      );
      assert.equal(numbers.length, 6);
    }
  });

  test("a group that stops at a failure goes on when it is resumed", async (story) => {
    const { leasehold, work, completion, failure } = story;
    const [first, second] = await leasehold.startJobSequences({
      sequences: [1, 2].map((n) => ({
        typeName: "import" as const,
        input: { account: "a", n },
        maxAttempts: 1,
      })),
    });
    await work(
      leasehold.createWorker().implementJobType({
        typeName: "import",
        process: async ({ job }) => {
          if (job.input.n === 1) throw new Error("broken");
          return null;
        },
      }),
    );
    await failure(first!);
    // A claim that is under way at this moment may still be at the group.
    await until(async () => {
      const explanation = await leasehold.jobs.explain(second!);
      return (
        explanation.state === "throttled" &&
        explanation.by === "stopped" &&
        explanation.jobIds[0] === first!.id
      );
    }, "the group has stopped");
    await until(async () => {
      const { groups } = await leasehold.limits.listGroups({ typeName: "import", throttled: true });
      const [found] = groups;
      return found?.group === "a" && found.throttledBy === "stopped" && found.stoppedBy === first!.id;
    }, "the group is listed as stopped");
    await leasehold.limits.resume({ typeName: "import", group: "a" });
    await completion(second!);
  });

  test("each remedy that the explanation of a stopped group names makes it run again", async (story) => {
    const { leasehold, work, completion, failure } = story;
    const mended = new Set<string>();
    await work(
      leasehold.createWorker().implementJobType({
        typeName: "import",
        process: async ({ job }) => {
          if (job.input.n === 1 && !mended.has(job.input.account)) throw new Error("broken");
          return null;
        },
      }),
    );
    const remedies: Record<string, (failedId: string, group: string) => Promise<unknown>> = {
      redrive: (failedId) => leasehold.jobs.redrive({ ids: [failedId] }),
      delete: (failedId) => leasehold.deleteJobSequences({ rootSequenceIds: [failedId] }),
      "limits.resume": (_failedId, group) => leasehold.limits.resume({ typeName: "import", group }),
    };
    for (const [remedy, apply] of Object.entries(remedies)) {
      const [first, second] = await leasehold.startJobSequences({
        sequences: [1, 2].map((n) => ({
          typeName: "import" as const,
          input: { account: remedy, n },
          maxAttempts: 1,
        })),
      });
      await failure(first!);
      await until(async () => {
        const { state, summary } = await leasehold.jobs.explain(second!);
        return state === "throttled" && summary.toLowerCase().includes(remedy);
      }, `the explanation names ${remedy}`);
      mended.add(remedy);
      await apply(first!.id, remedy);
      await completion(second!);
    }
  });

  test("each remedy that the explanation of a paused or limited job names makes it run", async (story) => {
    const { leasehold, work, completion, failure, queue } = story;
    let gate = createGate();
    let entered = createGate();
    await work(
      leasehold.createWorker().implementJobType({
        typeName: "work",
        process: async ({ job }) => {
          if (job.input.n > 0) return job.input.n;
          entered.open();
          await gate.opened;
          return 0;
        },
      }),
      { concurrency: 10 },
    );
    const explainThrottled = async (job: { readonly id: string }) => {
      const explanation = await leasehold.jobs.explain(job);
      assert.ok(explanation.state === "throttled", explanation.summary);
      return explanation;
    };
    for (const scope of [{ queue }, { typeName: "work" as const }]) {
      await leasehold.limits.pause(scope);
      const [paused] = await startSteps(leasehold, 2).then((jobs) => jobs.slice(1));
      assert.match((await explainThrottled(paused!)).summary, /Resume it with limits\.resume/);
      gate.open();
      await leasehold.limits.resume(scope);
      await completion(paused!);
      gate = createGate();
    }
    const remedies: Record<string, (holderId: string) => Promise<unknown>> = {
      "Raise the limit with limits.set": () => leasehold.limits.set({ typeName: "work", concurrency: 2 }),
      "cancel one of the running jobs": (id) => leasehold.jobs.cancel({ ids: [id] }),
    };
    for (const [remedy, apply] of Object.entries(remedies)) {
      entered = createGate();
      await leasehold.limits.set({ typeName: "work", concurrency: 1 });
      const holder = await leasehold.startJobSequence({ typeName: "work", input: { n: 0 } });
      await entered.opened;
      const [first, second] = await leasehold.startJobSequences({
        sequences: [1, 2].map((n) => ({
          typeName: "work" as const,
          input: { n },
          expireAfterMs: 3_600_000,
        })),
      });
      const explanation = await explainThrottled(second!);
      assert.ok(explanation.summary.includes(remedy), explanation.summary);
      assert.deepEqual(
        [explanation.by, explanation.limit, explanation.inUse, explanation.jobIds, explanation.aheadInQueue],
        ["concurrency", 1, 1, [holder.id], 1],
      );
      const { scheduledAt } = (await leasehold.jobs.get(second!))!;
      assert.deepEqual(explanation.expiresAt, new Date(scheduledAt.getTime() + 3_600_000));
      await apply(holder.id);
      await Promise.all([completion(first!), completion(second!)]);
      gate.open();
      await (remedy.startsWith("Raise") ? completion(holder) : failure(holder));
      gate = createGate();
    }
  });

  test("the chain of a blocked job ends at the limit that delays its blocker", async (story) => {
    const { leasehold, queue } = story;
    await leasehold.limits.set({ queue, concurrency: 1 });
    const [holder] = await startSteps(leasehold, 1);
    await story.stateAdapter.claimJobs({
      workerId: "worker",
      leaseToken: "token",
      leaseMs: 3_600_000,
      requests: [{ queue, typeNames: null, limit: 1 }],
      limit: 1,
    });
    const blocker = await leasehold.startJobSequence({ typeName: "work", input: { n: 1 } });
    const { id } = await leasehold.startJobSequence({ typeName: "report", startBlockers: () => [blocker] });
    const explanation = await leasehold.jobs.explain({ id });
    assert.ok(explanation.state === "blocked");
    assert.deepEqual(
      explanation.chain.map(({ jobId, typeName, state }) => [jobId, typeName, state]),
      [[blocker.id, "work", "throttled"]],
    );
    const held = /waits for queue ".*": 1 of 1 slots held by worker for [\d.]+ m?s$/;
    assert.match(explanation.chain[0]!.reason, held);
    assert.ok(explanation.summary.endsWith(`It waits for work, which ${explanation.chain[0]!.reason}.`));
    const throttled = await leasehold.jobs.explain(blocker);
    assert.ok(throttled.state === "throttled");
    assert.deepEqual(
      throttled.holders.map(({ jobId, typeName, leasedBy }) => [jobId, typeName, leasedBy]),
      [[holder!.id, "work", "worker"]],
    );
    assert.match(throttled.summary, /and 1 are running, on worker for [\d.]+ m?s\. Raise/);
    assert.deepEqual((await leasehold.jobs.explain({ id: holder!.id })).state, "running");
  });

  test("a throttled job of a group has numbers of the jobs ahead of it", async (story) => {
    const { leasehold } = story;
    const jobs = await leasehold.startJobSequences({
      sequences: [1, 2, 3].map((n) => ({ typeName: "sync" as const, input: { account: "a", n } })),
    });
    const explanation = await leasehold.jobs.explain(jobs[2]!);
    assert.ok(explanation.state === "throttled" && explanation.by === "order");
    assert.deepEqual([explanation.aheadInQueue, explanation.aheadCapped], [2, false]);
    assert.match(explanation.summary, /It has 2 jobs ahead of it in group "a"\./);
    // What comes first in the group is next, and the chain ends there.
    assert.deepEqual(
      explanation.chain.map(({ jobId, state }) => [jobId, state]),
      [[jobs[0]!.id, "runnable"]],
    );
    assert.match(
      explanation.summary,
      new RegExp(`job ${jobs[0]!.id} comes first, which (is next|waits for a worker)`),
    );
  });

  test("a rate spreads jobs over time", async (story) => {
    const { leasehold, work, completion, queue } = story;
    await leasehold.limits.set({ queue, rate: { limit: 5, perMs: 200, burst: 1 } });
    const started = await startSteps(leasehold, 6);
    const from = Date.now();
    await work(
      leasehold
        .createWorker()
        .implementJobType({ typeName: "work", process: async ({ job }) => job.input.n }),
      { pollIntervalMs: never },
    );
    await Promise.all(started.map(completion));
    // Five intervals of 40 ms lie between six starts.
    assert.ok(Date.now() - from >= 190, `took ${Date.now() - from} ms`);
  });

  test("a rule is changed with the transaction, or not at all", async (story) => {
    const { leasehold, queue } = story;
    const stop = new Error("roll back");
    const change = leasehold.runInTransaction(async (ctx) => {
      await leasehold.limits.set({ queue, concurrency: 9, ...ctx });
      throw stop;
    });
    await assert.rejects(change, stop);
    assert.deepEqual(await leasehold.limits.list({ queue }), []);
    const { version } = await leasehold.limits.set({ queue, concurrency: 9, expectedVersion: 0 });
    assert.equal(version, 1);
    await assert.rejects(
      leasehold.limits.set({ queue, concurrency: 4, expectedVersion: 0 }),
      (error: unknown) => error instanceof VersionMismatchError && error.actual === 1,
    );
    const state = await leasehold.limits.set({ queue, concurrency: null, expectedVersion: 1 });
    assert.deepEqual([state.concurrency, state.version], [null, 2]);
  });

  test("rules that make no sense are refused before anything is written", async (story) => {
    const { leasehold, queue } = story;
    const refused = async (option: string, rule: object): Promise<void> => {
      await assert.rejects(
        leasehold.limits.set({ queue, ...rule }),
        (error: unknown) => error instanceof InvalidOptionError && error.option === option,
        JSON.stringify(rule),
      );
    };
    for (const wrong of [0, -1, Number.NaN, 1e18, 1.5, "3"]) {
      await refused("concurrency", { concurrency: wrong });
      await refused("rate.limit", { rate: { limit: wrong, perMs: 1_000 } });
      await refused("perGroup.concurrency", { perGroup: { concurrency: wrong } });
    }
    await refused("rate.perMs", { rate: { limit: 1, perMs: 0 } });
    await refused("rate.burst", { rate: { limit: 1, perMs: 10, burst: 2 } });
    await refused("rate.limit", { rate: { limit: 1_000_001, perMs: 1_000 } });
    await refused('weights["a"]', { weights: { a: 0 } });
    await refused("paused", { paused: null });
    await refused("options", {});
    await assert.rejects(leasehold.limits.set({ queue, concurrency: 0 }), /use `pause`/);
    await assert.rejects(
      leasehold.limits.set({ concurrency: 1 } as never),
      /`queue` or `typeName` is required/,
    );
    await assert.rejects(leasehold.limits.pause({ typeName: "nothing" as never }), UnknownJobTypeError);
    for (const group of ["", "x".repeat(10_000), "a\0b", 3 as never]) {
      await assert.rejects(
        leasehold.startJobSequence({ typeName: "work", input: { n: 1 }, group }),
        (error: unknown) => error instanceof InvalidOptionError && error.option === "group",
      );
    }
    assert.deepEqual(await leasehold.limits.list({ queue }), []);
  });
};
