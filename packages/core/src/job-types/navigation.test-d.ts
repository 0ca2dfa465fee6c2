import { z } from "zod";
import { defineJobTypes, type JobTypes, typeOnly } from "./define.ts";
import type { CompletedJob, CompletedJobSequence, JobSequence, RunningJob } from "./entities.ts";
import type { DefineBlocker, DefineContinuationInput, DefineContinuationOutput } from "./markers.ts";
import type {
  BlockerSequences,
  ContinuationJobTypes,
  ExternalJobTypeDefinitions,
  ExternalJobTypeName,
  HasBlockers,
  JobOf,
  JobSequenceOf,
  SequenceJobTypes,
  SequenceTypesReaching,
} from "./navigation.ts";
import type { Equal, Expect } from "./type-equality.test-d.ts";

/*
 *   order ──▶ charge ──▶ ship        ship also starts sequences of its own
 *     └─────▶ reject                 refund ⟲
 *   audit waits for order and ship; import ends in nothing but ship
 */
interface Types {
  order: {
    input: { sku: string };
    output: DefineContinuationOutput<"charge"> | DefineContinuationOutput<"reject">;
  };
  charge: { input: DefineContinuationInput<{ cents: number }>; output: DefineContinuationOutput<"ship"> };
  reject: { input: DefineContinuationInput<null>; output: { rejected: true } };
  ship: { input: { address: string }; output: { parcel: string } };
  refund: { input: null; output: DefineContinuationOutput<"refund"> | number };
  audit: { input: null; output: boolean; blockers: [DefineBlocker<"order">, DefineBlocker<"ship">] };
  batch: { input: null; output: null; blockers: DefineBlocker<"ship" | "refund">[] };
  // oxlint-disable-next-line typescript/no-explicit-any -- `any` is the case under test
  loose: { input: any; output: any };
}

const schemas = defineJobTypes({
  order: { input: z.object({ sku: z.string() }), continuesTo: ["charge", "reject"] },
  charge: { input: typeOnly<{ cents: number }>(), internal: true, continuesTo: ["ship"] },
  reject: { internal: true, output: z.object({ rejected: z.literal(true) }) },
  ship: { input: z.object({ address: z.string() }), output: z.object({ parcel: z.string() }) },
  refund: { output: z.number(), continuesTo: ["refund"] },
  audit: { output: z.boolean(), blockers: ["order", "ship"] },
});

type Runtime = typeof schemas extends JobTypes<infer TDefs> ? TDefs : never;

export type OfTypes = [
  Expect<Equal<ContinuationJobTypes<Types, "order">, "charge" | "reject">>,
  Expect<Equal<ContinuationJobTypes<Types, "ship">, never>>,
  Expect<Equal<ContinuationJobTypes<Types, "loose">, never>>,
  Expect<Equal<SequenceJobTypes<Types, "order">, "order" | "charge" | "reject" | "ship">>,
  Expect<Equal<SequenceJobTypes<Types, "refund">, "refund">>,
  Expect<Equal<SequenceTypesReaching<Types, "ship">, "order" | "ship">>,
  Expect<Equal<SequenceTypesReaching<Types, "charge">, "order">>,
  Expect<Equal<SequenceTypesReaching<Types, "refund">, "refund">>,
  Expect<Equal<ExternalJobTypeName<Types>, "order" | "ship" | "refund" | "audit" | "batch" | "loose">>,
  Expect<Equal<ExternalJobTypeDefinitions<Pick<Types, "ship" | "reject">>, Pick<Types, "ship">>>,
  Expect<Equal<HasBlockers<Types, "audit">, true>>,
  Expect<Equal<HasBlockers<Types, "batch">, true>>,
  Expect<Equal<HasBlockers<Types, "ship">, false>>,
  Expect<
    Equal<
      JobSequenceOf<string, Types, "order">,
      JobSequence<
        string,
        "order",
        { sku: string },
        { rejected: true } | { parcel: string },
        "order" | "charge" | "reject" | "ship"
      >
    >
  >,
  Expect<
    Equal<
      BlockerSequences<string, Types, "audit">,
      readonly [JobSequenceOf<string, Types, "order">, JobSequenceOf<string, Types, "ship">]
    >
  >,
  Expect<
    Equal<
      BlockerSequences<string, Types, "batch">,
      readonly JobSequenceOf<string, Types, "ship" | "refund">[]
    >
  >,
  Expect<Equal<BlockerSequences<string, Types, "ship">, readonly []>>,
];

export type OfRuntime = [
  Expect<Equal<SequenceJobTypes<Runtime, "order">, "order" | "charge" | "reject" | "ship">>,
  Expect<Equal<SequenceTypesReaching<Runtime, "ship">, "order" | "ship">>,
  Expect<Equal<ExternalJobTypeName<Runtime>, "order" | "ship" | "refund" | "audit">>,
  Expect<Equal<HasBlockers<Runtime, "audit">, true>>,
  Expect<Equal<JobSequenceOf<string, Runtime, "order">, JobSequenceOf<string, Types, "order">>>,
  Expect<Equal<BlockerSequences<string, Runtime, "audit">, BlockerSequences<string, Types, "audit">>>,
  Expect<Equal<JobOf<string, Runtime, "audit">, JobOf<string, Types, "audit">>>,
  Expect<Equal<JobOf<string, Runtime, "charge">, JobOf<string, Types, "charge">>>,
];

export type OfJobs = [
  // Each member of a union of types keeps to the sequences that reach it.
  Expect<
    Equal<
      JobOf<string, Types, "ship" | "charge">,
      JobOf<string, Types, "ship"> | JobOf<string, Types, "charge">
    >
  >,
  Expect<Equal<JobOf<string, Types, "ship">["sequenceTypeName"], "order" | "ship">>,
  Expect<Equal<JobOf<string, Types, "ship", "order">["sequenceTypeName"], "order">>,
  Expect<Equal<JobOf<string, Types, "charge">["input"], { cents: number }>>,
  // A type that always continues has no output; one that never does has no continuation.
  Expect<Equal<CompletedJob<JobOf<string, Types, "order">>["output"], undefined>>,
  Expect<Equal<CompletedJob<JobOf<string, Types, "order">>["continuedToId"], string>>,
  Expect<Equal<CompletedJob<JobOf<string, Types, "ship">>["output"], { parcel: string }>>,
  Expect<Equal<CompletedJob<JobOf<string, Types, "ship">>["continuedToId"], null>>,
  Expect<Equal<CompletedJob<JobOf<string, Types, "refund">>["output"], number | undefined>>,
  // What a running job waited for has completed.
  Expect<
    Equal<
      RunningJob<JobOf<string, Types, "audit">>["blockers"],
      readonly [
        CompletedJobSequence<JobSequenceOf<string, Types, "order">>,
        CompletedJobSequence<JobSequenceOf<string, Types, "ship">>,
      ]
    >
  >,
  // Ids keep the type the adapter gives them.
  Expect<Equal<JobOf<`job-${string}`, Types, "ship">["sequenceId"], `job-${string}`>>,
];
