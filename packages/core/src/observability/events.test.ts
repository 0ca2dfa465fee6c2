import { describe, expect, it } from "vitest";
import { defineUnionJobTypes } from "../job-types/define.ts";
import type {
  DefineBlocker,
  DefineContinuationInput,
  DefineContinuationOutput,
} from "../job-types/markers.ts";
import { type FaultPlan, onNthCall } from "../testing/fault-plans.ts";
import { withFaults } from "../testing/faults.ts";
import { createTestKit } from "../testing/test-kit.ts";
import { rescheduleJob } from "../worker/outcome.ts";
import type { ObservabilityAdapter } from "./adapter.ts";
import type { LeaseholdEventName, LeaseholdEvents } from "./events.ts";
import { createConsoleLog, loggedEvents } from "./log.ts";

const jobTypes = defineUnionJobTypes<{
  quick: { input: null; output: number };
  chain: { input: null; output: DefineContinuationOutput<"link"> };
  link: { input: DefineContinuationInput<null>; output: null };
  waits: { input: null; output: null; blockers: [DefineBlocker<"quick">] };
  breaks: { input: null; output: null };
  slips: { input: null; output: null };
  later: { input: null; output: null };
  hangs: { input: null; output: null };
}>();

interface Seen {
  readonly name: LeaseholdEventName;
  readonly data: LeaseholdEvents[LeaseholdEventName];
}

/** Listens to every event there is. */
const createRecorder = () => {
  const seen: Seen[] = [];
  const observabilityAdapter = new Proxy({} as ObservabilityAdapter, {
    get: (_, name) => (data: Seen["data"]) => seen.push({ name: name as LeaseholdEventName, data }),
  });
  const of = <TName extends LeaseholdEventName>(name: TName) =>
    seen.filter((event) => event.name === name).map(({ data }) => data as LeaseholdEvents[TName]);
  return { seen, of, observabilityAdapter };
};

const createObservedBench = async (plan: FaultPlan = () => undefined) => {
  const recorder = createRecorder();
  const kit = await createTestKit({
    jobTypes,
    observabilityAdapter: recorder.observabilityAdapter,
    wrapStateAdapter: (adapter) => withFaults(adapter, plan),
  });
  let rescheduled = false;
  const worker = kit.leasehold
    .createWorker({ retry: { type: "fixed", delayMs: 10 } })
    .implementJobType({ typeName: "quick", process: async () => 1 })
    .implementJobType({
      typeName: "chain",
      process: async ({ complete }) => complete(({ continueWith }) => continueWith({ typeName: "link" })),
    })
    .implementJobType({ typeName: "link", process: async () => null })
    .implementJobType({ typeName: "waits", process: async () => null })
    .implementJobType({
      typeName: "breaks",
      process: async () => {
        throw new Error("broken");
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
      process: async () => {
        await new Promise<void>((resolve) => kit.clock.setTimer(resolve, 60_000));
        return null;
      },
    });
  return { ...kit, ...recorder, worker };
};

/** Stories that between them make every event happen. */
const stories: Record<
  string,
  () => Promise<Pick<Awaited<ReturnType<typeof createObservedBench>>, "seen" | "of">>
> = {
  "jobs that complete, wait, fail, are put off, cancelled and redriven": async () => {
    const kit = await createObservedBench();
    const { leasehold } = kit;
    await leasehold.startJobSequence({ typeName: "chain" });
    await leasehold.startJobSequence({
      typeName: "waits",
      startBlockers: async () => [await leasehold.startJobSequence({ typeName: "quick" })],
    });
    const broken = await leasehold.startJobSequence({ typeName: "breaks", maxAttempts: 2 });
    await leasehold.startJobSequence({ typeName: "later" });
    await leasehold.startJobSequence({ typeName: "slips" });
    const unwanted = await leasehold.startJobSequence({ typeName: "quick", schedule: { afterMs: 99_999 } });
    await kit.stateAdapter.runInTransaction((ctx) =>
      leasehold.startJobSequence({ ...ctx, typeName: "quick" }),
    );
    await kit.advance(kit.worker, 1_000);
    await leasehold.jobs.update({ ids: [unwanted.id], priority: 1 });
    await leasehold.jobs.cancel({ ids: [unwanted.id] });
    await leasehold.jobs.redrive({ ids: [broken.id] });
    await leasehold.deleteJobSequences({ rootSequenceIds: [unwanted.id] });
    return kit;
  },
  "a handler that ignores its timeout": async () => {
    const kit = await createObservedBench();
    await kit.leasehold.startJobSequence({ typeName: "hangs" });
    await kit.advance(kit.worker, 90_000, { abortGraceMs: 50, leaseMs: 30_000 });
    return kit;
  },
  "a worker cut off from its store": async () => {
    let cutOff = false;
    const kit = await createObservedBench(({ method }) =>
      cutOff && method !== "claimJobs" && method !== "reapExpiredLeases"
        ? { kind: "fail_before" }
        : undefined,
    );
    await kit.leasehold.startJobSequence({ typeName: "quick" });
    cutOff = true;
    const worker = await kit.clock.runUntil(kit.worker.start({ leaseMs: 1_000, reapIntervalMs: 100 }));
    await kit.clock.advanceBy(3_000);
    cutOff = false;
    await kit.clock.advanceBy(3_000);
    await kit.clock.runUntil(worker.stop());
    return kit;
  },
  "a job completed and a job taken over while their handlers run": async () => {
    let heartbeats = true;
    const kit = await createObservedBench(({ method }) =>
      !heartbeats && method === "renewLeases" ? { kind: "hang" } : undefined,
    );
    const { leasehold, clock } = kit;
    const builder = leasehold.createWorker().implementJobType({
      typeName: "quick",
      process: () => new Promise<number>((resolve) => clock.setTimer(() => resolve(1), 5_000)),
    });
    const started = await leasehold.startJobSequence({ typeName: "quick" });
    const worker = await clock.runUntil(builder.start({ leaseMs: 900, reapIntervalMs: 100, concurrency: 1 }));
    await clock.advanceBy(100);
    await leasehold.completeJobSequence({
      ...started,
      complete: async ({ job, complete }) => {
        if (job.status !== "completed" && job.status !== "failed") await complete(job, async () => 2);
      },
    });
    await clock.advanceBy(6_000);
    heartbeats = false;
    await leasehold.startJobSequence({ typeName: "quick" });
    await clock.advanceBy(8_000);
    heartbeats = true;
    await clock.runUntil(worker.stop({ deadlineMs: 0 }));
    return kit;
  },
  "an outcome whose lease has been given to another": async () => {
    const kit = await createObservedBench(onNthCall("commitOutcomes", 1, { kind: "delay", ms: 5_000 }));
    await kit.leasehold.startJobSequence({ typeName: "quick" });
    await kit.advance(kit.worker, 10_000, { leaseMs: 300, reapIntervalMs: 100 });
    return kit;
  },
  "a store that rolls back transactions of handlers": async () => {
    let deadlocks = 0;
    const kit = await createObservedBench(({ method }) =>
      method === "lockHeldJobs" && (deadlocks += 1) < 8 ? { kind: "fail_before" } : undefined,
    );
    await kit.leasehold.startJobSequence({ typeName: "chain" });
    await kit.drain(kit.worker);
    return kit;
  },
  "a recurring job": async () => {
    const kit = await createObservedBench();
    await kit.leasehold.recurring.put({ id: "often", everyMs: 1_000, job: { typeName: "quick" } });
    await kit.advance(kit.worker, 1_500);
    return kit;
  },
  "a recurring job whose job the store refuses": async () => {
    const error = new Error("value too long");
    const kit = await createObservedBench(({ method, nth }) =>
      method === "createJobs" && nth > 1 ? { kind: "fail_before", error } : undefined,
    );
    await kit.leasehold.recurring.put({ id: "often", everyMs: 1_000, job: { typeName: "quick" } });
    await kit.advance(kit.worker, 1_500);
    return kit;
  },
  "a recurring job and a clock that is set back": async () => {
    const kit = await createObservedBench();
    await kit.leasehold.recurring.put({ id: "often", everyMs: 1_000, job: { typeName: "quick" } });
    kit.clock.stepWallClock(-3_600_000);
    await kit.advance(kit.worker, 1_500);
    return kit;
  },
  "a transport that fails": async () => {
    const kit = await createObservedBench();
    await kit.notifyAdapter.close();
    await kit.leasehold.startJobSequence({ typeName: "quick" });
    await kit.clock.settle();
    return kit;
  },
};

describe("events", () => {
  it("all happen", async () => {
    const seen = new Set<string>();
    for (const run of Object.values(stories)) for (const { name } of (await run()).seen) seen.add(name);
    const everyEvent = Object.keys({
      workerStarted: 1,
      workerError: 1,
      workerStopping: 1,
      workerStopped: 1,
      jobCreated: 1,
      jobSequenceCreated: 1,
      jobBlocked: 1,
      jobUnblocked: 1,
      jobCompleted: 1,
      jobFailed: 1,
      jobCancelled: 1,
      jobRedriven: 1,
      jobUpdated: 1,
      jobDeleted: 1,
      jobReaped: 1,
      jobSequenceCompleted: 1,
      jobSequenceFailed: 1,
      jobAttemptStarted: 1,
      jobAttemptCompleted: 1,
      jobAttemptFailed: 1,
      jobAttemptRescheduled: 1,
      jobAttemptTimedOut: 1,
      jobAttemptTakenByAnotherWorker: 1,
      jobAttemptAlreadyCompleted: 1,
      jobAttemptLeaseExpired: 1,
      jobAttemptLeaseRenewed: 1,
      jobAttemptFenced: 1,
      jobAttemptStuck: 1,
      jobAttemptLateResult: 1,
      jobAttemptErrorAfterCompletion: 1,
      jobAttemptTransactionRepeated: 1,
      jobAttemptReleased: 1,
      recurringJobTicked: 1,
      recurringJobFailed: 1,
      storeClockSetBack: 1,
      jobDuration: 1,
      jobSequenceDuration: 1,
      jobAttemptDuration: 1,
      jobTimeInQueue: 1,
      claimBatch: 1,
      commitBatch: 1,
      jobTypeIdleChange: 1,
      jobTypeProcessingChange: 1,
      notifyContextAbsence: 1,
      notifyAdapterError: 1,
      stateAdapterError: 1,
    } satisfies Record<LeaseholdEventName, 1>);
    expect(everyEvent.filter((name) => !seen.has(name))).toEqual([]);
  });

  it("balance: gauges return to zero, and what starts also ends", async () => {
    const { of } = await stories["jobs that complete, wait, fail, are put off, cancelled and redriven"]!();
    const sums = new Map<string, number>();
    for (const gauge of ["jobTypeIdleChange", "jobTypeProcessingChange"] as const) {
      for (const { typeName, delta } of of(gauge)) {
        sums.set(`${gauge} ${typeName}`, (sums.get(`${gauge} ${typeName}`) ?? 0) + delta);
      }
    }
    expect([...sums.values()].every((sum) => sum === 0)).toBe(true);
    expect(of("jobAttemptStarted").length).toBe(of("jobAttemptDuration").length);
    expect(of("jobSequenceDuration").every(({ durationMs }) => durationMs >= 0)).toBe(true);
  });

  it("tell of completions that handlers write themselves, and of jobs that fail as they are created", async () => {
    const kit = await createObservedBench();
    const { leasehold, of } = kit;
    await leasehold.startJobSequence({ typeName: "chain" });
    await kit.advance(kit.worker, 10);
    expect(of("jobAttemptCompleted").map(({ typeName }) => typeName)).toEqual(["chain", "link"]);
    const blocker = await leasehold.startJobSequence({ typeName: "quick" });
    await leasehold.jobs.cancel({ ids: [blocker.id] });
    const { id } = await leasehold.startJobSequence({
      typeName: "waits",
      startBlockers: async () => [blocker],
    });
    expect(of("jobFailed").at(-1)).toMatchObject({ id, reason: "blocker_failed" });
    expect(of("jobSequenceFailed").at(-1)).toMatchObject({ id });
  });

  it("tell of a lost lease once, and of a completion refused for it", async () => {
    const kit = await createObservedBench(({ method }) =>
      method === "renewLeases" ? { kind: "hang" } : undefined,
    );
    const { leasehold, of } = kit;
    await leasehold.startJobSequence({ typeName: "quick" });
    const worker = leasehold.createWorker().implementJobType({
      typeName: "quick",
      process: async ({ job, complete }) => {
        await leasehold.completeJobSequence({
          id: job.sequenceId,
          typeName: "quick",
          complete: async ({ job, complete }) => {
            if (job.status === "running") await complete(job, async () => 2);
          },
        });
        return complete(async () => 1);
      },
    });
    await kit.drain(worker);
    expect(of("jobAttemptFenced")).toMatchObject([{ refusal: "not_running" }]);
    expect(of("jobAttemptAlreadyCompleted")).toHaveLength(1);
    expect(of("jobAttemptCompleted")).toEqual([]);
  });

  it("never disturb the work, whatever an observer throws", async () => {
    const kit = await createTestKit({
      jobTypes,
      log: () => {
        throw new Error("log");
      },
      observabilityAdapter: new Proxy({} as ObservabilityAdapter, {
        get: () => () => {
          throw new Error("metrics");
        },
      }),
    });
    const { id } = await kit.leasehold.startJobSequence({ typeName: "quick" });
    const worker = kit.leasehold
      .createWorker()
      .implementJobType({ typeName: "quick", process: async () => 1 });
    await kit.drain(worker);
    expect((await kit.leasehold.jobs.get({ id }))?.status).toBe("completed");
  });

  it("reach the console in one line, without inputs", async () => {
    const lines: string[] = [];
    const original = console.info;
    console.info = (line: string) => void lines.push(line);
    try {
      createConsoleLog()({
        level: loggedEvents.workerStarted![0],
        event: "workerStarted",
        message: loggedEvents.workerStarted![1],
        data: { workerId: "w1", typeNames: ["quick"] },
      });
      createConsoleLog({ level: "error" })({
        level: "info",
        event: "workerStarted",
        message: "quiet",
        data: { workerId: "w1", typeNames: [] },
      });
    } finally {
      console.info = original;
    }
    expect(lines).toEqual([
      expect.stringMatching(/^\d{4}-\S+Z \[leasehold\] info Worker started workerId=w1 typeNames=quick$/),
    ]);
  });
});
