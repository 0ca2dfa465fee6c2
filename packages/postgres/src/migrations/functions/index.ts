import type { Tables } from "../../database/tables.ts";
import { foldSql, sweepSql } from "./apply-deltas.ts";
import { claimSql } from "./claim-limited.ts";
import { nextSql, promoteSql } from "./next-runnable.ts";
import { reapSql } from "./reap.ts";
import { rankSql, rerankSql, settleSql } from "./shared.ts";

export const flowFunctions = (tables: Tables): string[] => [
  rankSql(tables),
  promoteSql(tables),
  reapSql(tables),
  foldSql(tables),
  claimSql(tables),
  settleSql(tables),
  nextSql(tables),
  rerankSql(tables),
  sweepSql(tables),
];
