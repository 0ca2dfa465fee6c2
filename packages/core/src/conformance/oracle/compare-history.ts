import assert from "node:assert/strict";
import { mostAttempts } from "../../store/contract/history.ts";
import type { FailedJobs, StateAttempt } from "../../store/contract/history.ts";
import { addPerhapsLost, attemptsOfJob } from "./attempts.ts";
import { allJobs, copyStore, type ModelStore } from "./store.ts";
import type { World } from "./world.ts";

/** The attempts of a job in the model; of uncertain attempts only the ones that the store has, too. */
const expectedAttempts = (
  store: ModelStore,
  jobId: string,
  actual: readonly StateAttempt[],
): StateAttempt[] =>
  attemptsOfJob(store, jobId)
    .filter(
      ({ isCertain, leaseVersion }) =>
        isCertain || actual.some((attempt) => attempt.leaseVersion === leaseVersion),
    )
    .map(({ isCertain: _isCertain, ...attempt }) => attempt)
    .slice(0, mostAttempts);

const failedJobs = (store: ModelStore): Map<string, Omit<FailedJobs, "exampleId">> => {
  const groups = new Map<string, Omit<FailedJobs, "exampleId">>();
  for (const { id, queue, typeName, status, failureReason, failedAt } of allJobs(store)) {
    if (status !== "failed") continue;
    const fingerprint = store.fingerprints.get(id) ?? null;
    const key = [fingerprint, queue, typeName, failureReason].join(" ");
    const before = groups.get(key);
    groups.set(key, {
      fingerprint,
      queue,
      typeName,
      reason: failureReason!,
      count: (before?.count ?? 0) + 1,
      firstFailedAt: Math.min(failedAt!, before?.firstFailedAt ?? failedAt!),
      lastFailedAt: Math.max(failedAt!, before?.lastFailedAt ?? failedAt!),
    });
  }
  return groups;
};

/** The attempts of all jobs, and the causes of the failed ones. */
export const compareHistory = async (
  { adapter, model, now, createId }: World,
  ctx?: object,
): Promise<void> => {
  const { history } = adapter;
  if (history === undefined) return;
  const store = copyStore(model);
  for (const job of allJobs(store)) addPerhapsLost(store, job, now);
  const jobIds = [...store.jobs.keys(), createId()];
  const attempts = await history.listAttempts({ jobIds, now, ctx });
  assert.equal(attempts.length, jobIds.length);
  for (const [index, id] of jobIds.entries())
    assert.deepEqual(attempts[index], expectedAttempts(store, id, attempts[index]!), `attempts of ${id}`);

  const { failed, capped } = await history.listCauses({ cap: 1_000, now, ctx });
  const expected = failedJobs(store);
  assert.equal(capped, false);
  assert.equal(failed.length, expected.size, "how many groups of failed jobs there are");
  for (const { exampleId, ...group } of failed) {
    const { fingerprint, queue, typeName, reason } = group;
    assert.deepEqual(group, expected.get([fingerprint, queue, typeName, reason].join(" ")));
    const example = store.jobs.get(exampleId);
    assert.deepEqual(
      [example?.failedAt, example?.failureReason, example?.queue, example?.typeName],
      [group.lastFailedAt, reason, queue, typeName],
      "the example failed last",
    );
  }
};
