import { describe, expect, it } from "vitest";
import type { StandardSchemaV1 } from "./options.ts";
import { validateAgainstSchema } from "./registry.ts";

const schemaThatAnswers = (answer: unknown): StandardSchemaV1 => ({
  "~standard": { version: 1, vendor: "test", validate: () => answer as never },
});

const validate = (answer: unknown) =>
  validateAgainstSchema({ input: schemaThatAnswers(answer) }, "work", "input", null);

describe("validateAgainstSchema", () => {
  it("does not mistake a value with a `then` of its own for a promise", async () => {
    const value = {
      // oxlint-disable-next-line unicorn/no-thenable -- that is the point
      then: () => {
        throw new Error("called");
      },
    };
    expect((await validateAgainstSchema({}, "work", "input", value)).value === value).toBe(true);
    expect((await validate({ value })).value === value).toBe(true);
  });

  it("answers a schema that answers nonsense with a typed error", async () => {
    const nonsense = [null, undefined, { issues: 7 }, { issues: [null] }, { issues: "x".repeat(1_000_000) }];
    for (const answer of nonsense) {
      await expect(validate(answer)).rejects.toMatchObject({ code: "SchemaValidation" });
    }
  });

  it("reads no more issues than anybody could use", async () => {
    const issues = Array.from({ length: 5_000 }, () => ({ message: "wrong" }));
    await expect(validate({ issues })).rejects.toMatchObject({ issues: { length: 1_000 } });
  });
});
