import type { LeaseholdEvents } from "./events.ts";

/**
 * Turns events into metrics. Implement the events you count; the rest cost nothing. Called synchronously on the path
 * of the work, so it must be quick; what it throws is dropped.
 */
export type ObservabilityAdapter = {
  readonly [TName in keyof LeaseholdEvents]?: (data: LeaseholdEvents[TName]) => void;
};
