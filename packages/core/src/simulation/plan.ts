import { createSeededRandom } from "../testing/seeded-random.ts";
import { drawFaults, type FaultStrengths, type SimulationFault } from "./faults.ts";

/** How one worker of every process is set up. */
export interface WorkerPlan {
  readonly concurrency: number;
  readonly prefetch: number;
  readonly pollIntervalMs: number;
  readonly reapIntervalMs: number;
  readonly abortGraceMs: number;
  readonly stopDeadlineMs: number;
  readonly commitBatchSize: number;
  readonly commitLingerMs: number;
  /** The limit of every queue but the default one, which may use all slots. */
  readonly sideQueueConcurrency: number;
}

/** Everything a seed decides before the first job is started. */
export interface SimulationPlan {
  readonly seed: number | string;
  readonly leaseMs: number;
  readonly storeDeadlineMs: number;
  /** How long a store call takes on its way, at most. */
  readonly latencyMs: number;
  /** How long things may go wrong. */
  readonly chaosMs: number;
  readonly processes: number;
  readonly workers: readonly WorkerPlan[];
  /** The operator's cap on attempts; undefined for none. */
  readonly maxAttempts: number | undefined;
  readonly operations: number;
  /** How many workers are stopped and replaced in good order, as by a deployment. */
  readonly restarts: number;
  readonly faults: FaultStrengths;
}

/** Makes the simulation of a seed smaller. What is drawn for the rest stays the same. */
export interface PlanLimits {
  readonly faults?: readonly SimulationFault[];
  readonly processes?: number;
  readonly workers?: number;
  readonly operations?: number;
}

export const drawPlan = (seed: number | string, limits: PlanLimits = {}): SimulationPlan => {
  const random = createSeededRandom(`${seed}/plan`);
  const leaseMs = random.pick([300, 1_000, 2_000]);
  const drawWorker = (): WorkerPlan => {
    const concurrency = random.integer(1, 4);
    return {
      concurrency,
      prefetch: random.pick([0, 2, 8]),
      pollIntervalMs: random.pick([leaseMs / 2, leaseMs]),
      reapIntervalMs: random.pick([leaseMs * 0.75, leaseMs]),
      abortGraceMs: leaseMs / 4,
      stopDeadlineMs: random.pick([0, leaseMs]),
      commitBatchSize: random.pick([1, 3, 50]),
      commitLingerMs: random.pick([0, 0, 15]),
      sideQueueConcurrency: random.integer(1, concurrency),
    };
  };
  const drawn = {
    seed,
    leaseMs,
    storeDeadlineMs: random.pick([leaseMs / 2, leaseMs, 3 * leaseMs]),
    latencyMs: random.pick([0, 3, leaseMs / 50]),
    chaosMs: leaseMs * random.integer(3, 6),
    processes: random.integer(1, 3),
    workers: [drawWorker(), ...(random.chance(0.3) ? [drawWorker()] : [])],
    maxAttempts: random.chance(0.15) ? random.integer(1, 3) : undefined,
    operations: random.integer(8, 16),
    restarts: random.pick([0, 1, 2, 4]),
    faults: drawFaults(random),
  };
  const { faults: kept } = limits;
  return {
    ...drawn,
    processes: Math.min(drawn.processes, limits.processes ?? Infinity),
    workers: drawn.workers.slice(0, limits.workers ?? Infinity),
    operations: Math.min(drawn.operations, limits.operations ?? Infinity),
    faults: kept
      ? Object.fromEntries(
          Object.entries(drawn.faults).filter(([kind]) => kept.includes(kind as SimulationFault)),
        )
      : drawn.faults,
  };
};
