import { describe, expect, it } from "vitest";
import type { DefineBlocker } from "../job-types/markers.ts";
import { sleep } from "../base/runtime.ts";
import { defineJobTypes, defineUnionJobTypes, typeOnly } from "../job-types/define.ts";
import { withFaults } from "../testing/faults.ts";
import { createTestKit } from "../testing/test-kit.ts";
import { wrapAdapter } from "../store/wrap-adapter.ts";
import { createCrashIsolation } from "../worker/crash-isolation.ts";

const jobTypes = defineUnionJobTypes<{ work: { input: null; output: null } }>();

// What the simulation has found in core, each as the smallest story that shows it.
describe("bugs found by the simulation", () => {
  it("a start whose reply was lost does not hang when the lookup of its jobs is never answered", async () => {
    const kit = await createTestKit({
      jobTypes,
      storeDeadlineMs: 500,
      wrapStateAdapter: (adapter) =>
        withFaults(adapter, ({ method, nth }) => {
          if (method === "createJobs" && nth === 1) return { kind: "fail_after" };
          return method === "getJobs" && nth === 1 ? { kind: "hang" } : undefined;
        }),
    });
    const started = await kit.clock.runUntil(kit.leasehold.startJobSequence({ typeName: "work" }));
    expect(started).toMatchObject({ deduplicated: false });
    expect(await kit.leasehold.jobs.count()).toMatchObject([{ count: 1 }]);
  });

  it("a job that may crash its process is not fetched while a handler still runs that outlived its lease", () => {
    const isolation = createCrashIsolation();
    const worker = {};
    isolation.tryEnter(false);
    isolation.requestTurn(worker);
    expect(isolation.mayClaim(worker)).toBe(false);
    isolation.leave(false);
    expect(isolation.mayClaim(worker)).toBe(true);
  });

  it("a bulk start with a duplicate in it recognises itself after its reply was lost", async () => {
    const kit = await createTestKit({
      jobTypes,
      wrapStateAdapter: (adapter) =>
        withFaults(adapter, ({ method, nth }) =>
          method === "createJobs" && nth === 2 ? { kind: "fail_after" } : undefined,
        ),
    });
    const deduplication = { key: "k" };
    const first = await kit.leasehold.startJobSequence({ typeName: "work", deduplication });
    const sequences = [{ typeName: "work" as const, deduplication }, { typeName: "work" as const }];
    const started = await kit.clock.runUntil(kit.leasehold.startJobSequences({ sequences }));
    expect(started).toMatchObject([{ id: first.id, deduplicated: true }, { deduplicated: false }]);
    expect(await kit.leasehold.jobs.count()).toMatchObject([{ count: 2 }]);
  });

  it("a handler does not begin after its attempt was given back, however late its blockers are read", async () => {
    let answer: () => void = () => undefined;
    const answered = new Promise<void>((resolve) => (answer = resolve));
    const kit = await createTestKit({
      jobTypes: defineUnionJobTypes<{
        part: { input: null; output: null };
        whole: { input: null; output: null; blockers: [DefineBlocker<"part">] };
      }>(),
      wrapStateAdapter: (adapter) =>
        wrapAdapter(adapter, (method, original) =>
          method === "getBlockers" ? (call) => answered.then(() => original(call)) : original,
        ),
      storeDeadlineMs: 60_000,
    });
    const { leasehold, clock, stateAdapter } = kit;
    let executions = 0;
    const worker = leasehold
      .createWorker()
      .implementJobType({ typeName: "part", process: async () => null })
      .implementJobType({
        typeName: "whole",
        process: async () => {
          executions += 1;
        },
      });
    const { id } = await leasehold.startJobSequence({
      typeName: "whole",
      startBlockers: async () => [await leasehold.startJobSequence({ typeName: "part" })],
    });
    const read = async () => (await stateAdapter.getJobs({ jobIds: [id] }))[0];
    const running = await clock.runUntil(worker.start({ abortGraceMs: 100 }));
    await clock.runUntil(async () => (await read())?.status === "running");
    await clock.runUntil(running.stop({ deadlineMs: 0 }));
    expect(await read()).toMatchObject({ status: "pending", attempt: 0 });
    answer();
    await clock.settle();
    expect(executions).toBe(0);
  });

  it("a short lease is kept although every renewal takes a third of it", async () => {
    let lost = 0;
    const kit = await createTestKit({
      jobTypes: defineJobTypes({
        quick: { input: typeOnly<null>(), output: typeOnly<string>(), leaseMs: 250 },
      }),
      observabilityAdapter: { jobAttemptLeaseExpired: () => (lost += 1) },
      wrapStateAdapter: (adapter) =>
        wrapAdapter(adapter, (method, original) =>
          method !== "renewLeases"
            ? original
            : async (call) => {
                await sleep(kit.clock, 50);
                const renewed = await original(call);
                await sleep(kit.clock, 50);
                return renewed;
              },
        ),
    });
    const { leasehold, clock } = kit;
    const worker = leasehold.createWorker().implementJobType({
      typeName: "quick",
      process: async ({ signal }) => {
        await sleep(clock, 1_000, signal);
        return "done";
      },
    });
    const { id } = await leasehold.startJobSequence({ typeName: "quick", input: null });
    await kit.drain(worker);
    expect(await leasehold.jobs.get({ id })).toMatchObject({ status: "completed", attempt: 1 });
    expect(lost).toBe(0);
  });

  it("a suspect that has run stays alone until its outcome is written", () => {
    const crashIsolation = createCrashIsolation();
    crashIsolation.hold();
    crashIsolation.requestAlone();
    expect(crashIsolation.tryEnter(true)).toBe(true);
    crashIsolation.withdrawRequest();
    crashIsolation.leave(true);
    // A poisonous job that entered now would take the outcome, and with it the last attempt, down with the process.
    expect(crashIsolation.tryEnter(false)).toBe(false);
    let changes = 0;
    crashIsolation.onChange(() => (changes += 1));
    crashIsolation.drop();
    expect(changes).toBe(1);
    expect(crashIsolation.isReserved).toBe(false);
    expect(crashIsolation.tryEnter(false)).toBe(true);
  });
});
