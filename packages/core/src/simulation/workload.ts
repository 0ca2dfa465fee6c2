import type { Leasehold } from "../leasehold-api.ts";
import type { Clock } from "../base/runtime.ts";
import type { AnyStateAdapter } from "../store/contract/state-adapter.ts";
import type { StateJob } from "../store/contract/job.ts";
import type { JobTypes } from "../job-types/define.ts";
import type { SeededRandom } from "../testing/seeded-random.ts";
import type { StartableWorker } from "../testing/test-kit.ts";
import type { SimulationFault } from "./faults.ts";
import type { SimulationPlan } from "./plan.ts";

/** What code inside a simulated process may use instead of timers and `process`. */
export interface SimulatedProcess {
  readonly name: string;
  /** The process's own clock; every wait has to go through it. */
  readonly clock: Clock;
  /** Ends early, without an error, when the signal aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
  /** Stands for code that keeps the event loop busy. */
  block(ms: number): void;
  /** Stands for a crash. */
  crash(): void;
  /** Nothing goes wrong any more, and everything is to come to its end. */
  readonly isCalm: boolean;
  /** How strongly this seed wants such faults; 0 for not at all, and always 0 once everything is calm. */
  strengthOf(kind: SimulationFault): number;
}

/** What an operation of a simulated workload gets. */
export interface OperationContext {
  readonly plan: SimulationPlan;
  readonly process: SimulatedProcess;
  /** For every decision: with `Math.random` a seed would not repeat. */
  readonly random: SeededRandom;
  /** The store itself, for what no façade offers. */
  readonly store: AnyStateAdapter;
  /** All jobs there are, as the store has them. */
  readonly jobs: () => readonly StateJob[];
}

/** The application that is simulated. */
export interface SimulationWorkload<TDefs> {
  readonly jobTypes: JobTypes<TDefs>;
  /** Implements the job types for a worker of this process. */
  createWorker(leasehold: Leasehold<TDefs, AnyStateAdapter>, process: SimulatedProcess): StartableWorker;
  /** One operation at a random time. Its rejection is dropped: callers may get errors. */
  operate(leasehold: Leasehold<TDefs, AnyStateAdapter>, context: OperationContext): Promise<void>;
  /** Wraps the store before the first process uses it. */
  prepareStore?(store: AnyStateAdapter): AnyStateAdapter;
  /** Removes what would keep jobs from coming to their end, when nothing goes wrong any more. */
  calm?(store: AnyStateAdapter): Promise<void>;
}
