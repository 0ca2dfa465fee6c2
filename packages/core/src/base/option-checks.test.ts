import fc from "fast-check";
import { runInNewContext } from "node:vm";
import { describe, expect, it } from "vitest";
import { InvalidOptionError } from "./errors.ts";
import {
  isPlainObject,
  requireArray,
  requireDate,
  requireFunction,
  requireId,
  requireInteger,
  requireName,
  requireNestedOptions,
  requireNumber,
  requireOneOf,
  requireOptions,
  requirePlainObject,
} from "./options.ts";

const checks = {
  requireName: (value: unknown) => requireName(value, "the.option"),
  requireId: (value: unknown) => requireId(value, "the.option"),
  requireInteger: (value: unknown) => requireInteger(value, "the.option", { min: 1, max: 10 }),
  requireNumber: (value: unknown) => requireNumber(value, "the.option", { min: 0 }),
  requireFunction: (value: unknown) => requireFunction(value, "the.option"),
  requireOneOf: (value: unknown) => requireOneOf(value, "the.option", ["a", "b"]),
  requirePlainObject: (value: unknown) => requirePlainObject(value, "the.option"),
  requireArray: (value: unknown) => requireArray(value, "the.option", { maxLength: 3 }),
  requireDate: (value: unknown) => requireDate(value, "the.option"),
};

const refusal = (run: () => unknown): InvalidOptionError => {
  try {
    run();
  } catch (error) {
    expect(error).toBeInstanceOf(InvalidOptionError);
    return error as InvalidOptionError;
  }
  throw new Error("was accepted");
};

describe.each(Object.entries(checks))("%s", (_name, check) => {
  it.each([
    ["a symbol", Symbol("x")],
    ["null", null],
    ["undefined", undefined],
    ["an enormous bigint", 10n ** 400n],
  ])("refuses %s with the name of the option", (_what, value) => {
    expect(refusal(() => check(value)).option).toBe("the.option");
  });

  it("never throws anything but InvalidOptionError", () => {
    fc.assert(
      fc.property(fc.anything({ withDate: true, withNullPrototype: true }), (value) => {
        try {
          check(value);
          return true;
        } catch (error) {
          return error instanceof InvalidOptionError;
        }
      }),
    );
  });
});

describe("texts", () => {
  it("accepts up to the length and returns the text", () => {
    expect(requireName("x".repeat(200), "name")).toHaveLength(200);
    expect(requireName("😀", "name", { maxLength: 2 })).toBe("😀");
    expect(requireId("日本", "id")).toBe("日本");
  });

  it.each(["", "x".repeat(201), "a\0b", "\ud800", "\udc00x"])("refuses %j", (value) => {
    expect(refusal(() => requireName(value, "name")).message).toContain("`name`");
    refusal(() => requireId(value, "id"));
  });

  it("counts against maxLength", () => {
    refusal(() => requireName("abc", "name", { maxLength: 2 }));
  });
});

describe("numbers", () => {
  it("accepts both limits and refuses what lies beyond", () => {
    expect(requireInteger(1, "n", { min: 1, max: 3 })).toBe(1);
    expect(requireInteger(3, "n", { min: 1, max: 3 })).toBe(3);
    expect(refusal(() => requireInteger(0, "n", { min: 1, max: 3 })).message).toContain("from 1 to 3");
    expect(refusal(() => requireInteger(4, "n", { min: 1, max: 3 })).message).toContain("from 1 to 3");
    expect(refusal(() => requireNumber(-1, "n", { min: 0 })).message).toContain("at least 0");
    expect(refusal(() => requireNumber(2, "n", { max: 1 })).message).toContain("at most 1");
    expect(requireNumber(0.5, "n", { min: 0, max: 1 })).toBe(0.5);
  });

  it.each([Number.NaN, Infinity, -Infinity, "1", 1n])("refuses %s", (value) => {
    refusal(() => requireNumber(value, "n"));
    refusal(() => requireInteger(value, "n"));
  });

  it("refuses fractions and unsafe integers as integers", () => {
    refusal(() => requireInteger(1.5, "n"));
    refusal(() => requireInteger(2 ** 53, "n"));
  });
});

describe("requireOneOf", () => {
  it("returns the match and lists what is allowed", () => {
    expect(requireOneOf("b", "mode", ["a", "b"])).toBe("b");
    expect(refusal(() => requireOneOf("c", "mode", ["a", "b"])).message).toContain('"a", "b"');
  });
});

describe("requireFunction", () => {
  it("returns the function itself", () => {
    const call = (): number => 1;
    expect(requireFunction<() => number>(call, "call")).toBe(call);
  });
});

describe("requirePlainObject", () => {
  it("copies, so that the caller may change its own", () => {
    const given = { size: 1 };
    const copy = requirePlainObject(given, "options");
    given.size = 2;
    expect(copy).toEqual({ size: 1 });
  });

  it("accepts null prototypes and objects of another realm", () => {
    expect(requirePlainObject(Object.assign(Object.create(null), { a: 1 }), "options")).toEqual({ a: 1 });
    expect(requirePlainObject(runInNewContext("({ a: 1 })"), "options")).toEqual({ a: 1 });
  });

  it.each([
    [[]],
    [new Date()],
    [new Map()],
    [
      new (class Options {
        size = 1;
      })(),
    ],
    [Object.create({ inherited: 1 })],
  ])("refuses %o", (value) => {
    expect(isPlainObject(value)).toBe(false);
    refusal(() => requirePlainObject(value, "options"));
  });
});

describe("requireArray", () => {
  it("copies and bounds", () => {
    const given = [1, undefined, 3];
    const copy = requireArray(given, "list", { maxLength: 3 });
    given.push(4);
    expect(copy).toEqual([1, undefined, 3]);
    expect(refusal(() => requireArray(given, "list", { maxLength: 3 })).message).toContain("at most 3");
  });
});

describe("requireDate", () => {
  it("copies, and refuses what is no date", () => {
    const given = new Date(5);
    const copy = requireDate(given, "at");
    given.setTime(6);
    expect(copy.getTime()).toBe(5);
    refusal(() => requireDate(new Date(Number.NaN), "at"));
    refusal(() => requireDate({ getTime: () => 1 }, "at"));
  });
});

describe("options objects", () => {
  const known = { schema: true, idType: true } as const;

  it("a misspelt option is refused with the name that was probably meant", () => {
    const { option, message } = refusal(() => requireOptions({ shema: "x" }, "createStore", known));
    expect(option).toBe("shema");
    expect(message).toBe("Option `shema` is not an option of createStore. Did you mean `schema`?");
  });

  it("an option that resembles none is refused with those there are, though it is undefined", () => {
    const { message } = refusal(() => requireOptions({ colour: undefined }, "createStore", known));
    expect(message).toBe("Option `colour` is not an option of createStore. It has `schema`, `idType`.");
  });

  it("an option inside another is named by its path", () => {
    const { option, message } = refusal(() => requireNestedOptions({ schemas: 1 }, "store", known));
    expect(option).toBe("store.schemas");
    expect(message).toBe("Option `store.schemas` is not an option of `store`. Did you mean `store.schema`?");
  });

  it.each(["toString", "constructor", "__proto__"])("%s is no option", (name) => {
    const { option } = refusal(() => requireOptions(JSON.parse(`{ "${name}": 1 }`), "createStore", known));
    expect(option).toBe(name);
  });

  it("known options pass", () => {
    expect(requireOptions({ schema: "jobs" }, "createStore", known)).toEqual({ schema: "jobs" });
  });
});
