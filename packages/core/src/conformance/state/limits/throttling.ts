import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { StateJob } from "../../../store/contract/job.ts";
import type { LimitRuleChange } from "../../../store/contract/limits.ts";
import { createRandom } from "../../random.ts";
import { baseTime } from "../../state-fixture.ts";
import { completion, failure, release, retryAfter } from "../../state-scenario.ts";
import type { StateSuite } from "../../state-suite.ts";
import { type LimitsScenario, idsOf, times, withLimits } from "./limits-scenario.ts";

const rounds = 40;

const hourMs = 3_600_000;

const longTimeoutMs = 120_000;

type Below = (limit: number) => number;

interface Round {
  readonly queue: string;
  readonly typeNames: readonly string[];
  readonly jobs: StateJob[];
  now: number;
}

const drawRule = (below: Below): LimitRuleChange => ({
  paused: below(8) === 0,
  concurrency: below(2) === 0 ? null : 1 + below(4),
  rate: below(3) > 0 ? null : { limit: 3 + below(3), perMs: 1_000, burst: 1 + below(3) },
  perGroup: below(2) === 0 ? null : { concurrency: 1 + below(2), rate: null },
});

/** A queue with some rules, some groups, and jobs in every state. Leases outlive the round. */
const populate = async (scenario: LimitsScenario, round: number, below: Below): Promise<Round> => {
  const queue = `${scenario.queue}-${round}`;
  const typeNames = ["plain", "ordered"].map((name) => `${scenario.typeName}-${name}`);
  const [plain, ordered] = typeNames;
  for (const typeName of [null, plain!, ordered!]) {
    if (below(2) > 0) continue;
    await scenario.limits.setRule({ queue, typeName, change: drawRule(below), now: baseTime });
  }
  const jobs = await scenario.startMany(
    times(2 + below(12), () => {
      const isOrdered = below(2) === 0;
      return {
        queue,
        typeName: isOrdered ? ordered! : plain!,
        group: below(4) === 0 && !isOrdered ? null : ["a", "b"][below(2)]!,
        ordered: isOrdered ? (["continue", "stop"] as const)[below(2)]! : null,
        priority: below(3),
        schedule: { afterMs: below(2) * below(2_000) },
      };
    }),
  );
  let now = baseTime;
  for (let claims = below(5); claims > 0; claims -= 1, now += below(600)) {
    const taken = await scenario.claim({ queue, now, limit: 1 + below(4), leaseMs: 10 * hourMs });
    for (const job of taken) {
      const endings = [completion, retryAfter(below(1_500)), failure, release, undefined, undefined];
      const ending = endings[below(endings.length)];
      if (ending !== undefined) await scenario.end(job, ending, now);
    }
  }
  return { queue, typeNames, jobs, now };
};

interface Rehearsal {
  readonly taken: readonly string[];
  /** Jobs that were left although nothing holds them back. */
  readonly forgotten: readonly string[];
}

/** What a claim with room takes. Nothing of it stays. */
const rehearse = async (
  { adapter, limits }: LimitsScenario,
  { queue, jobs }: Round,
  now: number,
): Promise<Rehearsal> => {
  const undo = new Error("a rehearsal");
  let rehearsal: Rehearsal = { taken: [], forgotten: [] };
  const run = adapter.runInTransaction(async (ctx) => {
    const claimed = await adapter.claimJobs({
      workerId: "worker",
      leaseToken: randomUUID(),
      leaseMs: hourMs,
      requests: [{ queue, typeNames: null, limit: 100 }],
      limit: 100,
      now,
      ctx,
    });
    const forgotten: string[] = [];
    for (const job of await adapter.getJobs({ jobIds: idsOf(jobs), ctx, now })) {
      if (job?.status !== "pending" || job.scheduledAt > now) continue;
      if ((await limits.explainThrottle({ jobId: job.id, now, ctx })) === null) forgotten.push(job.id);
    }
    rehearsal = { taken: idsOf(claimed), forgotten };
    throw undo;
  });
  await assert.rejects(run, (error) => error === undo);
  return rehearsal;
};

export const describeThrottling = ({ test }: StateSuite): void => {
  test(
    "claimJobs, explainThrottle and nextRunnableIn agree on what is held back, whatever the rules",
    withLimits(async (scenario) => {
      const random = createRandom(13);
      const below: Below = (limit) => Math.floor(random() * limit);
      for (let count = 0; count < rounds; count += 1) {
        const round = await populate(scenario, count, below);
        const { queue, jobs } = round;
        const now = round.now + below(1_500);
        const held: string[] = [];
        for (const { id } of jobs)
          if ((await scenario.limits.explainThrottle({ jobId: id, now })) !== null) held.push(id);
        const story = `round ${count}`;
        const { taken, forgotten } = await rehearse(scenario, round, now);
        assert.deepEqual(
          taken.filter((id) => held.includes(id)),
          [],
          `${story}: what is held is not taken`,
        );
        assert.deepEqual(forgotten, [], `${story}: what is not held is taken`);

        const requests = [{ queue, typeNames: null }];
        const next = await scenario.adapter.nextRunnableIn({ requests, now });
        const takenAt = async (moment: number): Promise<number> =>
          (await rehearse(scenario, round, moment)).taken.length;
        assert.equal(taken.length > 0, next === 0, `${story}, nextRunnableIn ${next}`);
        if (next === null) assert.equal(await takenAt(now + hourMs), 0, story);
        else if (next > 0) {
          assert.equal(await takenAt(now + next - 1), 0, `${story}, nextRunnableIn ${next}`);
          assert.ok((await takenAt(now + next)) > 0, `${story}, nextRunnableIn ${next}`);
        }
        await scenario.assertCounters();
      }
    }),
    longTimeoutMs,
  );

  test(
    "a reached limit names itself, its use and who holds the slots",
    withLimits(async ({ setQueueRule, setTypeRule, startGroup, claim, hold, queue, typeName }) => {
      await setTypeRule({ perGroup: { concurrency: 2, rate: null } });
      const jobs = await startGroup("a", 4);
      const running = await claim();
      const { jobIds, ...ofGroup } = (await hold(jobs[3]!))!;
      assert.deepEqual(ofGroup, {
        by: "concurrency",
        queue,
        typeName,
        group: "a",
        limit: 2,
        inUse: 2,
        claimableAt: null,
      });
      assert.deepEqual([...jobIds].sort(), idsOf(running).sort());
      await setQueueRule({ concurrency: 1 });
      const ofQueue = await hold(jobs[3]!);
      assert.deepEqual(
        [ofQueue?.by, ofQueue?.typeName, ofQueue?.group, ofQueue?.limit, ofQueue?.inUse],
        ["concurrency", null, null, 1, 2],
      );
    }),
  );

  test(
    "the next job of an ordered group waits for the one that runs",
    withLimits(async ({ startGroup, claim, hold }) => {
      const jobs = await startGroup("a", 2, { ordered: "continue" });
      assert.equal(await hold(jobs[0]!), null);
      assert.equal((await hold(jobs[1]!))?.by, "order", "the first goes before it");
      await claim();
      const held = await hold(jobs[1]!);
      assert.deepEqual([held?.by, held?.group, held?.jobIds], ["order", "a", [jobs[0]!.id]]);
    }),
  );

  test(
    "nothing holds jobs that run, have ended, wait for later or do not exist",
    withLimits(async ({ setQueueRule, start, startMany, claim, end, hold, limits }) => {
      await setQueueRule({ concurrency: 2 });
      await startMany([{}, {}]);
      const [running, completed] = await claim();
      await end(completed!, completion);
      const later = await start({ schedule: { afterMs: 1_000 } });
      await setQueueRule({ paused: true });
      for (const job of [running!, completed!, later]) assert.equal(await hold(job), null);
      assert.equal(await limits.explainThrottle({ jobId: randomUUID(), now: baseTime }), null);
    }),
  );

  test(
    "a slot is in sight when the lease that holds it ends, as long as its job has attempts left",
    withLimits(async ({ setQueueRule, startMany, claim, nextRunnableIn }) => {
      await setQueueRule({ concurrency: 1 });
      await startMany([{ maxAttempts: 2 }, { maxAttempts: 2 }]);
      await claim({ leaseMs: 1_000 });
      assert.equal(await nextRunnableIn(), 1_000);
      assert.equal((await claim({ now: baseTime + 1_000 })).length, 1);
    }),
  );

  test(
    "and not in sight when only the reaper can free it",
    withLimits(async ({ setQueueRule, startMany, claim, nextRunnableIn }) => {
      await setQueueRule({ concurrency: 1 });
      await startMany([{ maxAttempts: 1 }, { maxAttempts: 1 }]);
      await claim({ leaseMs: 1_000 });
      assert.equal(await nextRunnableIn(), null);
      assert.deepEqual(await claim({ now: baseTime + 1_000 }), []);
    }),
  );

  for (const limited of ["queue", "type", "group"] as const) {
    test(
      `an expired lease is no reason to claim while the limit of the ${limited} stays reached without its slot`,
      withLimits(async (scenario) => {
        const { startGroup, claim, nextRunnableIn } = scenario;
        const limit = (concurrency: number) => {
          if (limited === "queue") return scenario.setQueueRule({ concurrency });
          const rule = limited === "type" ? { concurrency } : { perGroup: { concurrency, rate: null } };
          return scenario.setTypeRule(rule);
        };
        await limit(2);
        await startGroup("a", 3);
        await claim({ limit: 1, leaseMs: 1_000 });
        await claim({ limit: 1, leaseMs: 5_000 });
        await limit(1);
        assert.equal(await nextRunnableIn(baseTime + 2_000), 3_000);
        assert.equal(await nextRunnableIn(baseTime + 5_000), 0);
        assert.equal((await claim({ now: baseTime + 5_000 })).length, 1);
      }),
    );
  }

  test(
    "the end of a lease of a paused type is in sight where its slot is one of the queue's",
    withLimits(async ({ setQueueRule, setTypeRule, start, run, nextRunnableIn }) => {
      await setQueueRule({ concurrency: 1 });
      const paused = `type-${randomUUID()}`;
      await run(await start({ typeName: paused }), { leaseMs: 1_000 });
      await setTypeRule({ paused: true }, paused);
      await start();
      assert.equal(await nextRunnableIn(), 1_000);
      assert.equal(await nextRunnableIn(baseTime + 1_000), 0);
    }),
  );
};
