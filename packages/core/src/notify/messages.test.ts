import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeCounted, decodeNames, encodeCounted, encodeNames } from "./messages.ts";

// Lone surrogates included.
const codeUnit = fc.integer({ min: 0, max: 0xff_ff }).map((code) => String.fromCharCode(code));

const name = fc.string({ minLength: 1, maxLength: 200, unit: codeUnit });

describe("messages", () => {
  it("counted messages arrive as they were sent", () => {
    const counter = fc.oneof(
      fc.record({ hintId: fc.uuid() }, { noNullPrototype: true }),
      fc.record({ hintId: fc.uuid(), revision: fc.integer({ min: 1 }) }, { noNullPrototype: true }),
    );
    const message = fc.record(
      { name, count: fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }), counter },
      { noNullPrototype: true, requiredKeys: ["name", "count"] },
    );
    fc.assert(
      fc.property(message, (sent) => {
        expect(decodeCounted(encodeCounted(sent))).toEqual(sent);
      }),
    );
  });

  it("processes of an older version read and write the same text", () => {
    const counter = { hintId: "3f0a", revision: 7 };
    expect(encodeCounted({ name: "mail", count: 2 })).toBe('{"type":"mail","count":2}');
    expect(encodeCounted({ name: "mail", count: 2, counter: { hintId: "3f0a" } })).toBe(
      '{"type":"mail","count":2,"hint":"3f0a"}',
    );
    expect(encodeCounted({ name: "mail", count: 2, counter })).toBe(
      '{"type":"mail","count":2,"hint":"3f0a","revision":7}',
    );
    expect(encodeNames(["a", "b"])).toEqual(['{"ids":["a","b"]}']);
  });

  it("what a newer version adds to a message is ignored", () => {
    expect(decodeCounted('{"type":"mail","count":2,"new":true}')).toEqual({ name: "mail", count: 2 });
    expect(decodeNames('{"ids":["a"],"new":true}')).toEqual(["a"]);
  });

  it("ids arrive whole and in order, in messages of bounded size", () => {
    fc.assert(
      fc.property(fc.array(name, { maxLength: 2_000, size: "max" }), (ids) => {
        const messages = encodeNames(ids);
        for (const message of messages) expect(Buffer.byteLength(message)).toBeLessThanOrEqual(32_768);
        expect(messages.flatMap(decodeNames)).toEqual(ids);
      }),
      { numRuns: 50 },
    );
  });

  it("the longest names of the widest characters fit", () => {
    // A lone surrogate takes six bytes in JSON.
    const ids = Array.from({ length: 500 }, () => "\ud800".repeat(200));
    const messages = encodeNames(ids);
    expect(messages.length).toBeGreaterThan(10);
    for (const message of messages) expect(Buffer.byteLength(message)).toBeLessThanOrEqual(32_768);
    expect(messages.flatMap(decodeNames)).toEqual(ids);
  });

  it("no ids make no message", () => {
    expect(encodeNames([])).toEqual([]);
  });

  it("a thousand uuids take two messages", () => {
    expect(encodeNames(Array.from({ length: 1_000 }, () => crypto.randomUUID()))).toHaveLength(2);
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
  ])("%.60s is no counted message", (message) => {
    expect(decodeCounted(message)).toBeUndefined();
  });

  it("of a list, only what can be an id counts", () => {
    expect(decodeNames('{"ids":["a",null,1,{},[],"","b"]}')).toEqual(["a", "b"]);
    expect(decodeNames('{"ids":{"length":1000000000}}')).toEqual([]);
    expect(decodeNames('{"ids":"a"}')).toEqual([]);
    expect(decodeNames(`{"ids":["${"a".repeat(201)}"]}`)).toEqual([]);
  });

  it("nothing makes it throw", () => {
    fc.assert(
      fc.property(fc.oneof(name, fc.json({ maxDepth: 2 })), (message) => {
        decodeCounted(message);
        decodeNames(message);
      }),
    );
  });
});
