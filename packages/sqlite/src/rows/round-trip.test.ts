import * as fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { claimAll, completion, newJob } from "../testing/jobs.ts";
import { createTestStore, type TestStore } from "../testing/store.ts";

let store: TestStore;

beforeEach(async () => {
  store = await createTestStore();
});

afterEach(() => store.destroy());

describe("texts come back as they were", () => {
  const text = fc.string({ unit: "binary", maxLength: 50 });
  const json = fc.jsonValue().map((value) => JSON.stringify(value));
  const payload = fc.oneof(
    text,
    json,
    fc.constantFrom('{"__proto__":{"a":1}}', "-0", "1e400", '"\\ud83d\\ude00"'),
  );

  it("inputs in bulk and alone, outputs, progress, errors, keys and ids", async () => {
    const { adapter } = store;
    const id = fc.string({ unit: "binary", minLength: 1, maxLength: 20 });
    const batch = fc.uniqueArray(
      fc.record({ id, input: payload, output: payload, progress: payload, error: payload }),
      {
        selector: (job) => job.id,
        minLength: 1,
        maxLength: 8,
      },
    );
    await fc.assert(
      fc.asyncProperty(batch, async (jobs) => {
        await adapter.createJobs({ jobs: jobs.map(({ id, input }) => newJob({ id, input })), now: 1 });
        const claimed = await claimAll(adapter);
        expect(claimed.map(({ id, input }) => ({ id, input }))).toEqual(
          jobs.map(({ id, input }) => ({ id, input })),
        );
        await adapter.renewLeases({
          leases: jobs.map(({ id, progress }, index) => ({
            jobId: id,
            leaseToken: claimed[index]!.leaseToken!,
            leaseMs: 60_000,
            progress,
          })),
        });
        await adapter.commitOutcomes({
          outcomes: jobs.map(({ output, error }, index) =>
            index % 2 === 0
              ? completion(claimed[index]!, output)
              : { ...completion(claimed[index]!), kind: "fail", reason: "unrecoverable", error },
          ),
        });
        const stored = await adapter.getJobs({ jobIds: jobs.map((job) => job.id) });
        expect(
          stored.map((job) => [job?.id, job?.input, job?.progress, job?.output ?? job?.lastError]),
        ).toEqual(
          jobs.map((job, index) => [
            job.id,
            job.input,
            job.progress,
            index % 2 === 0 ? job.output : job.error,
          ]),
        );
        await adapter.deleteSequences({ rootSequenceIds: jobs.map((job) => job.id) });
      }),
      { numRuns: 100 },
    );
  });

  it("ids that look like numbers keep their order", async () => {
    const ids = ["10", "9", "-1", "2", "x", "1"];
    await store.adapter.createJobs({ jobs: ids.map((id) => newJob({ id })), now: 1 });
    expect((await claimAll(store.adapter)).map(({ id }) => id)).toEqual(ids);
  });

  it("a batch of large texts, loaded in several steps", async () => {
    const { adapter } = store;
    const input = JSON.stringify('é"\\'.repeat(60_000));
    const jobs = Array.from({ length: 40 }, () => newJob({ input }));
    await adapter.createJobs({ jobs });
    const claimed = await claimAll(adapter);
    expect(claimed).toHaveLength(40);
    expect(claimed.every((job) => job.input === input)).toBe(true);
  });
});
