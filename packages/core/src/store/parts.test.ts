import { describe, expect, it } from "vitest";
import { createSystemRuntime } from "../base/runtime.ts";
import { createDispatch } from "../engine/dispatch.ts";
import { defineUnionJobTypes } from "../job-types/define.ts";
import { createLeasehold } from "../leasehold.ts";
import { createInProcessStateAdapter } from "../memory/state-adapter.ts";
import { onNthCall } from "../testing/fault-plans.ts";
import { withFaults } from "../testing/faults.ts";
import type { Statistics } from "./contract/diagnostics.ts";
import type { AnyStateAdapter } from "./contract/state-adapter.ts";
import { requirePart } from "./parts.ts";

/** An adapter that offers only the jobs part. */
const createJobsOnly = (): AnyStateAdapter => {
  const {
    recurring: _recurring,
    edits: _edits,
    limits: _limits,
    history: _history,
    statistics: _statistics,
    diagnostics: _diagnostics,
    ...jobsOnly
  } = createInProcessStateAdapter();
  return jobsOnly;
};

describe("an adapter without the optional parts", () => {
  it("is refused what needs a part, with what is missing and who has it", () => {
    expect(() => requirePart(createJobsOnly(), "statistics", "observeStore")).toThrow(
      expect.objectContaining({
        code: "StorePartMissing",
        part: "statistics",
        operation: "observeStore",
        message: expect.stringMatching(/^observeStore needs the part `statistics`.*PostgreSQL, SQLite/),
      }),
    );
  });

  it("runs jobs", async () => {
    const jobTypes = defineUnionJobTypes<{ mail: { input: null; output: string } }>();
    const leasehold = await createLeasehold({ stateAdapter: createJobsOnly(), jobTypes });
    const worker = await leasehold
      .createWorker()
      .implementJobType({ typeName: "mail", process: async () => "sent" })
      .start();
    const started = await leasehold.startJobSequence({ typeName: "mail", input: null });
    const { output } = await leasehold.waitForJobSequenceCompletion({ ...started, timeoutMs: 5_000 });
    expect(output).toBe("sent");
    expect(await leasehold.jobs.explain(started)).toMatchObject({ state: "completed" });
    await worker.stop();
  });
});

describe("the statistics of a wrapped adapter", () => {
  const measure = ({ statistics }: { readonly statistics?: Statistics<object> | undefined }) =>
    statistics?.measureBacklog({ cap: 1 });
  const failOnce = () =>
    withFaults(createInProcessStateAdapter(), onNthCall("measureBacklog", 1, { kind: "fail_before" }));

  it("are wrapped with it", async () => {
    const faulty = failOnce();
    await expect(measure(faulty)).rejects.toMatchObject({ code: "InjectedFault" });
    expect(await measure(faulty)).toEqual([]);
  });

  it("are called like the rest of the store: a transient error is retried", async () => {
    const retry = { maxAttempts: 2, initialDelayMs: 1, maxDelayMs: 1 };
    const dispatch = (adapter: AnyStateAdapter) =>
      createDispatch({
        adapter,
        runtime: createSystemRuntime(),
        observe: () => {},
        deadlineMs: 1_000,
        retry,
      });
    expect(await measure(dispatch(failOnce()))).toEqual([]);
    expect(dispatch(createJobsOnly()).statistics).toBeUndefined();
  });
});
