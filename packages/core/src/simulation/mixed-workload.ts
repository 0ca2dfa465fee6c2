import type { Leasehold } from "../api.ts";
import type { AnyStateAdapter } from "../contracts/state-adapter.ts";
import { defineJobTypes, typeOnly } from "../model/job-types.ts";
import type { JobTypes, ResolveJobType } from "../model/job-types.ts";
import { type Behaviour, behave } from "./behaviours.ts";
import { operate } from "./mixed-operations.ts";
import { expressQueue } from "./plan.ts";
import type { SimulatedProcess, SimulationWorkload } from "./workload.ts";

/** What a job does on its first attempt, on its second, and so on; the last entry holds for all that follow. */
export interface Script {
  readonly script: readonly Behaviour[];
  /** How many more jobs follow in the sequence. */
  readonly hops: number;
}

const input = typeOnly<Script>();
const output = typeOnly<string>();

const definitions = {
  task: { input, output },
  /** A queue and a short lease of its own. */
  urgent: { input, output, queue: expressQueue, leaseMs: 250 },
  chain: { input, output, continuesTo: ["step"] },
  step: { input, output, internal: true, continuesTo: ["step"] },
  gather: { input, output, blockers: ["task", "task"] },
  patient: { input, output, blockers: ["task", "chain"], onBlockerFailure: "wait" },
} as const;

export type MixedDefinitions = {
  [K in keyof typeof definitions]: ResolveJobType<(typeof definitions)[K]>;
};

export type MixedLeasehold = Leasehold<MixedDefinitions, AnyStateAdapter>;

const jobTypes = defineJobTypes(definitions) as unknown as JobTypes<MixedDefinitions>;

const createWorker = (leasehold: MixedLeasehold, process: SimulatedProcess) => {
  const plain = ["task", "urgent", "gather", "patient"] as const;
  let worker = leasehold.createWorker({ retry: { type: "exponential", baseMs: 40, maxMs: 300 } });
  for (const typeName of plain) {
    worker = worker.implementJobType({
      typeName,
      process: (options) => behave(process, options as never, undefined) as never,
    });
  }
  for (const typeName of ["chain", "step"] as const) {
    worker = worker.implementJobType({
      typeName,
      process: (options) => behave(process, options as never, "step") as never,
    });
  }
  return worker;
};

/** Something of everything Leasehold can do, in well-behaved and ill-behaved forms. */
export const mixedWorkload: SimulationWorkload<MixedDefinitions> = { jobTypes, createWorker, operate };
