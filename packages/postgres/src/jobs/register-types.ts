import type { StateJobType } from "leasehold/adapter";
import type { Database } from "../database/database.ts";
import type { Tables } from "../database/tables.ts";

/** Each property of a type, with its column and its SQL type. */
const columns: Readonly<Record<keyof StateJobType, readonly [column: string, type: string]>> = {
  typeName: ["type_name", "text"],
  queue: ["queue", "text"],
  priority: ["priority", "integer"],
  maxAttempts: ["max_attempts", "integer"],
  timeoutMs: ["timeout_ms", "bigint"],
  expireAfterMs: ["expire_after_ms", "bigint"],
  leaseMs: ["lease_ms", "bigint"],
  onBlockerFailure: ["on_blocker_failure", "text"],
  ordered: ["ordered", "text"],
  needsGroup: ["needs_group", "boolean"],
  startable: ["startable", "boolean"],
  maxPayloadBytes: ["max_payload_bytes", "bigint"],
};

const registerSql = ({ jobType }: Tables): string => {
  const names = Object.values(columns).map(([column]) => column);
  const definitions = Object.entries(columns).map(
    ([property, [column, type]]) => `(one ->> '${property}')::${type} AS ${column}`,
  );
  const changing = names.filter((name) => name !== "type_name");
  const row = (table: string): string => `(${changing.map((name) => `${table}.${name}`).join(", ")})`;
  return `
INSERT INTO ${jobType} (${names.join(", ")})
SELECT ${names.join(", ")} FROM (
  SELECT ${definitions.join(", ")} FROM jsonb_array_elements($1::jsonb) AS one
) AS new
WHERE NOT EXISTS (
  SELECT FROM ${jobType} AS known
  WHERE known.type_name = new.type_name AND ${row("known")} IS NOT DISTINCT FROM ${row("new")}
)
ORDER BY new.type_name COLLATE "C"
ON CONFLICT (type_name) DO UPDATE SET ${changing.map((name) => `${name} = excluded.${name}`).join(", ")}`;
};

/** For `start_job`. In the order of their names, so that two processes that start at once do not deadlock. */
export const registerJobTypes = async (
  { query, tables }: Database,
  types: readonly StateJobType[],
): Promise<void> => {
  await query(undefined, { sql: registerSql(tables), params: [JSON.stringify(types)] });
};
