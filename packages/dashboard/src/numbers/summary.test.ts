import { describe, expect, it } from "vitest";
import { describeSummary, type FailedGroup, type Judgement } from "./summary.ts";

const now = Date.UTC(2040, 0, 1);

const minute = 60_000;

const late = { queue: "default", oldestMs: 7 * minute, runnable: 1_200, since: now - 40 * minute };

const situationOf = (changes: Partial<Judgement>) =>
  describeSummary({ now, unserved: [], behind: [], stuck: 0, paused: [], failed: [], ...changes });

const failed = (changes: Partial<FailedGroup> = {}): FailedGroup => ({
  fingerprint: "a".repeat(16),
  name: "TypeError",
  count: 12,
  lastFailedAt: now - minute,
  firstSeenAt: null,
  firstDeployment: null,
  ...changes,
});

describe("the summary", () => {
  it("is calm where nothing waits for long and nothing failed", () => {
    expect(situationOf({})).toEqual({
      level: "calm",
      sentences: [
        { text: "No job has waited for more than a minute, and none has failed.", href: null, since: null },
      ],
    });
  });

  it("names a queue that is behind, and since when", () => {
    const { level, sentences } = situationOf({ behind: [late] });
    expect(level).toBe("attention");
    expect(sentences).toEqual([
      {
        text: "Queue default is behind by 7m: 1,200 jobs could run now.",
        href: "jobs?queue=default&status=pending&order=oldest",
        since: new Date(now - 40 * minute),
      },
    ]);
  });

  it("is in trouble where no worker serves a type, and where workers are gone", () => {
    const unserved = situationOf({ unserved: [{ ...late, typeNames: ["mail", "fax"] }], behind: [late] });
    expect(unserved.level).toBe("trouble");
    expect(unserved.sentences.map(({ text }) => text)).toEqual([
      "No worker takes mail, fax in queue default: the oldest job has waited 7m.",
      "Queue default is behind by 7m: 1,200 jobs could run now.",
    ]);
    expect(situationOf({ stuck: 2 })).toMatchObject({
      level: "trouble",
      sentences: [{ text: "The workers of 2 running jobs have gone silent." }],
    });
  });

  it("tells of pauses", () => {
    const paused = [
      { queue: "default", typeName: null },
      { queue: "bulk", typeName: "mail" },
    ];
    expect(situationOf({ paused }).sentences.map(({ text }) => text)).toEqual([
      "Queue default is paused.",
      "Type mail is paused in queue bulk.",
    ]);
  });

  it("names the cause that most failures share, and the deployment that brought it", () => {
    const other = failed({ fingerprint: "b".repeat(16), name: "Error", count: 2 });
    expect(situationOf({ failed: [failed(), other] })).toMatchObject({
      level: "attention",
      sentences: [{ text: "12 of 14 failed jobs share one cause: TypeError.", since: null }],
    });
    const brought = failed({ firstDeployment: "v42", firstSeenAt: now - 5 * minute });
    expect(situationOf({ failed: [brought, other] }).sentences).toEqual([
      {
        text: "12 of 14 failed jobs share one cause: TypeError, first seen in deployment v42.",
        href: `failed?cause=${"a".repeat(16)}`,
        since: new Date(now - 5 * minute),
      },
    ]);
    expect(situationOf({ failed: [failed({ fingerprint: null, count: 1 })] })).toMatchObject({
      sentences: [{ text: "1 job failed and waits for a decision." }],
    });
  });

  it("stays calm about failures of long ago, as doctor does", () => {
    const { level, sentences } = situationOf({ failed: [failed({ lastFailedAt: now - 61 * minute })] });
    expect(level).toBe("calm");
    expect(sentences.map(({ text }) => text)).toEqual([
      "No job has waited for more than a minute.",
      "12 jobs failed, none in the last hour.",
    ]);
  });
});
