import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createTimetable, jitteredTime, parseTimetable } from "./timetable.ts";

const at = (text: string): number => Date.parse(text);

describe("an interval", () => {
  it("goes from its anchor without drift, in both directions", () => {
    const timetable = createTimetable(
      parseTimetable({ everyMs: 90_000, anchorAt: new Date("2026-01-01T00:00:10Z") }),
    );
    expect(timetable.next(at("2026-01-01T00:00:00Z"))).toBe(at("2026-01-01T00:00:10Z"));
    expect(timetable.next(at("2026-01-01T00:00:10Z"))).toBe(at("2026-01-01T00:01:40Z"));
    expect(timetable.next(at("2025-12-31T23:58:00Z"))).toBe(at("2025-12-31T23:58:40Z"));
    expect(timetable.next(at("2026-02-01T00:00:00Z"))).toBe(at("2026-02-01T00:00:10Z"));
  });

  it("begins with `startAt` where no anchor is given, and else with the epoch", () => {
    const startAt = new Date("2026-01-01T00:07:00Z");
    expect(createTimetable(parseTimetable({ everyMs: 3_600_000, startAt })).next(0)).toBe(startAt.getTime());
    expect(createTimetable(parseTimetable({ everyMs: 3_600_000 })).next(at("2026-01-01T00:07:00Z"))).toBe(
      at("2026-01-01T01:00:00Z"),
    );
  });

  it.each([0, -1, 999, 1_000.5, Number.NaN, 1e18, "1000", null])("is refused: %s", (everyMs) => {
    expect(() => parseTimetable({ everyMs })).toThrow(
      expect.objectContaining({ code: "InvalidOption", option: "everyMs" }),
    );
  });
});

describe("a timetable", () => {
  it("has the times from `startAt` on and before `endAt`", () => {
    const timetable = createTimetable(
      parseTimetable({
        cron: "0 0 * * *",
        startAt: new Date("2026-01-02T00:00:00Z"),
        endAt: new Date("2026-01-04T00:00:00Z"),
      }),
    );
    expect(timetable.next(0)).toBe(at("2026-01-02T00:00:00Z"));
    expect(timetable.next(at("2026-01-02T00:00:00Z"))).toBe(at("2026-01-03T00:00:00Z"));
    expect(timetable.next(at("2026-01-03T00:00:00Z"))).toBeNull();
    expect(timetable.latest(0, at("2027-01-01T00:00:00Z"))).toBe(at("2026-01-03T00:00:00Z"));
    expect(timetable.count(0, at("2027-01-01T00:00:00Z"), 10)).toBe(2);
    expect(timetable.count(0, at("2027-01-01T00:00:00Z"), 1)).toBe(1);
  });

  it("ends with the dates that there are", () => {
    const timetable = createTimetable(parseTimetable({ cron: "0 0 1 1 *", timeZone: "Europe/Berlin" }));
    expect(timetable.next(8_640_000_000_000_000)).toBeNull();
    expect(timetable.next(8_640_000_000_000_000 - 300 * 86_400_000)).toBeNull();
  });

  it.each([
    [{}, "cron", /or `everyMs` must be given/],
    [{ cron: "* * * * *", everyMs: 5_000 }, "cron", /not both/],
    [{ cron: "* * * * *", anchorAt: new Date() }, "anchorAt", /must be left out with `cron`/],
    [{ everyMs: 5_000, timeZone: "UTC" }, "timeZone", /must be left out with `everyMs`/],
    [{ everyMs: 5_000, startAt: "tomorrow" }, "startAt", /must be a valid Date/],
    [{ everyMs: 5_000, startAt: new Date(5), endAt: new Date(5) }, "endAt", /must be after `startAt`/],
  ])("is refused: %o", (options, option, message) => {
    expect(() => parseTimetable(options)).toThrow(
      expect.objectContaining({ code: "InvalidOption", option, message: expect.stringMatching(message) }),
    );
  });
});

describe("jitter", () => {
  it("is the same for everybody, less than asked for, and ends before the next time", () => {
    fc.assert(
      fc.property(
        fc.string(),
        fc.integer({ min: 0, max: 2e12 }),
        fc.integer({ min: 0, max: 86_400_000 }),
        fc.integer({ min: 1, max: 86_400_000 }),
        (id, nominal, jitterMs, untilNext) => {
          const time = jitteredTime(id, nominal, jitterMs, nominal + untilNext);
          expect(time).toBe(jitteredTime(id, nominal, jitterMs, nominal + untilNext));
          expect(time).toBeGreaterThanOrEqual(nominal);
          expect(time - nominal).toBeLessThan(Math.max(1, Math.min(jitterMs, untilNext)));
        },
      ),
    );
  });

  it.each([
    ["evenly", 10_000, null],
    ["over the whole interval if it is longer than that", 100_000, 10_000],
  ])("spreads jobs and times %s", (_name, jitterMs, intervalMs) => {
    const tenths = Array.from({ length: 10 }, () => 0);
    for (let job = 0; job < 100; job += 1)
      for (let time = 0; time < 100; time += 1) {
        const nominal = time * 60_000;
        const next = intervalMs === null ? null : nominal + intervalMs;
        const runsAt = jitteredTime(`job-${job}`, nominal, jitterMs, next);
        tenths[Math.floor((runsAt - nominal) / 1_000)]! += 1;
      }
    for (const count of tenths) expect(Math.abs(count - 1_000)).toBeLessThan(150);
  });
});
