import { describe, expect, it } from "vitest";
import type { History } from "../store/contract/history.ts";
import { defineUnionJobTypes } from "../job-types/define.ts";
import { mergeCounts, readCounts } from "../history/counts.ts";
import { createLeasehold } from "../leasehold.ts";
import { createInProcessStateAdapter } from "../memory/state-adapter.ts";
import { createDeterministicRuntime } from "../testing/deterministic-runtime.ts";
import { createManualClock } from "../testing/manual-clock.ts";
import { recordCalls } from "../testing/record-calls.ts";

interface Types {
  work: { input: null; output: null };
}

const createFleet = async () => {
  const clock = createManualClock();
  const stateAdapter = createInProcessStateAdapter({ clock });
  const connect = async (seed: number) => {
    const recorded = recordCalls(stateAdapter);
    const leasehold = await createLeasehold({
      stateAdapter: recorded.adapter,
      jobTypes: defineUnionJobTypes<Types>(),
      runtime: createDeterministicRuntime({ seed, clock }),
    });
    const worker = leasehold
      .createWorker()
      .implementJobType({ typeName: "work", process: () => Promise.resolve(null) });
    return {
      leasehold,
      worker,
      rollUps: () => recorded.callsOf("rollUpBuckets").length,
      reads: () => recorded.callsOf("readBuckets").length,
    };
  };
  const processes = [await connect(1), await connect(2)];
  const history = stateAdapter.history as History<object>;
  const rows = () =>
    history.readBuckets({ bucketMs: 10_000, from: 0, before: Number.MAX_SAFE_INTEGER, limit: 1_000 });
  return { clock, processes, rows };
};

describe("the roll-up", () => {
  it("merges the counts of two processes, in one of them", async () => {
    const { clock, processes, rows } = await createFleet();
    const workers = [];
    for (const { worker } of processes) workers.push(await clock.runUntil(worker.start()));
    for (const { leasehold } of processes)
      await leasehold.startJobSequence({ typeName: "work", input: null });
    await clock.advanceBy(5_000);
    const reported = await rows();
    expect(new Set(reported.map(({ processId }) => processId)).size).toBe(2);
    await clock.advanceBy(180_000);
    const [folded, ...others] = await rows();
    expect(others).toEqual([]);
    expect(folded!.processId).toBe("");
    expect(readCounts(mergeCounts([folded!.counts]))).toMatchObject({ created: 2, completed: 2 });
    expect(processes.map(({ rollUps }) => rollUps()).sort((a, b) => a - b)).toEqual([0, 1]);

    // The other one does not even look.
    expect(processes.filter(({ reads }) => reads() > 0).map(({ rollUps }) => rollUps())).toEqual([1]);

    // Another one takes over when that one has gone.
    const first = processes.findIndex(({ rollUps }) => rollUps() === 1);
    await clock.runUntil(processes[first]!.leasehold.close());
    await processes[1 - first]!.leasehold.startJobSequence({ typeName: "work", input: null });
    await clock.advanceBy(240_000);
    expect((await rows()).map(({ processId }) => processId)).toEqual(["", ""]);
    expect(processes[1 - first]!.rollUps()).toBe(1);
    for (const worker of workers) await clock.runUntil(worker.stop());
  });
});
