import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseStoredError, type StoredError, storedErrorToError, toStoredErrorText } from "./stored-error.ts";

const maxBytes = 32 * 1_024;

/** Stores, checks what every store relies on, and reads back. */
const store = (thrown: unknown): StoredError => {
  const text = toStoredErrorText(thrown);
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(maxBytes);
  expect(text).not.toMatch(/\0|\\u0000|\\ud[89a-f]/i);
  expect(text.isWellFormed()).toBe(true);
  const stored = parseStoredError(text);
  expect(stored).not.toBeNull();
  expect(JSON.stringify(stored)).toBe(text);
  return stored!;
};

const throwing = (): never => {
  throw new Error("trap");
};

describe("what handlers throw", () => {
  it("keeps name, message, stack, code and cause of an error", () => {
    const cause = Object.assign(new TypeError("inner"), { code: "ECONNREFUSED" });
    const stored = store(new RangeError("outer", { cause }));
    expect(stored).toMatchObject({
      name: "RangeError",
      message: "outer",
      cause: { name: "TypeError", message: "inner", code: "ECONNREFUSED" },
    });
    expect(stored.stack).toContain("stored-error.test.ts");
    expect(stored).not.toHaveProperty("code");
  });

  it.each<[unknown, string]>([
    [null, "null"],
    [undefined, "undefined"],
    ["plain text", "plain text"],
    [42, "42"],
    [-0, "0"],
    [Number.NaN, "NaN"],
    [false, "false"],
    [7n, "7n"],
    [2n ** 127n, "a very large bigint"],
    [Symbol("tag"), "Symbol(tag)"],
    [() => 1, "a function"],
    [{}, "an object without fields"],
    [{ status: 404, detail: "gone", body: {} }, "{ status: 404, detail: gone, body: an object }"],
  ])("describes %o, which is no error", (thrown, message) => {
    expect(store(thrown)).toEqual({ name: "NonErrorThrown", message });
  });

  it("takes an object with a message for an error", () => {
    expect(store({ message: "odd", code: 5 })).toEqual({ name: "Error", message: "odd", code: "5" });
  });

  it("replaces NUL and unpaired surrogates everywhere", () => {
    const error = Object.assign(new Error("a\0b\ud800c"), { name: "\udc00X", code: "\0" });
    expect(store(error)).toMatchObject({ name: "\uFFFDX", message: "a\uFFFDb\uFFFDc", code: "\uFFFD" });
    expect(store("😀")).toMatchObject({ message: "😀" });
  });

  it("cuts a message of 50 MB and still shows where it was thrown", () => {
    const stored = store(new Error("x".repeat(50_000_000)));
    expect(stored.message).toHaveLength(4_000);
    expect(stored.message.endsWith("…")).toBe(true);
    expect(stored.stack).toContain("stored-error.test.ts");
  });

  it("does not cut through a surrogate pair", () => {
    expect(store("😀".repeat(5_000)).message).not.toContain("\uFFFD");
    expect(store(`x${"😀".repeat(5_000)}`).message).not.toContain("\uFFFD");
  });

  it("ends a cyclic cause", () => {
    const first = new Error("first");
    const second = new Error("second", { cause: first });
    first.cause = second;
    expect(store(first)).toMatchObject({ message: "first", cause: { message: "second" } });
    expect(store(first).cause).not.toHaveProperty("cause");
  });

  it("ends a long chain of causes", () => {
    let error = new Error("0");
    for (let depth = 1; depth <= 10_000; depth += 1) error = new Error(String(depth), { cause: error });
    const kept = store(error).cause?.cause?.cause?.cause;
    expect(kept?.message).toBe("9996");
    expect(kept).not.toHaveProperty("cause");
  });

  it("stays within its size when every part is as large and as wide as can be", () => {
    const chain = ["\u0001", "日", "\u0001", "日", "\u0001"].reduce<Error | undefined>((cause, character) => {
      const text = character.repeat(20_000);
      return Object.assign(new Error(text, { cause }), { name: text, code: text, stack: text });
    }, undefined);
    expect(store(chain).message.length).toBeGreaterThan(500);
  });

  it("summarises an AggregateError and keeps its first error as the cause", async () => {
    const thrown: unknown = await Promise.any([Promise.reject(new Error("a")), Promise.reject("b")]).catch(
      (error: unknown) => error,
    );
    expect(store(thrown)).toMatchObject({
      name: "AggregateError",
      message: "All promises were rejected [Error: a; b]",
      cause: { message: "a" },
    });
  });

  it("survives getters, conversions and proxies that throw", () => {
    const getters = Object.defineProperties(new Error("fine"), {
      // The stack first: defining it formats it, which reads the name.
      stack: { get: throwing },
      name: { get: throwing },
      code: { get: throwing },
      cause: { get: throwing },
      errors: { get: throwing },
    });
    expect(store(getters)).toEqual({ name: "Error", message: "fine" });
    store({ toString: throwing, valueOf: throwing, toJSON: throwing, [Symbol.toPrimitive]: throwing });
    store(
      new Proxy(new Error("x"), {
        get: throwing,
        ownKeys: throwing,
        getPrototypeOf: throwing,
        has: throwing,
      }),
    );
    store({ message: "m", errors: new Proxy([], { get: throwing }) });
    const { proxy, revoke } = Proxy.revocable(() => undefined, {});
    const ofArray = Proxy.revocable([], {});
    revoke();
    ofArray.revoke();
    store(proxy);
    store({ message: "m", errors: ofArray.proxy, cause: proxy });
  });

  it("is storable, whatever it is", () => {
    fc.assert(
      fc.property(
        fc.anything({ withBigInt: true, withDate: true, withMap: true, withNullPrototype: true }),
        (thrown) => {
          store(thrown);
        },
      ),
    );
    const part = fc.anything();
    fc.assert(
      fc.property(
        fc.record({
          name: part,
          message: fc.oneof(part, fc.string({ unit: "binary" })),
          stack: part,
          code: part,
          cause: part,
          errors: fc.array(part),
        }),
        (thrown) => {
          store(thrown);
        },
      ),
    );
  });
});

describe("parseStoredError", () => {
  it("is null for null and never throws", () => {
    expect(parseStoredError(null)).toBeNull();
    expect(parseStoredError(undefined as unknown as null)).toBeNull();
    fc.assert(fc.property(fc.oneof(fc.string(), fc.json()), (text) => void parseStoredError(text)));
  });

  it.each(["not JSON", "", "42", '{"name":1,"message":"x"}', "null"])(
    "shows foreign text %j as the message",
    (text) => {
      expect(parseStoredError(text)).toEqual({ name: "Error", message: text });
    },
  );

  it("ignores fields of the wrong kind and bounds the causes", () => {
    expect(parseStoredError('{"name":"E","message":"m","stack":1,"code":{},"cause":"x"}')).toEqual({
      name: "E",
      message: "m",
    });
    const deep = `${'{"name":"E","message":"m","cause":'.repeat(5_000)}null${"}".repeat(5_000)}`;
    expect(JSON.stringify(parseStoredError(deep)).length).toBeLessThan(1_000);
  });
});

describe("storedErrorToError", () => {
  it("rebuilds an error that prints like the original", () => {
    const error = storedErrorToError({
      name: "TypeError",
      message: "outer",
      stack: "TypeError: outer\n    at handler.ts:1:1",
      code: "E1",
      cause: { name: "Error", message: "inner" },
    });
    expect(error).toBeInstanceOf(Error);
    expect(error).toMatchObject({ name: "TypeError", message: "outer", code: "E1" });
    expect(error.stack).toBe("TypeError: outer\n    at handler.ts:1:1");
    expect(error.cause).toBeInstanceOf(Error);
    expect((error.cause as Error).stack).toBe("Error: inner");
    expect((error.cause as Error).cause).toBeUndefined();
    expect(Object.keys(error)).toEqual(["code"]);
  });
});
