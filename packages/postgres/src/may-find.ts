import type { Call, Database } from "./database.ts";
import type { Tables } from "./tables.ts";

/**
 * Whether it is worth while to begin a transaction. What every worker does every few seconds finds nothing most of the time:
 * one statement is enough to see that, instead of three. In a transaction of the caller's there is nothing to save.
 */
export const mayFind = async (
  { query }: Database,
  { ctx, now }: Call,
  name: string,
  sql: (tables: Tables) => string,
): Promise<boolean> => {
  if (ctx !== undefined) return true;
  const [row] = await query(undefined, { name: `may_find_${name}`, sql, params: [now ?? null] });
  return row?.["found"] === true;
};
