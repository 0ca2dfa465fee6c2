import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { InvalidOptionError } from "../base/errors.ts";
import { decodeCursor, encodeCursor } from "./pages.ts";

const spell = (content: unknown): string => Buffer.from(JSON.stringify(content)).toString("base64url");

describe("cursors", () => {
  it("come back as the position they were made from", () => {
    const id = fc
      .string({ minLength: 1, maxLength: 200, unit: "grapheme" })
      .filter((text) => text.length <= 200 && !text.includes("\0") && text.isWellFormed());
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 8.64e15 }), id, fc.string(), (createdAt, jobId, kind) => {
        const cursor = encodeCursor(kind, { createdAt, id: jobId });
        expect(cursor).toMatch(/^[\w-]+$/);
        expect(decodeCursor(kind, cursor)).toEqual({ createdAt, id: jobId });
      }),
    );
  });

  it("begin at the start without a cursor", () => {
    expect(decodeCursor("jobs", undefined)).toBeNull();
  });

  it("do not pass for those of another listing", () => {
    const cursor = encodeCursor("jobs", { createdAt: 1, id: "a" });
    expect(() => decodeCursor("sequences", cursor)).toThrow(InvalidOptionError);
  });

  it.each<[string, unknown]>([
    ["null, which would silently start over", null],
    ["an empty text", ""],
    ["text that is not base64", "!!!"],
    ["base64 that is not JSON", Buffer.from("{").toString("base64url")],
    ["another version", spell([2, "jobs", 1, "a"])],
    ["a missing id", spell([1, "jobs", 1])],
    ["an empty id", spell([1, "jobs", 1, ""])],
    ["an id that is a query operator", spell([1, "jobs", 1, { $ne: null }])],
    ["a position that is no number", spell([1, "jobs", "1; DROP TABLE", "a"])],
    ["NUL in the id", spell([1, "jobs", 1, "a\0"])],
    ["an object in place of an array", spell({ 0: 1, 1: "jobs", 2: 1, 3: "a", length: 4 })],
    ["a second spelling of a real cursor", `${encodeCursor("jobs", { createdAt: 1, id: "a" })}=`],
    ["a huge text", "A".repeat(10_000_000)],
    ["an object", { toString: () => encodeCursor("jobs", { createdAt: 1, id: "a" }) }],
  ])("refuse %s", (_what, cursor) => {
    expect(() => decodeCursor("jobs", cursor)).toThrow(InvalidOptionError);
    expect(() => decodeCursor("jobs", cursor)).toThrow(expect.objectContaining({ option: "cursor" }));
  });

  it("refuse a revoked proxy", () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    expect(() => decodeCursor("jobs", proxy)).toThrow(InvalidOptionError);
  });
});
