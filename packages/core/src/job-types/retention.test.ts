import { expect, it } from "vitest";
import { createRetention } from "./registry.ts";

it("keeps everything where nothing is said, or only that it is kept", () => {
  expect(createRetention(undefined, new Map([["mail", {}]])).isUnlimited).toBe(true);
  expect(createRetention({ completedMs: null }, new Map()).isUnlimited).toBe(true);
  const mail = { retention: { failedMs: 0 } };
  expect(createRetention({}, new Map([["mail", mail]])).isUnlimited).toBe(false);
});

it("takes from the defaults what a type does not say, and null for an answer", () => {
  const types = new Map([
    ["mail", { retention: { completedMs: 10 } }],
    ["payment", { retention: { completedMs: null, failedMs: null } }],
    ["other", {}],
  ]);
  expect(createRetention({ completedMs: 100, failedMs: 200 }, types).rulesAt(1_000)).toEqual([
    { sequenceTypeNames: ["mail"], completedBefore: 990, failedBefore: 800 },
    { sequenceTypeNames: ["payment"], completedBefore: null, failedBefore: null },
    { sequenceTypeNames: ["leasehold.action"], completedBefore: null, failedBefore: null },
    { sequenceTypeNames: null, completedBefore: 900, failedBefore: 800 },
  ]);
});

it("keeps the dashboard's actions unless their own type has a retention", () => {
  const own = new Map([["leasehold.action", { retention: { completedMs: 5 } }]]);
  expect(createRetention({}, own).rulesAt(10)).toEqual([
    { sequenceTypeNames: ["leasehold.action"], completedBefore: 5, failedBefore: null },
    { sequenceTypeNames: null, completedBefore: null, failedBefore: null },
  ]);
});
