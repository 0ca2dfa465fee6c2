import { type } from "arktype";
import * as v from "valibot";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { InvalidOptionError } from "../base/errors.ts";
import { defineJobTypes, defineUnionJobTypes, typeOnly } from "./define.ts";
import { createLeasehold } from "../leasehold.ts";
import { createInProcessStateAdapter } from "../memory/state-adapter.ts";

/** As JavaScript would call it. */
const define = defineJobTypes as (definitions: unknown) => ReturnType<typeof defineJobTypes>;

const optionRefusedIn = (definitions: unknown): string => {
  try {
    define(definitions);
  } catch (error) {
    expect(error).toBeInstanceOf(InvalidOptionError);
    return (error as InvalidOptionError).option;
  }
  throw new Error("The definitions were accepted.");
};

describe("defineUnionJobTypes", () => {
  it("knows no types at run time and is open to all", () => {
    const jobTypes = defineUnionJobTypes<{ a: { input: null; output: null } }>();
    expect(jobTypes.acceptsAnyName).toBe(true);
    expect(jobTypes.definitions.size).toBe(0);
  });
});

describe("defineJobTypes", () => {
  it("keeps schemas and settings by name", () => {
    const input = z.object({ to: z.string() });
    const output = v.object({ id: v.string() });
    const jobTypes = defineJobTypes({
      "send-email": {
        input,
        output,
        continuesTo: ["log"],
        blockers: ["render"],
        onBlockerFailure: "wait",
        queue: "mail",
        priority: -5,
        maxAttempts: 2,
        retry: { type: "fixed", delayMs: 5 },
        timeoutMs: 1_000,
        leaseMs: 2_000,
      },
      render: { input: type({ template: "string" }) },
      log: { internal: true, input: typeOnly<string>() },
    });
    expect(jobTypes.acceptsAnyName).toBe(false);
    expect([...jobTypes.definitions.keys()]).toEqual(["send-email", "render", "log"]);
    expect(jobTypes.definitions.get("send-email")).toEqual({
      input,
      output,
      internal: false,
      continuesTo: ["log"],
      blockers: ["render"],
      onBlockerFailure: "wait",
      queue: "mail",
      priority: -5,
      maxAttempts: 2,
      retry: { type: "fixed", delayMs: 5 },
      timeoutMs: 1_000,
      leaseMs: 2_000,
      hasOutput: true,
    });
  });

  it("has no schema where only the type is known, and no continuation where none is declared", () => {
    const { definitions } = defineJobTypes({ log: { internal: true, input: typeOnly<string>() } });
    expect(definitions.get("log")).toMatchObject({
      input: undefined,
      output: undefined,
      internal: true,
      continuesTo: [],
      blockers: [],
      queue: undefined,
      retry: undefined,
    });
  });

  it("takes schemas of zod, valibot and arktype as they are", async () => {
    const { definitions } = defineJobTypes({
      zod: { input: z.object({ n: z.number() }) },
      valibot: { input: v.object({ n: v.number() }) },
      arktype: { input: type({ n: "number" }) },
    });
    for (const name of ["zod", "valibot", "arktype"]) {
      const standard = definitions.get(name)?.input?.["~standard"];
      expect(await standard?.validate({ n: 1 })).toMatchObject({ value: { n: 1 } });
      expect(await standard?.validate({ n: "1" })).toHaveProperty("issues.length", 1);
    }
  });

  it("does not change when the given object does", () => {
    const continuesTo = ["a"];
    const given = { a: { queue: "one", continuesTo } };
    const { definitions } = define(given);
    given.a.queue = "two";
    continuesTo.push("gone");
    expect(definitions.get("a")).toMatchObject({ queue: "one", continuesTo: ["a"] });
    expect(Object.isFrozen(definitions.get("a"))).toBe(true);
  });

  it("takes names that plain objects have a meaning for", () => {
    const given = Object.fromEntries([
      ["constructor", {}],
      ["toString", { continuesTo: ["constructor"] }],
    ]);
    expect([...define(given).definitions.keys()]).toEqual(["constructor", "toString"]);
    expect(optionRefusedIn({ a: { continuesTo: ["constructor"] } })).toBe('jobTypes["a"].continuesTo[0]');
  });

  it.each([
    ["not an object", undefined, "jobTypes"],
    ["an array", [], "jobTypes"],
    ["an entry that is no object", { a: 5 }, 'jobTypes["a"]'],
    ["an empty name", { "": {} }, 'jobTypes[""]'],
    ["a NUL in a name", { "a\0": {} }, String.raw`jobTypes["a\u0000"]`],
    ["a long name", { ["x".repeat(201)]: {} }, `jobTypes["${"x".repeat(200)}"]`],
    ["an unknown option", { "send-email": { timeoutMS: 5 } }, 'jobTypes["send-email"].timeoutMS'],
    ["a zero timeout", { "send-email": { timeoutMs: 0 } }, 'jobTypes["send-email"].timeoutMs'],
    ["a fractional timeout", { a: { timeoutMs: 1.5 } }, 'jobTypes["a"].timeoutMs'],
    ["a timeout of years", { a: { timeoutMs: 1e12 } }, 'jobTypes["a"].timeoutMs'],
    ["a negative lease", { a: { leaseMs: -1 } }, 'jobTypes["a"].leaseMs'],
    ["no attempts", { a: { maxAttempts: 0 } }, 'jobTypes["a"].maxAttempts'],
    ["a priority that no store can hold", { a: { priority: 2 ** 31 } }, 'jobTypes["a"].priority'],
    ["an empty queue", { a: { queue: "" } }, 'jobTypes["a"].queue'],
    ["an unknown retry policy", { a: { retry: { type: "random" } } }, 'jobTypes["a"].retry.type'],
    ["an unknown reaction", { a: { onBlockerFailure: "cry" } }, 'jobTypes["a"].onBlockerFailure'],
    ["internal as a string", { a: { internal: "yes" } }, 'jobTypes["a"].internal'],
    ["an input that is no schema", { a: { input: { to: "string" } } }, 'jobTypes["a"].input'],
    ["an output of null", { a: { output: null } }, 'jobTypes["a"].output'],
    ["a schema of another version", { a: { input: { "~standard": { version: 2 } } } }, 'jobTypes["a"].input'],
    ["continuations that are no array", { a: { continuesTo: "a" } }, 'jobTypes["a"].continuesTo'],
    ["a continuation to nowhere", { a: { continuesTo: ["a", "b"] } }, 'jobTypes["a"].continuesTo[1]'],
    ["a blocker that is not defined", { a: { blockers: ["b"] } }, 'jobTypes["a"].blockers[0]'],
    ["an internal blocker", { a: { blockers: ["b"] }, b: { internal: true } }, 'jobTypes["a"].blockers[0]'],
  ])("refuses %s", (_, definitions, option) => {
    expect(optionRefusedIn(definitions)).toBe(option);
  });
});

describe("settings of types that exist for the compiler only", () => {
  interface Types {
    mail: { input: { to: string }; output: null };
    other: { input: null; output: null };
  }

  it("are kept for the engine, and leave other names and values open", () => {
    const jobTypes = defineUnionJobTypes<Types>({ mail: { queue: "mail", maxAttempts: 10 } });
    expect(jobTypes.acceptsAnyName).toBe(true);
    expect(jobTypes.definitions.get("mail")).toMatchObject({ queue: "mail", maxAttempts: 10 });
    expect(jobTypes.definitions.get("mail")?.continuesTo).toBeUndefined();
    expect(jobTypes.definitions.has("other")).toBe(false);
  });

  it("are refused by name when they are wrong", () => {
    const define = defineUnionJobTypes as (settings: unknown) => unknown;
    const cases = {
      'jobTypes["mail"].maxAttempts': { mail: { maxAttempts: 0 } },
      'jobTypes["mail"].input': { mail: { input: {} } },
      'jobTypes["mail"]': { mail: 7 },
      jobTypes: 7,
    };
    for (const [option, settings] of Object.entries(cases)) {
      expect(() => define(settings)).toThrow(expect.objectContaining({ code: "InvalidOption", option }));
    }
  });
});

describe("definitions from several modules", () => {
  const mail = { "send-mail": { input: typeOnly<{ to: string }>() } } as const;
  const orders = { "place-order": { continuesTo: ["send-mail"] } } as const;

  it("are combined in the argument of one call", async () => {
    const leasehold = await createLeasehold({
      stateAdapter: createInProcessStateAdapter(),
      jobTypes: defineJobTypes({ ...mail, ...orders }),
    });
    await leasehold.startJobSequence({ typeName: "send-mail", input: { to: "Ada" } });
    await leasehold.startJobSequence({ typeName: "place-order" });
  });

  it("are refused where the results of two calls are spread", async () => {
    // oxlint-disable-next-line typescript/no-misused-spread -- the mistake that is refused
    const jobTypes = { ...defineJobTypes(mail), ...defineUnionJobTypes<Record<string, never>>() };
    const stateAdapter = createInProcessStateAdapter();
    // @ts-expect-error -- the types of the first call would be missing
    const creating = createLeasehold({ stateAdapter, jobTypes });
    await expect(creating).rejects.toMatchObject({ code: "InvalidOption", option: "jobTypes" });
    await expect(creating).rejects.toThrow("combine its arguments");
  });
});
