import type { Context, Database } from "../database.ts";

/**
 * The planner compares the cost of an index with that of the whole table, by statistics. These may be from before a million
 * jobs finished: then it joins or sorts the whole table for a page of a thousand jobs. For statements that have an index to
 * go by, these settings allow nothing else until the transaction ends.
 */
const indexesOnly = [
  ["enable_indexscan", "on"],
  ["enable_nestloop", "on"],
  ...["seqscan", "bitmapscan", "sort", "hashjoin", "mergejoin"].map((kind) => [`enable_${kind}`, "off"]),
  ["jit", "off"],
]
  .map(([name, value]) => `set_config('${name}', '${value}', true)`)
  .join(", ");

/** Runs the work in a transaction that reads by index only. A transaction of the caller keeps the caller's settings. */
export const byIndexOnly = <T>(
  database: Database,
  given: Context | undefined,
  work: (ctx: Context) => Promise<T>,
): Promise<T> =>
  database.atomically(given, async (ctx) => {
    // In a transaction of the caller the settings would outlive the call.
    if (given === undefined) await database.query(ctx, { sql: `SELECT ${indexesOnly}`, params: [] });
    return work(ctx);
  });
