import { describe, expect, it } from "vitest";
import type {
  DefineBlocker,
  DefineContinuationInput,
  DefineContinuationOutput,
} from "../job-types/markers.ts";
import { defineUnionJobTypes } from "../job-types/define.ts";
import { createTestKit } from "../testing/test-kit.ts";
import { createGate } from "../conformance/gate.ts";
import { createLeasehold } from "../leasehold.ts";
import { createInProcessStateAdapter } from "../memory/state-adapter.ts";
import { createInProcessNotifyAdapter } from "../notify/in-process.ts";
import type { LogEntry } from "./log.ts";

const jobTypes = defineUnionJobTypes<{
  work: { input: null; output: null };
  waits: { input: null; output: null; blockers: [DefineBlocker<"work">] };
  first: { input: null; output: DefineContinuationOutput<"second"> };
  second: { input: DefineContinuationInput<null>; output: null };
}>();

/** The events of jobs, in order, each with the name of the job that it is about. */
const setUp = async () => {
  const seen: string[] = [];
  const log = ({ event, data }: LogEntry): void => {
    if (/^job(?!.*(Duration|Change|TimeInQueue|LeaseRenewed))/.test(event))
      seen.push(`${event} ${(data as { typeName: string }).typeName}`);
  };
  const kit = await createTestKit({ jobTypes, log });
  const take = (): string[] => seen.splice(0);
  return { ...kit, take };
};

const workEvents = [
  "jobAttemptStarted work",
  "jobAttemptCompleted work",
  "jobCompleted work",
  "jobSequenceCompleted work",
  "jobUnblocked waits",
];

describe("events come in the same order", () => {
  it("at the start of a worker: it is idle and has started before it runs a job", async () => {
    const stateAdapter = createInProcessStateAdapter();
    const notifyAdapter = createInProcessNotifyAdapter();
    const subscribed = createGate();
    const completed = createGate();
    const seen: string[] = [];
    let idle = 0;
    let leastIdle = 0;
    const leasehold = await createLeasehold({
      stateAdapter,
      jobTypes,
      notifyAdapter: {
        ...notifyAdapter,
        listenJobScheduled: async (...call) => {
          await subscribed.opened;
          return notifyAdapter.listenJobScheduled(...call);
        },
      },
      observabilityAdapter: {
        workerStarted: () => seen.push("workerStarted"),
        jobAttemptStarted: () => seen.push("jobAttemptStarted"),
        jobTypeIdleChange: ({ delta }) => {
          idle += delta;
          leastIdle = Math.min(leastIdle, idle);
        },
        jobCompleted: () => completed.open(),
      },
    });
    await leasehold.startJobSequence({ typeName: "work", input: null });
    const starting = leasehold
      .createWorker()
      .implementJobType({ typeName: "work", process: async () => null })
      .start();
    await completed.opened;
    expect(seen).toEqual(["workerStarted", "jobAttemptStarted"]);
    expect(leastIdle).toBe(0);
    subscribed.open();
    await (await starting).stop();
    expect(idle).toBe(0);
    await leasehold.close();
  });

  it("at a start: sequence, job, its blockers, and that it is blocked", async () => {
    const { leasehold, take } = await setUp();
    await leasehold.startJobSequence({
      typeName: "waits",
      input: null,
      startBlockers: async () => [await leasehold.startJobSequence({ typeName: "work", input: null })],
    });
    expect(take()).toEqual([
      "jobSequenceCreated waits",
      "jobCreated waits",
      "jobSequenceCreated work",
      "jobCreated work",
      "jobBlocked waits",
    ]);
  });

  it.each(["returns its output", "calls complete", "is left out"])(
    "at a completion, when the handler %s: attempt, job, sequence, unblocked jobs",
    async (way) => {
      const { leasehold, take, drain } = await setUp();
      const waiting = await leasehold.startJobSequence({
        typeName: "waits",
        input: null,
        startBlockers: async () => [await leasehold.startJobSequence({ typeName: "work", input: null })],
      });
      const { blockers } = (await leasehold.jobs.get({ id: waiting.id, typeName: "waits" }))!;
      take();
      if (way === "is left out") {
        await leasehold.completeJobSequence({
          ...blockers[0],
          complete: async ({ job, complete }) => complete(job, () => null),
        });
        expect(take()).toEqual(workEvents.filter((event) => !event.startsWith("jobAttempt")));
        return;
      }
      await drain(
        leasehold.createWorker().implementJobType({
          typeName: "work",
          process: async ({ complete }) => (way === "calls complete" ? complete(() => null) : null),
        }),
      );
      expect(take()).toEqual(workEvents);
    },
  );

  it("at a continuation: the next job, attempt, job", async () => {
    const { leasehold, take, drain } = await setUp();
    await leasehold.startJobSequence({ typeName: "first", input: null });
    take();
    await drain(
      leasehold.createWorker().implementJobType({
        typeName: "first",
        process: async ({ complete }) =>
          complete(({ continueWith }) => continueWith({ typeName: "second", input: null })),
      }),
    );
    expect(take()).toEqual([
      "jobAttemptStarted first",
      "jobCreated second",
      "jobAttemptCompleted first",
      "jobCompleted first",
    ]);
  });

  it("at a failure: attempt, job, sequence, and the jobs that fail with it", async () => {
    const { leasehold, take, drain } = await setUp();
    await leasehold.startJobSequence({
      typeName: "waits",
      input: null,
      startBlockers: async () => [
        await leasehold.startJobSequence({ typeName: "work", input: null, maxAttempts: 1 }),
      ],
    });
    take();
    await drain(
      leasehold.createWorker().implementJobType({
        typeName: "work",
        process: async () => {
          throw new Error("broken");
        },
      }),
    );
    expect(take()).toEqual([
      "jobAttemptStarted work",
      "jobAttemptFailed work",
      "jobFailed work",
      "jobSequenceFailed work",
      "jobFailed waits",
      "jobSequenceFailed waits",
    ]);
  });
});
