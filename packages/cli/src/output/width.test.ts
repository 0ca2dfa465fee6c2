import {
  type AnyJob,
  createInProcessStateAdapter,
  createLeasehold,
  defineUnionJobTypes,
  type JobAttempt,
  shortId,
} from "leasehold";
import { setTimeout as sleep } from "node:timers/promises";
import pc from "picocolors";
import { beforeAll, describe, expect, it } from "vitest";
import { renderLive } from "../live/live-view.ts";
import { findJob } from "../store/find-job.ts";
import type { AnyDefinitions, AnyLeasehold } from "../store/store.ts";
import { renderInspection } from "./inspection.ts";
import { renderJobs } from "./job-tables.ts";
import { createOutput } from "./output.ts";
import { oneLine, shorten, textWidth, wrap } from "./text.ts";

const colours = pc.createColors(false);

const widths = [60, 80, 100, 132, 200];

const expectToFit = (text: string, columns: number): void => {
  for (const line of text.split("\n")) expect(textWidth(line), line).toBeLessThanOrEqual(columns);
};

let leasehold: AnyLeasehold;

let jobs: readonly AnyJob[];

beforeAll(async () => {
  leasehold = (await createLeasehold({
    stateAdapter: createInProcessStateAdapter(),
    jobTypes: defineUnionJobTypes<AnyDefinitions>(),
  })) as AnyLeasehold;
  await leasehold.startJobSequences({
    sequences: [
      "send-mail",
      "a-type-with-a-name-that-is-rather-long",
      "邮件-发送-通知-任务-队列-测试-很长",
    ].map((typeName) => ({
      typeName,
      input: { text: "short" },
      queue: "notifications-eu-west",
      maxAttempts: typeName === "send-mail" ? 1 : 25,
    })),
  });
  const worker = await leasehold
    .createWorker()
    .implementJobType({
      typeName: "send-mail",
      process: async () => {
        throw new Error("the mail server did not answer within thirty seconds, after three redirects");
      },
    })
    // The start asked for more, and only the operator of a worker can overrule it.
    .start({ queues: { "notifications-eu-west": 1 }, maxAttempts: 1 });
  while ((await leasehold.jobs.count({ status: "failed" })).length === 0) await sleep(5);
  await worker.stop();
  ({ jobs } = await leasehold.jobs.list());
});

/** These, and one with as much to say as any. */
const attemptsOf = (attempts: readonly JobAttempt[]): readonly JobAttempt[] => {
  const startedAt = Date.now() - 123 * 60_000;
  return [
    ...attempts,
    {
      attempt: 17,
      outcome: "released",
      workerId: "worker-on-a-host-with-a-long-name-12345",
      deployment: "release-2026-11-17-a1b2c3d",
      dueAt: new Date(startedAt - 25 * 3_600_000),
      startedAt: new Date(startedAt),
      endedAt: new Date(startedAt + 3_599_000),
      error: { name: "TypeError", message: "Cannot read\nproperties of undefined\u001b[31m, which was long" },
      fingerprint: null,
      log: [],
    },
  ];
};

describe("a narrow terminal", () => {
  it.each(widths)("of %i columns has room for a list", (columns) => {
    const text = renderJobs({ colours, columns }, jobs);
    expectToFit(text, columns);
    expect(text).toContain("STATUS");
    for (const { id } of jobs) expect(text).toContain(columns < 120 ? shortId(id) : id);
    if (columns >= 80) expect(text).toContain("the mail server did");
  });

  it.each(widths)("of %i columns has room for all about a job", async (columns) => {
    for (const job of jobs) {
      const inspection = {
        job,
        explanation: await leasehold.jobs.explain({ id: job.id }),
        attempts: attemptsOf(await leasehold.history.listAttempts({ id: job.id })),
        blockers: [],
        sequence: [job, job],
        dependants: jobs,
        hasMore: { sequence: true, dependants: false },
      };
      const output = { ...createOutput({ json: false, redact: (text) => text, env: {} }), colours, columns };
      const text = renderInspection(output, inspection, { now: Date.now(), stack: false });
      expectToFit(text, columns);
      expect(text).toContain(job.id);
      expect(text).toMatch(/^ +TRY +BEGAN .*RAN +END/m);
      expect(text).toMatch(/ 17 +2h 3m ago .*59m 59s +released.*\n +TypeError: Cannot read properties/);
      if (columns >= 80)
        expect(text).toMatch(
          /TRY +BEGAN +IN QUEUE +RAN +END +WORKER +DEPLOYMENT\n[^]* 1d 1h [^]* worker-[^]* release/,
        );
    }
  });

  it.each([
    [60, 15, false],
    [80, 24, false],
    [100, 40, false],
    [60, 15, true],
    [80, 24, true],
    [100, 40, true],
  ])("of %i × %i has room for the live view, with its header (counted: %s)", (columns, rows, isCounted) => {
    const time = { p50: 1_234, p95: 200_000 };
    const counts = { blocked: 1_234, pending: 45_678, running: 100, failed: 12_345 };
    const numbers = { counts, atLeast: ["pending" as const] };
    const text = renderLive(
      { colours, columns, rows },
      {
        at: new Date(0),
        rows: Array.from({ length: 30 }, (_, n) => ({
          queue: "notifications-eu-west",
          typeName: `a-type-with-a-name-that-is-rather-long-${n}`,
          ...numbers,
          perSecond: 12_345,
          latency: isCounted ? undefined : time,
          timeToStart: isCounted ? time : undefined,
          runTime: isCounted ? time : undefined,
          held: n === 0 ? ("paused" as const) : undefined,
        })),
        total: numbers,
        perSecond: 12_345,
        latency: isCounted ? undefined : time,
        workers: isCounted ? { count: 1_234, slots: 12_345, running: 12_345 } : undefined,
        history: Array.from({ length: 40 }, (_, n) => n),
      },
      {
        title: `leasehold top  postgres://application@database.example.com:5432/production (schema leasehold)`,
        footer: ["q quits"],
      },
    );
    expectToFit(text, columns);
    const lines = text.split("\n");
    // With the line of the cursor below.
    expect(lines.length).toBeLessThan(rows);
    expect(lines[0]).toContain("leasehold top");
    expect(text).toMatch(/^QUEUE +TYPE +/m);
    expect(text).toContain("FAILED");
    if (isCounted) expect(text).toContain("12,345 of 12,345 slots busy");
    if (columns >= 100) expect(text).toContain(isCounted ? "START P95" : "P50");
    expect(text).toContain("q quits");
  });
});

describe("a shortened id", () => {
  it("is one of a kind, and finds its job", async () => {
    const shown = jobs.map(({ id }) => shortId(id));
    expect(new Set(shown).size).toBe(jobs.length);
    for (const [index, id] of shown.entries()) {
      expect((await findJob(leasehold, id))?.id).toBe(jobs[index]?.id);
      expect((await findJob(leasehold, id.replace("…", "...")))?.id).toBe(jobs[index]?.id);
    }
    expect(await findJob(leasehold, "00000000…00000000")).toBeUndefined();
  });

  it("that fits several is refused rather than guessed", async () => {
    for (const id of ["same-begin-1-same-end", "same-begin-2-same-end"])
      await leasehold.startJobSequence({ typeName: "x", input: null, id });
    await expect(findJob(leasehold, "same-beg…same-end")).rejects.toThrow("several ids");
  });

  it("is not made of one that is short already", () => {
    expect(shortId("order-17")).toBe("order-17");
  });
});

describe("text", () => {
  it("is measured by what a terminal makes of it", () => {
    expect(["abc", "é", "邮件", "👍🏽", ""].map(textWidth)).toEqual([3, 1, 4, 2, 0]);
    expect(shorten("邮件发送", 5)).toBe("邮件…");
  });

  it("is broken between words, and long ones stay whole", () => {
    expect(wrap("one two three four", 9)).toBe("one two\nthree\nfour");
    expect(wrap("see 019a8b1e-6a0c-7d51-9a52-0c4d1f0e7a11 now", 10)).toBe(
      "see\n019a8b1e-6a0c-7d51-9a52-0c4d1f0e7a11\nnow",
    );
    expect(oneLine(wrap("a  b", 80))).toBe("a b");
  });
});
