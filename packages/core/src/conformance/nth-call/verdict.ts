import assert from "node:assert/strict";
import type { AnyStateAdapter } from "../../contracts/state-adapter.ts";
import type { StateJob } from "../../model/job.ts";
import type { RecordedCall } from "../../testing/record-calls.ts";
import type { Mishap } from "./stage.ts";
import { sequenceIds } from "./story.ts";

const { onceMore: _duplicate, ...started } = sequenceIds;
const cancelled: readonly string[] = [sequenceIds.later, sequenceIds.once];
const continued: readonly string[] = [sequenceIds.order, sequenceIds.approval];

/** Every job of the story is there, once, and has ended as it should. */
export const assertEnding = async (store: AnyStateAdapter): Promise<void> => {
  const { jobs } = await store.listJobs({ filter: {}, order: "oldest", limit: 1_000, after: null });
  const expected = [...Object.values(started), ...continued];
  assert.deepEqual(jobs.map(({ sequenceId }) => sequenceId).sort(), expected.sort(), "the jobs there are");
  for (const job of jobs) {
    assert.equal(job.status, cancelled.includes(job.sequenceId) ? "failed" : "completed", describe(job));
    assert.ok(job.attempt <= job.maxAttempts, `${describe(job)} ran too often`);
  }
  for (const sequenceId of continued) {
    const [first, second] = jobs
      .filter((job) => job.sequenceId === sequenceId)
      .sort((a, b) => a.sequenceIndex - b.sequenceIndex);
    assert.equal(first?.continuedToId, second?.id, "the continuation is the one that was recorded");
  }
};

const describe = ({ typeName, id }: StateJob): string => `${typeName} ${id}`;

/** Each claim raises the version by one, and takes nothing that somebody still holds. */
export const assertLeases = (calls: readonly RecordedCall[]): void => {
  const versions = new Map<string, number>();
  for (const { outcome } of calls) {
    if (outcome.kind !== "returned") continue;
    for (const job of outcome.result as readonly StateJob[]) {
      assert.equal(
        job.leaseVersion,
        (versions.get(job.id) ?? 0) + 1,
        `the lease version of ${describe(job)}`,
      );
      versions.set(job.id, job.leaseVersion);
    }
  }
};

const countEach = (names: readonly string[]): Map<string, number> => {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
};

// Made on behalf of one attempt: their failure is that attempt's failure, and it is made again.
const callsOfAttempts = new Set([
  "runInTransaction",
  "lockJob",
  "createJobs",
  "commitOutcomes",
  "getBlockers",
  "renewLeases",
]);

/**
 * No job ran more often than when all goes well, except where the mishap explains it: a worker that was killed takes one
 * execution of each job it held with it, and a failing call inside an attempt costs that attempt.
 */
export const assertExecutions = (
  executions: readonly string[],
  undisturbed: readonly string[],
  mishap: Mishap,
  method: string,
): void => {
  const expected = countEach(undisturbed);
  const surplus = [...countEach(executions)]
    .map(([typeName, count]) => ({ typeName, extra: count - (expected.get(typeName) ?? 0) }))
    .filter(({ extra }) => extra > 0);
  const killed = mishap.kind === "kill_before" || mishap.kind === "kill_after";
  if (killed) {
    for (const { typeName, extra } of surplus)
      assert.ok(extra <= 2, `${typeName} ran ${extra} times too often`);
    return;
  }
  const explained = mishap.process === "worker" && callsOfAttempts.has(method) ? 1 : 0;
  const extra = surplus.reduce((sum, entry) => sum + entry.extra, 0);
  assert.ok(extra <= explained, `ran without need: ${JSON.stringify(surplus)}`);
  for (const typeName of expected.keys()) assert.ok(executions.includes(typeName), `${typeName} never ran`);
};
