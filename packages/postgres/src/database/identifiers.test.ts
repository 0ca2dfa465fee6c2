import { InvalidOptionError } from "leasehold/adapter";
import { describe, expect, it } from "vitest";
import { createPgNotifyAdapter } from "../notify/notify-adapter.ts";
import type { PgNotifyProvider } from "../notify/provider.ts";
import { createPgStateAdapter } from "../state-adapter.ts";
import type { PgStateProvider } from "./provider.ts";

const characters = [
  "\"'`;,.-+*/\\()[]{}<>=!?@#$%^&|~: \t\n\r\0",
  "äßıſKé日本語😀\u200B\u202E\uD800\uFEFF",
].flatMap((text) => Array.from(text));

const hostileNames: readonly unknown[] = [
  ...characters.flatMap((character) => [character, `a${character}`, `${character}a`, `a${character}b`]),
  'x"; DROP SCHEMA public CASCADE; --',
  "x'; SELECT pg_sleep(10); --",
  'leasehold".job; --',
  "public.job",
  '"quoted"',
  "$1",
  "$$",
  "E'x'",
  "/* */",
  "a".repeat(32),
  "a".repeat(63),
  "a".repeat(64),
  "a".repeat(10_000),
  "",
  " ",
  "1a",
  "9",
  "A",
  "Leasehold",
  "aB",
  "ALL",
  null,
  0,
  1,
  Number.NaN,
  true,
  [],
  ["leasehold"],
  {},
  { toString: () => "leasehold" },
  Symbol("leasehold"),
  () => "leasehold",
  new String("leasehold"),
  12n,
];

/** A provider that fails at any statement. */
const untouchable = (): never => {
  throw new Error("Something was sent.");
};

const stateProvider: PgStateProvider<object, object> = {
  contextKeys: [],
  provideContext: untouchable,
  runInTransaction: untouchable,
  isInTransaction: untouchable,
  executeSql: untouchable,
};

const notifyProvider: PgNotifyProvider = { publish: untouchable, subscribe: untouchable };

describe("names that come from outside", () => {
  it("are at least 200 in this test", () => {
    expect(hostileNames.length).toBeGreaterThanOrEqual(200);
  });

  it.each(["schema", "idType"] as const)("are refused as %s before anything is sent", async (option) => {
    for (const name of hostileNames) {
      await expect(createPgStateAdapter({ stateProvider, [option]: name }), String(name)).rejects.toSatisfy(
        (error) => error instanceof InvalidOptionError && error.option === option,
      );
    }
  });

  it("are refused as channel prefix before anything is sent", async () => {
    for (const name of hostileNames) {
      await expect(
        createPgNotifyAdapter({ notifyProvider, channelPrefix: name as string }),
        String(name),
      ).rejects.toSatisfy((error) => error instanceof InvalidOptionError && error.option === "channelPrefix");
    }
  });

  it("are refused as default of the id where they would end the statement", async () => {
    for (const idDefault of ["", " ", "1; DROP TABLE x", "a\0b", 7, {}]) {
      await expect(
        createPgStateAdapter({ stateProvider, idDefault: idDefault as string }),
      ).rejects.toMatchObject({
        code: "InvalidOption",
        option: "idDefault",
      });
    }
  });

  it.each(["a", "_", "leasehold_2", "a".repeat(31), "select", "user"])("%s is allowed", async (schema) => {
    await expect(createPgStateAdapter({ stateProvider, schema, migrate: false })).resolves.toBeDefined();
  });
});
