import { EventEmitter } from "node:events";
import { describe, expect, it } from "vitest";
import { createDeferred } from "../base/async.ts";
import { sleep } from "../base/runtime.ts";
import { defineUnionJobTypes } from "../job-types/define.ts";
import type { JobAbortReason } from "../job-types/entities.ts";
import type { Fault } from "../testing/fault-plans.ts";
import { withFaults } from "../testing/faults.ts";
import { createTestKit } from "../testing/test-kit.ts";
import type { RunningWorker, StopResult } from "./api.ts";
import { stopOnSignals } from "./stop-on-signals.ts";

const jobTypes = defineUnionJobTypes<{ work: { input: { ms: number; deaf?: boolean }; output: string } }>();

/** A worker on a store that can be made to go wrong, running jobs that take their time. */
const createKit = async (inputs: readonly { ms: number; deaf?: boolean }[]) => {
  let fault: Fault | undefined;
  const kit = await createTestKit({
    jobTypes,
    wrapStateAdapter: (adapter) => withFaults(adapter, () => fault),
  });
  const { leasehold, clock } = kit;
  const aborts: { reason: JobAbortReason | undefined; at: number }[] = [];
  let running = 0;
  const worker = await clock.runUntil(
    leasehold
      .createWorker()
      .implementJobType({
        typeName: "work",
        process: async ({ job, signal }) => {
          running += 1;
          signal.addEventListener("abort", () => aborts.push({ reason: signal.reason, at: clock.now() }));
          await sleep(clock, job.input.ms, job.input.deaf ? undefined : signal);
          signal.throwIfAborted();
          return "done";
        },
      })
      .start({ concurrency: inputs.length + 1 }),
  );
  const sequences = inputs.map((input) => ({ typeName: "work" as const, input }));
  if (inputs.length > 0) await clock.runUntil(leasehold.startJobSequences({ sequences }));
  await clock.runUntil(() => running === inputs.length);
  const stop = async (deadlineMs: number): Promise<StopResult & { tookMs: number }> => {
    const from = clock.now();
    const result = await clock.runUntil(worker.stop({ deadlineMs }), { maxMs: 600_000 });
    return { ...result, tookMs: clock.now() - from };
  };
  return { ...kit, worker, stop, aborts, setFault: (next: Fault | undefined) => (fault = next) };
};

describe("stop, while the store cannot be reached", () => {
  for (const fault of [{ kind: "fail_before" }, { kind: "hang" }] as const) {
    it(`says that results were not written, and is not clean (${fault.kind})`, async () => {
      const kit = await createKit([{ ms: 100 }, { ms: 200 }]);
      kit.setFault(fault);
      const { tookMs, ...result } = await kit.stop(1_000);
      expect(result).toEqual({
        clean: false,
        releasedJobs: 0,
        abortedJobs: 0,
        abandonedJobs: 0,
        unwrittenResults: 2,
      });
      expect(tookMs).toBeLessThanOrEqual(2_200);
      expect(kit.worker.health().state).toBe("stopped");
    });

    it(`reaches the handlers at the deadline and returns soon after (${fault.kind})`, async () => {
      const kit = await createKit([{ ms: 60_000 }]);
      const from = kit.clock.now();
      kit.setFault(fault);
      await kit.clock.advanceBy(500);
      const { tookMs, ...result } = await kit.stop(1_000);
      expect(kit.aborts).toEqual([{ reason: "shutdown", at: from + 1_500 }]);
      expect(result).toMatchObject({ clean: false, abortedJobs: 1, unwrittenResults: 1 });
      expect(tookMs).toBeLessThanOrEqual(3_000);
    });

    it(`gives a handler that does not react its grace, and no more (${fault.kind})`, async () => {
      const kit = await createKit([{ ms: 60_000, deaf: true }]);
      kit.setFault(fault);
      const { tookMs, ...result } = await kit.stop(1_000);
      expect(result).toMatchObject({ clean: false, abandonedJobs: 1, unwrittenResults: 1 });
      expect(tookMs).toBeLessThanOrEqual(1_000 + 5_000 + 2_000);
    });
  }

  it("waits until the deadline for a store that comes back, and then is clean", async () => {
    const kit = await createKit([{ ms: 100 }]);
    kit.setFault({ kind: "fail_before" });
    kit.clock.setTimer(() => kit.setFault(undefined), 5_000);
    expect(await kit.stop(20_000)).toMatchObject({ clean: true, unwrittenResults: 0 });
    expect(await kit.leasehold.jobs.count({ status: "completed" })).toMatchObject([{ count: 1 }]);
  });

  it("is not clean when a claim was left unanswered, for it may have taken jobs", async () => {
    const kit = await createKit([]);
    kit.setFault({ kind: "hang" });
    await kit.clock.advanceBy(2_000);
    const { clean, tookMs } = await kit.stop(1_000);
    expect(clean).toBe(false);
    expect(tookMs).toBeLessThanOrEqual(2_000);
  });

  it("does not count what was given up on before", async () => {
    const kit = await createKit([{ ms: 100 }]);
    kit.setFault({ kind: "fail_before" });
    await kit.clock.runUntil(() => kit.worker.health().uncommittedResults === 1);
    await kit.clock.runUntil(() => kit.worker.health().uncommittedResults === 0);
    kit.setFault(undefined);
    expect(await kit.stop(1_000)).toMatchObject({ clean: true, unwrittenResults: 0 });
  });
});

describe("stop, while the transport of notifications hangs", () => {
  it("does not wait for subscriptions and notifications beyond its deadline", async () => {
    const hang = () => new Promise<never>(() => {});
    const kit = await createTestKit({ jobTypes });
    const listening = async () => hang;
    const { leasehold, clock } = await createTestKit({
      jobTypes,
      notifyAdapter: {
        ...kit.notifyAdapter,
        notifyJobScheduled: hang,
        notifyJobSequenceCompleted: hang,
        listenJobScheduled: listening,
        listenJobOwnershipLost: listening,
      },
    });
    const worker = await clock.runUntil(
      leasehold
        .createWorker()
        .implementJobType({ typeName: "work", process: async () => "done" })
        .start(),
    );
    await leasehold.startJobSequence({ typeName: "work", input: { ms: 0 } });
    await clock.advanceBy(3_000);
    const from = clock.now();
    expect(await clock.runUntil(worker.stop({ deadlineMs: 0 }))).toMatchObject({ clean: true });
    expect(clock.now() - from).toBeLessThanOrEqual(2_000);
  });
});

describe("stopOnSignals, while the store cannot be reached", () => {
  const createHost = () => {
    const emitter = new EventEmitter();
    const exited = createDeferred<number>();
    const exit = (code?: number | string | null): never => exited.resolve(Number(code)) as never;
    const host = Object.assign(emitter, { exit }) as unknown as Pick<NodeJS.Process, "on" | "off" | "exit">;
    return { emitter, host, exited: exited.promise };
  };

  it("exits with 1 soon after its deadline, and onStopped gets the sum of the results", async () => {
    const kit = await createKit([{ ms: 100 }, { ms: 60_000 }]);
    const other: RunningWorker = {
      ...kit.worker,
      stop: async () => ({
        clean: true,
        releasedJobs: 3,
        abortedJobs: 0,
        abandonedJobs: 0,
        unwrittenResults: 0,
      }),
    };
    kit.setFault({ kind: "hang" });
    const { emitter, host, exited } = createHost();
    const results: StopResult[] = [];
    stopOnSignals([kit.worker, other], {
      process: host,
      deadlineMs: 2_000,
      onStopped: (result) => void results.push(result),
    });
    const from = kit.clock.now();
    emitter.emit("SIGTERM", "SIGTERM");
    expect(await kit.clock.runUntil(exited)).toBe(1);
    expect(kit.clock.now() - from).toBeLessThanOrEqual(4_000);
    expect(results).toEqual([
      { clean: false, releasedJobs: 3, abortedJobs: 1, abandonedJobs: 0, unwrittenResults: 2 },
    ]);
  });
});
