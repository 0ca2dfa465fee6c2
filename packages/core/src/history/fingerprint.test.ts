import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseStoredError, type StoredError, toStoredErrorText } from "../base/stored-error.ts";
import { commonMessage } from "./common-message.ts";
import { kindOfError } from "./fingerprint.ts";

const directory = "/srv/shop";

const stackOf = (name: string, message: string, ...frames: readonly string[]): string =>
  [`${name}: ${message}`, ...frames.map((frame) => `    at ${frame}`)].join("\n");

const fingerprint = (error: StoredError): string => kindOfError(error, directory).fingerprint;

const frameOf = (...frames: readonly string[]): string | null =>
  kindOfError({ name: "Error", message: "m", stack: stackOf("Error", "m", ...frames) }, directory).frame;

describe("what messages have in common", () => {
  it.each([
    ["Order 17 was not found.", "Order # was not found."],
    ["Order -17.5 of 1,200", "Order # of #"],
    ["order-17 in region eu2", "order-# in region eu#"],
    ["id=0190b2a4-7f3e-7cc1-9f6a-1c2d3e4f5a6b, try 3", "id=#, try #"],
    ["12345678-1234-1234-1234-123456789012 is gone", "# is gone"],
    ["customer cus_NffrFeUfNV2Hib (01ARZ3NDEKTSV4RRFFQ69G5FAV)", "customer # (#)"],
    ["commit 7e906aad21b8cb843cfc14fc6be991e4f7d504b2 at 0x7ffe12", "commit # at #"],
    ["took 1500ms, 3e-7 of 10KB", "took #ms, # of #KB"],
    ["at 2026-11-17T05:33:40.123Z or 2026-11-17", "at # or #"],
    ["at Tue Nov 17 2026 05:33:40 GMT+0000 (Coordinated Universal Time)!", "at #!"],
    ["at Tue, 17 Nov 2026 05:33:40 GMT", "at #"],
    ["connect ECONNREFUSED 10.0.0.12:5432", "connect ECONNREFUSED #"],
    ["connect ECONNREFUSED ::1:5432", "connect ECONNREFUSED #"],
    ["GET https://example.com/a?b=c: 404", "GET <url>: 404"],
    ["no mail for <ada@example.com>", "no mail for <<address>>"],
    ["ENOENT: open /var/data/17/x.csv", "ENOENT: open <path>"],
    [String.raw`ENOENT: open C:\data\x.csv`, "ENOENT: open <path>"],
    ["no file src/a/b.ts", "no file <path>"],
    ["application/json and/or text", "application/json and/or text"],
    [`Key "ab'c" isn't in 'the table'`, "Key '…' isn't in '…'"],
    ["the users' “name”", "the users' '…'"],
    ["an unclosed 'quote", "an unclosed 'quote"],
    ["missing ids 1, 2, 3", "missing ids #"],
    ["you may   not\n\tdo that in March", "you may not do that in March"],
    ["Ünïcödé 17 件", "Ünïcödé # 件"],
  ])("%s", (message, common) => {
    expect(commonMessage(message)).toBe(common);
  });

  it("are of bounded length", () => {
    expect(commonMessage("word ".repeat(1_000)).length).toBe(300);
  });

  it("takes no more than linear time for any text", { timeout: 120_000 }, () => {
    const size = 1_000_000;
    const hostile = [
      "a",
      "1",
      "'",
      '"',
      " '",
      "a' ",
      "-",
      "1-",
      "a@",
      "/",
      "a/",
      ":",
      "0x",
      "1e",
      "#",
      "(",
      "“",
      "\n",
      "at ",
    ];
    for (const unit of [...hostile, "Mon, ", "2026-11-", "https:", "a1", "status404", "code 1", "a/b."]) {
      const text = unit.repeat(size / unit.length);
      // On a busy machine the time on the clock says nothing.
      const before = process.cpuUsage();
      const stack = `Error: ${text}\n    at ${text} (${text}:1:1)`;
      kindOfError({
        name: text,
        message: text,
        code: text,
        stack,
        cause: { name: "x", message: `${text}!` },
      });
      // It is about 50 ms; with quadratic time it would be minutes.
      const { user, system } = process.cpuUsage(before);
      expect((user + system) / 1_000, JSON.stringify(unit)).toBeLessThan(5_000);
    }
  });
});

describe("the frame an error came from", () => {
  it.each<[string | null, string[]]>([
    ["charge (src/charge.ts)", ["charge (/srv/shop/src/charge.ts:10:5)"]],
    ["charge (src/charge.ts)", ["async charge (file:///srv/shop/src/charge.ts:10:5)"]],
    ["charge (src/charge.ts)", ["async charge (file:///srv/shop/src/charge.ts?t=17:10:5)"]],
    ["src/charge.ts", ["async file:///srv/shop/src/charge.ts:10:5"]],
    ["Shop.charge (src/shop.ts)", ["Shop.charge [as run] (/srv/shop/src/shop.ts:1:1)"]],
    ["Shop (src/shop.ts)", ["new Shop (/srv/shop/src/shop.ts:1:1)"]],
    ["f (c/d/e.ts)", ["f (/srv/shop/a/b/c/d/e.ts:1:1)"]],
    ["f (src/x.ts)", ["f (/srv/other/src/x.ts:1:1)"]],
    ["f (src/x.ts)", [String.raw`f (C:\srv\other\src\x.ts:1:1)`]],
    ["f (dist/#.js)", ["f (/srv/shop/dist/chunk-3f2a9b1c.js:1:1)"]],
    [
      "mine (src/x.ts)",
      [
        "theirs (/srv/shop/node_modules/pg/lib/client.js:1:1)",
        "Array.map (<anonymous>)",
        "async Promise.all (index 0)",
        "node:internal/process/task_queues:1:1",
        "mine (/srv/shop/src/x.ts:1:1)",
      ],
    ],
    [null, ["run (node:internal/timers:1:1)"]],
    [null, []],
  ])("is %s", (frame, frames) => {
    expect(frameOf(...frames)).toBe(frame);
  });

  it("is not looked for in the message", () => {
    const message = "first\n    at fake (/srv/shop/fake.ts:1:1)";
    const stack = stackOf("Error", message, "real (/srv/shop/real.ts:1:1)");
    expect(kindOfError({ name: "Error", message, stack }, directory).frame).toBe("real (real.ts)");
  });

  it("is found in a real stack", () => {
    const throwIt = (): never => {
      throw new TypeError("Order 17");
    };
    try {
      throwIt();
    } catch (error) {
      expect(kindOfError(parseStoredError(toStoredErrorText(error))!)).toMatchObject({
        name: "TypeError",
        message: "Order #",
        frame: "throwIt (src/history/fingerprint.test.ts)",
      });
    }
  });
});

const word = fc.constantFrom("order", "user", "was", "not", "found", "in", "queue", "timeout", "key:");

const variable = fc.oneof(
  fc.integer().map(String),
  fc.uuid(),
  fc
    .uint8Array({ minLength: 20, maxLength: 20 })
    .map((bytes) => `a0${Buffer.from(bytes).toString("hex")}`.slice(0, 40)),
  fc.ipV4(),
  fc.date({ noInvalidDate: true, min: new Date(0), max: new Date(4e12) }).map((date) => date.toISOString()),
);

const template = fc.array(fc.oneof(word, fc.constant(null)), { minLength: 1, maxLength: 12 });

const line = fc.integer({ min: 1, max: 9_999 });

const fill = (parts: readonly (string | null)[], values: readonly string[]): string =>
  parts.map((part, index) => part ?? values[index]!).join(" ");

describe("fingerprints", () => {
  const twelve = fc.array(variable, { minLength: 12, maxLength: 12 });

  it("are sixteen hexadecimal digits", () => {
    expect(fingerprint({ name: "Error", message: "" })).toMatch(/^[0-9a-f]{16}$/);
  });

  it("are the same whatever ids, numbers and dates a message has, and on whichever line it was thrown", () => {
    fc.assert(
      fc.property(template, twelve, twelve, line, line, (parts, ones, others, oneLine, otherLine) => {
        const make = (values: readonly string[], at: number): StoredError => {
          const message = fill(parts, values);
          const cause = { name: "Error", message: `cause ${values[0]}` };
          const stack = stackOf("Error", message, `f (/srv/shop/src/x.ts:${at}:${at})`);
          return { name: "Error", message, stack, cause };
        };
        expect(fingerprint(make(ones, oneLine))).toBe(fingerprint(make(others, otherLine)));
      }),
    );
  });

  it("differ by name, code, words, function, file and cause", () => {
    const frame = "f (/srv/shop/src/x.ts:1:1)";
    const base = { name: "Error", message: "a message", stack: stackOf("Error", "a message", frame) };
    const all: StoredError[] = [
      base,
      { ...base, name: "TypeError" },
      { ...base, code: "ECONNREFUSED" },
      { ...base, code: "ECONNRESET" },
      { ...base, message: "another message" },
      { ...base, stack: stackOf("Error", "a message", "g (/srv/shop/src/x.ts:1:1)") },
      { ...base, stack: stackOf("Error", "a message", "f (/srv/shop/src/y.ts:1:1)") },
      { ...base, cause: { name: "Error", message: "a message" } },
      { ...base, cause: { name: "TypeError", message: "a message" } },
      { ...base, cause: { name: "Error", message: "a message", cause: { name: "Error", message: "" } } },
    ];
    expect(new Set(all.map(fingerprint)).size).toBe(all.length);
  });

  it("are made of anything that can be stored", () => {
    fc.assert(
      fc.property(fc.anything(), (thrown) => {
        const stored = parseStoredError(toStoredErrorText(thrown))!;
        const kind = kindOfError(stored);
        expect(kind.fingerprint).toMatch(/^[0-9a-f]{16}$/);
        expect(kind.message.length).toBeLessThanOrEqual(300);
      }),
    );
  });
});
