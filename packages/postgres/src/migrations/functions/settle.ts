import type { Tables } from "../../database/tables.ts";
import { editsSql } from "./apply-edits.ts";
import { define, deltasPerPass, lockSql, presentSql } from "./shared.ts";

/** Returns the present. */
export const settleSql = (tables: Tables): string =>
  define(
    `${tables.schema}.limit_settle`,
    "p_now bigint, p_queue text, p_queue_types bigint[]",
    "bigint",
    `
DECLARE v_at bigint;
BEGIN
  ${lockSql(tables)}
  v_at := ${presentSql};
  ${editsSql(tables)}
  PERFORM ${tables.schema}.limit_promote_due(v_at, p_queue_types);
  WHILE ${tables.schema}.limit_apply_deltas(v_at, p_queue) >= ${deltasPerPass} LOOP END LOOP;
  RETURN v_at;
END`,
  );
