import { type } from "arktype";
import * as v from "valibot";
import { z } from "zod";
import type { Leasehold } from "../leasehold-api.ts";
import type { StateAdapter } from "../store/contract/state-adapter.ts";
import { defineJobTypes, type JobTypes, typeOnly } from "./define.ts";
import type { DefineBlocker, DefineContinuationInput, DefineContinuationOutput } from "./markers.ts";

/** The application of the type tests: the same job types in both forms, on a store with branded ids. */
export interface UnionTypes {
  "fetch-page": {
    input: { url: string };
    output:
      | DefineContinuationOutput<"index-page">
      | DefineContinuationOutput<"drop-page">
      | { skipped: true };
  };
  "index-page": { input: DefineContinuationInput<{ words: string[] }>; output: { indexed: number } };
  "drop-page": {
    input: DefineContinuationInput<null>;
    output: DefineContinuationOutput<"index-page">;
    blockers: [DefineBlocker<"cleanup">];
  };
  cleanup: { input: null; output: null };
  report: {
    input: { title: string };
    output: string;
    blockers: [DefineBlocker<"fetch-page">, DefineBlocker<"cleanup">];
  };
}

const runtimeJobTypes = defineJobTypes({
  "fetch-page": {
    input: z.object({ url: z.string() }),
    output: z.object({ skipped: z.literal(true) }),
    continuesTo: ["index-page", "drop-page"],
  },
  "index-page": {
    input: v.object({ words: v.array(v.string()) }),
    output: type({ indexed: "number" }),
    internal: true,
  },
  "drop-page": { internal: true, continuesTo: ["index-page"], blockers: ["cleanup"] },
  cleanup: {},
  report: {
    input: z.object({ title: z.string() }),
    output: typeOnly<string>(),
    blockers: ["fetch-page", "cleanup"],
  },
});

export type RuntimeTypes = typeof runtimeJobTypes extends JobTypes<infer TDefs> ? TDefs : never;

export type JobId = `job-${string}`;

export interface TxContext {
  client: { query(sql: string): Promise<unknown> };
  tenant: string;
}

export type Adapter = StateAdapter<TxContext, TxContext, JobId>;

export type Union = Leasehold<UnionTypes, Adapter>;

export type Runtime = Leasehold<RuntimeTypes, Adapter>;
