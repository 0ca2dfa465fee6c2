import { describe, expect, it } from "vitest";
import { createDeferred } from "../base/async.ts";
import { defineUnionJobTypes } from "../job-types/define.ts";
import { createLeasehold } from "../leasehold.ts";
import { createInProcessStateAdapter } from "../memory/state-adapter.ts";
import { createDeterministicRuntime } from "../testing/deterministic-runtime.ts";
import { withFaults } from "../testing/faults.ts";
import { createManualClock } from "../testing/manual-clock.ts";
import { createTestKit } from "../testing/test-kit.ts";
import { wrapAdapter } from "../store/wrap-adapter.ts";

interface Types {
  task: { input: { poison: boolean; afterMs?: number }; output: string };
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
          await new Promise<void>((resolve) => shared.clock.setTimer(resolve, job.input.afterMs ?? 0));
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
      const counts = await observer.jobs.count({ status: ["completed", "failed"] });
      return counts.reduce((sum, { count }) => sum + count, 0) === 200;
    });
    stopped = true;

    expect(await observer.jobs.get({ id: poison!.id })).toMatchObject({
      status: "failed",
      failure: { reason: "attempts_exhausted", attempt: 4 },
    });
    expect(await observer.jobs.count({ status: "completed" })).toMatchObject([{ count: 199 }]);
    expect(crashes).toBe(4);
  });

  it("costs a bystander no attempt that never began, though another such job runs beside it", async () => {
    const clock = createManualClock();
    const stateAdapter = createInProcessStateAdapter({ clock });
    const shared = { stateAdapter, clock };
    const observer = await createLeasehold({
      stateAdapter,
      jobTypes,
      runtime: createDeterministicRuntime({ seed: "observer", clock }),
    });
    const start = async (input: Types["task"]["input"], maxAttempts: number) =>
      (await observer.startJobSequence({ typeName: "task", input, maxAttempts })).id;
    // The first takes the good one's first attempt along. The second is running by the time that the good one, with one
    // attempt left, is claimed again.
    await start({ poison: true }, 1);
    const good = await start({ poison: false }, 2);
    let processes = 0;
    const first = await startProcess(shared, `process ${++processes}`);
    await clock.runUntil(first.died);
    expect(await observer.jobs.get({ id: good })).toMatchObject({ status: "running", attempt: 1 });
    const slowPoison = await start({ poison: true, afterMs: 5_000 }, 1);
    const second = await startProcess(shared, `process ${++processes}`);
    await clock.runUntil(second.died);
    expect(await observer.jobs.get({ id: slowPoison })).toMatchObject({ status: "running" });
    expect(await observer.jobs.get({ id: good })).toMatchObject({ status: "pending", attempt: 1 });

    await startProcess(shared, `process ${++processes}`);
    await clock.runUntil(async () => {
      const open = await observer.jobs.count({ status: ["pending", "running"] });
      return open.length === 0;
    });
    expect(await observer.jobs.get({ id: good })).toMatchObject({ status: "completed", attempt: 2 });
  });

  for (const limitOf of ["the job", "the worker"])
    it(`costs no attempt that never began: claimed when the process dies, limit of ${limitOf}`, async () => {
      const clock = createManualClock();
      const stateAdapter = createInProcessStateAdapter({ clock });
      const maxAttempts = limitOf === "the job" ? 2 : 5;
      const options = limitOf === "the job" ? {} : { maxAttempts: 2 };
      const startWorker = async (name: string, diesAtClaim: boolean) => {
        let dead = false;
        const died = createDeferred<void>();
        const faulty = withFaults(stateAdapter, () => (dead ? { kind: "hang" } : undefined));
        const adapter = wrapAdapter(faulty, (method, original) =>
          method !== "claimJobs" || !diesAtClaim
            ? original
            : async (call) => {
                const jobs = (await original(call)) as unknown[];
                if (jobs.length === 0) return jobs;
                dead = true;
                died.resolve();
                return new Promise(() => {});
              },
        );
        const runtime = createDeterministicRuntime({ seed: name, clock });
        const leasehold = await createLeasehold({ stateAdapter: adapter, jobTypes, runtime });
        await leasehold
          .createWorker()
          .implementJobType({
            typeName: "task",
            process: async ({ job }) => (ran.push(job.attempt), "done"),
          })
          .start({ workerId: name, leaseMs: 1_000, reapIntervalMs: 500, ...options });
        return died.promise;
      };
      const ran: number[] = [];
      const runtime = createDeterministicRuntime({ seed: "observer", clock });
      const observer = await createLeasehold({ stateAdapter, jobTypes, runtime });
      const { id } = await observer.startJobSequence({
        typeName: "task",
        input: { poison: false },
        maxAttempts,
      });
      const requests = [{ queue: "default", typeNames: null, limit: 1 }];
      await stateAdapter.claimJobs({
        workerId: "vanished",
        leaseToken: "token",
        leaseMs: 500,
        requests,
        limit: 1,
      });
      // The answer to the claim of the suspect does not reach these processes any more.
      for (let deaths = 0; deaths < 3; deaths += 1)
        await clock.runUntil(startWorker(`process ${deaths}`, true));
      void startWorker("the last", false);
      await clock.runUntil(async () => {
        const job = await observer.jobs.get({ id });
        return job?.status === "completed" || job?.status === "failed";
      });
      expect(ran).toEqual([2]);
      expect(await observer.jobs.get({ id })).toMatchObject({ status: "completed", attempt: 2 });
    });

  it("is released when the store does not answer that it may begin, and runs later", async () => {
    let refuses = true;
    const kit = await createTestKit({
      jobTypes,
      wrapStateAdapter: (adapter) =>
        wrapAdapter(adapter, (method, original) =>
          method !== "renewLeases"
            ? original
            : async (call) => {
                if (!refuses) return original(call);
                refuses = false;
                return [{ kind: "busy" }];
              },
        ),
    });
    const { leasehold, clock, stateAdapter } = kit;
    const { id } = await leasehold.startJobSequence({
      typeName: "task",
      input: { poison: false },
      maxAttempts: 2,
    });
    const requests = [{ queue: "default", typeNames: null, limit: 1 }];
    await stateAdapter.claimJobs({
      workerId: "vanished",
      leaseToken: "token",
      leaseMs: 10,
      requests,
      limit: 1,
    });
    await clock.advanceBy(20);
    const worker = await clock.runUntil(
      leasehold
        .createWorker()
        .implementJobType({ typeName: "task", process: async () => "done" })
        .start(),
    );
    await clock.runUntil(async () => (await leasehold.jobs.get({ id }))?.status === "completed");
    expect(refuses).toBe(false);
    expect(await leasehold.jobs.get({ id })).toMatchObject({ attempt: 2 });
    await clock.runUntil(worker.stop());
  });

  it("is released when the answer that it may begin comes too late, and runs later", async () => {
    let isSlow = true;
    const kit = await createTestKit({
      jobTypes,
      wrapStateAdapter: (adapter) =>
        wrapAdapter(adapter, (method, original) =>
          method !== "renewLeases"
            ? original
            : async (call) => {
                const { leases } = call as { leases: readonly { lastAttempt?: number }[] };
                if (isSlow && leases[0]?.lastAttempt !== undefined) {
                  isSlow = false;
                  await new Promise<void>((resolve) => clock.setTimer(resolve, 1_100));
                }
                return original(call);
              },
        ),
    });
    const { leasehold, clock, stateAdapter } = kit;
    const started = await leasehold.startJobSequence({
      typeName: "task",
      input: { poison: false },
      maxAttempts: 2,
    });
    const claim = { requests: [{ queue: "default", typeNames: null, limit: 1 }], limit: 1 };
    await stateAdapter.claimJobs({ workerId: "vanished", leaseToken: "token", leaseMs: 10, ...claim });
    await clock.advanceBy(20);
    const worker = await clock.runUntil(
      leasehold
        .createWorker()
        .implementJobType({ typeName: "task", process: async () => "done" })
        .start({ leaseMs: 1_000, reapIntervalMs: 500 }),
    );
    const { output } = await clock.runUntil(leasehold.waitForJobSequenceCompletion(started));
    expect([isSlow, output]).toEqual([false, "done"]);
    expect(await leasehold.jobs.get({ id: started.id })).toMatchObject({ attempt: 2 });
    await clock.runUntil(worker.stop());
  });

  it("is released when its worker stops before it has begun", async () => {
    const asked = createDeferred<void>();
    const answer = createDeferred<void>();
    const kit = await createTestKit({
      jobTypes,
      wrapStateAdapter: (adapter) =>
        wrapAdapter(adapter, (method, original) =>
          method !== "renewLeases"
            ? original
            : async (call) => {
                asked.resolve();
                await answer.promise;
                return original(call);
              },
        ),
    });
    const { leasehold, clock, stateAdapter } = kit;
    const { id } = await leasehold.startJobSequence({
      typeName: "task",
      input: { poison: false },
      maxAttempts: 2,
    });
    const requests = [{ queue: "default", typeNames: null, limit: 1 }];
    await stateAdapter.claimJobs({
      workerId: "vanished",
      leaseToken: "token",
      leaseMs: 10,
      requests,
      limit: 1,
    });
    await clock.advanceBy(20);
    let ran = false;
    const worker = await clock.runUntil(
      leasehold
        .createWorker()
        .implementJobType({ typeName: "task", process: async () => ((ran = true), "done") })
        .start(),
    );
    await clock.runUntil(asked.promise);
    const stopped = worker.stop();
    await clock.runUntil(async () => (await leasehold.jobs.get({ id }))?.status === "pending");
    answer.resolve();
    await clock.runUntil(stopped);
    expect(ran).toBe(false);
    expect(await leasehold.jobs.get({ id })).toMatchObject({ status: "pending", attempt: 1 });
  });

  it("gets its turn in a process that always has other work", async () => {
    const kit = await createTestKit({ jobTypes });
    const { leasehold, clock, stateAdapter } = kit;
    const begun: number[] = [];
    let beside = 0;
    let running = 0;
    const builder = leasehold.createWorker().implementJobType({
      typeName: "task",
      process: async ({ job }) => {
        running += 1;
        if (job.id === suspect.id) {
          begun.push(clock.now());
          beside = running - 1;
        }
        await new Promise<void>((resolve) => clock.setTimer(resolve, 50 + (job.priority === 1 ? 30 : 0)));
        running -= 1;
        return "done";
      },
    });
    const suspect = await leasehold.startJobSequence({
      typeName: "task",
      input: { poison: false },
      maxAttempts: 2,
    });
    const claim = { requests: [{ queue: "default", typeNames: null, limit: 1 }], limit: 1 };
    await stateAdapter.claimJobs({ workerId: "vanished", leaseToken: "token", leaseMs: 500, ...claim });
    // Two workers, so that the one that did not meet the suspect has to make room as well.
    const workers = await clock.runUntil(
      Promise.all([builder.start({ concurrency: 2 }), builder.start({ concurrency: 2 })]),
    );
    const from = clock.now();
    // Ahead of the suspect in line, so that it is never the first to be claimed.
    const feed = async (): Promise<void> => {
      await leasehold.startJobSequences({
        sequences: Array.from({ length: 2 }, (_, index) => ({
          typeName: "task" as const,
          input: { poison: false },
          priority: index,
        })),
      });
      if (begun.length === 0) clock.setTimer(() => void feed(), 60);
    };
    await feed();
    await clock.runUntil(() => begun.length > 0, { maxMs: 60_000 });
    expect(beside).toBe(0);
    expect(begun[0]! - from).toBeLessThan(5_000);
    await clock.runUntil(Promise.all(workers.map((worker) => worker.stop())));
  });

  it("does not begin alone while a claim of the same process is on its way to bring others", async () => {
    const claim = createDeferred<void>();
    let held = false;
    const kit = await createTestKit({
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
    const { leasehold, clock, stateAdapter } = kit;
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
