import { describe, expect, it } from "vitest";
import { type Facts, judge } from "./situation.ts";

const now = Date.UTC(2040, 0, 1);
const mail = {
  queue: "default",
  typeName: "mail",
  runnable: 0,
  later: 0,
  running: 0,
  expired: 0,
  blocked: 0,
  failed: 0,
  oldestRunnableAt: null,
};
const facts = (changes: Partial<Facts>): Facts => ({
  now,
  backlog: [],
  workers: [{ queues: ["default"], typeNames: ["mail"] }],
  pausedQueues: [],
  causes: [],
  ...changes,
});
const textsOf = (changes: Partial<Facts>): string[] =>
  judge(facts(changes)).sentences.map(({ text }) => text);
const late = { ...mail, runnable: 1_200, oldestRunnableAt: now - 7 * 60_000 };

describe("the situation", () => {
  it("is calm where nothing waits for long and nothing failed", () => {
    expect(judge(facts({ backlog: [{ ...mail, runnable: 3, oldestRunnableAt: now - 500 }] })).level).toBe(
      "calm",
    );
  });

  it("names a queue that is behind, and since when", () => {
    const { level, sentences } = judge(facts({ backlog: [late] }));
    expect(level).toBe("attention");
    expect(sentences).toEqual([
      {
        text: "Queue default is behind by 7 min: 1,200 jobs could run now.",
        href: "jobs?queue=default&status=pending&order=oldest",
      },
    ]);
  });

  it("is in trouble where no live worker serves a type", () => {
    const { level, sentences } = judge(facts({ backlog: [late], workers: [] }));
    expect(level).toBe("trouble");
    expect(sentences[0]?.text).toBe(
      "No live worker serves mail in queue default: the oldest job has waited 7 min.",
    );
  });

  it("blames no worker where it cannot know them", () => {
    const { workers: _unknown, ...others } = facts({ backlog: [late] });
    expect(judge({ ...others, workers: undefined }).level).toBe("attention");
  });

  it("does not call a paused queue late", () => {
    expect(textsOf({ backlog: [late], pausedQueues: ["default"] })).toEqual(["Queue default is paused."]);
  });

  it("names the cause that most failures share", () => {
    const causes = [
      { fingerprint: "a".repeat(16), name: "TypeError", count: 12 },
      { fingerprint: "b".repeat(16), name: "Error", count: 2 },
    ];
    expect(textsOf({ causes })).toEqual(["12 of 14 failed jobs share one cause: TypeError."]);
    expect(textsOf({ causes: [{ fingerprint: null, name: null, count: 1 }] })).toEqual([
      "1 job failed and waits for somebody to look.",
    ]);
  });

  it("tells of workers that have gone silent", () => {
    expect(textsOf({ backlog: [{ ...mail, running: 2, expired: 2 }] })).toEqual([
      "The workers of 2 running jobs have gone silent.",
    ]);
  });
});
