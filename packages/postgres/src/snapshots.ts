import { setTimeout as sleep } from "node:timers/promises";
import { arrayLiteral } from "./sql/array-literal.ts";
import { text } from "./sql/row-values.ts";
import type { Context, Database, Statement } from "./database.ts";
import { StaleSnapshotError } from "./errors.ts";

// A second connection may not be had while as many transactions wait for one as the pool has.
const longestWaitMs = 2_000;

const readOutside = async (database: Database, statement: Statement): Promise<string[]> => {
  const patience = new AbortController();
  const giveUp = sleep(longestWaitMs, undefined, { signal: patience.signal }).then(
    () => {
      throw new StaleSnapshotError("no second connection was free to compare with");
    },
    () => [],
  );
  try {
    const rows = await Promise.race([database.query(undefined, statement), giveUp]);
    return rows.map((row) => text(row["id"]));
  } finally {
    patience.abort();
  }
};

/**
 * With locks held that keep others from adding to what `findIds` finds: throws unless the transaction sees all of it.
 *
 * At READ COMMITTED it does. A transaction of a stricter level goes on seeing what there was when it began, even after it
 * has waited for a lock: it would not see a duplicate, or a job that waits, of the transaction that held the lock before.
 * PostgreSQL notices when both change the same row, but these are new rows.
 */
export const assertSeesAll = async (database: Database, ctx: Context, findIds: Statement): Promise<void> => {
  if (await database.seesLatest(ctx)) return;
  const ids = await readOutside(database, findIds);
  if (ids.length === 0) return;
  const { job, idType } = database.tables;
  const seen = await database.query(ctx, {
    sql: `SELECT id FROM ${job} WHERE id = ANY ($1::${idType}[])`,
    params: [arrayLiteral(ids)],
  });
  if (seen.length < new Set(ids).size) throw new StaleSnapshotError("others have committed since it began");
};
