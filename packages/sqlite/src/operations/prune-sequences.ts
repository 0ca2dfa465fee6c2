import {
  dropNeededTrees,
  type FinishedJob,
  isPastRetention,
  type JobReference,
  type JobStatus,
  type PruneBounds,
  type PruneResult,
  type PruneRule,
  type PruneRules,
  readPruneRules,
} from "leasehold/adapter";
import type { SqliteConnection } from "../connection/connection.ts";
import type { Tables } from "../tables.ts";

export interface PruneCall {
  readonly rules: readonly PruneRule[];
  readonly limit: number;
  readonly after: string | null;
}

export interface Pruning {
  pruneSequences(db: SqliteConnection, call: PruneCall): PruneResult;
}

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

const columns = [
  "seq",
  "id",
  "root_sequence_id",
  "sequence_type_name",
  "status",
  "coalesce(j.completed_at, j.failed_at)",
  "continued_to_id IS NOT NULL",
  "created_at",
  "blocker_count",
]
  .map((column) => (column.startsWith("coalesce") ? column : `j.${column}`))
  .join(", ");

const toTreeJob = (values: readonly unknown[]): TreeJob => ({
  seq: values[0] as number,
  id: values[1] as string,
  rootId: values[2] as string,
  typeName: values[3] as string,
  status: values[4] as JobStatus,
  finishedAt: values[5] as number | null,
  isContinued: values[6] === 1,
  createdAt: values[7] as number,
  hasBlockers: values[8] !== 0,
});

/** One text for all rows: crossing from the driver into JavaScript value by value costs several times as much. */
const asText = (rows: string): string => `SELECT json_group_array(json(row)) FROM (${rows})`;

export const createPruning = ({
  job,
  blocker,
  createdIndex,
  treeIndex,
  blockerSequenceIndex,
}: Tables): Pruning => {
  const row = `json_array(${columns}) AS row`;
  // In the order of creation: whatever finished before a moment was created before it.
  const findPage = asText(`SELECT ${row} FROM ${job} AS j INDEXED BY ${createdIndex}
    WHERE j.created_at < ? AND (j.created_at, j.seq) > (?, ?) ORDER BY j.created_at, j.seq LIMIT ?`);
  const findMembers = asText(`SELECT ${row} FROM json_each(?) AS root
    CROSS JOIN ${job} AS j INDEXED BY ${treeIndex} ON j.root_sequence_id = root.value
    WHERE j.id <> j.root_sequence_id`);
  const findDependencies = `SELECT b.sequence_id, d.root_sequence_id FROM json_each(?) AS given
    CROSS JOIN ${blocker} AS b INDEXED BY ${blockerSequenceIndex} ON b.sequence_id = given.value
    CROSS JOIN ${job} AS d ON d.id = b.job_id`;
  const findReferences = `SELECT id, type_name, queue, sequence_id, sequence_type_name, root_sequence_id FROM ${job}
    WHERE seq IN (SELECT value FROM json_each(?))`;
  const removeJobs = `DELETE FROM ${job} WHERE seq IN (SELECT value FROM json_each(?))`;
  const removeBlockers = `DELETE FROM ${blocker} WHERE job_id IN (SELECT value FROM json_each(?))`;

  const read = (db: SqliteConnection, sql: string, values: Parameters<typeof db.first>[1]): TreeJob[] =>
    (JSON.parse(db.first(sql, values)![0] as string) as unknown[][]).map(toTreeJob);

  /** The trees of these roots whose every job is past its retention. */
  const findPrunable = (db: SqliteConnection, page: readonly TreeJob[], rules: PruneRules): Tree[] => {
    const trees = new Map<string, Tree>();
    for (const root of page) {
      const bounds = root.id === root.rootId ? rules.boundsFor(root.typeName) : undefined;
      if (bounds && isPastRetention(bounds, root)) trees.set(root.id, { root, bounds, jobs: [root] });
    }
    if (trees.size === 0) return [];
    for (const member of read(db, findMembers, [JSON.stringify([...trees.keys()])])) {
      const tree = trees.get(member.rootId);
      if (tree === undefined) continue;
      tree.jobs.push(member);
      if (!isPastRetention(tree.bounds, member)) trees.delete(member.rootId);
    }
    return [...trees.values()];
  };

  const dropNeeded = (db: SqliteConnection, trees: readonly Tree[]): Tree[] => {
    const rootOf = new Map(trees.flatMap(({ jobs }) => jobs.map(({ id, rootId }) => [id, rootId])));
    const dependencies = db
      .query(findDependencies, [JSON.stringify([...rootOf.keys()])])
      .map(([sequenceId, dependantRootId]) => ({
        rootId: rootOf.get(sequenceId as string)!,
        dependantRootId: dependantRootId as string,
      }));
    const going = dropNeededTrees(
      trees.map(({ root }) => root.id),
      dependencies,
    );
    return trees.filter(({ root }) => going.has(root.id));
  };

  /** Most jobs that are pruned have completed, so what is told of failed ones is read for these alone. */
  const readFailed = (db: SqliteConnection, jobs: readonly TreeJob[]): JobReference[] => {
    const failed = jobs.filter(({ status }) => status === "failed");
    if (failed.length === 0) return [];
    const rows = db.query(findReferences, [JSON.stringify(failed.map(({ seq }) => seq))]);
    return (rows as readonly string[][]).map(
      ([id, typeName, queue, sequenceId, sequenceTypeName, rootSequenceId]) =>
        ({ id, typeName, queue, sequenceId, sequenceTypeName, rootSequenceId }) as JobReference,
    );
  };

  return {
    pruneSequences: (db, call) => {
      const rules = readPruneRules(call.rules);
      if (rules.latest === null) return { deletedJobs: 0, failedJobs: [], next: null };
      const after = (call.after === null ? [-1, -1] : JSON.parse(call.after)) as Position;
      const size = Math.max(call.limit, smallestPage);
      const page = read(db, findPage, [rules.latest, ...after, size]);
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
    },
  };
};
