import type { Context, Database } from "../database.ts";

/**
 * The planner compares the cost of an index with that of the whole table by statistics, which say nothing of a million
 * jobs that have finished since they were taken; it then joins or sorts the table for a page of a thousand jobs. For
 * statements that have an index to go by, this allows nothing else until the transaction ends.
 */
const indexesOnly = [
  ["enable_indexscan", "on"],
  ["enable_nestloop", "on"],
  ...["seqscan", "bitmapscan", "sort", "hashjoin", "mergejoin"].map((kind) => [`enable_${kind}`, "off"]),
  ["jit", "off"],
]
  .map(([name, value]) => `set_config('${name}', '${value}', true)`)
  .join(", ");

/** Runs the work in a transaction that reads by index only; in one of the caller's, with the caller's settings. */
export const byIndexOnly = <T>(
  database: Database,
  given: Context | undefined,
  work: (ctx: Context) => Promise<T>,
): Promise<T> =>
  database.atomically(given, async (ctx) => {
    // The settings would outlive the call in a transaction of the caller's.
    if (given === undefined) await database.query(ctx, { sql: `SELECT ${indexesOnly}`, params: [] });
    return work(ctx);
  });
