import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { defineUnionJobTypes } from "../job-types/define.ts";
import { watchGlobals } from "../testing/global-watch.ts";
import { createTestKit } from "../testing/test-kit.ts";

const jobTypes = defineUnionJobTypes<{ work: { input: { n: number }; output: null } }>();

const work = { typeName: "work", input: { n: 1 }, maxAttempts: 1 } as const;

const forget = (promise: Promise<unknown>): void => void promise;

/** Node reports a rejection that nobody handles once the microtasks are done. */
const untilReported = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const watch = watchGlobals();

beforeEach(() => watch.start());

afterEach(async () => {
  await untilReported();
  watch.stop();
  watch.check();
});

describe("a promise that a handler forgets does not end the process", () => {
  it("progress of a cancelled job", async () => {
    const { leasehold, drain } = await createTestKit({ jobTypes });
    const worker = leasehold.createWorker().implementJobType({
      typeName: "work",
      process: async ({ job, reportProgress }) => {
        await leasehold.jobs.cancel({ ids: [job.sequenceId] });
        forget(reportProgress(1));
        await untilReported();
        forget(reportProgress(2));
      },
    });
    const { id } = await leasehold.startJobSequence(work);
    await drain(worker);
    expect(await leasehold.jobs.get({ id })).toMatchObject({ failure: { reason: "cancelled" } });
  });

  it("progress of a job that has timed out", async () => {
    const { leasehold, clock, drain } = await createTestKit({ jobTypes });
    const worker = leasehold.createWorker().implementJobType({
      typeName: "work",
      timeoutMs: 10,
      process: async ({ reportProgress }) => {
        await new Promise<void>((resolve) => clock.setTimer(resolve, 50));
        forget(reportProgress(1));
      },
    });
    await leasehold.startJobSequence(work);
    await drain(worker);
  });

  it("progress that cannot be stored", async () => {
    const { leasehold, drain } = await createTestKit({ jobTypes });
    const worker = leasehold.createWorker().implementJobType({
      typeName: "work",
      process: async ({ reportProgress }) => {
        forget(reportProgress(1n));
      },
    });
    const { id } = await leasehold.startJobSequence(work);
    await drain(worker);
    expect((await leasehold.jobs.get({ id }))?.status).toBe("completed");
  });

  it("whatever is called once the attempt is over", async () => {
    const { leasehold, clock, drain } = await createTestKit({ jobTypes });
    const worker = leasehold.createWorker().implementJobType({
      typeName: "work",
      process: async (options) => {
        const { prepare } = options;
        clock.setTimer(() => {
          forget(prepare({ mode: "staged" }));
          forget(options.complete(() => null));
          forget(options.reportProgress(1));
        }, 10);
      },
    });
    const { id } = await leasehold.startJobSequence(work);
    await drain(worker);
    await clock.advanceBy(20);
    expect((await leasehold.jobs.get({ id }))?.status).toBe("completed");
  });

  it("complete, prepare and next with wrong arguments or twice", async () => {
    const { leasehold, drain } = await createTestKit({ jobTypes });
    const worker = leasehold
      .createWorker()
      .use(async (_context, next) => {
        const result = await next();
        forget(next());
        return result;
      })
      .implementJobType({
        typeName: "work",
        process: async ({ prepare, complete }) => {
          forget(prepare({ mode: "neither" as never }));
          forget(prepare({ mode: "staged" }));
          forget(complete(undefined as never));
          forget(complete(() => null));
          await untilReported();
        },
      });
    const { id } = await leasehold.startJobSequence(work);
    await drain(worker);
    // The first of them is what the attempt fails with: none has done what it was called for.
    expect(await leasehold.jobs.get({ id })).toMatchObject({
      status: "failed",
      lastError: { name: "InvalidOptionError", message: expect.stringContaining("mode") as string },
    });
  });
});
