import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { defineUnionJobTypes } from "../job-types/define.ts";
import { withFaults } from "../testing/faults.ts";
import { createTestKit } from "../testing/test-kit.ts";
import { collapseRepeats, createConsoleLog, type LogEntry } from "./log.ts";

const storeError = (n: number): LogEntry => ({
  level: "error",
  event: "stateAdapterError",
  message: "Store call failed",
  data: { operation: "claimJobs", error: new Error(`connection ${n} refused`) },
});

describe("collapseRepeats", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  const record = () => {
    const messages: string[] = [];
    return { messages, log: collapseRepeats(({ message }) => messages.push(message)) };
  };

  it("passes on the first of many, and after ten seconds how many there were", () => {
    const { messages, log } = record();
    for (let n = 0; n < 39; n += 1) log(storeError(n));
    expect(messages).toEqual(["Store call failed"]);
    vi.advanceTimersByTime(10_000);
    expect(messages).toEqual(["Store call failed", "Store call failed (and 37 more like it in 10 s)"]);
    vi.advanceTimersByTime(60_000);
    log(storeError(40));
    expect(messages).toHaveLength(3);
  });

  it("loses none: one repetition is passed on as it is", () => {
    const { messages, log } = record();
    log(storeError(1));
    log(storeError(2));
    vi.advanceTimersByTime(10_000);
    expect(messages).toEqual(["Store call failed", "Store call failed"]);
  });

  it("keeps apart what differs, and leaves less urgent entries alone", () => {
    const { messages, log } = record();
    log(storeError(1));
    log({
      ...storeError(2),
      data: { operation: "renewLeases", error: new Error("refused") },
    } as LogEntry);
    const started: LogEntry = {
      level: "info",
      event: "workerStarted",
      message: "Worker started",
      data: { workerId: "w", typeNames: [] },
    };
    log(started);
    log(started);
    expect(messages).toHaveLength(4);
  });
});

describe("the console log", () => {
  const lines: string[] = [];
  const methods = ["debug", "info", "warn", "error"] as const;
  beforeEach(() => {
    lines.length = 0;
    for (const method of methods) vi.spyOn(console, method).mockImplementation((line) => lines.push(line));
  });
  afterEach(() => void vi.restoreAllMocks());

  const jobTypes = defineUnionJobTypes<{ work: { input: { n: number }; output: null } }>();

  it("tells of one failed job in one entry, with its time and one stack", async () => {
    const kit = await createTestKit({ jobTypes, log: createConsoleLog({ level: "warn" }) });
    const worker = kit.leasehold.createWorker().implementJobType({
      typeName: "work",
      process: async () => {
        throw new Error("out of stock");
      },
    });
    await kit.leasehold.startJobSequence({ typeName: "work", input: { n: 1 }, maxAttempts: 1 });
    await kit.drain(worker);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatch(
      /^\d{4}-\d\d-\d\dT\S+Z \[leasehold\] error Job failed for good .*reason=attempts_exhausted/,
    );
    expect(lines[0]!.split("out of stock")).toHaveLength(2);
  });

  it("stays short while the store is down", async () => {
    let down = false;
    const kit = await createTestKit({
      jobTypes,
      log: createConsoleLog(),
      wrapStateAdapter: (adapter) => withFaults(adapter, () => (down ? { kind: "fail_before" } : undefined)),
    });
    const worker = await kit.clock.runUntil(
      kit.leasehold
        .createWorker()
        .implementJobType({ typeName: "work", process: async () => null })
        .start(),
    );
    down = true;
    await kit.clock.advanceBy(25_000);
    down = false;
    await kit.clock.runUntil(worker.stop());
    expect(lines.length).toBeLessThan(15);
    expect(lines.join("\n")).not.toMatch(/^null$/m);
  });
});
