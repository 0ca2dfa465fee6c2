import { InvalidArgumentError } from "commander";
import { describe, expect, it } from "vitest";
import { collect, parseDuration, parseInput, parseInteger, parseMoment, parseSchedule } from "./values.ts";

describe("values of options", () => {
  it("reads durations with their unit", () => {
    expect(["250ms", "1.5s", "5m", "2h", "7d"].map(parseDuration)).toEqual([
      250, 1_500, 300_000, 7_200_000, 604_800_000,
    ]);
    for (const wrong of ["5", "5 minutes", "-5s", "s", ""]) {
      expect(() => parseDuration(wrong), wrong).toThrow(InvalidArgumentError);
    }
  });

  it("reads moments as dates or as time ago", () => {
    expect(parseMoment("2026-01-31T12:00Z")).toEqual(new Date("2026-01-31T12:00Z"));
    expect(Date.now() - parseMoment("2h").getTime()).toBeLessThan(7_200_000 + 1_000);
    expect(Date.now() - parseMoment("2h").getTime()).toBeGreaterThan(7_200_000 - 1_000);
    for (const wrong of ["yesterday", "5", "2026-13-01", "2026"]) {
      expect(() => parseMoment(wrong), wrong).toThrow(InvalidArgumentError);
    }
  });

  it("leaves times from now to the store's clock", () => {
    expect(parseSchedule("10m")).toEqual({ afterMs: 600_000 });
    expect(parseSchedule("2026-01-31")).toEqual({ at: new Date("2026-01-31") });
  });

  it("keeps numbers in their bounds", () => {
    expect(parseInteger(1, 10)("10")).toBe(10);
    for (const wrong of ["0", "11", "1e1", "x", "1.5", ""]) {
      expect(() => parseInteger(1, 10)(wrong), wrong).toThrow(InvalidArgumentError);
    }
  });

  it("collects repeated values and those with commas", () => {
    expect(collect("c", collect("a,b"))).toEqual(["a", "b", "c"]);
  });

  it("reads JSON only", () => {
    expect(parseInput('{"a":[1]}')).toEqual({ a: [1] });
    expect(() => parseInput("hello")).toThrow(InvalidArgumentError);
    expect(() => parseInput("@/no/such/file")).toThrow(/cannot be read/);
  });
});
