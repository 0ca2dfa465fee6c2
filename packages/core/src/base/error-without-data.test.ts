import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { errorWithoutData, toStoredErrorText } from "./stored-error.ts";

const canary = "canary-5f2c";

class DatabaseError extends Error {
  override readonly name = "error";
}

const shapes: Record<string, () => Error> = {
  pg: () =>
    Object.assign(new DatabaseError("new row violates check constraint"), {
      severity: "ERROR",
      code: "23514",
      detail: `Failing row contains (1, ${canary}).`,
      where: `SQL statement "${canary}"`,
      internalQuery: `SELECT '${canary}'`,
      table: "leasehold_job",
    }),
  "postgres.js": () => {
    const error = Object.assign(new DatabaseError("duplicate key"), { code: "23505", detail: canary });
    const hidden = { enumerable: false, configurable: true };
    return Object.defineProperties(error, {
      query: { ...hidden, value: `INSERT ${canary}` },
      parameters: { ...hidden, value: [canary] },
      args: { ...hidden, value: [canary] },
    });
  },
  Drizzle: () =>
    Object.assign(new Error(`Failed query: insert into "job" values ($1)\nparams: ${canary}`), {
      query: "insert into",
      params: [canary],
      cause: Object.assign(new DatabaseError("duplicate key"), { detail: canary }),
    }),
  Knex: () =>
    Object.assign(new Error(`insert into "job" ("input") values ('${canary}') - duplicate key`), {
      code: "23505",
    }),
  "several at once": () =>
    new AggregateError([Object.assign(new Error("one"), { detail: canary })], "all failed"),
};

describe("a driver's error that holds the row", () => {
  for (const [name, create] of Object.entries(shapes)) {
    it(`loses it before it is logged or stored, and nothing else (${name})`, () => {
      const error = create();
      expect(inspect(error, { depth: 9, showHidden: true })).toContain(canary);
      const stripped = errorWithoutData(error) as Error;
      expect(inspect(stripped, { depth: 9, showHidden: true })).not.toContain(canary);
      expect(stripped).toBeInstanceOf(error.constructor);
      expect(stripped.name).toBe(error.name);
      expect((stripped as { code?: string }).code).toBe((error as { code?: string }).code);
      expect(stripped.stack).toMatch(/error-without-data\.test/);
      expect(toStoredErrorText(error)).not.toContain(canary);
    });
  }

  it("is left as it is when there is nothing to hide", () => {
    for (const error of [
      new Error("plain"),
      new Error("Select a plan - none was given"),
      new Error("outer", { cause: new Error("inner") }),
      "text",
      null,
      undefined,
    ]) {
      expect(errorWithoutData(error)).toBe(error);
    }
  });

  it("keeps its class and its fields other than those", () => {
    const stripped = errorWithoutData(shapes["pg"]!()) as Error;
    expect(stripped).toBeInstanceOf(DatabaseError);
    expect(stripped).toMatchObject({ severity: "ERROR", code: "23514", table: "leasehold_job" });
  });

  it("cannot do harm: not if it is its own cause, nor if reading it throws", () => {
    const cyclic = Object.assign(new Error("cyclic"), { detail: canary });
    cyclic.cause = cyclic;
    expect(errorWithoutData(cyclic)).toBeInstanceOf(Error);
    const hostile = new Proxy(new Error("hostile"), {
      ownKeys: () => {
        throw new Error("no");
      },
    });
    expect(errorWithoutData(hostile)).toMatchObject({ message: "an error that cannot be read" });
  });
});
