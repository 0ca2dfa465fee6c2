import type { StateSequence } from "leasehold/adapter";
import type { Call, Database } from "../database.ts";
import { arrayLiteral } from "../sql/array-literal.ts";
import { text } from "../sql/row-values.ts";
import { getSequences } from "./get-sequences.ts";

export const getBlockers = async (
  database: Database,
  call: Call & { readonly jobIds: readonly string[] },
): Promise<StateSequence[][]> => {
  const { query, tables, isId } = database;
  const rows = await query(call.ctx, {
    name: "get_blockers",
    sql: () => `SELECT job_id, sequence_id FROM ${tables.jobBlocker} WHERE job_id = ANY ($1::${tables.idType}[])
      ORDER BY job_id, blocker_index`,
    params: [arrayLiteral(call.jobIds.filter(isId))],
  });
  const sequenceIds = rows.map((row) => text(row["sequence_id"]));
  const sequences = sequenceIds.length === 0 ? [] : await getSequences(database, { ...call, sequenceIds });
  return call.jobIds.map((jobId) =>
    rows.flatMap((row, index) => (row["job_id"] === jobId && sequences[index] ? [sequences[index]] : [])),
  );
};
