import { type } from "arktype";
import * as v from "valibot";
import { z } from "zod";
import { defineJobTypes, type JobTypes, typeOnly } from "../../job-types/define.ts";
import type {
  Adapter,
  JobId,
  Runtime,
  TxContext,
  Union,
  UnionTypes,
} from "../../job-types/job-types-fixture.test-d.ts";
import type { JobSequenceOf } from "../../job-types/navigation.ts";
import type { Equal, Expect } from "../../job-types/type-equality.test-d.ts";
import type { Leasehold } from "../../leasehold-api.ts";

declare const union: Union;

declare const runtime: Runtime;

declare const ctx: TxContext;

// --- one sequence --------------------------------------------------------------------------------------------------

const page = await union.startJobSequence({ ...ctx, typeName: "fetch-page", input: { url: "/" } });

const samePage = await runtime.startJobSequence({ ...ctx, typeName: "fetch-page", input: { url: "/" } });

const cleanup = await union.startJobSequence({ typeName: "cleanup" });

export type Started = [
  Expect<
    Equal<
      typeof page,
      JobSequenceOf<JobId, UnionTypes, "fetch-page"> & {
        readonly deduplicated: boolean;
        readonly replaced: boolean;
      }
    >
  >,
  Expect<Equal<typeof samePage, typeof page>>,
];

await union.startJobSequence({
  client: ctx.client,
  tenant: "acme",
  typeName: "fetch-page",
  input: { url: "/" },
  id: "job-1",
  queue: "slow",
  priority: 3,
  maxAttempts: 1,
  timeoutMs: 1_000,
  schedule: { afterMs: 5_000 },
  deduplication: { key: "/", strategy: "all", windowMs: 60_000 },
});

// No input is no input.
await union.startJobSequence({ typeName: "cleanup", input: null });

await runtime.startJobSequence({ typeName: "cleanup" });

// @ts-expect-error an internal type cannot be started
await union.startJobSequence({ typeName: "index-page", input: { words: [] } });
// @ts-expect-error nor in the runtime form
await runtime.startJobSequence({ typeName: "index-page", input: { words: [] } });
// @ts-expect-error there is no such type
await union.startJobSequence({ typeName: "fetch-pages", input: { url: "/" } });
// @ts-expect-error input is missing
await union.startJobSequence({ typeName: "fetch-page" });
// @ts-expect-error input of the wrong type
await union.startJobSequence({ typeName: "fetch-page", input: { url: 1 } });
// @ts-expect-error input of the wrong type
await runtime.startJobSequence({ typeName: "fetch-page", input: { url: 1 } });
// @ts-expect-error input with a property nobody reads
await union.startJobSequence({ typeName: "fetch-page", input: { url: "/", urll: "/" } });
// @ts-expect-error this type has no input
await union.startJobSequence({ typeName: "cleanup", input: { url: "/" } });
// @ts-expect-error an id that is not of the adapter's type
await union.startJobSequence({ typeName: "cleanup", id: "1" });
// @ts-expect-error an option that does not exist
await union.startJobSequence({ typeName: "cleanup", delayMs: 5 });
// @ts-expect-error exactly one of `at` and `afterMs`
await union.startJobSequence({ typeName: "cleanup", schedule: { at: new Date(), afterMs: 5 } });

// A type that is not known until run time must get an input that is right whichever it is.
declare const either: "fetch-page" | "cleanup";
// @ts-expect-error `cleanup` has no input
await union.startJobSequence({ typeName: either, input: { url: "/" } });
// @ts-expect-error but `fetch-page` needs one
await union.startJobSequence({ typeName: either });

// --- the transaction context ---------------------------------------------------------------------------------------

// @ts-expect-error a part of the context is not a context
await union.startJobSequence({ client: ctx.client, typeName: "cleanup" });
// @ts-expect-error nor is the other part
await union.startJobSequence({ tenant: "acme", typeName: "cleanup" });
// @ts-expect-error a context of the wrong type
await union.startJobSequence({ client: 3, tenant: "acme", typeName: "cleanup" });
// @ts-expect-error a part of the context in bulk
await union.startJobSequences({ tenant: "acme", sequences: [{ typeName: "cleanup" }] });

// --- blockers ------------------------------------------------------------------------------------------------------

await union.startJobSequence({
  ...ctx,
  typeName: "report",
  input: { title: "t" },
  startBlockers: async ({ job, client, tenant }) => {
    const title: string = job.input.title;
    const id: JobId = job.id;
    // @ts-expect-error the blockers are only being started
    void job.blockers;
    const own = await union.startJobSequence({
      client,
      tenant,
      typeName: "fetch-page",
      input: { url: title },
    });
    void id;
    // Sequences started here or elsewhere, or just their id and type.
    return [own, { id: "job-7", typeName: "cleanup" }];
  },
});

await runtime.startJobSequence({
  typeName: "report",
  input: { title: "t" },
  startBlockers: async ({ client, tenant }) => [
    await runtime.startJobSequence({ client, tenant, typeName: "fetch-page", input: { url: "/" } }),
    await runtime.startJobSequence({ client, tenant, typeName: "cleanup" }),
  ],
});

// @ts-expect-error startBlockers is missing
await union.startJobSequence({ typeName: "report", input: { title: "t" } });
// @ts-expect-error startBlockers is missing
await runtime.startJobSequence({ typeName: "report", input: { title: "t" } });
// @ts-expect-error this type has no blockers
await union.startJobSequence({ typeName: "fetch-page", input: { url: "/" }, startBlockers: async () => [] });

await runtime.startJobSequence({
  typeName: "fetch-page",
  input: { url: "/" },
  // @ts-expect-error this type has no blockers
  startBlockers: async () => [],
});

await union.startJobSequence({
  typeName: "report",
  input: { title: "t" },
  // @ts-expect-error the wrong order
  startBlockers: async () => [cleanup, page],
});

await union.startJobSequence({
  typeName: "report",
  input: { title: "t" },
  // @ts-expect-error one of two
  startBlockers: async () => [page],
});

await union.startJobSequence({
  typeName: "report",
  input: { title: "t" },
  // @ts-expect-error the wrong type
  startBlockers: async () => [page, page],
});

await runtime.startJobSequence({
  typeName: "report",
  input: { title: "t" },
  // @ts-expect-error the wrong order
  startBlockers: () => [cleanup, page],
});

// --- in bulk -------------------------------------------------------------------------------------------------------

const [first, second] = await union.startJobSequences({
  ...ctx,
  sequences: [
    { typeName: "fetch-page", input: { url: "/" }, priority: 1 },
    { typeName: "cleanup", deduplication: { key: "c" } },
  ],
});

const urls: string[] = [];

const many = await runtime.startJobSequences({
  sequences: urls.map((url) => ({ typeName: "fetch-page" as const, input: { url } })),
});

export type Bulk = [
  Expect<Equal<(typeof first)["typeName"], "fetch-page">>,
  Expect<Equal<(typeof second)["typeName"], "cleanup">>,
  Expect<Equal<typeof many, (typeof page)[]>>,
];

const [third, report] = await union.startJobSequences({
  sequences: [
    { typeName: "cleanup" },
    {
      typeName: "report",
      input: { title: "t" },
      startBlockers: async ({ job }) => {
        const title: string = job.input.title;
        void title;
        return [page, cleanup];
      },
    },
  ],
});

export type BulkWithBlockers = [
  Expect<Equal<(typeof third)["typeName"], "cleanup">>,
  Expect<Equal<(typeof report)["typeName"], "report">>,
];
// @ts-expect-error the blockers are missing
await union.startJobSequences({ sequences: [{ typeName: "report", input: { title: "t" } }] });

await union.startJobSequences({
  // @ts-expect-error one blocker is missing
  sequences: [{ typeName: "report", input: { title: "t" }, startBlockers: async () => [page] }],
});
// @ts-expect-error a type without blockers
await union.startJobSequences({ sequences: [{ typeName: "cleanup", startBlockers: () => [page] }] });
// @ts-expect-error internal types cannot be started
await union.startJobSequences({ sequences: [{ typeName: "index-page", input: { words: [] } }] });
// @ts-expect-error the input of another type
await union.startJobSequences({ sequences: [{ typeName: "fetch-page", input: { words: [] } }] });

// --- what a schema accepts and what it returns ---------------------------------------------------------------------

const parsing = defineJobTypes({
  zod: { input: z.object({ n: z.number().default(1) }), output: z.string().transform((text) => text.length) },
  valibot: { input: v.optional(v.object({ n: v.optional(v.number(), 1) }), {}), output: v.null() },
  arktype: { input: type({ n: "number = 1" }), output: typeOnly<unknown>() },
});

declare const parsed: Leasehold<typeof parsing extends JobTypes<infer TDefs> ? TDefs : never, Adapter>;

const zodSequence = await parsed.startJobSequence({ typeName: "zod", input: {} });

const valibotSequence = await parsed.startJobSequence({ typeName: "valibot" });

const arktypeSequence = await parsed.startJobSequence({ typeName: "arktype", input: {} });

export type Parsing = [
  Expect<Equal<(typeof zodSequence)["input"], { n: number }>>,
  Expect<Equal<Extract<typeof zodSequence, { status: "completed" }>["output"], number>>,
  Expect<Equal<(typeof valibotSequence)["input"], { n: number }>>,
  Expect<Equal<(typeof arktypeSequence)["input"], { n: number }>>,
];

// @ts-expect-error what the schema does not accept
await parsed.startJobSequence({ typeName: "zod", input: { n: "1" } });
// @ts-expect-error this schema has no default for the whole input
await parsed.startJobSequence({ typeName: "zod" });
