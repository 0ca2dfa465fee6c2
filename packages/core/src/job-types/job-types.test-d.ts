import { type } from "arktype";
import * as v from "valibot";
import { z } from "zod";
import { defineJobTypes, defineUnionJobTypes, type JobTypes, typeOnly } from "./define.ts";
import type {
  DefineBlocker,
  DefineContinuationInput,
  DefineContinuationOutput,
  DefineParsed,
} from "./markers.ts";
import type { Equal, Expect } from "./type-equality.test-d.ts";

type DefinitionsOf<T> = T extends JobTypes<infer TDefs> ? TDefs : never;

// --- the types-only form -------------------------------------------------------------------------------------------

interface Page {
  url: string;
  depth?: number;
}

interface CrawlTypes {
  crawl: { input: Page; output: DefineContinuationOutput<"index"> | { skipped: true } };
  index: { input: DefineContinuationInput<Page>; output: null };
  report: { input: null; output: string; blockers: [DefineBlocker<"crawl">, ...DefineBlocker<"crawl">[]] };
}

const crawlTypes = defineUnionJobTypes<CrawlTypes>();

// Inputs and whole sets of definitions may be interfaces or aliases.
defineUnionJobTypes<{ a: { input: unknown; output: unknown }; b: { input: Page[]; output: Page | null } }>();

// A type may continue with itself.
defineUnionJobTypes<{ poll: { input: null; output: DefineContinuationOutput<"poll"> | null } }>();

// @ts-expect-error "publish" is not defined
defineUnionJobTypes<{
  resize: { input: null; output: DefineContinuationOutput<"publish"> };
}>();

// @ts-expect-error one of the two is not defined
defineUnionJobTypes<{
  resize: { input: null; output: { ok: true } | DefineContinuationOutput<"resize" | "publish"> };
}>();

// @ts-expect-error "scan" is not defined
defineUnionJobTypes<{
  resize: { input: null; output: null; blockers: [DefineBlocker<"scan">] };
}>();

// @ts-expect-error "scan" is internal, so no sequence of that type exists
defineUnionJobTypes<{
  scan: { input: DefineContinuationInput<null>; output: null };
  resize: { input: null; output: DefineContinuationOutput<"scan">; blockers: [DefineBlocker<"scan">] };
}>();

// @ts-expect-error a blocker needs its marker
defineUnionJobTypes<{
  resize: { input: null; output: null; blockers: ["resize"] };
}>();

// @ts-expect-error Date is not JSON
defineUnionJobTypes<{
  remind: { input: { at: Date }; output: null };
}>();

// @ts-expect-error a bigint behind the marker is found as well
defineUnionJobTypes<{
  remind: { input: DefineContinuationInput<{ amount: bigint }>; output: null };
}>();

// @ts-expect-error Map is not JSON
defineUnionJobTypes<{
  remind: { input: null; output: { totals: Map<string, number> } };
}>();

// @ts-expect-error undefined array elements do not survive JSON
defineUnionJobTypes<{
  remind: { input: (string | undefined)[]; output: null };
}>();

// @ts-expect-error undefined is not JSON: null is
defineUnionJobTypes<{
  remind: { input: undefined; output: null };
}>();

// @ts-expect-error both parts must be named
defineUnionJobTypes<{
  remind: { output: null };
}>();

// --- the runtime form ----------------------------------------------------------------------------------------------

const mixed = defineJobTypes({
  "zod-entry": {
    input: z.object({ to: z.string(), retries: z.number().default(3) }),
    output: z.object({ id: z.string() }),
    continuesTo: ["valibot-step", "plain-step"],
    retry: { type: "exponential", baseMs: 100 },
    onBlockerFailure: "wait",
    blockers: ["no-input", "ark-entry"],
  },
  "valibot-step": {
    input: v.object({ count: v.number() }),
    output: v.optional(v.object({ total: v.number() }), { total: 0 }),
    internal: true,
    queue: "slow",
  },
  "ark-entry": {
    input: type({ name: "string", "age?": "number" }),
    output: type("string[]"),
    timeoutMs: 1_000,
  },
  "plain-step": { input: typeOnly<Page>(), internal: true, continuesTo: ["plain-step"] },
  "no-input": { priority: -1, maxAttempts: 1, leaseMs: 5_000 },
  anything: { input: typeOnly<unknown>(), output: z.unknown(), continuesTo: ["valibot-step"] },
});

type Mixed = DefinitionsOf<typeof mixed>;

export type Resolved = [
  Expect<Equal<DefinitionsOf<typeof crawlTypes>, CrawlTypes>>,
  Expect<
    Equal<
      Mixed["zod-entry"],
      {
        input: DefineParsed<{ to: string; retries?: number | undefined }, { to: string; retries: number }>;
        output: { id: string } | DefineContinuationOutput<"valibot-step" | "plain-step">;
        blockers: readonly [DefineBlocker<"no-input">, DefineBlocker<"ark-entry">];
      }
    >
  >,
  Expect<
    Equal<
      Mixed["valibot-step"],
      {
        input: DefineContinuationInput<{ count: number }>;
        output: DefineParsed<{ total: number } | undefined, { total: number }>;
      }
    >
  >,
  Expect<Equal<Mixed["ark-entry"], { input: { name: string; age?: number }; output: string[] }>>,
  // Without an output but with continuations, it can only continue.
  Expect<
    Equal<
      Mixed["plain-step"],
      { input: DefineContinuationInput<Page>; output: DefineContinuationOutput<"plain-step"> }
    >
  >,
  Expect<Equal<Mixed["no-input"], { input: null; output: null }>>,
  // `unknown` does not swallow the continuation beside it.
  Expect<
    Equal<
      Mixed["anything"],
      {
        input: DefineParsed<unknown, unknown>;
        output: DefineParsed<unknown, unknown> | DefineContinuationOutput<"valibot-step">;
      }
    >
  >,
];

defineJobTypes({
  resize: {
    // @ts-expect-error "publish" is not defined
    continuesTo: ["publish"],
  },
});

defineJobTypes({
  scan: { internal: true },
  resize: {
    // @ts-expect-error "scan" is internal
    blockers: ["scan"],
  },
});

defineJobTypes({
  remind: {
    // @ts-expect-error the schema returns a Date
    input: z.object({ at: z.date() }),
  },
});

defineJobTypes({
  remind: {
    // @ts-expect-error the schema returns a bigint
    output: v.bigint(),
  },
});

defineJobTypes({
  remind: {
    // @ts-expect-error the schema returns a Date
    output: type({ at: "Date" }),
  },
});

defineJobTypes({
  remind: {
    // @ts-expect-error a Date is not JSON
    input: typeOnly<{ at: Date }>(),
  },
});

defineJobTypes({
  // An output is validated once, so it may change its type.
  fine: { output: z.string().transform(Number) },
  remind: {
    // @ts-expect-error the stored number would not pass the schema again
    input: z.string().transform(Number),
  },
});

defineJobTypes({
  remind: {
    // @ts-expect-error not a schema
    input: { at: "string" },
  },
});

defineJobTypes({
  remind: {
    // @ts-expect-error the option is called timeoutMs
    timeoutMS: 5_000,
  },
});

defineJobTypes({
  remind: {
    // @ts-expect-error only `true` or nothing
    internal: false,
  },
});

defineJobTypes({
  remind: {
    // @ts-expect-error the wrong kind of value
    timeoutMs: "5 s",
  },
});
