import type { FoldRollupsCall, Rollup, RollupKey } from "leasehold/adapter";
import type { Call, Context, Database } from "../../database.ts";
import {
  rollupColumns,
  rollupKey,
  rollupKeyOf,
  rollupParams,
  rollupSource,
  sameRollupSql,
  toRollup,
} from "../../history/rollup-rows.ts";
import type { Tables } from "../../tables.ts";

// Two processes may fold at once. The rows to remove are locked in the order of their keys, and compared as they are then.
// After that, rows to put that are not among these are inserted, in the same order. If another process was faster with one of
// them, those inserted are taken out again, and nothing has happened. Only then the locked rows are overwritten or deleted. So
// no two processes can wait for each other.

const lockSql = ({ rollup }: Tables): string => `
SELECT r.width FROM ${rollupSource("f", 1)} JOIN ${rollup} AS r ON ${sameRollupSql("r", "f")}
WHERE r.counts = f.counts ORDER BY ${rollupKey("r")} FOR UPDATE OF r`;

const addSql = ({ rollup }: Tables): string => `
INSERT INTO ${rollup} (${rollupColumns}) SELECT ${rollupColumns} FROM ${rollupSource("f", 1)} ORDER BY ${rollupKey("f")}
ON CONFLICT (${rollupKey()}) DO NOTHING RETURNING ${rollupColumns}`;

const deleteSql = ({ rollup }: Tables, first: number): string =>
  `DELETE FROM ${rollup} AS r USING ${rollupSource("f", first)} WHERE ${sameRollupSql("r", "f")}`;

const settleSql = (tables: Tables): string => `
WITH overwritten AS (
  UPDATE ${tables.rollup} AS r SET counts = f.counts FROM ${rollupSource("f", 1)} WHERE ${sameRollupSql("r", "f")}
)
${deleteSql(tables, 8)}`;

/** Whether all of them are as given. They stay locked. */
const lock = async ({ query }: Database, ctx: Context, rollups: readonly Rollup[]): Promise<boolean> => {
  if (rollups.length === 0) return true;
  const rows = await query(ctx, { name: "lock_rollups", sql: lockSql, params: rollupParams(rollups) });
  return rows.length === rollups.length;
};

/** Adds all of them or, if one of them exists, none. */
const add = async ({ query }: Database, ctx: Context, rollups: readonly Rollup[]): Promise<boolean> => {
  if (rollups.length === 0) return true;
  const rows = await query(ctx, { name: "add_rollups", sql: addSql, params: rollupParams(rollups) });
  if (rows.length === rollups.length) return true;
  const added = rows.map(toRollup);
  await query(ctx, {
    name: "undo_rollups",
    sql: (tables) => deleteSql(tables, 1),
    params: rollupParams(added),
  });
  return false;
};

const keysOf = (rollups: readonly RollupKey[]): Set<string> => new Set(rollups.map(rollupKeyOf));

export const foldRollups = (
  database: Database,
  { ctx: given, remove, put }: Call & FoldRollupsCall,
): Promise<boolean> =>
  database.atomically(given, async (ctx) => {
    const [removed, wanted] = [keysOf(remove), keysOf(put)];
    if (!(await lock(database, ctx, remove))) return false;
    const added = put.filter((rollup) => !removed.has(rollupKeyOf(rollup)));
    if (!(await add(database, ctx, added))) return false;
    const overwritten = put.filter((rollup) => removed.has(rollupKeyOf(rollup)));
    const gone = remove.filter((rollup) => !wanted.has(rollupKeyOf(rollup)));
    const params = [...rollupParams(overwritten), ...rollupParams(gone)];
    await database.query(ctx, { name: "settle_rollups", sql: settleSql, params });
    return true;
  });
