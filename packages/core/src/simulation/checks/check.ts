import type { StateJob } from "../../store/contract/job.ts";
import type { HistoryEvent, StoreStep } from "../history.ts";
import type { SimulationPlan } from "../plan.ts";
import type { LimitsView } from "./limits-view.ts";

export type EventOf<TKind extends HistoryEvent["kind"]> = Extract<HistoryEvent, { kind: TKind }>;

/** The store as it was at the moment that is being checked. */
export interface Table {
  readonly rows: ReadonlyMap<string, StateJob>;
  /** The sequences that each job was given to wait for. */
  readonly blockers: ReadonlyMap<string, readonly string[]>;
  /** The latest job of a sequence. */
  current(sequenceId: string): StateJob | undefined;
  jobsOf(sequenceId: string): readonly StateJob[];
}

export interface CheckContext {
  readonly plan: SimulationPlan;
  readonly table: Table;
  readonly flow: LimitsView;
  /** What went wrong for this process in that time, which may explain what came late. */
  faultsOf(process: string, from: number, to: number): readonly EventOf<"fault">[];
  report(message: string): void;
}

/** Sees the history pass by. */
export interface Visitor {
  /** Called after each call that took effect, with the table as the call left it. */
  onStep?(step: StoreStep, event: EventOf<"applied">): void;
  /** Called after all steps of the event. */
  onEvent?(event: HistoryEvent): void;
}

/** One promise that every history has to keep. */
export interface Check {
  readonly invariant: string;
  readonly watch: (context: CheckContext) => Visitor;
}

export const short = (id: string): string => id.slice(-6);

/** A single error is made up for at once; this is for what takes time or comes again and again. */
export const isLasting = ({ at, until }: EventOf<"fault">): boolean => until > at;

/** The process a worker belongs to. */
export const processOf = (workerId: string): string => workerId.split("/")[0]!;
