import assert from "node:assert/strict";
import type { AnyStateAdapter } from "../../store/contract/state-adapter.ts";
import type { StateJob } from "../../store/contract/job.ts";
import type { RecordedCall } from "../../testing/record-calls.ts";
import type { Mishap } from "./stage.ts";
import { sequenceIds } from "./story.ts";

const { onceMore: _duplicate, ...started } = sequenceIds;
const cancelled = new Set<string>([sequenceIds.later, sequenceIds.once]);
const continued: readonly string[] = [sequenceIds.order, sequenceIds.approval];

/** What came of one telling, by job: its type and its sequence. */
export interface Told {
  readonly executions: readonly string[];
  readonly attempts: ReadonlyMap<string, number>;
}

/** Every job of the story is there, once, and has ended as it should. Returns the attempts each was charged for. */
export const assertEnding = async (store: AnyStateAdapter): Promise<Map<string, number>> => {
  const { jobs } = await store.listJobs({ filter: {}, order: "oldest", limit: 1_000, after: null });
  const expected = [...Object.values(started), ...continued];
  assert.deepEqual(jobs.map(({ sequenceId }) => sequenceId).sort(), expected.sort(), "the jobs there are");
  for (const job of jobs) {
    assert.equal(job.status, cancelled.has(job.sequenceId) ? "failed" : "completed", describe(job));
    assert.ok(job.attempt <= job.maxAttempts, `${describe(job)} ran too often`);
  }
  for (const sequenceId of continued) {
    const [first, second] = jobs
      .filter((job) => job.sequenceId === sequenceId)
      .sort((a, b) => a.sequenceIndex - b.sequenceIndex);
    assert.equal(first?.continuedToId, second?.id, "the continuation is the one that was recorded");
  }
  return new Map(
    jobs.map(({ typeName, sequenceId, attempt }) => [`${typeName} of ${sequenceId}`, attempt] as const),
  );
};

const describe = ({ typeName, id }: StateJob): string => `${typeName} ${id}`;

/** Each claim raises the version by one; one that is made again with its token finds the lease it already has. */
export const assertLeases = (calls: readonly RecordedCall[]): void => {
  const latest = new Map<string, StateJob>();
  for (const { outcome } of calls) {
    if (outcome.kind !== "returned") continue;
    for (const job of outcome.result as readonly StateJob[]) {
      const before = latest.get(job.id);
      latest.set(job.id, job);
      if (before !== undefined && before.leaseToken === job.leaseToken) {
        assert.equal(job.leaseVersion, before.leaseVersion, `the lease of ${describe(job)} found again`);
      } else {
        assert.equal(
          job.leaseVersion,
          (before?.leaseVersion ?? 0) + 1,
          `the lease version of ${describe(job)}`,
        );
      }
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
  "lockHeldJobs",
  "createJobs",
  "commitOutcomes",
  "getBlockers",
  "renewLeases",
]);

/** How many executions too many the mishap explains, of one job and in all. */
const explainedBy = ({ kind, process }: Mishap, method: string): { ofOne: number; inAll: number } => {
  if (process === "caller") return { ofOne: 0, inAll: 0 };
  // It takes one execution of each job it held with it.
  if (kind === "kill_before" || kind === "kill_after") return { ofOne: 1, inAll: Infinity };
  // It may meet the same job twice: in the attempt, and when that is made again.
  if (kind === "outage") return { ofOne: 2, inAll: Infinity };
  if (!callsOfAttempts.has(method)) return { ofOne: 0, inAll: 0 };
  // A transaction that hangs may keep others waiting past their own deadline, where the store has one writer.
  return { ofOne: 1, inAll: kind === "hang" ? Infinity : 1 };
};

/** No job ran, or was charged for an attempt, more often than when all goes well, except where that is explained. */
export const assertExecutions = (
  { executions, attempts }: Told,
  undisturbed: Told,
  mishap: Mishap,
  method: string,
): void => {
  const expected = countEach(undisturbed.executions);
  assertExplained(countEach(executions), expected, mishap, method, "ran without need");
  assertExplained(attempts, undisturbed.attempts, mishap, method, "was charged for an attempt without need");
  for (const job of expected.keys()) assert.ok(executions.includes(job), `${job} never ran`);
};

const assertExplained = (
  counts: ReadonlyMap<string, number>,
  expected: ReadonlyMap<string, number>,
  mishap: Mishap,
  method: string,
  what: string,
): void => {
  const surplus = [...counts]
    .map(([job, count]) => ({ job, extra: count - (expected.get(job) ?? 0) }))
    .filter(({ extra }) => extra > 0);
  const explained = explainedBy(mishap, method);
  const inAll = surplus.reduce((sum, { extra }) => sum + extra, 0);
  const isExplained = inAll <= explained.inAll && surplus.every(({ extra }) => extra <= explained.ofOne);
  assert.ok(isExplained, `${what}: ${JSON.stringify(surplus)}`);
};
