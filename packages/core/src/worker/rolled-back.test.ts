import { describe, expect, it } from "vitest";
import { defineUnionJobTypes } from "../job-types/define.ts";
import { createTestKit } from "../testing/test-kit.ts";
import { mostFreeClaims } from "./outcome.ts";
import { mostTransactionRuns } from "./transactions.ts";

const jobTypes = defineUnionJobTypes<{ work: { input: null; output: null } }>();

class Deadlock extends Error {}

const createKit = () =>
  createTestKit({
    jobTypes,
    wrapStateAdapter: (adapter) => ({
      ...adapter,
      isTransientError: (error) => error instanceof Deadlock || adapter.isTransientError(error),
    }),
  });

describe("a transaction that is rolled back again and again", () => {
  it("is given back at no cost a number of times, and then costs attempts until none is left", async () => {
    const { leasehold, advance } = await createKit();
    let callbackRuns = 0;
    let claims = 0;
    const worker = leasehold.createWorker().implementJobType({
      typeName: "work",
      process: async ({ complete }) => {
        claims += 1;
        return complete(() => {
          callbackRuns += 1;
          throw new Deadlock();
        });
      },
    });
    const { id } = await leasehold.startJobSequence({ typeName: "work", maxAttempts: 2 });
    await advance(worker, 300_000);
    expect(await leasehold.jobs.get({ id })).toMatchObject({
      status: "failed",
      attempt: 2,
      failure: { reason: "attempts_exhausted" },
    });
    expect(claims).toBe(mostFreeClaims + 2);
    expect(callbackRuns).toBe(claims * mostTransactionRuns);
  });

  it("is not run again once the attempt has timed out", async () => {
    const { leasehold, clock, drain } = await createKit();
    let callbackRuns = 0;
    const worker = leasehold.createWorker().implementJobType({
      typeName: "work",
      timeoutMs: 100,
      process: async ({ complete }) =>
        complete(async () => {
          callbackRuns += 1;
          await new Promise<void>((resolve) => clock.setTimer(resolve, 150));
          throw new Deadlock();
        }),
    });
    const { id } = await leasehold.startJobSequence({ typeName: "work", maxAttempts: 1 });
    await drain(worker);
    expect(callbackRuns).toBe(1);
    expect(await leasehold.jobs.get({ id })).toMatchObject({
      status: "failed",
      lastError: { name: "JobTimeoutError" },
    });
  });

  it("is not run again after the handler has ended", async () => {
    const { leasehold, drain } = await createKit();
    let callbackRuns = 0;
    const worker = leasehold.createWorker().implementJobType({
      typeName: "work",
      process: async ({ complete }) => {
        const begun = new Promise<void>((resolve) => {
          const completing = complete(async () => {
            callbackRuns += 1;
            resolve();
            await new Promise(setImmediate);
            throw new Deadlock();
          });
          void completing;
        });
        await begun;
      },
    });
    const { id } = await leasehold.startJobSequence({ typeName: "work", maxAttempts: 1 });
    await drain(worker);
    expect(callbackRuns).toBe(1);
    expect(await leasehold.jobs.get({ id })).toMatchObject({
      status: "failed",
      lastError: { name: "ProcessMisuseError" },
    });
  });
});
