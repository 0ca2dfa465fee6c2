import {
  clockToleranceMs,
  type NewRecurringJob,
  type Recurring,
  type StateRecurringJob,
} from "leasehold/adapter";
import type { SqliteConnection, SqliteValue } from "./database/connection.ts";
import type { Operation } from "./database/operation.ts";
import { allTexts, defineRow, firstNumber } from "./database/sql.ts";
import type { Tables } from "./database/tables.ts";

type RecurringOperations = { readonly [TMethod in keyof Recurring<object>]: Operation<TMethod> };

const recurringRow = defineRow<StateRecurringJob>((columns) => ({
  id: columns.value("id"),
  owner: columns.value("owner", null),
  paused: columns.holds("paused"),
  version: columns.value("version"),
  nextNominalAt: columns.value("next_nominal_at", null),
  runsAt: columns.value("runs_at", null),
  lastSequenceId: columns.value("last_sequence_id", null),
  timeZoneVersion: columns.value("time_zone_version"),
  computedAt: columns.value("computed_at"),
  createdAt: columns.value("created_at"),
  updatedAt: columns.value("updated_at"),
  tickHistory: columns.value("tick_history"),
  definition: columns.value("definition"),
}));

export const prepareRecurringJobs = ({ recurring, recurringDueIndex }: Tables): RecurringOperations => {
  const select = `SELECT ${recurringRow.columns} FROM ${recurring}`;
  const byIds = `${select} WHERE id IN (SELECT value FROM json_each(?))`;
  const page = `${select} WHERE id > coalesce(?, '') AND coalesce(owner = ?, ? IS NULL) ORDER BY id LIMIT ?`;
  const earliest = `SELECT min(runs_at) FROM ${recurring} INDEXED BY ${recurringDueIndex} WHERE paused = 0`;
  const due = `${select} INDEXED BY ${recurringDueIndex}
    WHERE paused = 0 AND runs_at <= ? ORDER BY runs_at, id LIMIT ?`;
  const dueOrOutdated = `${select} WHERE paused = 0
    AND (runs_at <= ?
      OR runs_at IS NOT NULL AND (time_zone_version <> '' AND time_zone_version < ? OR computed_at > ?))
    ORDER BY runs_at, id LIMIT ?`;
  const put = `INSERT INTO ${recurring} (${recurringRow.columns}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT (id) DO UPDATE SET owner = excluded.owner, paused = excluded.paused, version = excluded.version,
      next_nominal_at = excluded.next_nominal_at, runs_at = excluded.runs_at,
      last_sequence_id = excluded.last_sequence_id, time_zone_version = excluded.time_zone_version,
      computed_at = excluded.computed_at, updated_at = excluded.updated_at, tick_history = excluded.tick_history, definition = excluded.definition
    RETURNING ${recurringRow.columns}`;
  const advance = `UPDATE ${recurring} SET next_nominal_at = ?, runs_at = ?, last_sequence_id = ?, time_zone_version = ?,
    computed_at = ?, tick_history = ? WHERE id = ?`;
  const remove = `DELETE FROM ${recurring} WHERE id IN (SELECT value FROM json_each(?)) RETURNING id`;

  const find = (db: SqliteConnection, ids: readonly string[]): (StateRecurringJob | undefined)[] => {
    const found = new Map(recurringRow.all(db, byIds, [JSON.stringify(ids)]).map((row) => [row.id, row]));
    return ids.map((id) => found.get(id));
  };

  const putOne = (db: SqliteConnection, job: NewRecurringJob, now: number): StateRecurringJob => {
    const values: SqliteValue[] = [
      job.id,
      job.owner,
      Number(job.paused),
      job.version,
      job.nextNominalAt,
      job.runsAt,
      job.lastSequenceId,
      job.timeZoneVersion,
      job.computedAt,
      now,
      now,
      job.tickHistory,
      job.definition,
    ];
    return recurringRow.first(db, put, values)!;
  };

  return {
    getRecurring: (db, { ids }) => find(db, ids),
    listRecurring: (db, { limit, after, owner = null }) =>
      recurringRow.all(db, page, [after, owner, owner, limit]),
    nextRecurringIn: (db, _call, now) => {
      const runsAt = firstNumber(db, earliest, []);
      return runsAt == null ? null : Math.max(0, runsAt - now);
    },
    // The open transaction is the only writer, so all rows are locked already.
    lockRecurring: (db, { ids }) => find(db, ids),
    lockDueRecurring: (db, { limit, timeZoneVersion }, now) => ({
      now,
      jobs:
        timeZoneVersion === null
          ? recurringRow.all(db, due, [now, limit])
          : recurringRow.all(db, dueOrOutdated, [now, timeZoneVersion, now + clockToleranceMs, limit]),
    }),
    putRecurring: (db, { jobs }, now) => jobs.map((job) => putOne(db, job, now)),
    advanceRecurring: (db, { jobs }) => {
      for (const { id, nextNominalAt, runsAt, lastSequenceId, timeZoneVersion, ...job } of jobs) {
        const rest = [timeZoneVersion, job.computedAt, job.tickHistory, id];
        db.run(advance, [nextNominalAt, runsAt, lastSequenceId, ...rest]);
      }
    },
    deleteRecurring: (db, { ids }) => {
      const deleted = new Set(allTexts(db, remove, [JSON.stringify(ids)]));
      return ids.filter((id) => deleted.has(id));
    },
  };
};
