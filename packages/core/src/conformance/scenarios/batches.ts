import assert from "node:assert/strict";
import { UnrecoverableJobError } from "../../store/errors.ts";
import type { DefineContinuationOutput } from "../../job-types/markers.ts";
import { defineUnionJobTypes } from "../../job-types/define.ts";
import type { RetryPolicy } from "../../job-types/retry-policy.ts";
import { failJob } from "../../worker/outcome.ts";
import { createGate } from "../gate.ts";
import { within } from "../patience.ts";
import type { Scenario } from "../scenario.ts";
import type { AppOptions, Story } from "../story.ts";

interface Types {
  index: { input: { page: number }; output: { page: number } };
  fetch: { input: { page: number }; output: { page: number } | DefineContinuationOutput<"index"> };
  note: { input: { page: number }; output: null };
}

const jobTypes = defineUnionJobTypes<Types>();

const atOnce: RetryPolicy = { type: "fixed", delayMs: 0 };
const pages = (count: number): readonly number[] => Array.from({ length: count }, (_, page) => page);

/** Starts a job for each page, all at once. */
const startPages = async <TTypeName extends "index" | "fetch">(
  { leasehold }: Story<Types>,
  typeName: TTypeName,
  count: number,
): Promise<{ readonly id: string; readonly typeName: TTypeName }[]> => {
  const sequences = pages(count).map((page) => ({ typeName, input: { page } }));
  const started = await leasehold.startJobSequences({ sequences: sequences as never });
  return started.map(({ id }) => ({ id, typeName }));
};

class Lost extends Error {}

/** Loses the answer to the first transaction that wrote outcomes, after it has committed. */
const losingFirstCommit = (): AppOptions => {
  let left = 1;
  return {
    store: (adapter) => ({
      isTransientError: (error) => error instanceof Lost || adapter.isTransientError(error),
      runInTransaction: async (callback, parent) => {
        const result = await adapter.runInTransaction(callback, parent);
        if (parent !== undefined || left === 0) return result;
        left -= 1;
        throw new Lost("the connection was lost");
      },
    }),
  };
};

export const describeBatches: Scenario = ({ test }) => {
  test("one call gets many jobs, and each its own output", jobTypes, async (story) => {
    const { leasehold, work, completion, events } = story;
    const started = await startPages(story, "index", 7);
    const sizes: number[] = [];
    await work(
      leasehold.createWorker().implementJobTypeBatch({
        typeName: "index",
        maxSize: 5,
        process: async ({ jobs }) => {
          sizes.push(jobs.length);
          return jobs.map(({ input }) => ({ page: input.page * 10 }));
        },
      }),
      { concurrency: 1 },
    );
    const outputs = await Promise.all(started.map(async (each) => (await completion(each)).output));
    assert.deepEqual(
      outputs,
      pages(7).map((page) => ({ page: page * 10 })),
    );
    assert.equal(
      sizes.reduce((sum, size) => sum + size),
      7,
    );
    assert.ok(sizes.every((size) => size <= 5));
    assert.equal(sizes[0], 5);
    assert.equal(events.all("jobAttemptStarted").length, 7);
    // The waits may read the store before the worker has its answer.
    await events.first("jobAttemptCompleted", () => events.all("jobAttemptCompleted").length >= 7);
    assert.equal(events.all("jobAttemptCompleted").length, 7);
  });

  test("failJob fails the job of its place and no other", jobTypes, async (story) => {
    const { leasehold, work, completion, failure } = story;
    const started = await startPages(story, "index", 4);
    const attempts = new Map<number, number[]>();
    await work(
      leasehold.createWorker().implementJobTypeBatch({
        typeName: "index",
        maxSize: 4,
        retry: atOnce,
        process: async ({ jobs }) =>
          jobs.map(({ input, attempt }) => {
            attempts.set(input.page, [...(attempts.get(input.page) ?? []), attempt]);
            if (input.page === 1 && attempt === 1) return failJob(new Error("not yet"));
            if (input.page === 2) return failJob(new UnrecoverableJobError("never"));
            return input;
          }),
      }),
    );
    const [zero, one, two, three] = started;
    for (const each of [zero!, one!, three!]) await completion(each);
    assert.match(String((await failure(two!)).cause), /never/);
    assert.deepEqual(Object.fromEntries(attempts), { 0: [1], 1: [1, 2], 2: [1], 3: [1] });
  });

  test(
    "after an error every job is tried again alone, and only the bad one fails",
    jobTypes,
    async (story) => {
      const { leasehold, work, completion, failure } = story;
      const started = await startPages(story, "index", 5);
      const calls: number[][] = [];
      await work(
        leasehold.createWorker().implementJobTypeBatch({
          typeName: "index",
          maxSize: 5,
          retry: atOnce,
          maxAttempts: 3,
          process: async ({ jobs }) => {
            calls.push(jobs.map(({ input }) => input.page));
            if (jobs.some(({ input }) => input.page === 3))
              throw new UnrecoverableJobError("cannot be indexed");
            return jobs.map(({ input }) => input);
          },
        }),
      );
      for (const each of started.filter((_each, page) => page !== 3)) {
        const { currentJobId } = await completion(each);
        assert.equal((await leasehold.jobs.get({ id: currentJobId }))?.attempt, 2);
      }
      assert.match(String((await failure(started[3]!)).cause), /cannot be indexed/);
      assert.deepEqual(calls[0], [0, 1, 2, 3, 4]);
      assert.ok(calls.slice(1).every((call) => call.length === 1));
      assert.equal(calls.length, 6);
    },
  );

  test("a job at its only attempt is not put together with others", jobTypes, async (story) => {
    const { leasehold, work, completion, failure } = story;
    const started = await startPages(story, "index", 3);
    await work(
      leasehold.createWorker().implementJobTypeBatch({
        typeName: "index",
        maxSize: 3,
        maxAttempts: 1,
        process: async ({ jobs }) => {
          if (jobs.some(({ input }) => input.page === 1)) throw new Error("broken");
          return jobs.map(({ input }) => input);
        },
      }),
    );
    await completion(started[0]!);
    await completion(started[2]!);
    assert.match(String((await failure(started[1]!)).cause), /broken/);
  });

  test("too few outputs are an error that says so", jobTypes, async (story) => {
    const { leasehold, work, completion, events } = story;
    const started = await startPages(story, "index", 3);
    await work(
      leasehold.createWorker().implementJobTypeBatch({
        typeName: "index",
        maxSize: 3,
        retry: atOnce,
        process: async ({ jobs }) => (jobs.length > 1 ? jobs.slice(1) : jobs).map(({ input }) => input),
      }),
    );
    for (const [page, each] of started.entries()) assert.deepEqual((await completion(each)).output, { page });
    const { error } = await events.first("jobAttemptFailed");
    assert.match(String(error), /batch of 3 jobs returned 2 outputs/);
  });

  test("complete commits the writes and all completions together", jobTypes, async (story) => {
    const { leasehold, work, completion, queue } = story;
    const started = await startPages(story, "index", 6);
    let runs = 0;
    await work(
      leasehold.createWorker().implementJobTypeBatch({
        typeName: "index",
        maxSize: 10,
        retry: atOnce,
        process: async ({ complete }) =>
          complete(async ({ jobs, ...ctx }) => {
            runs += 1;
            const sequences = jobs.map(({ input }) => ({ typeName: "note" as const, input }));
            await leasehold.startJobSequences({ ...ctx, sequences });
            if (jobs.length > 1) throw new Error("rolled back");
            return jobs.map(({ input }) => input);
          }),
      }),
    );
    for (const [page, each] of started.entries()) assert.deepEqual((await completion(each)).output, { page });
    const { jobs } = await leasehold.jobs.list({ queue, typeName: "note" });
    assert.deepEqual(
      jobs.map(({ input }) => input.page).sort((a, b) => a - b),
      pages(6),
    );
    assert.equal(runs, 7);
  });

  test("a job lost before complete is left out of it", jobTypes, async (story) => {
    const { leasehold, openAnother, completion, queue } = story;
    const started = await startPages(story, "index", 3);
    const app = await openAnother();
    const called = createGate();
    const cancelled = createGate();
    let signals: boolean[] = [];
    await app.work(
      app.leasehold.createWorker().implementJobTypeBatch({
        typeName: "index",
        maxSize: 3,
        process: async ({ jobs, signal, signalOf, complete }) => {
          called.open();
          await cancelled.opened;
          const completing = await complete(async ({ jobs: held, ...ctx }) => {
            const sequences = held.map(({ input }) => ({ typeName: "note" as const, input }));
            await app.leasehold.startJobSequences({ ...ctx, sequences });
            return held.map(({ input }) => input);
          });
          signals = [signal.aborted, ...jobs.map((job) => signalOf(job).aborted)];
          return completing;
        },
      }),
    );
    await within(called.opened, "the call");
    await leasehold.jobs.cancel({ ids: [started[1]!.id] });
    cancelled.open();
    assert.deepEqual((await completion(started[0]!)).output, { page: 0 });
    assert.deepEqual((await completion(started[2]!)).output, { page: 2 });
    await app.events.first("jobAttemptCompleted", ({ sequenceId }) => sequenceId === started[2]!.id);
    const { jobs } = await leasehold.jobs.list({ queue, typeName: "note" });
    assert.deepEqual(
      jobs.map(({ input }) => input.page).sort((a, b) => a - b),
      [0, 2],
    );
    assert.deepEqual(signals, [false, false, true, false]);
    assert.equal(
      (await leasehold.jobs.getSequence({ id: started[1]!.id, typeName: "index" }))?.status,
      "failed",
    );
  });

  test("a commit whose answer was lost is found to have happened", jobTypes, async (story) => {
    const { openAnother, queue } = story;
    const { leasehold, work, completion } = await openAnother(losingFirstCommit());
    const started = await startPages(story, "index", 4);
    let runs = 0;
    await work(
      leasehold.createWorker().implementJobTypeBatch({
        typeName: "index",
        maxSize: 4,
        process: async ({ complete }) =>
          complete(async ({ jobs, ...ctx }) => {
            runs += 1;
            await leasehold.startJobSequences({
              ...ctx,
              sequences: jobs.map(({ input }) => ({ typeName: "note" as const, input })),
            });
            return jobs.map(({ input }) => input);
          }),
      }),
    );
    for (const each of started) {
      const { currentJobId } = await completion(each);
      assert.equal((await leasehold.jobs.get({ id: currentJobId }))?.attempt, 1);
    }
    assert.equal(runs, 1);
    assert.equal((await leasehold.jobs.list({ queue, typeName: "note" })).jobs.length, 4);
  });

  test("in any place, a sequence can go on with its next job", jobTypes, async (story) => {
    const { leasehold, work, completion } = story;
    const started = await startPages(story, "fetch", 4);
    await work(
      leasehold
        .createWorker()
        .implementJobTypeBatch({
          typeName: "fetch",
          maxSize: 4,
          process: async ({ complete }) =>
            complete(({ jobs, continueWith }) =>
              jobs.map(({ input }) =>
                input.page % 2 === 0
                  ? continueWith({ typeName: "index", input: { page: input.page + 100 } })
                  : input,
              ),
            ),
        })
        .implementJobTypeBatch({
          typeName: "index",
          maxSize: 4,
          process: async ({ jobs }) => jobs.map(({ input }) => input),
        }),
    );
    const ended = await Promise.all(started.map((each) => completion(each)));
    assert.deepEqual(
      ended.map(({ currentTypeName, output }) => [currentTypeName, output.page]),
      [
        ["index", 100],
        ["fetch", 1],
        ["index", 102],
        ["fetch", 3],
      ],
    );
  });

  test("a job that fails inside complete is left out of the completions", jobTypes, async (story) => {
    const { leasehold, work, completion, failure } = story;
    const started = await startPages(story, "index", 3);
    await work(
      leasehold.createWorker().implementJobTypeBatch({
        typeName: "index",
        maxSize: 3,
        process: async ({ complete }) =>
          complete(({ jobs }) =>
            jobs.map(({ input }) =>
              input.page === 1 ? failJob(new UnrecoverableJobError("no text")) : input,
            ),
          ),
      }),
    );
    await completion(started[0]!);
    await completion(started[2]!);
    assert.match(String((await failure(started[1]!)).cause), /no text/);
  });
};
