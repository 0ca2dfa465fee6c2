import type { Context, Database } from "../database.ts";

/** The lock under which lines and counters of a queue are written, until the transaction ends. The functions take it, too. */
export const lockQueue = async ({ query, tables }: Database, ctx: Context, queue: string): Promise<void> => {
  await query(ctx, {
    sql: "SELECT pg_advisory_xact_lock(hashtextextended($1::text || $2::text, 0))::text",
    params: [`leasehold flow of ${tables.schema.replaceAll('"', "")} `, queue],
  });
};
