import { describe, expect, it } from "vitest";
import { closestName } from "./options.ts";

const names = ["schema", "idType", "maxAttempts", "pollIntervalMs", "timeoutMs", "at"];

describe("closestName", () => {
  it.each([
    ["shema", "schema"],
    ["schmea", "schema"],
    ["SCHEMA", "schema"],
    ["idtype", "idType"],
    ["maxAttemps", "maxAttempts"],
    ["maxAtempst", "maxAttempts"],
    ["timeout", "timeoutMs"],
    ["poll", "pollIntervalMs"],
  ])("%s was probably %s", (given, meant) => {
    expect(closestName(given, names)).toBe(meant);
  });

  it.each(["retries", "x", "", "it", "a".repeat(1_000_000)])(
    "has no idea what was meant by %.10s",
    (given) => {
      expect(closestName(given, names)).toBeUndefined();
    },
  );
});
