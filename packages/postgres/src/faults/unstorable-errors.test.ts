import { afterEach, beforeEach, describe, expect, inject, it } from "vitest";
import { type Kit, openKit } from "../testing/kit.ts";
import { claim, completionOf, newJob } from "../testing/test-jobs.ts";
import { until } from "../testing/until.ts";

let kit: Kit;
beforeEach(async () => {
  kit = await openKit({ url: inject("postgres15Url") });
});
afterEach(() => kit.close());

describe("an error whose text PostgreSQL cannot store", () => {
  const hostile = {
    "NUL and half a character": () => new Error("\0 and \uD800"),
    "a cause that is itself": () => {
      const error = new Error("cyclic");
      error.cause = error;
      return error;
    },
    "a getter that throws": () =>
      Object.defineProperty(new Error("hostile"), "message", {
        get: () => {
          throw new Error("again");
        },
      }),
    nothing: () => null,
    "fifty megabytes": () => new Error("x".repeat(50_000_000)),
  };

  it.each(Object.entries(hostile))("still fails its job: %s", async (_name, create) => {
    const worker = await kit.leasehold
      .createWorker()
      .implementJobType({
        typeName: "work",
        process: async () => {
          throw create();
        },
      })
      .start({ pollIntervalMs: 20 });
    await kit.leasehold.startJobSequence({ typeName: "work", input: { n: 1 }, maxAttempts: 1 });
    await until(async () => (await kit.statuses())["failed"] === 1, "the job has failed");
    await worker.stop();
    const [job] = await kit.rows<{ last_error: string }>("SELECT last_error FROM $schema.job");
    expect(job!.last_error.length).toBeGreaterThan(0);
    expect(job!.last_error.length).toBeLessThan(100_000);
  });

  it("is refused by the store itself, with an error that is not transient", async () => {
    await kit.stateAdapter.createJobs({ jobs: [newJob()] });
    const [job] = await claim(kit.stateAdapter, { limit: 1 });
    const outcome = {
      ...completionOf(job!),
      kind: "fail" as const,
      reason: "unrecoverable" as const,
      error: "\0",
    };
    const attempt = kit.stateAdapter.commitOutcomes({ outcomes: [outcome] });
    await expect(attempt).rejects.toSatisfy((error) => !kit.stateAdapter.isTransientError(error));
    expect(await kit.statuses()).toEqual({ running: 1 });
  });
});
