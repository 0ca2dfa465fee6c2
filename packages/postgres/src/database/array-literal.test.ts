import * as fc from "fast-check";
import pg from "pg";
import { afterAll, describe, expect, inject, it } from "vitest";
import { arrayLiteral } from "./sql.ts";

describe("arrayLiteral", () => {
  const pool = new pg.Pool({ connectionString: inject("postgres18Url"), max: 1 });
  afterAll(() => pool.end());

  const asTexts = async (values: readonly (string | null)[]): Promise<(string | null)[]> => {
    const { rows } = await pool.query("SELECT to_json($1::text[]) AS list", [arrayLiteral(values)]);
    return (rows[0] as { list: (string | null)[] }).list;
  };

  it("is read by PostgreSQL as what was written, whatever the texts", async () => {
    // PostgreSQL stores neither NUL nor invalid Unicode. Both are refused before they get here.
    const text = fc.string({ unit: "grapheme" }).filter((value) => !value.includes("\0"));
    const pieces = fc.constantFrom('"', "\\", "{", "}", ",", " ", "NULL", "null", "\n", "'", "");
    const value = fc.option(
      fc.oneof(
        text,
        fc.array(pieces).map((parts) => parts.join("")),
      ),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(value), async (values) => {
        expect(await asTexts(values)).toEqual(values);
      }),
      { numRuns: 300 },
    );
  });

  it("distinguishes the word NULL from null", async () => {
    expect(await asTexts(["NULL", "null", null, ""])).toEqual(["NULL", "null", null, ""]);
  });

  it("writes numbers and booleans as they are", () => {
    expect(arrayLiteral([1, -2.5, 2 ** 53 - 1, true, false, null])).toBe(
      "{1,-2.5,9007199254740991,true,false,NULL}",
    );
  });
});
