import type { DeletionResult, JobStatus } from "leasehold/adapter";
import type { SqliteConnection } from "../connection.ts";
import { referenceColumns, toReference } from "../rows.ts";
import type { Tables } from "../tables.ts";

export interface PruneCall {
  readonly finishedBefore: number;
  readonly statuses: readonly ("completed" | "failed")[];
  readonly limit: number;
}

export interface Deletion {
  deleteSequences(db: SqliteConnection, rootSequenceIds: readonly string[]): DeletionResult;
  pruneSequences(db: SqliteConnection, call: PruneCall): number;
}

export const createDeletion = (tables: Tables): Deletion => {
  const { job, blocker, createdIndex } = tables;
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

  // The first job of a root, in the order of creation: whatever finished before a moment was created before it.
  const findFinishedRoots = `SELECT j.id, j.created_at, j.seq FROM ${job} AS j INDEXED BY ${createdIndex}
    WHERE j.created_at < ? AND (j.created_at, j.seq) > (?, ?) AND j.id = j.root_sequence_id
      AND (j.status IN (SELECT value FROM json_each(?)) AND coalesce(j.completed_at, j.failed_at) < ?
        OR j.status = 'completed' AND j.continued_to_id IS NOT NULL)
    ORDER BY j.created_at, j.seq LIMIT ?`;
  // An earlier job of a sequence says nothing; the latest speaks for all of them.
  const findUnfinished = `SELECT 1 FROM (${tree(
    "j.id, j.sequence_id, j.sequence_index, j.status, coalesce(j.completed_at, j.failed_at) AS finished_at",
  )}) AS s
    WHERE NOT EXISTS (SELECT 1 FROM ${job} AS later WHERE later.sequence_id = s.sequence_id
        AND later.sequence_index > 0 AND later.sequence_index > s.sequence_index)
      AND NOT (s.status IN (SELECT value FROM json_each(?)) AND coalesce(s.finished_at < ?, 0))
    LIMIT 1`;

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
    pruneSequences: (db, { finishedBefore, statuses, limit }) => {
      const wanted = JSON.stringify(statuses);
      const jobIds: string[] = [];
      let trees = 0;
      let position: [number, number] = [-1, -1];
      while (trees < limit) {
        const page = db.query(findFinishedRoots, [
          finishedBefore,
          ...position,
          wanted,
          finishedBefore,
          limit,
        ]);
        for (const [id, createdAt, seq] of page) {
          position = [createdAt as number, seq as number];
          const root = id as string;
          if (db.first(findUnfinished, [root, root, wanted, finishedBefore]) !== undefined) continue;
          if (rootsThatDependOn(db, root).length > 0) continue;
          for (const member of treeOf(db, root)) jobIds.push(member.id);
          trees += 1;
          if (trees === limit) break;
        }
        if (page.length < limit) break;
      }
      remove(db, jobIds);
      return jobIds.length;
    },
  };
};
