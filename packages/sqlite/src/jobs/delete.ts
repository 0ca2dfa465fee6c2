import {
  type DeletionResult,
  dropNeededTrees,
  type FinishedJob,
  isPastRetention,
  type JobReference,
  type PruneBounds,
  type PruneRules,
  readPruneRules,
} from "leasehold/adapter";
import type { SqliteConnection } from "../database/connection.ts";
import type { Operation } from "../database/operation.ts";
import { allTexts, defineRow } from "../database/sql.ts";
import type { Tables } from "../database/tables.ts";
import type { GroupQueues } from "../limits/group-queues.ts";
import { describeReference } from "../rows/job-table.ts";

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
  groupQueues: GroupQueues,
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

  const leaveGroups = (db: SqliteConnection, deletedIds: readonly string[]): void => {
    groupQueues.leave(db, deletedIds);
    for (const stopping of stoppingRow.all(db, findStopping, [JSON.stringify(deletedIds)]))
      groupQueues.resume(db, stopping, stopping.id);
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
    if (groupQueues.areUsed(db)) leaveGroups(db, ids);
    const deletedIds = JSON.stringify(ids);
    db.run(removeBlockers, [deletedIds]);
    db.run(removeJobs, [deletedIds]);
    return { deleted, notRoots: [], dependantRootSequenceIds: [] };
  };
};

interface TreeJob extends FinishedJob {
  readonly seq: number;
  readonly id: string;
  readonly rootId: string;
  readonly typeName: string;
  readonly createdAt: number;
  readonly hasBlockers: boolean;
}

interface Tree {
  readonly root: TreeJob;
  readonly bounds: PruneBounds;
  readonly jobs: TreeJob[];
}

type Position = readonly [createdAt: number, seq: number];

const smallestPage = 1_000;

const treeRow = defineRow((columns): TreeJob => ({
  seq: columns.value("j.seq"),
  id: columns.value("j.id"),
  rootId: columns.value("j.root_sequence_id"),
  typeName: columns.value("j.sequence_type_name"),
  status: columns.value("j.status"),
  finishedAt: columns.value("coalesce(j.completed_at, j.failed_at)", null),
  isContinued: columns.holds("j.continued_to_id IS NOT NULL"),
  createdAt: columns.value("j.created_at"),
  hasBlockers: columns.holds("j.blocker_count > 0"),
}));

const dependencyRow = defineRow((columns) => ({
  sequenceId: columns.value<string>("b.sequence_id"),
  dependantRootId: columns.value<string>("d.root_sequence_id"),
}));

const referenceRow = defineRow(describeReference);

export const preparePruneSequences = ({
  job,
  blocker,
  createdIndex,
  treeIndex,
  blockerSequenceIndex,
}: Tables): Operation<"pruneSequences"> => {
  // In the order of creation: a job that finished before a time was created before it.
  const findPage = `SELECT ${treeRow.text} FROM (SELECT seq FROM ${job} INDEXED BY ${createdIndex}
      WHERE created_at < ? AND (created_at, seq) > (?, ?) ORDER BY created_at, seq LIMIT ?) AS page
    CROSS JOIN ${job} AS j ON j.seq = page.seq`;
  const findMembers = `SELECT ${treeRow.text} FROM json_each(?) AS root
    CROSS JOIN ${job} AS j INDEXED BY ${treeIndex} ON j.root_sequence_id = root.value
    WHERE j.id <> j.root_sequence_id`;
  const findDependencies = `SELECT ${dependencyRow.columns} FROM json_each(?) AS given
    CROSS JOIN ${blocker} AS b INDEXED BY ${blockerSequenceIndex} ON b.sequence_id = given.value
    CROSS JOIN ${job} AS d ON d.id = b.job_id`;
  const findReferences = `SELECT ${referenceRow.columns} FROM ${job} AS j
    WHERE j.seq IN (SELECT value FROM json_each(?))`;
  const removeJobs = `DELETE FROM ${job} WHERE seq IN (SELECT value FROM json_each(?))`;
  const removeBlockers = `DELETE FROM ${blocker} WHERE job_id IN (SELECT value FROM json_each(?))`;

  /** The trees of these roots of which every job is past its retention. */
  const findPrunable = (db: SqliteConnection, page: readonly TreeJob[], rules: PruneRules): Tree[] => {
    const trees = new Map<string, Tree>();
    for (const root of page) {
      const bounds = root.id === root.rootId ? rules.boundsFor(root.typeName) : undefined;
      if (bounds && isPastRetention(bounds, root)) trees.set(root.id, { root, bounds, jobs: [root] });
    }
    if (trees.size === 0) return [];
    for (const member of treeRow.allOfText(db, findMembers, [JSON.stringify([...trees.keys()])])) {
      const tree = trees.get(member.rootId);
      if (tree === undefined) continue;
      tree.jobs.push(member);
      if (!isPastRetention(tree.bounds, member)) trees.delete(member.rootId);
    }
    return [...trees.values()];
  };

  const dropNeeded = (db: SqliteConnection, trees: readonly Tree[]): Tree[] => {
    const rootOf = new Map(trees.flatMap(({ jobs }) => jobs.map(({ id, rootId }) => [id, rootId])));
    const dependencies = dependencyRow
      .all(db, findDependencies, [JSON.stringify([...rootOf.keys()])])
      .map(({ sequenceId, dependantRootId }) => ({ rootId: rootOf.get(sequenceId)!, dependantRootId }));
    const going = dropNeededTrees(
      trees.map(({ root }) => root.id),
      dependencies,
    );
    return trees.filter(({ root }) => going.has(root.id));
  };

  /** Most jobs that are pruned have completed, so the rest of the columns is read for failed ones alone. */
  const readFailed = (db: SqliteConnection, jobs: readonly TreeJob[]): JobReference[] => {
    const failed = jobs.filter(({ status }) => status === "failed");
    if (failed.length === 0) return [];
    return referenceRow.all(db, findReferences, [JSON.stringify(failed.map(({ seq }) => seq))]);
  };

  return (db, call) => {
    const rules = readPruneRules(call.rules);
    if (rules.latest === null) return { deletedJobs: 0, failedJobs: [], next: null };
    const after = (call.after === null ? [-1, -1] : JSON.parse(call.after)) as Position;
    const size = Math.max(call.limit, smallestPage);
    const page = treeRow.allOfText(db, findPage, [rules.latest, ...after, size]);
    const prunable = findPrunable(db, page, rules);
    const chosen = prunable.slice(0, call.limit);
    const isWhole = prunable.length <= call.limit;
    const last = isWhole ? page.at(-1) : chosen.at(-1)?.root;

    const jobs = dropNeeded(db, chosen).flatMap((tree) => tree.jobs);
    const failedJobs = readFailed(db, jobs);
    const waiting = jobs.filter(({ hasBlockers }) => hasBlockers).map(({ id }) => id);
    if (waiting.length > 0) db.run(removeBlockers, [JSON.stringify(waiting)]);
    if (jobs.length > 0) db.run(removeJobs, [JSON.stringify(jobs.map(({ seq }) => seq))]);
    const isLast = isWhole && page.length < size;
    const next = isLast || last === undefined ? null : JSON.stringify([last.createdAt, last.seq]);
    return { deletedJobs: jobs.length, failedJobs, next };
  };
};
