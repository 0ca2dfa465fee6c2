import {
  type DefineBlocker,
  type DefineContinuationInput,
  type DefineContinuationOutput,
  defineUnionJobTypes,
  rescheduleJob,
} from "leasehold";
import { createTestKit, type FaultPlan, withFaults } from "leasehold/testing";
import type { ObservabilityAdapter } from "leasehold/adapter";

export const jobTypes = defineUnionJobTypes<{
  quick: { input: null; output: number };
  chain: { input: null; output: DefineContinuationOutput<"link"> };
  link: { input: DefineContinuationInput<null>; output: null };
  waits: { input: null; output: null; blockers: [DefineBlocker<"quick">] };
  breaks: { input: null; output: null };
  later: { input: null; output: null };
  slips: { input: null; output: null };
  hangs: { input: null; output: null };
}>();

/** A kit with a worker that implements every type. */
export const createObservedBench = async (
  observabilityAdapter: ObservabilityAdapter,
  plan: FaultPlan = () => undefined,
) => {
  const kit = await createTestKit({
    jobTypes,
    observabilityAdapter,
    wrapStateAdapter: (adapter) => withFaults(adapter, plan),
  });
  let rescheduled = false;
  const worker = kit.leasehold
    .createWorker({ retry: { type: "fixed", delayMs: 10 } })
    .implementJobType({ typeName: "quick", process: async () => 1 })
    .implementJobType({
      typeName: "chain",
      process: async ({ complete }) =>
        complete(async ({ continueWith }) => continueWith({ typeName: "link" })),
    })
    .implementJobType({ typeName: "link", process: async () => null })
    .implementJobType({ typeName: "waits", process: async () => null })
    .implementJobType({
      typeName: "breaks",
      process: async () => {
        throw new TypeError("broken");
      },
    })
    .implementJobType({
      typeName: "later",
      process: async () => {
        if (!rescheduled) {
          rescheduled = true;
          rescheduleJob({ afterMs: 5 });
        }
        return null;
      },
    })
    .implementJobType({
      typeName: "slips",
      process: async ({ complete }) => {
        await complete(async () => null);
        throw new Error("after the fact");
      },
    })
    .implementJobType({
      typeName: "hangs",
      timeoutMs: 100,
      maxAttempts: 1,
      process: () => new Promise<null>((resolve) => kit.clock.setTimer(() => resolve(null), 60_000)),
    });
  return { ...kit, worker };
};

type Story = (adapter: ObservabilityAdapter) => Promise<void>;

/** Between them they make everything happen that is measured. */
export const stories: Readonly<Record<string, Story>> = {
  everyday: async (adapter) => {
    const kit = await createObservedBench(adapter);
    const { leasehold } = kit;
    await leasehold.startJobSequence({ typeName: "chain" });
    await leasehold.startJobSequence({
      typeName: "waits",
      startBlockers: async () => [await leasehold.startJobSequence({ typeName: "quick" })],
    });
    const broken = await leasehold.startJobSequence({ typeName: "breaks", maxAttempts: 2 });
    await leasehold.startJobSequence({ typeName: "later" });
    const unwanted = await leasehold.startJobSequence({ typeName: "quick", schedule: { afterMs: 99_999 } });
    await kit.stateAdapter.runInTransaction((ctx) =>
      leasehold.startJobSequence({ ...ctx, typeName: "quick" }),
    );
    await kit.advance(kit.worker, 1_000, { workerId: "w1" });
    await leasehold.jobs.update({ ids: [unwanted.id], priority: 1 });
    await leasehold.jobs.cancel({ ids: [unwanted.id] });
    await leasehold.jobs.redrive({ ids: [broken.id] });
    await leasehold.deleteJobSequences({ rootSequenceIds: [unwanted.id] });
  },
  "an error after completion": async (adapter) => {
    const kit = await createObservedBench(adapter);
    await kit.leasehold.startJobSequence({ typeName: "slips" });
    await kit.drain(kit.worker, { workerId: "w1" });
  },
  "rolled back": async (adapter) => {
    let locks = 0;
    const kit = await createObservedBench(adapter, ({ method }) =>
      method === "lockHeldJobs" && (locks += 1) < 8 ? { kind: "fail_before" } : undefined,
    );
    await kit.leasehold.startJobSequence({ typeName: "chain" });
    await kit.drain(kit.worker, { workerId: "w1" });
  },
  timeout: async (adapter) => {
    const kit = await createObservedBench(adapter);
    await kit.leasehold.startJobSequence({ typeName: "hangs" });
    await kit.advance(kit.worker, 90_000, { abortGraceMs: 50, workerId: "w1" });
  },
  "cut off": async (adapter) => {
    let cutOff = false;
    const kit = await createObservedBench(adapter, ({ method }) =>
      cutOff && method !== "claimJobs" && method !== "reapExpiredLeases"
        ? { kind: "fail_before" }
        : undefined,
    );
    await kit.leasehold.startJobSequence({ typeName: "quick" });
    cutOff = true;
    const options = { leaseMs: 1_000, reapIntervalMs: 100, workerId: "w1" };
    const worker = await kit.clock.runUntil(kit.worker.start(options));
    await kit.clock.advanceBy(3_000);
    cutOff = false;
    await kit.clock.advanceBy(3_000);
    await kit.clock.runUntil(worker.stop());
  },
  "completed elsewhere": async (adapter) => {
    let heartbeats = true;
    const kit = await createObservedBench(adapter, ({ method }) =>
      !heartbeats && method === "renewLeases" ? { kind: "hang" } : undefined,
    );
    const { leasehold, clock } = kit;
    const builder = leasehold.createWorker().implementJobType({
      typeName: "quick",
      process: () => new Promise<number>((resolve) => clock.setTimer(() => resolve(1), 5_000)),
    });
    const started = await leasehold.startJobSequence({ typeName: "quick" });
    const options = { leaseMs: 900, reapIntervalMs: 100, concurrency: 1, workerId: "w1" };
    const worker = await clock.runUntil(builder.start(options));
    await clock.advanceBy(400);
    await leasehold.completeJobSequence({
      ...started,
      complete: async ({ job, complete }) => {
        if (job.status === "running") await complete(job, async () => 2);
      },
    });
    await clock.advanceBy(6_000);
    heartbeats = false;
    await leasehold.startJobSequence({ typeName: "quick" });
    await clock.advanceBy(8_000);
    heartbeats = true;
    await clock.runUntil(worker.stop({ deadlineMs: 0 }));
  },
  // One outcome is refused to the committer, the other to the transaction of `complete`.
  fenced: async (adapter) => {
    const kit = await createObservedBench(adapter, ({ method }) =>
      method === "renewLeases" ? { kind: "hang" } : undefined,
    );
    const { leasehold } = kit;
    const worker = leasehold.createWorker().implementJobType({
      typeName: "quick",
      process: async ({ job, complete }) => {
        await leasehold.jobs.cancel({ ids: [job.sequenceId] });
        return job.priority === 1 ? complete(async () => 1) : 1;
      },
    });
    await leasehold.startJobSequence({ typeName: "quick" });
    await leasehold.startJobSequence({ typeName: "quick", priority: 1 });
    await kit.drain(worker, { workerId: "w1" });
  },
  recurring: async (adapter) => {
    const kit = await createObservedBench(adapter);
    const { leasehold, clock } = kit;
    await leasehold.recurring.put({ id: "hourly", everyMs: 3_600_000, job: { typeName: "quick" } });
    await clock.advanceBy(3 * 3_600_000 + 600_000);
    await kit.advance(kit.worker, 3_100_000, { workerId: "w1" });
  },
  "recurring, refused": async (adapter) => {
    const error = new Error("value too long");
    // The first creation is that of the put.
    const kit = await createObservedBench(adapter, ({ method, nth }) =>
      method === "createJobs" && nth > 1 ? { kind: "fail_before", error } : undefined,
    );
    await kit.leasehold.recurring.put({ id: "hourly", everyMs: 3_600_000, job: { typeName: "quick" } });
    await kit.advance(kit.worker, 3_600_500, { workerId: "w1" });
  },
  "recurring, clock set back": async (adapter) => {
    const kit = await createObservedBench(adapter);
    await kit.leasehold.recurring.put({ id: "hourly", everyMs: 3_600_000, job: { typeName: "quick" } });
    kit.clock.stepWallClock(-7_200_000);
    await kit.advance(kit.worker, 500, { workerId: "w1" });
  },
  "no transport": async (adapter) => {
    const kit = await createObservedBench(adapter);
    await kit.notifyAdapter.close();
    await kit.leasehold.startJobSequence({ typeName: "quick" });
    await kit.clock.settle();
  },
};

export const runAllStories: Story = async (adapter) => {
  for (const story of Object.values(stories)) await story(adapter);
};
