import { setTimeout as sleep } from "node:timers/promises";
import { arrayLiteral } from "./sql/array-literal.ts";
import { text } from "./sql/row-values.ts";
import type { Context, Database, Statement } from "./database.ts";
import { StaleSnapshotError } from "./errors.ts";

// No second connection is free if every connection of the pool is held by a transaction that waits for one.
const longestWaitMs = 2_000;

const readOutside = async (database: Database, statement: Statement): Promise<string[]> => {
  const done = new AbortController();
  const giveUp = sleep(longestWaitMs, undefined, { signal: done.signal }).then(
    () => {
      throw new StaleSnapshotError("no second connection was free to compare with");
    },
    () => [],
  );
  try {
    const rows = await Promise.race([database.query(undefined, statement), giveUp]);
    return rows.map((row) => text(row["id"]));
  } finally {
    done.abort();
  }
};

/**
 * Throws unless the transaction sees all rows that `findIds` finds. The transaction must hold locks that keep others from
 * adding to those.
 *
 * At READ COMMITTED it sees them. At a stricter level a transaction sees what there was when it began, even after it has
 * waited for a lock: it would not see a duplicate, or a dependant, that the transaction before it has inserted. PostgreSQL
 * notices when two transactions change the same row, but these are new rows.
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
