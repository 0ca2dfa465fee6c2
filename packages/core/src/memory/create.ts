import type { NewJob } from "../store/contract/creation.ts";
import { referenceTo } from "../store/contract/job.ts";
import { BlockerCycleError, JobAlreadyExistsError, JobNotFoundError } from "../store/errors.ts";
import { assertIdsGiven } from "../store/rules/checks.ts";
import { failureBy } from "../store/rules/dependants.ts";
import { isWaiting, replaced } from "../store/rules/edits.ts";
import { isJobPastRetention, readPruneRules } from "../store/rules/prune.ts";
import { createdStateJob, failedByBlocker, withBlockers } from "../store/rules/transitions.ts";
import { dependantRoots, failDependants, findBlockerCycle } from "./dependants.ts";
import { type JobRecord, resume } from "./groups.ts";
import { currentOf, findDuplicate, insert, isUnfinished, type Operation, remove } from "./rows.ts";
import { type Rows, setBlockers, treeOf, update } from "./rows.ts";

// All errors are found before the first job is stored, so the call stores all jobs or none.
const assertCreatable = (rows: Rows, jobs: readonly NewJob[]): void => {
  const given = new Set<string>();
  const positions = new Set<string>();
  const taken = new Set<string>();
  for (const { id, sequenceId, sequenceIndex } of jobs) {
    if (given.has(id) || rows.jobs.has(id)) taken.add(id);
    given.add(id);
    if (sequenceIndex === 0) continue;
    // A job has one continuation. A second one in the same position is refused like the same job again.
    const position = `${sequenceIndex} ${sequenceId}`;
    const latest = currentOf(rows, sequenceId);
    if (positions.has(position) || (latest !== undefined && latest.row.sequenceIndex >= sequenceIndex))
      taken.add(id);
    positions.add(position);
  }
  if (taken.size > 0) throw new JobAlreadyExistsError([...taken]);
  for (const { sequenceId, sequenceIndex } of jobs) {
    if (sequenceIndex === 0 || given.has(sequenceId) || currentOf(rows, sequenceId) !== undefined) continue;
    throw new JobNotFoundError(sequenceId, "job sequence");
  }
};

const findEarlier = (rows: Rows, job: NewJob, now: number): JobRecord | undefined => {
  if (job.deduplication === null) return undefined;
  const { key: deduplicationKey, scope, windowMs, onDuplicate } = job.deduplication;
  const find = (isWanted: (first: JobRecord) => boolean): JobRecord | undefined =>
    findDuplicate(rows, { ...job, deduplicationKey }, isWanted);
  // The job that an earlier call with this start has replaced.
  const replacedBefore = onDuplicate && find(({ row }) => row.replacedBy === job.id);
  if (replacedBefore !== undefined) return replacedBefore;
  const latest = find((first) => {
    if (scope === "pending") return isWaiting(first.row.status);
    return scope === "all" || isUnfinished(rows, first);
  });
  const isTooOld = latest !== undefined && windowMs !== null && latest.row.createdAt <= now - windowMs;
  return isTooOld ? undefined : latest;
};

export const createJobs: Operation<"createJobs"> = (rows, { jobs }, now) => {
  assertIdsGiven(jobs);
  assertCreatable(rows, jobs);
  return jobs.map((job) => {
    const earlier = findEarlier(rows, job, now);
    if (earlier === undefined)
      return { job: insert(rows, createdStateJob(job, now)).row, deduplicated: false };
    const replacement = earlier.row.replacedBy === job.id ? earlier.row : replaced(earlier.row, job, now);
    if (replacement === undefined) return { job: earlier.row, deduplicated: true };
    if (replacement !== earlier.row) update(rows, earlier, replacement);
    return { job: earlier.row, deduplicated: true, replaced: true };
  });
};

export const addJobBlockers: Operation<"addJobBlockers"> = (rows, { jobId, blockerSequenceIds }, now) => {
  const record = rows.jobs.get(jobId);
  if (record === undefined) throw new JobNotFoundError(jobId);
  if (record.row.status !== "blocked") throw new Error(`Job ${jobId} was not created to wait for blockers.`);
  const blockers = blockerSequenceIds.map((sequenceId) => {
    const current = currentOf(rows, sequenceId);
    if (current === undefined) throw new JobNotFoundError(sequenceId, "job sequence");
    return current.row;
  });
  const cycle = findBlockerCycle(rows, record.row.sequenceId, blockerSequenceIds);
  if (cycle !== undefined) throw new BlockerCycleError(jobId, cycle);
  setBlockers(rows, record, [...blockerSequenceIds]);
  const openBlockers = blockers.filter(({ status }) => status !== "completed").length;
  update(rows, record, withBlockers(record.row, blockers.length, openBlockers));
  const failed = blockers.find(({ status }) => status === "failed");
  if (failed !== undefined && record.row.onBlockerFailure === "fail") {
    update(rows, record, failedByBlocker(record.row, failureBy(record.row, failed), now));
    failDependants(rows, record.row.sequenceId, now);
  }
  return record.row;
};

export const deleteSequences: Operation<"deleteSequences"> = (rows, call) => {
  const rootSequenceIds = new Set(call.rootSequenceIds.filter((id) => rows.jobs.has(id)));
  const notRoots = [...rootSequenceIds].filter((id) => rows.jobs.get(id)?.row.rootSequenceId !== id);
  if (notRoots.length > 0) return { deleted: [], notRoots, dependantRootSequenceIds: [] };
  const trees = [...rootSequenceIds].map((id) => treeOf(rows, id));
  const dependants = new Set(trees.flatMap((tree) => dependantRoots(rows, tree, rootSequenceIds)));
  if (dependants.size > 0) return { deleted: [], notRoots: [], dependantRootSequenceIds: [...dependants] };
  const deleted = trees.flat().map((record) => {
    remove(rows, record);
    resume(rows, record.row, record.id);
    return { ...referenceTo(record.row), status: record.row.status };
  });
  return { deleted, notRoots: [], dependantRootSequenceIds: [] };
};

/** Every call begins with the oldest job: earlier calls have removed the trees before. */
export const pruneSequences: Operation<"pruneSequences"> = (rows, { rules, limit }) => {
  const { boundsFor } = readPruneRules(rules);
  const trees: JobRecord[][] = [];
  for (const { id, row } of rows.jobs.values()) {
    if (trees.length >= limit) break;
    const bounds = row.rootSequenceId === id ? boundsFor(row.sequenceTypeName) : undefined;
    if (bounds === undefined) continue;
    const tree = treeOf(rows, id);
    if (!tree.every((record) => isJobPastRetention(bounds, record.row))) continue;
    if (dependantRoots(rows, tree, new Set([id])).length === 0) trees.push(tree);
  }
  const records = trees.flat();
  for (const record of records) remove(rows, record);
  return {
    deletedJobs: records.length,
    failedJobs: records.filter(({ row }) => row.status === "failed").map(({ row }) => referenceTo(row)),
    next: trees.length >= limit ? "more" : null,
  };
};
