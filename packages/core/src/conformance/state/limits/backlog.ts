import assert from "node:assert/strict";
import type { TypeBacklog } from "../../../store/contract/diagnostics.ts";
import type { StateJob } from "../../../store/contract/job.ts";
import type { LimitRuleChange } from "../../../store/contract/limits.ts";
import { requirePart } from "../../../store/parts.ts";
import { isOverdue } from "../../../store/rules/edits.ts";
import { createRandom } from "../../random.ts";
import { baseTime } from "../../state-fixture.ts";
import { completion, failure, release, retryAfter } from "../../state-scenario.ts";
import type { StateSuite } from "../../state-suite.ts";
import { type LimitsScenario, times, withLimits } from "./limits-scenario.ts";

const rounds = 40;

const longTimeoutMs = 120_000;

type Below = (limit: number) => number;

const measure = async ({ adapter }: LimitsScenario, queue: string, now: number): Promise<TypeBacklog[]> => {
  const { measureBacklog } = requirePart(adapter, "statistics", "The suite of the backlog under rules");
  return (await measureBacklog({ cap: 1_000, now })).filter((backlog) => backlog.queue === queue);
};

const drawRule = (below: Below): LimitRuleChange => ({
  paused: below(8) === 0,
  concurrency: below(2) === 0 ? null : 1 + below(4),
  rate: below(3) > 0 ? null : { limit: 3 + below(3), perMs: 1_000, burst: 1 + below(3) },
  perGroup:
    below(2) === 0
      ? null
      : { concurrency: 1 + below(2), rate: below(3) > 0 ? null : { limit: 2, perMs: 1_000, burst: 2 } },
});

/** Rules, groups, jobs in every state, leases that have expired, and jobs that have waited too long. */
const populate = async (
  scenario: LimitsScenario,
  queue: string,
  below: Below,
): Promise<{ readonly jobs: readonly StateJob[]; readonly now: number }> => {
  const [plain, ordered] = ["plain", "ordered"].map((name) => `${scenario.typeName}-${name}`);
  for (const typeName of [null, plain!, ordered!])
    if (below(2) === 0)
      await scenario.limits.setRule({ queue, typeName, change: drawRule(below), now: baseTime });
  const jobs = await scenario.startMany(
    times(2 + below(14), () => {
      const isOrdered = below(2) === 0;
      return {
        queue,
        typeName: isOrdered ? ordered! : plain!,
        group: below(4) === 0 && !isOrdered ? null : ["a", "b"][below(2)]!,
        ordered: isOrdered ? (["continue", "stop"] as const)[below(2)]! : null,
        priority: below(3),
        schedule: { afterMs: below(2) * below(2_000) },
        expireAfterMs: below(4) === 0 ? 1 + below(1_500) : null,
        maxAttempts: 1 + below(3),
      };
    }),
  );
  let now = baseTime;
  for (let claims = below(5); claims > 0; claims -= 1, now += below(600))
    for (const job of await scenario.claim({ queue, now, limit: 1 + below(4), leaseMs: 1 + below(2_000) })) {
      const endings = [completion, retryAfter(below(1_500)), failure, release, undefined, undefined];
      const ending = endings[below(endings.length)];
      if (ending !== undefined) await scenario.end(job, ending, now);
    }
  return { jobs: await scenario.reloadAll(jobs), now: now + below(2) * below(1_500) };
};

export const describeBacklogUnderRules = ({ testAlone: test }: StateSuite): void => {
  test(
    "a job counts as runnable exactly when nothing throttles it and it is not overdue",
    withLimits(async (scenario) => {
      const random = createRandom(17);
      const below: Below = (limit) => Math.floor(random() * limit);
      for (let round = 0; round < rounds; round += 1) {
        const queue = `${scenario.queue}-${round}`;
        const { jobs, now } = await populate(scenario, queue, below);
        const expected = new Map<string, { runnable: string[]; throttled: number; overdue: number }>();
        const since: number[] = [];
        for (const job of jobs) {
          const { id, typeName, status, scheduledAt } = job;
          const counts = expected.get(typeName) ?? { runnable: [], throttled: 0, overdue: 0 };
          expected.set(typeName, counts);
          if (status !== "pending" || scheduledAt > now) continue;
          if (isOverdue(job, now)) counts.overdue += 1;
          else if ((await scenario.limits.explainThrottle({ jobId: id, now })) !== null)
            counts.throttled += 1;
          else {
            counts.runnable.push(id);
            since.push(scheduledAt);
          }
        }
        const backlogs = await measure(scenario, queue, now);
        const oldest = backlogs.flatMap(({ oldestRunnableAt }) => oldestRunnableAt ?? []);
        for (const [typeName, { runnable, ...others }] of expected) {
          const found = backlogs.find((backlog) => backlog.typeName === typeName);
          assert.deepEqual(
            [found?.runnable ?? 0, found?.throttled ?? 0, found?.overdue ?? 0],
            [runnable.length, others.throttled, others.overdue],
            `runnable, throttled and overdue jobs of ${typeName} in round ${round}`,
          );
        }
        assert.equal(Math.min(...oldest), Math.min(...since), `the oldest runnable job of round ${round}`);
      }
    }),
    longTimeoutMs,
  );

  test(
    "a limit that a transaction has set counts the jobs that ran before it, also before the next claim",
    withLimits(async (scenario) => {
      const { adapter, limits, queue, typeName, startGroup, hold } = scenario;
      const jobs = await startGroup("a", 2);
      assert.equal((await scenario.claim({ limit: 1, leaseMs: 60_000 })).length, 1);
      await adapter.runInTransaction(async (ctx) => {
        const change = { concurrency: 1, perGroup: { concurrency: 1, rate: null } };
        for (const type of [null, typeName])
          await limits.setRule({ queue, typeName: type, change, now: baseTime, ctx });
      });
      const [backlog] = await measure(scenario, queue, baseTime);
      assert.deepEqual([backlog?.runnable, backlog?.throttled], [0, 1]);
      const waiting = (await scenario.reloadAll(jobs)).find(({ status }) => status === "pending");
      assert.equal((await hold(waiting!))?.by, "concurrency");
    }),
  );

  test(
    "the jobs behind an overdue job of an ordered group wait until it has failed",
    withLimits(async (scenario) => {
      const { adapter, queue, startGroup } = scenario;
      await startGroup("a", 1, { ordered: "continue", expireAfterMs: 1_000 }, baseTime - 5_000);
      await startGroup("a", 2, { ordered: "continue" }, baseTime - 4_000);
      const counts = async () => {
        const [backlog] = await measure(scenario, queue, baseTime);
        return [backlog?.runnable, backlog?.throttled, backlog?.overdue, backlog?.oldestRunnableAt];
      };
      assert.deepEqual(await counts(), [0, 2, 1, null]);
      const edits = requirePart(adapter, "edits", "The suite of the backlog under rules");
      await edits.expireWaitingJobs({ limit: 10, error: "too late", now: baseTime });
      assert.deepEqual(await counts(), [1, 1, 0, baseTime - 4_000]);
    }),
  );

  test(
    "a long group that is throttled does not hide a runnable one",
    withLimits(async (scenario) => {
      const { adapter, queue, setTypeRule, startGroup } = scenario;
      await setTypeRule({ perGroup: { concurrency: 1, rate: null } });
      for (const group of ["a", "b", "c"]) {
        await startGroup(group, 30, {}, baseTime - 60_000);
        await scenario.claim({ limit: 1 });
      }
      await startGroup("d", 1, {}, baseTime - 1_000);
      const { measureBacklog } = requirePart(adapter, "statistics", "The suite of the backlog under rules");
      const found = (await measureBacklog({ cap: 5, now: baseTime })).find((each) => each.queue === queue);
      assert.deepEqual(
        [found?.runnable, found?.throttled, found?.oldestRunnableAt],
        [1, 5, baseTime - 1_000],
      );
    }),
  );
};
