// A rank has to fit into the column `priority`. With the smallest step, a second, it does from 1957 to 2092.
const middle = 1_700_000_000_000;

/**
 * The priority by which a job has its place in line, as `agedPriority` of core has it, but for a constant. The highest number is
 * left to jobs of ordered groups that have begun.
 */
export const agedPrioritySql = (priority: string, dueAt: string, stepMs: string): string =>
  `(CASE WHEN ${stepMs} IS NULL THEN ${priority} ELSE greatest(-2147483648, least(2147483646,
    ${priority} - floor(${dueAt}::numeric / ${stepMs}) + floor(${middle}::numeric / ${stepMs}))) END)::int`;
