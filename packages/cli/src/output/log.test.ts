import type { LogEntry, LogLevel } from "leasehold";
import pc from "picocolors";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { createLog } from "./log.ts";
import { createOutput, type Output } from "./output.ts";

let lines: string[];

let output: Output;

beforeEach(() => {
  vi.useFakeTimers({ now: new Date("2026-01-31T12:00:00.000Z") });
  lines = [];
  output = {
    ...createOutput({ json: false, redact: (text) => text, env: {} }),
    colours: pc.createColors(false),
    note: (text) => void lines.push(text),
  };
});

afterEach(() => vi.useRealTimers());

const entry = (event: string, level: LogLevel, data: object = {}): LogEntry =>
  ({ event, level, message: event, data: { typeName: "mail", id: "1", ...data } }) as unknown as LogEntry;

describe("the log of a worker", () => {
  it("has a line for a job that ran, with the time it took", () => {
    const log = createLog(output, "info", { isTerminal: true });
    log(entry("jobAttemptStarted", "debug"));
    vi.advanceTimersByTime(250);
    log(entry("jobAttemptCompleted", "debug"));
    log(entry("jobCompleted", "debug"));
    expect(lines).toEqual(["12:00:00.250 info  Job completed in 250 ms typeName=mail id=1"]);
  });

  it("tells how many jobs ran where there are too many to name", () => {
    const log = createLog(output, "info", { isTerminal: true });
    for (let n = 0; n < 1_020; n += 1) log(entry("jobAttemptCompleted", "debug", { id: String(n) }));
    expect(lines).toHaveLength(20);
    vi.advanceTimersByTime(1_000);
    expect(lines).toHaveLength(21);
    expect(lines.at(-1)).toContain("… and 1,000 more jobs completed");
    log(entry("jobAttemptCompleted", "debug"));
    expect(lines).toHaveLength(22);
  });

  it("has the day in files, and the place of an error in the user's own code", () => {
    const log = createLog(output, "warn", { isTerminal: false });
    const error = new TypeError("boom");
    error.stack = `TypeError: boom\n    at send (file:///app/src/mail.ts:3:9)\n    at run (/app/node_modules/leasehold/x.js:1:1)\n    at node:internal/y:1:1`;
    Object.assign(error, { detail: "Failing row contains (S3cret)" });
    log(entry("jobAttemptFailed", "warn", { error }));
    log(entry("jobAttemptCompleted", "debug"));
    expect(lines).toEqual([
      "2026-01-31T12:00:00.000Z warn  jobAttemptFailed typeName=mail id=1\n  TypeError: boom\n    at send (/app/src/mail.ts:3:9)",
    ]);
    createLog(output, "warn", { debug: true })(entry("stateAdapterError", "error", { error }));
    expect(lines.at(-1)).toContain("node_modules/leasehold");
    expect(lines.join()).not.toContain("S3cret");
  });

  it("survives whatever is thrown", () => {
    const log = createLog(output, "warn");
    const thrown = [null, 1, "text", { message: { toString: 1 } }, Object.create(null)];
    for (const error of thrown) log(entry("jobAttemptFailed", "warn", { error }));
    expect(lines).toHaveLength(thrown.length);
  });
});
