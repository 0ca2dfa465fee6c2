import type { HistoryEvent } from "./history.ts";
import type { SimulationPlan } from "./plan.ts";
export interface Violation {
  readonly invariant: string;
  readonly at: number;
  readonly message: string;
}
export const checkHistory = (_plan: SimulationPlan, events: readonly HistoryEvent[]): Violation[] =>
  events.flatMap((e) =>
    e.kind === "anomaly"
      ? [{ invariant: "atomicity", at: e.at, message: e.description }]
      : e.kind === "end" && !e.drained
        ? [{ invariant: "drained", at: e.at, message: "no" }]
        : [],
  );
