import { formatBytes, formatDuration } from "leasehold/adapter";
import { describe, expect, it } from "vitest";
import { formatMoment, formatRate, oneLine, printable, shorten } from "./text.ts";

describe("printable", () => {
  it("lets no job steer the terminal", () => {
    expect(printable("\u001b[2J\u0007\u009b1m\u202egnp.exe\u0000")).toBe(
      "\\u001b[2J\\u0007\\u009b1m\\u202egnp.exe\\u0000",
    );
    expect(printable("two\r\nlines\rover")).toBe("two\nlines\\u000dover");
    expect(oneLine("a\n   b")).toBe("a b");
  });

  it("shortens to a width", () => {
    expect(shorten("abcdef", 4)).toBe("abc…");
    expect(shorten("abc", 3)).toBe("abc");
  });
});

describe("amounts", () => {
  it("reads well at every size", () => {
    expect([0, 999, 1_500, 59_900, 200_000, 7_200_000, 187_200_000].map(formatDuration)).toEqual([
      "0 ms",
      "999 ms",
      "1.5 s",
      "59.9 s",
      "3m 20s",
      "2h",
      "2d 4h",
    ]);
    expect(formatMoment(new Date(5_000), 0)).toBe("in 5.0 s");
    expect(formatMoment(new Date(0), 5_000)).toBe("5.0 s ago");
    expect([0, 1_023, 1_536, 5 * 1_024 ** 3].map(formatBytes)).toEqual([
      "0 B",
      "1023 B",
      "1.5 KiB",
      "5.0 GiB",
    ]);
    expect([0, 0.55, 12_345.6].map(formatRate)).toEqual(["–", "0.6/s", "12,346/s"]);
  });
});
