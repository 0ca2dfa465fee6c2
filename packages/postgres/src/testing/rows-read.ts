import type pg from "pg";
import type { Fixture } from "./fixtures.ts";

/** How many rows of the table of jobs the work reads through the adapter of the fixture, as the server counts them. */
export const countRowsRead = async (
  { adapter, schema }: Fixture,
  pool: pg.Pool,
  work: () => Promise<unknown>,
): Promise<number> => {
  const read = async (): Promise<number> => {
    // Each connection reports now and then. What these two have done before must not be reported during the work.
    await pool.query("SELECT pg_stat_force_next_flush()");
    await adapter.provideContext(({ client }: { client: pg.PoolClient }) =>
      client.query("SELECT pg_stat_force_next_flush()"),
    );
    const { rows } = await pool.query<{ rows: string }>(
      `SELECT seq_tup_read + idx_tup_fetch AS rows FROM pg_stat_user_tables WHERE schemaname = $1 AND relname = 'job'`,
      [schema],
    );
    return Number(rows[0]?.rows);
  };
  const before = await read();
  await work();
  return (await read()) - before;
};
