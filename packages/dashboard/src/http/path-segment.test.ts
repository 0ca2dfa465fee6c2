import fc from "fast-check";
import { expect, it } from "vitest";
import { fromSegment, toSegment } from "./path-segment.ts";

it("gives any text an address that nothing folds, and finds it again", () => {
  const text = fc.oneof(
    fc.string({ unit: fc.constantFrom("~", ".", "%", "2", "e", "/"), maxLength: 6 }),
    fc.string({ unit: "binary", maxLength: 20 }),
  );
  fc.assert(
    fc.property(
      text.filter((any) => any !== ""),
      (any) => {
        const { pathname } = new URL(`http://localhost/jobs/${toSegment(any)}`);
        const parts = pathname.split("/");
        expect(parts).toHaveLength(3);
        expect(fromSegment(parts[2]!)).toBe(any);
      },
    ),
  );
});

it("leaves names alone that nothing folds", () => {
  expect(["~ada", "...", "a.b", "~"].map(toSegment)).toEqual(["~ada", "...", "a.b", "~"]);
  expect([".", "..", "~.", "~~.."].map(toSegment)).toEqual(["~.", "~..", "~~.", "~~~.."]);
});
