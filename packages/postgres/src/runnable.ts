import type { MaxAttempts } from "leasehold/adapter";
import { arrayLiteral } from "./sql/array-literal.ts";
import type { Lane } from "./queue-types.ts";

/**
 * Whether a job whose lease has run out may be claimed again. Overrides are a list beside the list of lanes in `$2`;
 * without any the statement is the plain one.
 */
export const attemptsLeftSql = (overridden: boolean, overrides: string): string =>
  overridden
    ? `attempt < CASE WHEN max_attempts_given = false
        THEN coalesce((${overrides}::int[])[array_position($2::bigint[], lane)], max_attempts) ELSE max_attempts END`
    : "attempt < max_attempts";

/** The parameter that goes with it: none unless the overrides concern one of the lanes. */
export const maxAttemptsOf = (lanes: readonly Lane[], overrides: MaxAttempts = {}): [string] | [] => {
  const limits = lanes.map(({ typeName }) =>
    Object.hasOwn(overrides, typeName) ? overrides[typeName]! : null,
  );
  return limits.some((limit) => limit !== null) ? [arrayLiteral(limits)] : [];
};
