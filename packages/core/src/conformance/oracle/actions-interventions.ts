import assert from "node:assert/strict";
import type { PruneResult } from "../../store/contract/creation.ts";
import { assertSameJob, assertSameSet } from "./compare.ts";
import { deleteTrees, pruneAll } from "./deletion.ts";
import { cancel, redrive } from "./interventions.ts";
import { allJobs, dependantsOf, type ModelJob, type ModelStore, sequenceIds } from "./store.ts";
import type { Action } from "./world.ts";

const finished: readonly (readonly ("completed" | "failed")[])[] = [
  ["completed"],
  ["failed"],
  ["completed", "failed"],
];

export const cancelSome: Action = async (world, draw, ctx) => {
  const { adapter, model, now } = world;
  const ids = draw.some([...sequenceIds(model), world.createId()], 3);
  world.note("cancelSequences", ids);
  const results = await adapter.cancelSequences({ sequenceIds: ids, error: "stopped", now, ctx });
  const expected = cancel(model, ids, "stopped", now);
  assert.equal(results.length, ids.length);
  for (const [index, { job, ...wanted }] of expected.results.entries()) {
    const actual = results[index]!;
    const { sequenceId, kind, changed, wasRunning } = actual;
    assert.deepEqual({ sequenceId, kind, changed, wasRunning }, wanted);
    if (job === null) assert.equal(actual.job, null);
    else assertSameJob(actual.job, job);
  }
  assertSameSet(
    results.flatMap(({ cascaded }) => cascaded),
    expected.cascaded,
    "cascaded",
  );
};

/** Of two failed sequences with one deduplication key, only the first can come back; which that is, is left open. */
const competeForKey = (store: ModelStore, jobIds: readonly string[]): boolean => {
  const affected = new Set<ModelJob>();
  const visit = (job: ModelJob | undefined): void => {
    if (job?.status !== "failed" || affected.has(job)) return;
    affected.add(job);
    for (const dependant of dependantsOf(store, job.sequenceId)) visit(dependant);
  };
  for (const id of jobIds) visit(store.jobs.get(id));
  const keys = [...affected]
    .map((job) => [job.sequenceTypeName, store.jobs.get(job.sequenceId)?.deduplicationKey] as const)
    .filter(([, key]) => typeof key === "string")
    .map(String);
  return new Set(keys).size < keys.length;
};

export const redriveSome: Action = async (world, draw, ctx) => {
  const { adapter, model, now } = world;
  const failed = allJobs(model).filter(({ status }) => status === "failed");
  const pool = draw.pick([failed, failed, allJobs(model)]).map(({ id }) => id);
  const jobIds = draw.some([...pool, world.createId()], 3);
  if (competeForKey(model, jobIds)) return;
  world.note("redriveJobs", jobIds);
  const results = await adapter.redriveJobs({ jobIds, now, ctx });
  const expected = redrive(model, jobIds, now);
  assert.deepEqual(
    results.map(({ jobId, kind }) => [jobId, kind]),
    jobIds.map((id, index) => [id, expected.kinds[index]]),
  );
  assertSameSet(
    results.flatMap(({ revived }) => revived),
    expected.revived,
    "revived",
  );
  for (const { jobId, job } of results) {
    const stored = model.jobs.get(jobId);
    if (stored === undefined) assert.equal(job, null);
    else assertSameJob(job, stored);
  }
};

export const deleteSome: Action = async (world, draw, ctx) => {
  const { adapter, model, now } = world;
  const roots = allJobs(model)
    .filter(({ id, rootSequenceId }) => id === rootSequenceId)
    .map(({ id }) => id);
  const pool = draw.pick([roots, roots, [...model.jobs.keys()]]);
  const rootSequenceIds = draw.some([...pool, world.createId()], 4);
  world.note("deleteSequences", rootSequenceIds);
  const actual = await adapter.deleteSequences({ rootSequenceIds, now, ctx });
  const expected = deleteTrees(model, rootSequenceIds);
  assertSameSet(actual.deleted, expected.deleted, "deleted");
  assert.deepEqual([...actual.notRoots].sort(), [...expected.notRoots].sort());
  assert.deepEqual(
    [...actual.dependantRootSequenceIds].sort(),
    [...expected.dependantRootSequenceIds].sort(),
  );
};

export const prune: Action = async (world, draw, ctx) => {
  const { adapter, model, now } = world;
  const finishedBefore = now - draw.pick([0, 2_000]);
  const statuses = draw.pick(finished);
  const limit = draw.pick([100, 1]);
  world.note("pruneSequences", { finishedBefore, statuses, limit });
  const rule = {
    sequenceTypeNames: null,
    completedBefore: statuses.includes("completed") ? finishedBefore : null,
    failedBefore: statuses.includes("failed") ? finishedBefore : null,
  };
  let failed = 0;
  const pass = async (): Promise<number> => {
    let deletedJobs = 0;
    let after: string | null = null;
    do {
      const result: PruneResult | null = await adapter.pruneSequences({
        rules: [rule],
        limit,
        after,
        now,
        ctx,
      });
      assert.ok(result);
      deletedJobs += result.deletedJobs;
      failed += result.failedJobs.length;
      after = result.next;
    } while (after !== null);
    return deletedJobs;
  };
  let deleted = 0;
  for (let more = -1; more !== 0;) {
    more = await pass();
    deleted += more;
  }
  const expected = pruneAll(model, finishedBefore, statuses);
  assert.deepEqual({ deleted, failed }, expected, "how many jobs were pruned");
};
