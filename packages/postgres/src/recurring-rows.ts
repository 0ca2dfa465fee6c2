import type { StateRecurringJob } from "leasehold/adapter";
import type { SqlRow } from "./provider.ts";
import { numberOrNull, text, textOrNull } from "./sql/row-values.ts";

/** The select list of a recurring job, as `toStateRecurringJob` reads it. */
export const recurringColumns = `id, owner, paused, version, next_nominal_at, fire_at, last_sequence_id, zone_data,
  created_at, updated_at, record, definition`;

export const toStateRecurringJob = (row: SqlRow): StateRecurringJob => ({
  id: text(row["id"]),
  owner: textOrNull(row["owner"]),
  paused: row["paused"] === true,
  version: Number(row["version"]),
  nextNominalAt: numberOrNull(row["next_nominal_at"]),
  fireAt: numberOrNull(row["fire_at"]),
  lastSequenceId: textOrNull(row["last_sequence_id"]),
  zoneData: text(row["zone_data"]),
  createdAt: Number(row["created_at"]),
  updatedAt: Number(row["updated_at"]),
  record: text(row["record"]),
  definition: text(row["definition"]),
});
