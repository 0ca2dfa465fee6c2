import assert from "node:assert/strict";
import { defineUnionJobTypes } from "../../job-types/define.ts";
import type { Scenario } from "../scenario.ts";

const jobTypes = defineUnionJobTypes<{
  add: { input: { a: number; b: number }; output: number };
  note: { input: string; output: null };
}>();

export const describeSimpleHandlers: Scenario = ({ test }) => {
  test("what the handler returns is the output", jobTypes, async ({ leasehold, work, completion }) => {
    await work(
      leasehold.createWorker().implementJobType({
        typeName: "add",
        process: async ({ job }) => job.input.a + job.input.b,
      }),
      { workerId: "adder" },
    );

    const started = await leasehold.startJobSequence({ typeName: "add", input: { a: 1, b: 2 } });
    assert.equal(started.status, "pending");
    const completed = await completion(started);

    assert.equal(completed.output, 3);
    const job = await leasehold.jobs.get({ id: started.id, typeName: "add" });
    assert.ok(job?.status === "completed");
    assert.deepEqual(
      [job.output, job.completedBy, job.attempt, job.continuedToId, job.lastError],
      [3, "adder", 1, null, null],
    );
    assert.deepEqual(job.completedAt, completed.completedAt);
  });

  test(
    "a handler can pass the rest of its argument on to a function",
    jobTypes,
    async ({ leasehold, work, completion }) => {
      const seen: unknown[] = [];
      await work(
        leasehold
          .createWorker()
          .implementJobType({
            typeName: "add",
            process: ({ job, ...rest }) => {
              const add = async ({ prepare, complete, reportProgress, signal, log }: typeof rest) => {
                const sum = await prepare({ mode: "staged" }, () => job.input.a + job.input.b);
                await reportProgress(sum);
                log("added");
                seen.push(signal.aborted);
                return complete(() => sum);
              };
              return add(rest);
            },
          })
          .implementJobTypeBatch({
            typeName: "note",
            maxSize: 10,
            process: ({ jobs, ...rest }) => {
              seen.push(rest.signal.aborted, rest.signalOf(jobs[0]!).aborted);
              return rest.complete(() => jobs.map(() => null));
            },
          }),
      );

      const { output } = await completion(
        await leasehold.startJobSequence({ typeName: "add", input: { a: 1, b: 2 } }),
      );
      await completion(await leasehold.startJobSequence({ typeName: "note", input: "milk" }));

      assert.equal(output, 3);
      assert.deepEqual(seen, [false, false, false]);
    },
  );

  test(
    "a handler can spread its argument after an await, and complete with it",
    jobTypes,
    async ({ leasehold, work, completion }) => {
      await work(
        leasehold.createWorker().implementJobType({
          typeName: "add",
          process: async (options) => {
            await Promise.resolve();
            const { job, ...rest } = options;
            return rest.complete(() => job.input.a + job.input.b);
          },
        }),
      );
      const started = await leasehold.startJobSequence({ typeName: "add", input: { a: 1, b: 2 } });
      assert.equal((await completion(started)).output, 3);
    },
  );

  test("a handler may return nothing", jobTypes, async ({ leasehold, work, completion }) => {
    const notes: string[] = [];
    await work(
      leasehold.createWorker().implementJobType({
        typeName: "note",
        process: async ({ job }) => {
          notes.push(job.input);
        },
      }),
    );

    const { output } = await completion(
      await leasehold.startJobSequence({ typeName: "note", input: "milk" }),
    );

    assert.equal(output, null);
    assert.deepEqual(notes, ["milk"]);
  });

  test(
    "the handler sees its job as it is stored",
    jobTypes,
    async ({ leasehold, work, completion, queue }) => {
      const seen: unknown[] = [];
      await work(
        leasehold.createWorker().implementJobType({
          typeName: "note",
          process: async ({ job, signal }) => {
            seen.push([
              job.id,
              job.status,
              job.attempt,
              job.leasedBy,
              job.queue,
              job.priority,
              job.blockers,
              signal.aborted,
            ]);
          },
        }),
        { workerId: "reader" },
      );

      const started = await leasehold.startJobSequence({ typeName: "note", input: "x", priority: 7 });
      await completion(started);

      assert.deepEqual(seen, [[started.id, "running", 1, "reader", queue, 7, [], false]]);
    },
  );

  test("an event is reported for every step", jobTypes, async ({ leasehold, work, completion, events }) => {
    await work(
      leasehold.createWorker().implementJobType({ typeName: "add", process: async ({ job }) => job.input.a }),
    );
    const { id } = await completion(
      await leasehold.startJobSequence({ typeName: "add", input: { a: 1, b: 0 } }),
    );
    await events.first("jobAttemptCompleted");

    for (const name of [
      "jobCreated",
      "jobSequenceCreated",
      "jobAttemptStarted",
      "jobCompleted",
      "jobSequenceCompleted",
    ] as const) {
      assert.deepEqual(
        events.all(name).map((data) => data.id),
        [id],
        name,
      );
    }
  });
};
