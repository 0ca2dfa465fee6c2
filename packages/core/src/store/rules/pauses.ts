import type { Schedule } from "../contract/job.ts";
import type { LimitRule } from "../contract/limits.ts";

/** `pausedUntil` of a group whose pause has no end. Fits into the integers of all stores. */
export const pauseWithoutEnd: number = Number.MAX_SAFE_INTEGER;

/** When a pause ends that begins now. */
export const endOfPause = (until: Schedule | null | undefined, now: number): number => {
  if (until === null || until === undefined) return pauseWithoutEnd;
  return "at" in until ? until.at : now + until.afterMs;
};

export const endOrNull = (end: number): number | null => (end === pauseWithoutEnd ? null : end);

/** Whether a rule's pause applies at this time. */
export const isPausedAt = ({ paused, pausedUntil }: LimitRule, now: number): boolean =>
  paused && (pausedUntil === null || pausedUntil > now);

/** The rule without a pause that has ended. */
export const ruleAt = (rule: LimitRule, now: number): LimitRule =>
  rule.paused && !isPausedAt(rule, now) ? { ...rule, paused: false, pausedUntil: null } : rule;

/** How `listGroups` shows the pause of a group. */
export const describePause = (
  pausedUntil: number | null,
  now: number,
): { readonly paused: boolean; readonly pausedUntil: number | null } => {
  const paused = pausedUntil !== null && pausedUntil > now;
  return { paused, pausedUntil: paused ? endOrNull(pausedUntil) : null };
};
