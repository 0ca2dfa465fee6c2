import { InvalidOptionError } from "../../errors.ts";
import { longestDurationMs } from "../limits.ts";
import { optionalInteger, requireOneOf } from "../option-checks.ts";

export const overlapPolicies = ["skip", "queue_one", "replace", "allow"] as const;
/** What to do at a time at which the sequence that was started last has not finished. */
export type OverlapPolicy = (typeof overlapPolicies)[number];

export const catchUpPolicies = ["last", "all", "none"] as const;
/** Which of the times that were missed are made up for. */
export type CatchUpPolicy = (typeof catchUpPolicies)[number];

export interface RecurrencePolicies {
  readonly overlap: OverlapPolicy;
  readonly catchUp: CatchUpPolicy;
  readonly catchUpWindowMs: number;
  readonly jitterMs: number;
}

export const policyOptionNames = {
  overlap: true,
  catchUp: true,
  catchUpWindowMs: true,
  jitterMs: true,
} as const;

const dayMs = 86_400_000;

/** A run that begins within this time of what it was planned for is on time. */
export const onTimeMs = 60_000;

export const parsePolicies = (options: {
  readonly [K in keyof RecurrencePolicies]?: unknown;
}): RecurrencePolicies => {
  const overlap = requireOneOf(options.overlap ?? "skip", "overlap", overlapPolicies);
  const catchUp = requireOneOf(options.catchUp ?? "last", "catchUp", catchUpPolicies);
  if (catchUp === "all" && overlap !== "allow") {
    throw new InvalidOptionError(
      "catchUp",
      `"all" needs \`overlap: "allow"\`: with "${overlap}", the runs that are made up for would be in each other's way`,
    );
  }
  return {
    overlap,
    catchUp,
    catchUpWindowMs: optionalInteger(options.catchUpWindowMs, "catchUpWindowMs", dayMs, {
      min: onTimeMs,
      max: longestDurationMs,
    }),
    jitterMs: optionalInteger(options.jitterMs, "jitterMs", 0, { min: 0, max: dayMs }),
  };
};
