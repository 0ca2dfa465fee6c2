import { describe, expect, it } from "vitest";
import { defineUnionJobTypes } from "../job-types/define.ts";
import type {
  DefineBlocker,
  DefineContinuationInput,
  DefineContinuationOutput,
} from "../job-types/markers.ts";
import { createTestKit } from "../testing/test-kit.ts";
import { rescheduleJob } from "../worker/outcome.ts";
import type {
  AttemptTraceData,
  AttemptTraceEnding,
  ObservabilityAdapter,
  StartTraceData,
  StartTraceEnding,
  Tracing,
} from "./adapter.ts";
import { createTracer } from "./observe.ts";

const jobTypes = defineUnionJobTypes<{
  work: { input: null; output: number };
  chain: { input: null; output: DefineContinuationOutput<"link"> };
  link: { input: DefineContinuationInput<null>; output: null };
  waits: { input: null; output: null; blockers: [DefineBlocker<"chain">] };
}>();

/** Writes down everything it is told, and which span each piece of code ran in. */
const recordTraces = () => {
  const starts: (StartTraceData & { ending?: StartTraceEnding })[] = [];
  const attempts: (AttemptTraceData & { ending?: AttemptTraceEnding; blockers?: readonly unknown[] })[] = [];
  const tracing: Tracing = {
    start: (data) => {
      const start: (typeof starts)[number] = { ...data };
      starts.push(start);
      return {
        traceContext: `start-${starts.length}`,
        run: (callback) => callback(),
        end: (ending) => void (start.ending = ending),
      };
    },
    attempt: (data) => {
      const attempt: (typeof attempts)[number] = { ...data };
      attempts.push(attempt);
      return {
        run: (callback) => callback(),
        linkBlockers: (blockers) => void (attempt.blockers = blockers),
        end: (ending) => {
          if (attempt.ending) throw new Error("ended twice");
          attempt.ending = ending;
        },
      };
    },
  };
  return { starts, attempts, adapter: { tracing } satisfies ObservabilityAdapter };
};

const runWork = async (
  process: () => Promise<number>,
  options: { timeoutMs?: number; maxAttempts?: number } = {},
) => {
  const traces = recordTraces();
  const kit = await createTestKit({ jobTypes, observabilityAdapter: traces.adapter });
  const { id } = await kit.leasehold.startJobSequence({ typeName: "work", ...options });
  const worker = kit.leasehold.createWorker().implementJobType({ typeName: "work", process });
  await kit.advance(worker, 60_000, { abortGraceMs: 10 });
  return { ...traces, kit, id };
};

describe("tracing", () => {
  let rescheduled = false;
  const rescheduleOnce = (): number => {
    if (rescheduled) return 1;
    rescheduled = true;
    return rescheduleJob({ afterMs: 5 });
  };

  it("stores what a start returns, and gives it back at the attempt", async () => {
    const { starts, attempts, id } = await runWork(async () => 1);
    expect(starts).toMatchObject([
      { operation: "startJobSequence", predecessor: null, ending: { deduplicated: 0 } },
    ]);
    expect(starts[0]!.jobs.map((job) => job.id)).toEqual([id]);
    expect(attempts).toMatchObject([{ id, attempt: 1, traceContext: "start-1", sequenceIndex: 0 }]);
  });

  it.each([
    [
      "completed",
      async (): Promise<number> => 1,
      {},
      [{ outcome: "completed", error: null, abortReason: null }],
    ],
    [
      "retried and failed",
      async (): Promise<number> => Promise.reject(new TypeError("broken")),
      { maxAttempts: 2 },
      [
        { outcome: "retried", error: { name: "TypeError", message: "broken" }, failureReason: null },
        { outcome: "failed", error: { name: "TypeError" }, failureReason: "attempts_exhausted" },
      ],
    ],
    [
      "rescheduled",
      async (): Promise<number> => rescheduleOnce(),
      {},
      [{ outcome: "rescheduled", error: null }, { outcome: "completed" }],
    ],
    [
      "timed out",
      () => new Promise<number>(() => {}),
      { timeoutMs: 100, maxAttempts: 1 },
      [{ outcome: "failed", abortReason: "timeout", error: { name: "JobTimeoutError" } }],
    ],
  ] as const)("ends the attempt of a job that is %s", async (_name, process, options, endings) => {
    rescheduled = false;
    const { attempts } = await runWork(process, options);
    expect(attempts.map(({ ending }) => ending)).toMatchObject(endings);
  });

  it("ends the attempt of a job that is completed by somebody else as lost", async () => {
    const traces = recordTraces();
    const kit = await createTestKit({ jobTypes, observabilityAdapter: traces.adapter });
    const { leasehold, clock } = kit;
    const started = await leasehold.startJobSequence({ typeName: "work" });
    const worker = await clock.runUntil(
      leasehold
        .createWorker()
        .implementJobType({
          typeName: "work",
          process: ({ signal }) =>
            new Promise((_resolve, reject) =>
              signal.addEventListener("abort", () => reject(new Error("aborted"))),
            ),
        })
        .start(),
    );
    await clock.advanceBy(10);
    await leasehold.completeJobSequence({
      ...started,
      complete: async ({ job, complete }) => {
        if (job.status === "running") await complete(job, async () => 2);
      },
    });
    await clock.advanceBy(60_000);
    await clock.runUntil(worker.stop());
    expect(traces.attempts.map(({ ending }) => ending)).toMatchObject([
      { outcome: "lease_lost", abortReason: "already_completed" },
    ]);
  });

  it("ends the attempt of a worker that stops as released", async () => {
    const traces = recordTraces();
    const kit = await createTestKit({ jobTypes, observabilityAdapter: traces.adapter });
    const { leasehold, clock } = kit;
    await leasehold.startJobSequence({ typeName: "work" });
    const worker = await clock.runUntil(
      leasehold
        .createWorker()
        .implementJobType({ typeName: "work", process: () => new Promise<number>(() => {}) })
        .start({ abortGraceMs: 10 }),
    );
    await clock.advanceBy(10);
    await clock.runUntil(worker.stop({ deadlineMs: 0 }));
    expect(traces.attempts.map(({ ending }) => ending)).toMatchObject([
      { outcome: "released", abortReason: "shutdown" },
    ]);
  });

  it("tells of predecessors, blockers, batches and duplicates", async () => {
    const traces = recordTraces();
    const kit = await createTestKit({ jobTypes, observabilityAdapter: traces.adapter });
    const { leasehold } = kit;
    await leasehold.startJobSequences({ sequences: [{ typeName: "work" }, { typeName: "work" }] });
    const deduplication = { key: "same" };
    await leasehold.startJobSequence({ typeName: "work", deduplication });
    await leasehold.startJobSequence({ typeName: "work", deduplication });
    await leasehold.startJobSequence({
      typeName: "waits",
      startBlockers: async () => [await leasehold.startJobSequence({ typeName: "chain" })],
    });
    const worker = leasehold
      .createWorker()
      .implementJobType({ typeName: "work", process: async () => 1 })
      .implementJobType({ typeName: "waits", process: async () => null })
      .implementJobType({ typeName: "link", process: async () => null })
      .implementJobType({
        typeName: "chain",
        process: async ({ complete }) =>
          complete(async ({ continueWith }) => continueWith({ typeName: "link" })),
      });
    await kit.drain(worker);
    expect(traces.starts.map(({ operation, jobs, ending }) => [operation, jobs.length, ending])).toEqual([
      ["startJobSequences", 2, { deduplicated: 0 }],
      ["startJobSequence", 1, { deduplicated: 0 }],
      ["startJobSequence", 1, { deduplicated: 1 }],
      ["startJobSequence", 1, { deduplicated: 0 }],
      ["startJobSequence", 1, { deduplicated: 0 }],
      ["continueWith", 1, { deduplicated: 0 }],
    ]);
    const [, , , blocked, blocker, continuation] = traces.starts;
    expect(continuation!.predecessor).toMatchObject({ id: blocker!.jobs[0]!.id, traceContext: "start-5" });
    const attemptAt = (id: string) => traces.attempts.find((attempt) => attempt.id === id);
    expect(attemptAt(blocked!.jobs[0]!.id)?.blockers).toEqual([
      { sequenceId: blocker!.jobs[0]!.id, traceContext: "start-6" },
    ]);
    expect(traces.attempts.every(({ ending }) => ending?.outcome === "completed")).toBe(true);
  });

  it("records what a start failed with", async () => {
    const traces = recordTraces();
    const kit = await createTestKit({ jobTypes, observabilityAdapter: traces.adapter });
    const { id } = await kit.leasehold.startJobSequence({ typeName: "work" });
    await expect(kit.leasehold.startJobSequence({ typeName: "work", id })).rejects.toThrow(id);
    expect(traces.starts[1]!.ending).toMatchObject({ error: { code: "JobAlreadyExists" } });
  });

  const throwing = (): never => {
    throw new Error("tracing");
  };
  const rejecting = (): never => Promise.reject(new Error("tracing")) as never;
  const parts = { run: (callback: () => unknown) => callback(), end: () => {}, traceContext: null };

  it.each([
    ["throws when asked", { start: throwing, attempt: throwing }],
    ["returns nonsense", { start: () => 7, attempt: () => "span" }],
    ["returns nothing to call", { start: () => ({}), attempt: () => ({}) }],
    ["stores what no store can", { start: () => ({ ...parts, traceContext: "\0" }) }],
    ["stores too much", { start: () => ({ ...parts, traceContext: "x".repeat(4_097) }) }],
    [
      "throws around the work",
      { start: () => ({ ...parts, run: throwing }), attempt: () => ({ ...parts, run: throwing }) },
    ],
    [
      "rejects around the work",
      { start: () => ({ ...parts, run: rejecting }), attempt: () => ({ ...parts, run: rejecting }) },
    ],
    [
      "never runs the work",
      { start: () => ({ ...parts, run: () => {} }), attempt: () => ({ ...parts, run: () => {} }) },
    ],
    [
      "runs the work twice",
      {
        start: () => ({ ...parts, run: (work: () => unknown) => [work(), work()] }),
        attempt: () => ({ ...parts, run: (work: () => unknown) => [work(), work()] }),
      },
    ],
    [
      "throws at the end",
      {
        start: () => ({ ...parts, end: throwing }),
        attempt: () => ({ ...parts, end: throwing, linkBlockers: throwing }),
      },
    ],
    [
      "rejects at the end",
      { start: () => ({ ...parts, end: rejecting }), attempt: () => ({ ...parts, end: rejecting }) },
    ],
  ])("does not disturb the work when it %s", async (_name, tracing) => {
    const kit = await createTestKit({
      jobTypes,
      observabilityAdapter: { tracing: tracing as never },
    });
    const { id } = await kit.leasehold.startJobSequence({ typeName: "work" });
    let runs = 0;
    await kit.drain(
      kit.leasehold.createWorker().implementJobType({ typeName: "work", process: async () => ++runs }),
    );
    const [job] = await kit.stateAdapter.getJobs({ jobIds: [id] });
    expect(job).toMatchObject({ status: "completed", traceContext: null });
    expect(runs).toBe(1);
  });

  it("is nothing where nobody traces", () => {
    expect(createTracer(undefined)).toBeUndefined();
    expect(createTracer({})).toBeUndefined();
    expect(createTracer({ tracing: {} })).toBeUndefined();
  });
});
