import assert from "node:assert/strict";
import { typeNames } from "./actions-start.ts";
import { hasRunOut } from "./leases.ts";
import { admissibleAfter, limitedQueue, holdOf, lineBefore, lineOf } from "./limit-groups.ts";
import { countedAt, ruleOf, tokensAt, withoutOldPause } from "./limit-rules.ts";
import { allJobs, type ModelJob } from "./store.ts";
import { expiredJobs } from "./waiting-jobs.ts";
import type { World } from "./world.ts";

const compareUse = async ({ adapter, model, now }: World): Promise<void> => {
  for (const { rule, running, tokens } of await adapter.limits!.listRules({ queue: limitedQueue, now })) {
    const place = { queue: limitedQueue, typeName: rule.typeName, group: null };
    assert.deepEqual(rule, withoutOldPause(ruleOf(model, limitedQueue, rule.typeName), now));
    if (rule.concurrency !== null) assert.equal(running, countedAt(model, place).length, "jobs counted");
    const left = rule.rate === null ? null : tokensAt(model, place, rule.rate, now);
    assert.equal(tokens, left, `tokens of ${rule.typeName ?? "the queue"}`);
  }
  const { counters } = await adapter.limits!.repairCounters({ repair: false, now });
  assert.deepEqual(counters, []);
};

const compareNext = async ({ adapter, model, now }: World): Promise<void> => {
  const isRunning = allJobs(model).some(
    ({ queue, status }) => queue === limitedQueue && status === "running",
  );
  for (const types of [null, [typeNames[0]]]) {
    const scope = { queue: limitedQueue, typeNames: types };
    const answer = await adapter.nextRunnableIn({ requests: [scope], now });
    const expected = admissibleAfter(model, scope, undefined, now);
    // Which end of a lease opens a line may be known roughly: too early is a look too many, too late is a job forgotten.
    const isEarly = isRunning && expected !== 0 && answer !== 0 && (answer ?? 0) <= (expected ?? Infinity);
    if (!isEarly) assert.equal(answer, expected, `when ${limitedQueue} has work`);
  }
};

/** Of a job without a group, all others without one; of a job with a group, those of its line. */
const isBeside = (a: ModelJob, b: ModelJob): boolean =>
  a.queue === b.queue && a.group === b.group && (a.group === null || a.typeName === b.typeName);

const compareThrottles = async ({ adapter, model, now }: World): Promise<void> => {
  // With an expired lease it depends on the claim what comes free.
  if (allJobs(model).some((job) => job.queue === limitedQueue && hasRunOut(job, now))) return;
  for (const job of allJobs(model)) {
    if (job.queue !== limitedQueue) continue;
    const actual = await adapter.limits!.explainThrottle({ jobId: job.id, now });
    const isDue = job.status === "pending" && job.scheduledAt <= now;
    const expected = isDue ? holdOf(model, job, now) : null;
    if (expected === null) assert.equal(actual, null, `nothing holds ${job.id}`);
    else {
      assert.ok(actual, `${job.id} is held by ${expected.reasons.join()}`);
      const { queue, typeName, group } = actual;
      assert.deepEqual({ queue, typeName, group }, expected.place, `who holds ${job.id}`);
      assert.ok(expected.reasons.includes(actual.by), `${job.id} is held by ${actual.by}`);
    }
    if (!isDue) continue;
    const ahead =
      job.group === null
        ? allJobs(model).filter(
            (other) =>
              isBeside(job, other) &&
              other.status === "pending" &&
              other.scheduledAt <= now &&
              (other.priority > job.priority ||
                (other.priority === job.priority &&
                  (other.scheduledAt < job.scheduledAt ||
                    (other.scheduledAt === job.scheduledAt && isCreatedBefore(model.jobs, other, job))))),
          ).length
        : lineBefore(model, lineOf(job), now).indexOf(job);
    assert.equal(
      await adapter.countAhead({ jobId: job.id, cap: 1_000, now }),
      ahead,
      `how many are ahead of ${job.id}`,
    );
  }
};

const isCreatedBefore = (jobs: ReadonlyMap<string, ModelJob>, a: ModelJob, b: ModelJob): boolean => {
  const ids = [...jobs.keys()];
  return ids.indexOf(a.id) < ids.indexOf(b.id);
};

/** Of due jobs, `measureBacklog` must call exactly those runnable that nothing holds and that have not waited too long. */
const compareBacklog = async ({ adapter, model, now }: World): Promise<void> => {
  if (adapter.statistics === undefined) return;
  const backlogs = await adapter.statistics.measureBacklog({ cap: 1_000, now });
  const late = expiredJobs(model, now);
  const hasFreed = allJobs(model).some((job) => job.queue === limitedQueue && hasRunOut(job, now));
  const nameOf = (of: { readonly queue: string; readonly typeName: string }): string =>
    `${of.queue} ${of.typeName}`;
  for (const name of new Set([...allJobs(model), ...backlogs].map(nameOf))) {
    // With an expired lease it depends on the claim what comes free.
    if (hasFreed && name.startsWith(`${limitedQueue} `)) continue;
    const due = allJobs(model).filter(
      (job) => nameOf(job) === name && job.status === "pending" && job.scheduledAt <= now,
    );
    const runnable = due.filter((job) => !late.has(job) && holdOf(model, job, now) === null);
    const overdue = due.filter((job) => late.has(job)).length;
    const found = backlogs.find((backlog) => nameOf(backlog) === name);
    assert.deepEqual(
      {
        runnable: found?.runnable ?? 0,
        throttled: found?.throttled ?? 0,
        overdue: found?.overdue ?? 0,
        oldest: found?.oldestRunnableAt ?? null,
      },
      {
        runnable: runnable.length,
        throttled: due.length - overdue - runnable.length,
        overdue,
        oldest: runnable.length === 0 ? null : Math.min(...runnable.map(({ scheduledAt }) => scheduledAt)),
      },
      `the backlog of ${name}`,
    );
  }
};

export const compareLimits = async (world: World): Promise<void> => {
  await compareBacklog(world);
  if (world.about === "jobs") return;
  await compareUse(world);
  await compareNext(world);
  await compareThrottles(world);
};
