import type { PlanLimits } from "./plan.ts";
import type { SimulationFault } from "./faults.ts";
import { simulate, type SimulationOptions, type SimulationResult } from "./simulate.ts";

/**
 * Looks for a smaller story of the same seed that still fails: fewer kinds of faults, fewer processes, workers and
 * operations. Leaving something out changes what follows, so a smaller story may fail in another way; any will do.
 */
export const shrinkSimulation = async <TDefs>(
  options: SimulationOptions<TDefs>,
): Promise<SimulationResult> => {
  let smallest = await simulate(options);
  if (smallest.violations.length === 0) return smallest;
  let limits: PlanLimits = options.limits ?? {};

  const tryWith = async (change: PlanLimits): Promise<boolean> => {
    const result = await simulate({ ...options, limits: { ...limits, ...change } });
    if (result.violations.length === 0) return false;
    limits = { ...limits, ...change };
    smallest = result;
    return true;
  };

  const dropFaults = async (): Promise<boolean> => {
    let dropped = false;
    for (const kind of Object.keys(smallest.plan.faults) as SimulationFault[]) {
      const others = (Object.keys(smallest.plan.faults) as SimulationFault[]).filter(
        (other) => other !== kind,
      );
      dropped = (await tryWith({ faults: others })) || dropped;
    }
    return dropped;
  };

  /** Halves first, then one by one. */
  const lower = async (size: "processes" | "workers" | "operations"): Promise<boolean> => {
    let lowered = false;
    for (let step = Math.ceil(sizeOf(smallest, size) / 2); step >= 1;) {
      const target = sizeOf(smallest, size) - step;
      if (target >= 1 && (await tryWith({ [size]: target }))) lowered = true;
      else step = step === 1 ? 0 : Math.floor(step / 2);
    }
    return lowered;
  };

  for (let progress = true; progress;) {
    progress = await dropFaults();
    for (const size of ["operations", "processes", "workers"] as const)
      progress = (await lower(size)) || progress;
  }
  return smallest;
};

const sizeOf = ({ plan }: SimulationResult, size: "processes" | "workers" | "operations"): number =>
  size === "workers" ? plan.workers.length : plan[size];
