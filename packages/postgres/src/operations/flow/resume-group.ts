import type { Call, Database } from "../../database.ts";
import { lockQueue } from "../../flow/lock-queue.ts";
import { groupLineNumber, queueTypeNumber } from "../../queue-types.ts";
import type { Tables } from "../../tables.ts";

interface ResumeCall extends Call {
  readonly queue: string;
  readonly typeName: string;
  readonly group: string;
}

// The note makes the next claim look at the line again.
const resumeSql = ({ line, lineNote }: Tables): string => `
WITH resumed AS (
  UPDATE ${line} SET stopped_by = NULL WHERE number = $1::bigint AND stopped_by IS NOT NULL RETURNING *
)
INSERT INTO ${lineNote} (queue, home, line, group_key) SELECT queue, home, number, group_key FROM resumed RETURNING 1`;

export const resumeGroup = (database: Database, call: ResumeCall): Promise<boolean> =>
  database.atomically(call.ctx, async (ctx) => {
    const { queue, typeName, group } = call;
    await lockQueue(database, ctx, queue);
    // The failure that stopped it may still be in a note.
    await database.query(ctx, {
      sql: `SELECT ${database.tables.schema}.flow_settle($1::bigint, $2::text, ARRAY[$3::bigint])`,
      params: [call.now ?? null, queue, queueTypeNumber(queue, typeName)],
    });
    const rows = await database.query(ctx, {
      sql: resumeSql(database.tables),
      params: [groupLineNumber(queue, typeName, group)],
    });
    return rows.length > 0;
  });
