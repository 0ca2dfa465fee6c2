import assert from "node:assert/strict";
import type { JobAbortReason } from "../../job-types/entities.ts";
import { defineJobTypes, defineUnionJobTypes, typeOnly } from "../../job-types/define.ts";
import { createGate } from "../gate.ts";
import { within } from "../patience.ts";
import type { Scenario } from "../scenario.ts";
import { aborted } from "../story-signals.ts";

const jobTypes = defineUnionJobTypes<{
  slow: { input: { stuck: boolean }; output: string };
}>();

const hastyJobTypes = defineJobTypes({
  slow: { input: typeOnly<{ stuck: boolean }>(), output: typeOnly<string>(), timeoutMs: 60 },
});

export const describeTimeouts: Scenario = ({ test }) => {
  test("the signal aborts, the attempt counts, and the next one may succeed", jobTypes, async (story) => {
    const { leasehold, work, completion, events } = story;
    const reasons: (JobAbortReason | undefined)[] = [];
    await work(
      leasehold.createWorker().implementJobType({
        typeName: "slow",
        retry: { type: "fixed", delayMs: 0 },
        process: async ({ job, signal }) => {
          if (job.attempt === 2) return "in time";
          reasons.push(await aborted(signal));
          throw new Error("interrupted");
        },
      }),
    );
    const started = await leasehold.startJobSequence({
      typeName: "slow",
      input: { stuck: true },
      timeoutMs: 60,
    });

    assert.equal((await completion(started)).output, "in time");
    assert.deepEqual(reasons, ["timeout"]);
    const job = await leasehold.jobs.get({ id: started.id });
    assert.deepEqual([job?.attempt, job?.timeoutMs, job?.lastError?.name], [2, 60, "JobTimeoutError"]);
    assert.equal(job?.lastError?.cause?.message, "interrupted");
    assert.deepEqual(
      events.all("jobAttemptTimedOut").map(({ attempt, timeoutMs }) => [attempt, timeoutMs]),
      [[1, 60]],
    );
  });

  test(
    "a handler that hangs is ended by the default of the instance, where nobody else sets a limit",
    jobTypes,
    async ({ openAnother }) => {
      const { leasehold, work, failure, events } = await openAnother({ defaults: { timeoutMs: 50 } });
      await work(
        leasehold.createWorker().implementJobType({
          typeName: "slow",
          process: async ({ signal }) => {
            await aborted(signal);
            return "done";
          },
        }),
      );
      const started = await leasehold.startJobSequence({
        typeName: "slow",
        input: { stuck: true },
        maxAttempts: 1,
      });
      const { cause } = await failure(started);
      assert.ok(cause instanceof Error && cause.name === "JobTimeoutError");
      assert.equal(events.all("jobAttemptTimedOut")[0]?.timeoutMs, 50);

      const patient = await leasehold.startJobSequence({
        typeName: "slow",
        input: { stuck: true },
        timeoutMs: 90,
        maxAttempts: 1,
      });
      await failure(patient);
      assert.equal(events.all("jobAttemptTimedOut")[1]?.timeoutMs, 90);
    },
  );

  test("a result that comes too late is not taken", jobTypes, async ({ leasehold, work, failure }) => {
    await work(
      leasehold.createWorker().implementJobType({
        typeName: "slow",
        process: async ({ signal }) => {
          await aborted(signal);
          return "too late";
        },
      }),
    );
    const started = await leasehold.startJobSequence({
      typeName: "slow",
      input: { stuck: true },
      timeoutMs: 50,
      maxAttempts: 1,
    });
    const { reason, cause } = await failure(started);
    assert.ok(cause instanceof Error);
    assert.deepEqual([reason, cause.name], ["attempts_exhausted", "JobTimeoutError"]);
  });

  test("nor is a completion", jobTypes, async ({ leasehold, work, failure }) => {
    let refused: unknown;
    await work(
      leasehold.createWorker().implementJobType({
        typeName: "slow",
        process: async ({ signal, complete }) => {
          await aborted(signal);
          try {
            return await complete(() => "too late");
          } catch (error) {
            refused = error;
            throw error;
          }
        },
      }),
    );
    const started = await leasehold.startJobSequence({
      typeName: "slow",
      input: { stuck: true },
      timeoutMs: 50,
      maxAttempts: 1,
    });
    assert.equal((await failure(started)).reason, "attempts_exhausted");
    assert.ok(refused instanceof Error);
    assert.deepEqual(
      [refused.name, (refused as { reason?: unknown }).reason],
      ["JobAttemptEndedError", "timeout"],
    );
  });

  test("a job type and a handler can set it too, and the smallest counts", hastyJobTypes, async (story) => {
    const { leasehold, work, failure, events } = story;
    await work(
      leasehold.createWorker().implementJobType({
        typeName: "slow",
        timeoutMs: 40,
        process: async ({ signal }) => String(await aborted(signal)),
      }),
    );
    const started = await leasehold.startJobSequence({
      typeName: "slow",
      input: { stuck: true },
      timeoutMs: 60_000,
      maxAttempts: 1,
    });
    await failure(started);
    assert.equal((await leasehold.jobs.get({ id: started.id }))?.timeoutMs, 60);
    assert.deepEqual(
      events.all("jobAttemptTimedOut").map(({ timeoutMs }) => timeoutMs),
      [40],
    );
  });

  test(
    "a handler that ignores its signal loses its slot, and its late result is reported",
    jobTypes,
    async (story) => {
      const { leasehold, work, completion, failure, events } = story;
      const letGo = createGate();
      const worker = await work(
        leasehold.createWorker().implementJobType({
          typeName: "slow",
          process: async ({ job }) => {
            if (job.input.stuck) await letGo.opened;
            return "done";
          },
        }),
        { concurrency: 1, abortGraceMs: 40 },
      );
      const stuck = await leasehold.startJobSequence({
        typeName: "slow",
        input: { stuck: true },
        timeoutMs: 40,
        maxAttempts: 1,
      });
      const behind = await leasehold.startJobSequence({ typeName: "slow", input: { stuck: false } });

      assert.equal((await completion(behind)).output, "done");
      const { cause } = await failure(stuck);
      assert.ok(cause instanceof Error);
      assert.equal(cause.name, "JobTimeoutError");
      assert.equal((await events.first("jobAttemptStuck")).id, stuck.id);
      assert.equal(events.all("jobAttemptLateResult").length, 0);

      letGo.open();
      assert.equal((await events.first("jobAttemptLateResult")).id, stuck.id);
      const { abandonedJobs } = await worker.stop();
      assert.equal(abandonedJobs, 1);
      assert.equal((await leasehold.jobs.get({ id: stuck.id }))?.status, "failed");
    },
  );

  test(
    "a callback of complete that never settles does not keep its transaction open",
    jobTypes,
    async (story) => {
      const { leasehold, work, completion, failure, queue } = story;
      await work(
        leasehold.createWorker().implementJobType({
          typeName: "slow",
          process: async ({ job, complete }) =>
            complete(async (ctx) => {
              if (!job.input.stuck) return "done";
              await leasehold.startJobSequence({ ...ctx, typeName: "slow", input: { stuck: true } });
              return new Promise<string>(() => {});
            }),
        }),
        { abortGraceMs: 20 },
      );
      const stuck = await leasehold.startJobSequence({
        typeName: "slow",
        input: { stuck: true },
        timeoutMs: 40,
        maxAttempts: 1,
      });
      assert.equal((await failure(stuck)).reason, "attempts_exhausted");
      const behind = await leasehold.startJobSequence({ typeName: "slow", input: { stuck: false } });
      assert.equal((await within(completion(behind), "the next job")).output, "done");
      const { jobs } = await leasehold.jobs.list({ queue });
      assert.equal(jobs.length, 2);
    },
  );
};
