import assert from "node:assert/strict";
import type { StateJob, StateSequence } from "../../store/contract/job.ts";
import { currentJob, type ModelJob, type ModelStore } from "./store.ts";

export const assertSameJob = (actual: StateJob | null | undefined, expected: ModelJob): void => {
  assert.ok(actual, `job ${expected.id} is missing`);
  const { failedBlockerId, lastError, limited, ...rest } = actual;
  const {
    failedBlockerIds,
    lastError: wantedError,
    errorIsBlockers,
    limited: isCounted,
    ...wanted
  } = expected;
  assert.deepEqual(rest, wanted, `job ${expected.id}`);
  if (isCounted !== null) assert.equal(limited, isCounted, `whether ${expected.id} is limited`);
  if (!errorIsBlockers) assert.equal(lastError, wantedError, `lastError of ${expected.id}`);
  else assert.ok(lastError?.includes(failedBlockerId ?? "BlockerFailedError"), `lastError of ${expected.id}`);
  if (failedBlockerIds.length === 0) assert.equal(failedBlockerId, null, `failedBlockerId of ${expected.id}`);
  else assert.ok(failedBlockerIds.includes(failedBlockerId ?? ""), `failedBlockerId of ${expected.id}`);
};

export const assertSameJobs = (actual: readonly StateJob[], expected: readonly ModelJob[]): void => {
  assert.deepEqual(
    actual.map(({ id }) => id),
    expected.map(({ id }) => id),
  );
  for (const [index, job] of expected.entries()) assertSameJob(actual[index], job);
};

export const assertSameSequence = (
  store: ModelStore,
  actual: StateSequence | undefined,
  sequenceId: string,
): void => {
  const first = store.jobs.get(sequenceId);
  const current = currentJob(store, sequenceId);
  if (first === undefined || current === undefined || first.sequenceIndex > 0) {
    assert.equal(actual, undefined, `sequence ${sequenceId}`);
    return;
  }
  assert.ok(actual, `sequence ${sequenceId} is missing`);
  assertSameJob(actual.first, first);
  assertSameJob(actual.current, current);
};

const byId = (a: { readonly id: string }, b: { readonly id: string }): number => (a.id < b.id ? -1 : 1);

/** The same things, in whatever order: for answers whose order the contract leaves open. */
export const assertSameSet = <T extends { readonly id: string }>(
  actual: readonly T[],
  expected: readonly T[],
  what: string,
): void => assert.deepEqual([...actual].sort(byId), [...expected].sort(byId), what);

/** Awaits a rejection of this class and returns the error. */
export const assertRejects = async <TError extends Error>(
  call: Promise<unknown>,
  expected: abstract new (...args: never[]) => TError,
): Promise<TError> => {
  try {
    await call;
  } catch (error) {
    if (error instanceof expected) return error;
    throw error;
  }
  return assert.fail(`It should have been refused with ${expected.name}`);
};
