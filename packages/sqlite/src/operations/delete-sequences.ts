import type { DeletionResult, JobStatus } from "leasehold/adapter";
import type { SqliteConnection } from "../connection/connection.ts";
import { referenceColumns, toReference } from "../job-columns.ts";
import type { Tables } from "../tables.ts";

export interface Deletion {
  deleteSequences(db: SqliteConnection, rootSequenceIds: readonly string[]): DeletionResult;
}

export const createDeletion = (tables: Tables): Deletion => {
  const { job, blocker } = tables;
  // The root's first job, and all other jobs of its tree. Takes the root twice.
  const tree = (columns: string): string => `SELECT ${columns} FROM ${job} AS j
      WHERE j.id = ? AND j.root_sequence_id = j.id
    UNION ALL SELECT ${columns} FROM ${job} AS j WHERE j.root_sequence_id = ? AND j.id <> j.root_sequence_id`;
  const findRoots = `SELECT j.id, j.root_sequence_id FROM json_each(?) AS given
    CROSS JOIN ${job} AS j ON j.id = given.value`;
  const listTree = tree(`${referenceColumns("j")}, j.status`);
  // The roots of other trees with a job, finished or not, that was given a sequence of this tree as blocker.
  const findDependantRoots = `SELECT DISTINCT d.root_sequence_id FROM (${tree("j.sequence_id, j.sequence_index")}) AS s
    CROSS JOIN ${blocker} AS b ON b.sequence_id = s.sequence_id CROSS JOIN ${job} AS d ON d.id = b.job_id
    WHERE s.sequence_index = 0 AND d.root_sequence_id <> ?`;
  const removeBlockers = `DELETE FROM ${blocker} WHERE job_id IN (SELECT value FROM json_each(?))`;
  const removeJobs = `DELETE FROM ${job} WHERE id IN (SELECT value FROM json_each(?))`;

  const remove = (db: SqliteConnection, jobIds: readonly string[]): void => {
    const ids = JSON.stringify(jobIds);
    db.run(removeBlockers, [ids]);
    db.run(removeJobs, [ids]);
  };

  const rootsThatDependOn = (db: SqliteConnection, rootSequenceId: string): string[] =>
    db
      .query(findDependantRoots, [rootSequenceId, rootSequenceId, rootSequenceId])
      .map(([id]) => id as string);

  const treeOf = (db: SqliteConnection, rootSequenceId: string): DeletionResult["deleted"][number][] =>
    db
      .query(listTree, [rootSequenceId, rootSequenceId])
      .map((row) => ({ ...toReference(row), status: row[6] as JobStatus }));

  return {
    deleteSequences: (db, given) => {
      const roots = new Map<string, string>();
      for (const [id, root] of db.query(findRoots, [JSON.stringify(given)]))
        roots.set(id as string, root as string);
      const ids = [...roots.keys()];
      const notRoots = ids.filter((id) => roots.get(id) !== id);
      if (notRoots.length > 0) return { deleted: [], notRoots, dependantRootSequenceIds: [] };

      const dependants = new Set(
        ids.flatMap((id) => rootsThatDependOn(db, id)).filter((id) => !roots.has(id)),
      );
      if (dependants.size > 0)
        return { deleted: [], notRoots: [], dependantRootSequenceIds: [...dependants] };

      const deleted = ids.flatMap((id) => treeOf(db, id));
      remove(
        db,
        deleted.map(({ id }) => id),
      );
      return { deleted, notRoots: [], dependantRootSequenceIds: [] };
    },
  };
};
