import type { PruneRule } from "../contract/creation.ts";
import type { JobStatus, StateJob } from "../contract/job.ts";

/** What decides whether a job lets its tree go. */
export interface FinishedJob {
  readonly status: JobStatus;
  /** `completedAt` or `failedAt`; null or 0 while unfinished. */
  readonly finishedAt: number | null;
  /** The sequence went on with another job, which then decides for it. */
  readonly isContinued: boolean;
}

/** The rule for trees of one type of root sequence. */
export type PruneBounds = Pick<PruneRule, "completedBefore" | "failedBefore">;

/** The rules by which finished jobs are removed, prepared for a store. */
export interface PruneRules {
  /** Nothing that finished at this moment or later can go; null when there is nothing to prune at all. */
  readonly latest: number | null;
  /** The rule for trees whose root sequence is of this type; undefined when they stay. */
  boundsFor(sequenceTypeName: string): PruneBounds | undefined;
}

/** Prepares the rules by which finished jobs are removed. */
export const readPruneRules = (rules: readonly PruneRule[]): PruneRules => {
  const byType = new Map<string, PruneBounds>();
  let others: PruneBounds | undefined;
  for (const { sequenceTypeNames, ...bounds } of rules) {
    if (sequenceTypeNames === null) others ??= bounds;
    else for (const name of sequenceTypeNames) if (!byType.has(name)) byType.set(name, bounds);
  }
  const moments = rules
    .flatMap(({ completedBefore, failedBefore }) => [completedBefore, failedBefore])
    .filter((moment) => moment !== null);
  return {
    latest: moments.length === 0 ? null : Math.max(...moments),
    boundsFor: (sequenceTypeName) => byType.get(sequenceTypeName) ?? others,
  };
};

/** Whether this job lets its tree go: its sequence continued with another job, or it finished long enough ago. */
export const isPastRetention = (
  { completedBefore, failedBefore }: PruneBounds,
  { status, finishedAt, isContinued }: FinishedJob,
): boolean => {
  if (isContinued) return true;
  if (finishedAt === null || finishedAt === 0) return false;
  const bound = status === "completed" ? completedBefore : status === "failed" ? failedBefore : null;
  return bound !== null && finishedAt < bound;
};

/** The same, for stores that read whole jobs. */
export const isJobPastRetention = (
  bounds: PruneBounds,
  { status, completedAt, failedAt, continuedToId }: StateJob,
): boolean =>
  isPastRetention(bounds, {
    status,
    finishedAt: completedAt ?? failedAt,
    isContinued: continuedToId !== null,
  });

/** A job of the tree `dependantRootId` was given a sequence of the tree `rootId` as blocker. */
export interface TreeDependency {
  readonly rootId: string;
  readonly dependantRootId: string;
}

/**
 * Those of the trees that can go: no other tree depends on them, or only such as go too. Trees that depend on each other
 * in a circle stay, so that what goes is the same whether trees are looked at together or one by one.
 */
export const dropNeededTrees = (
  rootIds: readonly string[],
  dependencies: readonly TreeDependency[],
): Set<string> => {
  const dependantsOf = new Map<string, Set<string>>(rootIds.map((id) => [id, new Set()]));
  const neededBy = new Map<string, string[]>();
  for (const { rootId, dependantRootId } of dependencies) {
    if (rootId === dependantRootId) continue;
    dependantsOf.get(rootId)?.add(dependantRootId);
    neededBy.set(dependantRootId, [...(neededBy.get(dependantRootId) ?? []), rootId]);
  }
  const going = rootIds.filter((id) => dependantsOf.get(id)?.size === 0);
  for (const id of going) {
    for (const needed of neededBy.get(id) ?? []) {
      const dependants = dependantsOf.get(needed);
      if (dependants?.delete(id) && dependants.size === 0) going.push(needed);
    }
  }
  return new Set(going);
};
