import assert from "node:assert/strict";
import type { JobAbortReason } from "../../job-types/entities.ts";
import { defineUnionJobTypes } from "../../job-types/define.ts";
import { createGate } from "../gate.ts";
import { within } from "../patience.ts";
import type { Scenario } from "../scenario.ts";
import { aborted } from "../story-signals.ts";

const jobTypes = defineUnionJobTypes<{
  work: { input: { n: number }; output: string };
}>();

export const describeStopping: Scenario = ({ test }) => {
  test(
    "running jobs finish, and nothing more is claimed",
    jobTypes,
    async ({ leasehold, work, completion }) => {
      const running = createGate();
      const goOn = createGate();
      const worker = await work(
        leasehold.createWorker().implementJobType({
          typeName: "work",
          process: async ({ signal }) => {
            running.open();
            await goOn.opened;
            return String(signal.aborted);
          },
        }),
        { concurrency: 1 },
      );
      const started = await leasehold.startJobSequence({ typeName: "work", input: { n: 0 } });
      await running.opened;

      const stopping = worker.stop();
      assert.equal(worker.health().state, "stopping");
      const later = await leasehold.startJobSequence({ typeName: "work", input: { n: 1 } });
      goOn.open();

      assert.deepEqual(await stopping, {
        clean: true,
        releasedJobs: 0,
        abortedJobs: 0,
        abandonedJobs: 0,
        unwrittenResults: 0,
      });
      assert.equal(worker.health().state, "stopped");
      assert.equal((await completion(started)).output, "false");
      assert.equal((await leasehold.jobs.get({ id: later.id }))?.status, "pending");
    },
  );

  test(
    "jobs claimed ahead are given back without costing an attempt",
    jobTypes,
    async ({ leasehold, work, events, queue }) => {
      const holding = createGate();
      const goOn = createGate();
      const worker = await work(
        leasehold.createWorker().implementJobType({
          typeName: "work",
          process: async () => {
            // Quick until others wait behind it in this worker; the first that sees them holds them up.
            if (worker.health().bufferedJobs > 0) {
              holding.open();
              await goOn.opened;
            }
            return "done";
          },
        }),
        { concurrency: 1, prefetch: 20 },
      );
      const sequences = Array.from({ length: 500 }, (_, n) => ({ typeName: "work" as const, input: { n } }));
      await leasehold.startJobSequences({ sequences });
      await within(holding.opened, "a job with others behind it");
      const { bufferedJobs } = worker.health();

      const stopping = worker.stop();
      goOn.open();
      const result = await stopping;

      assert.ok(result.clean);
      assert.ok(
        result.releasedJobs >= bufferedJobs && bufferedJobs > 0,
        `${result.releasedJobs} of ${bufferedJobs}`,
      );
      const completed = events.all("jobCompleted").length;
      assert.deepEqual(
        new Map((await leasehold.jobs.count({ queue })).map(({ status, count }) => [status, count])),
        new Map([
          ["completed", completed],
          ["pending", 500 - completed],
        ]),
      );
      const { jobs } = await leasehold.jobs.list({ queue, status: "pending", limit: 500 });
      assert.ok(jobs.every(({ attempt }) => attempt === 0));
    },
  );

  test(
    "at the deadline a job is aborted and given back, and another worker finishes it",
    jobTypes,
    async (story) => {
      const { leasehold, work, completion } = story;
      const running = createGate();
      let reason: JobAbortReason | undefined;
      const first = await work(
        leasehold.createWorker().implementJobType({
          typeName: "work",
          process: async ({ signal }) => {
            running.open();
            reason = await aborted(signal);
            throw new Error("interrupted");
          },
        }),
      );
      const started = await leasehold.startJobSequence({ typeName: "work", input: { n: 0 }, maxAttempts: 1 });
      await running.opened;

      const result = await first.stop({ deadlineMs: 20 });

      assert.deepEqual(result, {
        clean: false,
        releasedJobs: 0,
        abortedJobs: 1,
        abandonedJobs: 0,
        unwrittenResults: 0,
      });
      assert.equal(reason, "shutdown");
      await work(
        leasehold.createWorker().implementJobType({
          typeName: "work",
          process: async ({ job }) => `attempt ${job.attempt}`,
        }),
      );
      assert.equal((await completion(started)).output, "attempt 1");
    },
  );

  test(
    "a handler that gets done after all is taken at its word",
    jobTypes,
    async ({ leasehold, work, completion }) => {
      const running = createGate();
      const worker = await work(
        leasehold.createWorker().implementJobType({
          typeName: "work",
          process: async ({ signal, complete }) => {
            running.open();
            await aborted(signal);
            return complete(() => "just in time");
          },
        }),
      );
      const started = await leasehold.startJobSequence({ typeName: "work", input: { n: 0 } });
      await running.opened;
      const { abortedJobs } = await worker.stop({ deadlineMs: 0 });
      assert.equal(abortedJobs, 1);
      assert.equal((await completion(started)).output, "just in time");
    },
  );

  test(
    "a handler that does not even react is left behind, and its job given back",
    jobTypes,
    async (story) => {
      const { leasehold, work, completion, events } = story;
      const running = createGate();
      const letGo = createGate();
      const first = await work(
        leasehold.createWorker().implementJobType({
          typeName: "work",
          process: async () => {
            running.open();
            await letGo.opened;
            return "from the stuck one";
          },
        }),
        { abortGraceMs: 30 },
      );
      const started = await leasehold.startJobSequence({ typeName: "work", input: { n: 0 } });
      await running.opened;

      const result = await first.stop({ deadlineMs: 0 });

      assert.deepEqual(result, {
        clean: false,
        releasedJobs: 0,
        abortedJobs: 1,
        abandonedJobs: 1,
        unwrittenResults: 0,
      });
      await work(
        leasehold
          .createWorker()
          .implementJobType({ typeName: "work", process: async () => "from the next one" }),
      );
      assert.equal((await completion(started)).output, "from the next one");
      letGo.open();
      await events.first("jobAttemptLateResult");
      assert.equal((await completion(started)).output, "from the next one");
    },
  );

  test("stopping twice gives the same result", jobTypes, async ({ leasehold, work, events }) => {
    const worker = await work(
      leasehold.createWorker().implementJobType({ typeName: "work", process: async () => "" }),
    );
    const [one, two] = await Promise.all([worker.stop(), worker.stop({ deadlineMs: 0 })]);
    assert.equal(one, two);
    assert.equal(await worker.stop(), one);
    assert.equal(events.all("workerStopping").length, 1);
    assert.equal(events.all("workerStopped").length, 1);
  });

  test(
    "jobs that a claim brings while stopping are given back",
    jobTypes,
    async ({ leasehold, openAnother, queue }) => {
      const claimed = createGate();
      const goOn = createGate();
      const slow = await openAnother({
        store: (adapter) => ({
          claimJobs: async (call) => {
            const jobs = await adapter.claimJobs(call);
            if (jobs.length > 0) {
              claimed.open();
              await goOn.opened;
            }
            return jobs;
          },
        }),
      });
      const sequences = Array.from({ length: 3 }, (_, n) => ({ typeName: "work" as const, input: { n } }));
      await leasehold.startJobSequences({ sequences });
      let ran = 0;
      const worker = await slow.work(
        slow.leasehold.createWorker().implementJobType({
          typeName: "work",
          process: async () => {
            ran += 1;
            return "";
          },
        }),
      );
      await within(claimed.opened, "the claim");

      const stopping = worker.stop();
      goOn.open();

      assert.deepEqual(await stopping, {
        clean: true,
        releasedJobs: 3,
        abortedJobs: 0,
        abandonedJobs: 0,
        unwrittenResults: 0,
      });
      assert.equal(ran, 0);
      const { jobs } = await leasehold.jobs.list({ queue });
      assert.deepEqual(
        jobs.map(({ status, attempt }) => [status, attempt]),
        [
          ["pending", 0],
          ["pending", 0],
          ["pending", 0],
        ],
      );
    },
  );
};
