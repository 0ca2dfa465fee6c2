import type { Schedule, StateJob } from "../../store/contract/job.ts";
import type { LimitValues, LimitRule, SetRuleResult } from "../../store/contract/limits.ts";
import type { StoreStep } from "../history.ts";

/** A queue, a type in it, or a group of that type, with the limits that hold for it. */
export interface LimitedPlace {
  readonly key: string;
  readonly limits: LimitValues;
  readonly covers: (row: StateJob) => boolean;
}

/** The rules as they were at the moment that is being checked, and which groups were stopped. */
export interface LimitsView {
  /** Whether a queue has, or ever had, groups or rules. */
  isConcerned(queue: string): boolean;
  ruleOf(queue: string, typeName: string | null): LimitRule | undefined;
  placesOver(row: StateJob): LimitedPlace[];
  isPaused(row: StateJob, at: number): boolean;
  isStopped(row: StateJob): boolean;
}

const keyOf = (...parts: (string | null)[]): string => parts.join(" ");

const lineKey = ({ queue, typeName, group }: StateJob): string => keyOf(queue, typeName, group);

const noLimits: LimitValues = { concurrency: null, rate: null };

/** Builds the rules again from the recorded calls, without the help of what stores use. */
export const createLimitsView = (): LimitsView & { apply(step: StoreStep): void } => {
  const rules = new Map<string, LimitRule>();
  const concerned = new Set<string>();
  const stops = new Map<string, string>();
  const pauses = new Map<string, number>();

  const ruleOf = (queue: string, typeName: string | null): LimitRule | undefined =>
    rules.get(keyOf(queue, typeName));

  const applyStops = ({ at, method, call, result, changes }: StoreStep): void => {
    const place = keyOf(...["queue", "typeName", "group"].map((name) => call[name] as string));
    if (method === "resumeGroup") {
      pauses.delete(place);
      if (result === true) stops.delete(place);
    }
    if (method === "pauseGroup") {
      const until = call["until"] as Schedule | null;
      pauses.set(place, until === null ? Infinity : "at" in until ? until.at : at + until.afterMs);
    }
    for (const { before, after } of changes) {
      const row = after ?? before!;
      if (row.ordered !== "stop" || row.group === null) continue;
      const hasFailed = before?.status !== "failed" && after?.status === "failed";
      const byItself = after?.failureReason !== "cancelled" && after?.failureReason !== "blocker_failed";
      if (hasFailed && byItself) stops.set(lineKey(row), row.id);
      const isBack = before?.status === "failed" && after?.status !== "failed";
      if (isBack && method !== "pruneSequences" && stops.get(lineKey(row)) === row.id)
        stops.delete(lineKey(row));
    }
  };

  return {
    apply: (step) => {
      if (step.method === "setRule") {
        const { rule } = step.result as SetRuleResult;
        rules.set(keyOf(rule.queue, rule.typeName), rule);
        concerned.add(rule.queue);
      }
      for (const { after } of step.changes)
        if (after !== undefined && after.group !== null) concerned.add(after.queue);
      applyStops(step);
    },
    isConcerned: (queue) => concerned.has(queue),
    ruleOf,
    placesOver: ({ queue, typeName, group, ordered }) => {
      const [ofQueue, ofType] = [ruleOf(queue, null), ruleOf(queue, typeName)];
      const places: LimitedPlace[] = [
        { key: keyOf(queue, null), limits: ofQueue ?? noLimits, covers: (row) => row.queue === queue },
        {
          key: keyOf(queue, typeName),
          limits: ofType ?? noLimits,
          covers: (row) => row.queue === queue && row.typeName === typeName,
        },
      ];
      if (group === null) return places;
      const limits = ofType?.perGroup ?? ofQueue?.perGroup ?? noLimits;
      places.push({
        key: keyOf(queue, typeName, group),
        limits: ordered === null ? limits : { ...limits, concurrency: 1 },
        covers: (row) => row.queue === queue && row.typeName === typeName && row.group === group,
      });
      return places;
    },
    isPaused: (row, at) => {
      const { queue, typeName, group } = row;
      const isHeld = (rule: LimitRule | undefined): boolean =>
        rule !== undefined && rule.paused && (rule.pausedUntil === null || rule.pausedUntil > at);
      const ofGroup = group === null ? undefined : pauses.get(lineKey(row));
      return isHeld(ruleOf(queue, null)) || isHeld(ruleOf(queue, typeName)) || (ofGroup ?? 0) > at;
    },
    isStopped: (row) => row.group !== null && stops.has(lineKey(row)),
  };
};
