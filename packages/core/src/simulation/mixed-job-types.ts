import type { Leasehold } from "../leasehold-api.ts";
import type { AnyStateAdapter } from "../store/contract/state-adapter.ts";
import type {
  DefineBlocker,
  DefineContinuationInput,
  DefineContinuationOutput,
} from "../job-types/markers.ts";
import { defineJobTypes, type JobTypes, typeOnly } from "../job-types/define.ts";
import type { Behaviour } from "./behaviours.ts";

/** What a job does on its first attempt, on its second, and so on; the last entry holds for all that follow. */
export interface Script {
  readonly script: readonly Behaviour[];
  /** How many more jobs follow in the sequence. */
  readonly hops: number;
}

export interface MixedDefinitions {
  task: { input: Script; output: string };
  urgent: { input: Script; output: string };
  chain: { input: Script; output: string | DefineContinuationOutput<"step"> };
  /** Runs in batches. */
  bundle: { input: Script; output: string | DefineContinuationOutput<"step"> };
  step: { input: DefineContinuationInput<Script>; output: string | DefineContinuationOutput<"step"> };
  gather: { input: Script; output: string; blockers: [DefineBlocker<"task">, DefineBlocker<"task">] };
  patient: { input: Script; output: string; blockers: [DefineBlocker<"task">, DefineBlocker<"chain">] };
}

export type MixedLeasehold = Leasehold<MixedDefinitions, AnyStateAdapter>;

const scripted = { input: typeOnly<Script>(), output: typeOnly<string>() };

/** One job type for everything a type can ask for. */
export const mixedJobTypes: JobTypes<MixedDefinitions> = defineJobTypes({
  task: scripted,
  urgent: { ...scripted, queue: "express", leaseMs: 250 },
  chain: { ...scripted, continuesTo: ["step"] },
  bundle: { ...scripted, continuesTo: ["step"] },
  step: { ...scripted, internal: true, continuesTo: ["step"] },
  gather: { ...scripted, blockers: ["task", "task"] },
  patient: { ...scripted, blockers: ["task", "chain"], onBlockerFailure: "wait" },
}) as JobTypes<unknown> as JobTypes<MixedDefinitions>;
