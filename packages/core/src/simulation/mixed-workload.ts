import type { StartableWorker } from "../testing/test-kit.ts";
import { behaveTogether } from "./batch-behaviours.ts";
import { behave } from "./behaviours.ts";
import { type MixedDefinitions, mixedJobTypes, type MixedLeasehold } from "./mixed-job-types.ts";
import { operate } from "./mixed-operations.ts";
import type { SimulatedProcess, SimulationWorkload } from "./workload.ts";

const createWorker = (leasehold: MixedLeasehold, process: SimulatedProcess): StartableWorker => {
  const worker = leasehold.createWorker({ retry: { type: "exponential", baseMs: 40, maxMs: 300 } });
  // All types behave by script; the casts stand for what the script makes them return.
  for (const typeName of ["task", "urgent", "gather", "patient"] as const) {
    worker.implementJobType({
      typeName,
      process: (options) => behave(process, options as never, undefined) as never,
    });
  }
  for (const typeName of ["chain", "step"] as const) {
    worker.implementJobType({
      typeName,
      process: (options) => behave(process, options as never, "step") as never,
    });
  }
  worker.implementJobTypeBatch({
    typeName: "bundle",
    maxSize: 4,
    maxWaitMs: 20,
    process: (options) => behaveTogether(process, options as never, "step") as never,
  });
  return worker;
};

/** Something of everything Leasehold can do, in well-behaved and ill-behaved forms. */
export const mixedWorkload: SimulationWorkload<MixedDefinitions> = {
  jobTypes: mixedJobTypes,
  createWorker,
  operate,
};
