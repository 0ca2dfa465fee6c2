import { describe, expect, it } from "vitest";
import { createLeasehold } from "../leasehold.ts";
import { createInProcessStateAdapter } from "../memory/state-adapter.ts";
import { defineUnionJobTypes } from "../model/job-types.ts";
import { createDeterministicRuntime } from "../testing/deterministic-runtime.ts";
import { withFaults } from "../testing/faults.ts";
import { createManualClock } from "../testing/manual-clock.ts";
import { createTestBench } from "../testing/test-bench.ts";
import { wrapAdapter } from "../testing/wrap-adapter.ts";
import { createDeferred } from "./deferred.ts";

interface Types {
  task: { input: { poison: boolean }; output: string };
}

const jobTypes = defineUnionJobTypes<Types>();

/**
 * A process that can be killed: from then on none of its store calls arrives and nothing it awaits comes back, which
 * is all that other processes see of a crash.
 */
const startProcess = async (
  shared: {
    stateAdapter: ReturnType<typeof createInProcessStateAdapter>;
    clock: ReturnType<typeof createManualClock>;
  },
  name: string,
) => {
  let dead = false;
  let onDeath: () => void = () => {};
  const died = new Promise<void>((resolve) => (onDeath = resolve));
  const leasehold = await createLeasehold({
    stateAdapter: withFaults(shared.stateAdapter, () => (dead ? { kind: "hang" } : undefined)),
    jobTypes,
    runtime: createDeterministicRuntime({ seed: name, clock: shared.clock }),
  });
  await leasehold
    .createWorker()
    .implementJobType({
      typeName: "task",
      process: async ({ job }) => {
        if (dead) return new Promise<never>(() => {});
        if (job.input.poison) {
          dead = true;
          onDeath();
          return new Promise<never>(() => {});
        }
        await new Promise<void>((resolve) => shared.clock.setTimer(resolve, 50));
        return "done";
      },
    })
    .start({ workerId: name, concurrency: 10, leaseMs: 1_000, reapIntervalMs: 500 });
  return { died };
};

describe("a job that takes its process down", () => {
  it("ends in failed, while the jobs that shared its process complete", async () => {
    const clock = createManualClock();
    const stateAdapter = createInProcessStateAdapter({ clock });
    const shared = { stateAdapter, clock };
    const observer = await createLeasehold({
      stateAdapter,
      jobTypes,
      runtime: createDeterministicRuntime({ seed: "observer", clock }),
    });
    const [poison] = await observer.startJobSequences({
      sequences: Array.from({ length: 200 }, (_, index) => ({
        typeName: "task" as const,
        input: { poison: index === 0 },
      })),
    });

    let crashes = 0;
    let processes = 0;
    let stopped = false;
    // A supervisor: whenever the process dies, another takes its place.
    const supervise = async (): Promise<void> => {
      while (!stopped) {
        const { died } = await startProcess(shared, `process ${++processes}`);
        await died;
        crashes += 1;
      }
    };
    void supervise();
    await clock.runUntil(async () => {
      const counts = await observer.countJobs({ status: ["completed", "failed"] });
      return counts.reduce((sum, { count }) => sum + count, 0) === 200;
    });
    stopped = true;

    expect(await observer.getJob({ id: poison!.id })).toMatchObject({
      status: "failed",
      failure: { reason: "attempts_exhausted", attempt: 4 },
    });
    expect(await observer.countJobs({ status: "completed" })).toMatchObject([{ count: 199 }]);
    expect(crashes).toBe(4);
  });

  it("does not begin alone while a claim of the same process is on its way to bring others", async () => {
    const claim = createDeferred<void>();
    let held = false;
    const bench = await createTestBench({
      jobTypes,
      wrapStateAdapter: (adapter) =>
        wrapAdapter(adapter, (method, original) =>
          method !== "claimJobs"
            ? original
            : async (call) => {
                if ((call as { workerId: string }).workerId === "slow to claim" && held) await claim.promise;
                return original(call);
              },
        ),
    });
    const { leasehold, clock, stateAdapter } = bench;
    let begun = false;
    const builder = leasehold.createWorker().implementJobType({
      typeName: "task",
      process: async () => {
        begun = true;
        return "done";
      },
    });
    await leasehold.startJobSequence({ typeName: "task", input: { poison: false }, maxAttempts: 2 });
    // A worker that has vanished: its lease runs out, and the next attempt is the last.
    await stateAdapter.claimJobs({
      workerId: "vanished",
      leaseToken: "token",
      leaseMs: 10,
      requests: [{ queue: "default", typeNames: null, limit: 1 }],
      limit: 1,
    });
    await clock.advanceBy(20);
    held = true;
    const elsewhere = await clock.runUntil(
      builder.start({ workerId: "slow to claim", queues: { other: 1 } }),
    );
    const worker = await clock.runUntil(builder.start({ workerId: "quick", queues: { default: 1 } }));
    await clock.advanceBy(2_000);
    expect(begun).toBe(false);
    claim.resolve();
    await clock.runUntil(() => begun);
    await clock.runUntil(Promise.all([worker.stop(), elsewhere.stop()]));
  });
});
