import { describe, expect, it } from "vitest";
import { newJob } from "../conformance/state-fixture.ts";
import { defineUnionJobTypes } from "../job-types/define.ts";
import { createLeasehold } from "../leasehold.ts";
import { createInProcessStateAdapter } from "../memory/state-adapter.ts";
import type { NewJob } from "../store/contract/creation.ts";
import { onNthCall } from "../testing/fault-plans.ts";
import { withFaults } from "../testing/faults.ts";
import { recordCalls } from "../testing/record-calls.ts";

const jobTypes = defineUnionJobTypes<{ load: { input: { n: number }; output: null } }>();

const names = { queue: "default", typeName: "load" };

const sizes = (calls: readonly { readonly args: readonly unknown[] }[]): number[] =>
  calls.map(({ args }) => (args[0] as { jobs: readonly NewJob[] }).jobs.length);

describe("starts at the same time", () => {
  it("share a store call, and each gets its own job", async () => {
    const { adapter, callsOf } = recordCalls(createInProcessStateAdapter());
    const leasehold = await createLeasehold({ stateAdapter: adapter, jobTypes });
    const started = await Promise.all(
      Array.from({ length: 50 }, (_, n) => leasehold.startJobSequence({ typeName: "load", input: { n } })),
    );
    expect(started.map(({ input }) => input.n)).toEqual(Array.from({ length: 50 }, (_, n) => n));
    expect(callsOf("createJobs").length).toBeLessThan(5);
    expect(sizes(callsOf("createJobs")).reduce((sum, size) => sum + size)).toBe(50);
  });

  it("one after another go alone, without waiting for company", async () => {
    const { adapter, callsOf } = recordCalls(createInProcessStateAdapter());
    const leasehold = await createLeasehold({ stateAdapter: adapter, jobTypes });
    for (let n = 0; n < 3; n += 1) await leasehold.startJobSequence({ typeName: "load", input: { n } });
    expect(sizes(callsOf("createJobs"))).toEqual([1, 1, 1]);
  });

  it("with an id that is taken fail alone", async () => {
    const stateAdapter = createInProcessStateAdapter();
    const [taken] = await stateAdapter.createJobs({ jobs: [newJob(names)] });
    const leasehold = await createLeasehold({ stateAdapter, jobTypes });
    const results = await Promise.allSettled(
      Array.from({ length: 20 }, (_, n) =>
        leasehold.startJobSequence({
          typeName: "load",
          input: { n },
          ...(n === 7 ? { id: taken!.job.id } : {}),
        }),
      ),
    );
    expect(results.flatMap(({ status }, n) => (status === "rejected" ? [n] : []))).toEqual([7]);
    expect(results[7]).toMatchObject({ reason: { code: "JobAlreadyExists" } });
  });

  it("whose answer is lost are recognised as their own", async () => {
    const stateAdapter = createInProcessStateAdapter();
    const faulty = withFaults(stateAdapter, onNthCall("createJobs", 2, { kind: "fail_after" }));
    const leasehold = await createLeasehold({ stateAdapter: faulty, jobTypes });
    const started = await Promise.all(
      Array.from({ length: 20 }, (_, n) => leasehold.startJobSequence({ typeName: "load", input: { n } })),
    );
    expect(new Set(started.map(({ id }) => id)).size).toBe(20);
    const [count] = await stateAdapter.countJobs({ filter: {} });
    expect(count?.count).toBe(20);
  });
});
