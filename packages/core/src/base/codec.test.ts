import fc from "fast-check";
import { runInNewContext } from "node:vm";
import { describe, expect, it, vi } from "vitest";
import { type Codec, decodePayload, defaultMaxPayloadBytes, encodePayload, jsonCodec } from "./codec.ts";
import { PayloadNotStorableError, PayloadTooLargeError } from "./errors.ts";

const encode = (value: unknown, maxBytes: number = defaultMaxPayloadBytes): string =>
  encodePayload({ codec: jsonCodec, value, path: "input", maxBytes });

const refusal = (run: () => unknown): PayloadNotStorableError => {
  try {
    run();
  } catch (error) {
    expect(error).toBeInstanceOf(PayloadNotStorableError);
    return error as PayloadNotStorableError;
  }
  throw new Error("was accepted");
};

const throwing = (): never => {
  throw new Error("trap");
};

const nest = (levels: number): unknown => {
  let value: unknown = 1;
  for (let level = 0; level < levels; level += 1) value = level % 2 === 0 ? [value] : { value };
  return value;
};

const cyclic: Record<string, unknown> = { list: [] };

(cyclic["list"] as unknown[]).push({ back: cyclic });

const withSymbol = { [Symbol("tag")]: 1 };

const withHidden = Object.defineProperty({}, "hidden", { value: 1, enumerable: false });

const strippedDate = Object.setPrototypeOf(new Date(0), null) as unknown;

const revoked = Proxy.revocable({}, {});

revoked.revoke();
// oxlint-disable-next-line prefer-rest-params -- the very object is under test
const collectArguments = function collectArguments(): unknown {
  return arguments;
};

class Money {
  amount = 1;
}

describe("the JSON codec refuses, by its path,", () => {
  it.each<[string, unknown, string]>([
    ["undefined in an array", { items: [1, undefined] }, "input.items[1]"],
    ["a hole in an array", [1, , 3], "input[1]"], // oxlint-disable-line no-sparse-arrays
    ["NaN", { items: [{ price: 1 }, { price: Number.NaN }] }, "input.items[1].price"],
    ["Infinity", [Infinity], "input[0]"],
    ["-Infinity", -Infinity, "input"],
    ["a bigint", { count: 1n }, "input.count"],
    ["a Date", { at: new Date(0) }, "input.at"],
    ["a Date without prototype", { at: strippedDate }, "input.at"],
    ["an instance of a class", { price: new Money() }, "input.price"],
    ["a Map", new Map(), "input"],
    ["a Set", { tags: new Set(["a"]) }, "input.tags"],
    ["a typed array", { bytes: new Uint8Array(2) }, "input.bytes"],
    ["a boxed number", [Object(1)], "input[0]"],
    ["a boxed string", [Object("a")], "input[0]"],
    ["a regular expression", { match: /x/ }, "input.match"],
    ["an Error", { error: new Error("x") }, "input.error"],
    ["an inheriting object", Object.create({ a: 1 }), "input"],
    ["arguments", collectArguments(), "input"],
    ["toJSON", { money: { toJSON: () => 1 } }, "input.money.toJSON"],
    ["a function", { run: () => 1 }, "input.run"],
    ["a symbol", ["a", Symbol("b")], "input[1]"],
    ["a symbol key", { deep: withSymbol }, "input.deep"],
    ["a hidden property", withHidden, "input"],
    ["a cycle", cyclic, "input.list[0].back"],
    ["NUL in a string", { text: "a\0b" }, "input.text"],
    ["an unpaired surrogate in a string", ["ok", "\ud800"], "input[1]"],
    ["NUL in a key", { "a\0": 1 }, 'input["a\\u0000"]'],
    ["an unpaired surrogate in a key", { "\udfff": 1 }, 'input["\\udfff"]'],
    ["the key __proto__", JSON.parse('{"a":{"__proto__":{"admin":true}}}'), "input.a.__proto__"],
    ["an array with extra properties", { match: "abc".match(/b/) }, "input.match"],
    ["an array with a symbol key", Object.assign([1], withSymbol), "input"],
    ["an array of a subclass", new (class List extends Array {})(), "input"],
    ["a key that is no identifier", { "first name": Number.NaN }, 'input["first name"]'],
    [
      "a getter that throws",
      {
        a: {
          get boom() {
            return throwing();
          },
        },
      },
      "input.a.boom",
    ],
    ["a proxy that throws", { a: [new Proxy({}, { ownKeys: throwing })] }, "input.a[0]"],
    ["a revoked proxy", { a: revoked.proxy }, "input.a"],
  ])("%s", (_what, value, path) => {
    expect(refusal(() => encode(value)).path).toBe(path);
    expect(refusal(() => jsonCodec.encode(value, "input")).path).toBe(path);
  });

  it("undefined at the top", () => {
    expect(refusal(() => jsonCodec.encode(undefined, "output")).path).toBe("output");
  });

  it("nesting deeper than 500, however deep", () => {
    expect(decodePayload(jsonCodec, encode(nest(500)), "input")).toEqual(nest(500));
    expect(refusal(() => encode(nest(501))).message).toContain("500");
    expect(refusal(() => encode(nest(100_000))).path.length).toBeLessThan(500);
  });

  it("and passes on what a getter threw", () => {
    expect(
      refusal(() =>
        encode({
          get boom() {
            return throwing();
          },
        }),
      ).cause,
    ).toEqual(new Error("trap"));
  });

  it("a value that changes between two reads", () => {
    let reads = 0;
    refusal(() =>
      encode({
        get fickle() {
          return reads++ === 0 ? 1 : 1n;
        },
      }),
    );
  });
});

describe("the JSON codec keeps", () => {
  const roundTrip = (value: unknown): unknown => decodePayload(jsonCodec, encode(value), "input");

  it("every JSON value, -0 included", () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: "binary" }), (value) => {
        fc.pre(!JSON.stringify(value).includes("__proto__") && !/\\u0000|\\ud/.test(JSON.stringify(value)));
        expect(roundTrip(value)).toStrictEqual(value);
      }),
    );
    expect(Object.is((roundTrip({ a: [-0, 0, "x"] }) as { a: number[] }).a[0], -0)).toBe(true);
    expect(Object.is(roundTrip(-0), -0)).toBe(true);
    expect(Object.is((roundTrip([-0, 0]) as number[])[1], 0)).toBe(true);
  });

  it("any value at all, or refuses it", () => {
    const anything = fc.anything({
      withBigInt: true,
      withBoxedValues: true,
      withDate: true,
      withMap: true,
      withSet: true,
      withNullPrototype: true,
      withSparseArray: true,
      withTypedArray: true,
      stringUnit: fc.oneof(fc.string({ unit: "binary", maxLength: 1 }), fc.constantFrom("\0", "\ud800", "a")),
    });
    fc.assert(
      fc.property(anything, (value) => {
        let text: string;
        try {
          text = jsonCodec.encode(value, "input");
        } catch (error) {
          return error instanceof PayloadNotStorableError;
        }
        // toEqual minds neither undefined properties nor null prototypes, and tells -0 from 0.
        expect(jsonCodec.decode(text)).toEqual(value);
        return true;
      }),
      { numRuns: 2_000 },
    );
  });

  it("present but undefined properties as absent ones", () => {
    expect(encode({ a: undefined, b: 1 })).toBe('{"b":1}');
    expect(encode({ a: undefined, b: -0 })).toBe('{"b":-0}');
  });

  it("null prototypes and values of other realms as plain data", () => {
    expect(encode(Object.assign(Object.create(null), { a: 1 }))).toBe('{"a":1}');
    expect(encode(runInNewContext("({ a: [1, { b: 2 }] })"))).toBe('{"a":[1,{"b":2}]}');
  });

  it("the same object in two places", () => {
    const shared = { x: 1 };
    expect(encode([shared, { shared }])).toBe('[{"x":1},{"shared":{"x":1}}]');
  });

  it("control characters and backslashes", () => {
    for (const text of ["\u0001\n\t", "\\u0000", "C:\\users", "\u2028", "😀"])
      expect(roundTrip(text)).toBe(text);
  });

  it("arrays as they are although a library gave them toJSON", () => {
    Object.assign(Array.prototype, { toJSON: () => "changed" });
    try {
      expect(encode({ a: [1, "x"] })).toBe('{"a":[1,"x"]}');
    } finally {
      Reflect.deleteProperty(Array.prototype, "toJSON");
    }
  });
});

describe("encodePayload", () => {
  it("stores nothing as null", () => {
    expect(encode(undefined)).toBe("null");
  });

  it("bounds the size in UTF-8 bytes", () => {
    expect(encode("x".repeat(98), 100)).toHaveLength(100);
    expect(() => encode("x".repeat(99), 100)).toThrow(PayloadTooLargeError);
    expect(encode("é".repeat(49), 100)).toHaveLength(51);
    expect(() => encode("é".repeat(50), 100)).toThrow(expect.objectContaining({ bytes: 102, maxBytes: 100 }));
    expect(encode("語".repeat(32), 100)).toHaveLength(34);
    expect(() => encode("語".repeat(33), 100)).toThrow(expect.objectContaining({ bytes: 101 }));
    expect(() => encode("\n".repeat(50), 100)).toThrow(PayloadTooLargeError);
  });

  it("refuses a huge string or array without writing it", () => {
    const stringify = vi.spyOn(JSON, "stringify");
    try {
      expect(() => encode({ text: "x".repeat(100_000_000) })).toThrow(PayloadTooLargeError);
      expect(() => encode(Array.from({ length: 2_000_000 }, () => 1))).toThrow(PayloadTooLargeError);
      expect(stringify).not.toHaveBeenCalled();
    } finally {
      stringify.mockRestore();
    }
  });

  it("stops at a small graph that would unfold without end", () => {
    let value: unknown = 1;
    for (let level = 0; level < 60; level += 1) value = [value, value];
    expect(() => encode(value)).toThrow(PayloadTooLargeError);
  });

  const custom = (parts: Partial<Codec>): Codec => ({
    name: "custom",
    encode: () => "",
    decode: () => 0,
    ...parts,
  });
  const encodeWith = (codec: Codec): string =>
    encodePayload({ codec, value: undefined, path: "output", maxBytes: 100 });

  it("takes what a codec of the user's returns", () => {
    const encodeText = vi.fn<() => string>(() => "text 日本");
    expect(encodeWith(custom({ encode: encodeText }))).toBe("text 日本");
    expect(encodeText).toHaveBeenCalledWith(null, "output", 100);
  });

  it.each<[string, () => unknown]>([
    ["nothing", () => undefined],
    ["bytes", () => new Uint8Array(1)],
    ["NUL", () => "\0"],
    ["an unpaired surrogate", () => "\ud800"],
  ])("refuses a codec that returns %s", (_what, encodeText) => {
    expect(refusal(() => encodeWith(custom({ encode: encodeText as () => string }))).path).toBe("output");
  });

  it("wraps what a codec throws, and bounds what it returns", () => {
    const cause = new Error("codec bug");
    const broken = custom({
      encode: () => {
        throw cause;
      },
      decode: () => {
        throw cause;
      },
    });
    expect(refusal(() => encodeWith(broken)).cause).toBe(cause);
    expect(refusal(() => decodePayload(broken, "x", "input")).cause).toBe(cause);
    expect(() => encodeWith(custom({ encode: () => "x".repeat(101) }))).toThrow(PayloadTooLargeError);
    const precise = new PayloadNotStorableError("output.a", "it is odd");
    expect(() =>
      encodeWith(
        custom({
          encode: () => {
            throw precise;
          },
        }),
      ),
    ).toThrow(precise);
  });
});

describe("decodePayload", () => {
  it.each(["", "{", "undefined", '{"a":{"__proto__":{}}}', '[{"\\u005f_proto__":1}]'])(
    "refuses the text %j",
    (text) => {
      expect(refusal(() => decodePayload(jsonCodec, text, "input")).path).toBe("input");
    },
  );

  it("reads __proto__ where it is only a value", () => {
    expect(decodePayload(jsonCodec, '["__proto__"]', "input")).toEqual(["__proto__"]);
  });
});
