import type { DeletionResult } from "leasehold/adapter";
import type { SqliteConnection } from "../connection/connection.ts";
import { describeReference } from "../job-columns.ts";
import type { Lines } from "../flow/lines.ts";
import type { Operation } from "../operation.ts";
import { allTexts, defineRow } from "../row.ts";
import type { Tables } from "../tables.ts";

type DeletedJob = DeletionResult["deleted"][number];

const deletedRow = defineRow((columns): DeletedJob => ({
  ...describeReference(columns),
  status: columns.value("j.status"),
}));
/** A failed job that may have stopped its group. */
const stoppingRow = defineRow((columns) => ({
  id: columns.value<string>("id"),
  queue: columns.value<string>("queue"),
  typeName: columns.value<string>("type_name"),
  group: columns.value<string>("group_key"),
}));
const rootRow = defineRow((columns) => ({
  id: columns.value<string>("j.id"),
  rootId: columns.value<string>("j.root_sequence_id"),
}));

export const prepareDeleteSequences = (
  { job, blocker }: Tables,
  lines: Lines,
): Operation<"deleteSequences"> => {
  // The root's first job, and all other jobs of its tree. Takes the root twice.
  const tree = (columns: string): string => `SELECT ${columns} FROM ${job} AS j
      WHERE j.id = ? AND j.root_sequence_id = j.id
    UNION ALL SELECT ${columns} FROM ${job} AS j WHERE j.root_sequence_id = ? AND j.id <> j.root_sequence_id`;
  const findRoots = `SELECT ${rootRow.columns} FROM json_each(?) AS given
    CROSS JOIN ${job} AS j ON j.id = given.value`;
  const listTree = tree(deletedRow.columns);
  // The roots of other trees with a job, finished or not, that was given a sequence of this tree as blocker.
  const findDependantRoots = `SELECT DISTINCT d.root_sequence_id FROM (${tree("j.sequence_id, j.sequence_index")}) AS s
    CROSS JOIN ${blocker} AS b ON b.sequence_id = s.sequence_id CROSS JOIN ${job} AS d ON d.id = b.job_id
    WHERE s.sequence_index = 0 AND d.root_sequence_id <> ?`;
  const removeBlockers = `DELETE FROM ${blocker} WHERE job_id IN (SELECT value FROM json_each(?))`;
  const removeJobs = `DELETE FROM ${job} WHERE id IN (SELECT value FROM json_each(?))`;

  const findStopping = `SELECT ${stoppingRow.columns} FROM ${job}
    WHERE id IN (SELECT value FROM json_each(?)) AND status = 'failed' AND ordered = 'stop' AND group_key IS NOT NULL`;

  const leaveLines = (db: SqliteConnection, deletedIds: readonly string[]): void => {
    lines.leave(db, deletedIds);
    for (const stopping of stoppingRow.all(db, findStopping, [JSON.stringify(deletedIds)]))
      lines.resume(db, stopping, stopping.id);
  };

  const dependantRootsOf = (db: SqliteConnection, rootId: string): string[] =>
    allTexts(db, findDependantRoots, [rootId, rootId, rootId]);

  return (db, { rootSequenceIds }) => {
    const found = rootRow.all(db, findRoots, [JSON.stringify(rootSequenceIds)]);
    const roots = new Set(found.map(({ id }) => id));
    const notRoots = [...new Set(found.filter(({ id, rootId }) => id !== rootId).map(({ id }) => id))];
    if (notRoots.length > 0) return { deleted: [], notRoots, dependantRootSequenceIds: [] };

    const dependants = new Set(
      [...roots].flatMap((id) => dependantRootsOf(db, id)).filter((id) => !roots.has(id)),
    );
    if (dependants.size > 0) return { deleted: [], notRoots: [], dependantRootSequenceIds: [...dependants] };

    const deleted = [...roots].flatMap((id) => deletedRow.all(db, listTree, [id, id]));
    const ids = deleted.map(({ id }) => id);
    if (lines.areUsed(db)) leaveLines(db, ids);
    const deletedIds = JSON.stringify(ids);
    db.run(removeBlockers, [deletedIds]);
    db.run(removeJobs, [deletedIds]);
    return { deleted, notRoots: [], dependantRootSequenceIds: [] };
  };
};
