import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeIds, decodeScheduled, encodeIds, encodeScheduled } from "./messages.ts";

// Lone surrogates included.
const codeUnit = fc.integer({ min: 0, max: 0xff_ff }).map((code) => String.fromCharCode(code));
const name = fc.string({ minLength: 1, maxLength: 200, unit: codeUnit });

describe("hint messages", () => {
  it("scheduled hints arrive as they were sent", () => {
    const hint = fc.record(
      {
        typeName: name,
        count: fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
        hintId: fc.uuid(),
      },
      { noNullPrototype: true },
    );
    fc.assert(
      fc.property(hint, fc.option(fc.integer({ min: 1 }), { nil: undefined }), (sent, revision) => {
        const full = revision === undefined ? sent : { ...sent, revision };
        expect(decodeScheduled(encodeScheduled(full))).toEqual(full);
        const uncounted = { typeName: sent.typeName, count: sent.count };
        expect(decodeScheduled(encodeScheduled(uncounted))).toEqual(uncounted);
      }),
    );
  });

  it("ids arrive whole and in order, in messages of bounded size", () => {
    fc.assert(
      fc.property(fc.array(name, { maxLength: 2_000, size: "max" }), (ids) => {
        const messages = encodeIds(ids);
        for (const message of messages) expect(Buffer.byteLength(message)).toBeLessThanOrEqual(32_768);
        expect(messages.flatMap(decodeIds)).toEqual(ids);
      }),
      { numRuns: 50 },
    );
  });

  it("the longest names of the widest characters fit", () => {
    // A lone surrogate takes six bytes in JSON.
    const ids = Array.from({ length: 500 }, () => "\ud800".repeat(200));
    const messages = encodeIds(ids);
    expect(messages.length).toBeGreaterThan(10);
    for (const message of messages) expect(Buffer.byteLength(message)).toBeLessThanOrEqual(32_768);
    expect(messages.flatMap(decodeIds)).toEqual(ids);
  });

  it("no ids make no message", () => {
    expect(encodeIds([])).toEqual([]);
  });

  it("a thousand uuids take two messages", () => {
    expect(encodeIds(Array.from({ length: 1_000 }, () => crypto.randomUUID()))).toHaveLength(2);
  });

  it.each([
    "",
    "null",
    "1",
    '"text"',
    "[]",
    "{",
    "{}",
    '{"type":"","count":1}',
    '{"type":7,"count":1}',
    '{"type":"a"}',
    '{"type":"a","count":0}',
    '{"type":"a","count":-1}',
    '{"type":"a","count":1.5}',
    '{"type":"a","count":1e400}',
    '{"type":"a","count":"1"}',
    '{"type":"a","count":1,"hint":1}',
    '{"type":"a","count":1,"hint":""}',
    '{"type":"a","count":1,"hint":"a b"}',
    '{"type":"a","count":1,"hint":"a}:{b"}',
    '{"type":"a","count":1,"hint":"a","revision":0}',
    '{"type":"a","count":1,"hint":"a","revision":"1"}',
    `{"type":"${"a".repeat(201)}","count":1}`,
    '{"__proto__":{"type":"a","count":1}}',
    "[".repeat(30_000),
    `{"type":"a","count":1,"more":"${"x".repeat(40_000)}"}`,
  ])("%.60s is no scheduled hint", (message) => {
    expect(decodeScheduled(message)).toBeUndefined();
  });

  it("of a list, only what can be an id counts", () => {
    expect(decodeIds('{"ids":["a",null,1,{},[],"","b"]}')).toEqual(["a", "b"]);
    expect(decodeIds('{"ids":{"length":1000000000}}')).toEqual([]);
    expect(decodeIds('{"ids":"a"}')).toEqual([]);
    expect(decodeIds(`{"ids":["${"a".repeat(201)}"]}`)).toEqual([]);
  });

  it("nothing makes it throw", () => {
    fc.assert(
      fc.property(fc.oneof(name, fc.json({ maxDepth: 2 })), (message) => {
        decodeScheduled(message);
        decodeIds(message);
      }),
    );
  });
});
