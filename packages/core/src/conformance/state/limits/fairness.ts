import assert from "node:assert/strict";
import type { StateJob } from "../../../store/contract/job.ts";
import { baseTime } from "../../state-fixture.ts";
import type { StateSuite } from "../../state-suite.ts";
import { times, withLimits } from "./limits-scenario.ts";

/** The largest share of one claim that a line gets before it is another's turn. */
const portion = (limit: number, lines: number): number => Math.ceil(limit / Math.min(lines, 16));

const countBy = (jobs: readonly StateJob[], keyOf: (job: StateJob) => string): Record<string, number> => {
  const counts: Record<string, number> = {};
  for (const job of jobs) counts[keyOf(job)] = (counts[keyOf(job)] ?? 0) + 1;
  return counts;
};

const groupOf = ({ group }: StateJob): string => group ?? "none";

export const describeFairness = ({ test }: StateSuite): void => {
  test(
    "a group with many jobs leaves the others their turns",
    withLimits(async ({ startGroup, claim }) => {
      await startGroup("many", 60);
      await startGroup("few", 3);
      const counts = countBy(await claim({ limit: 10 }), groupOf);
      assert.equal(counts["few"], 3);
    }),
  );

  for (const limit of [1, 4, 12]) {
    test(
      `groups that stay busy get the same, in claims of ${limit}`,
      withLimits(async ({ startGroup, claim }) => {
        const groups = ["a", "b", "c"];
        for (const group of groups) await startGroup(group, 40);
        const counts: Record<string, number> = { a: 0, b: 0, c: 0 };
        for (let taken = 0; taken < 60;) {
          const jobs = await claim({ limit });
          assert.equal(jobs.length, limit);
          taken += limit;
          for (const job of jobs) counts[groupOf(job)]! += 1;
          const shares = Object.values(counts);
          const difference = Math.max(...shares) - Math.min(...shares);
          assert.ok(difference <= portion(limit, 3), `${difference} jobs more than another`);
        }
      }),
    );
  }

  test(
    "priority orders the jobs of one group; between groups turns decide",
    withLimits(async ({ startGroup, claim }) => {
      await startGroup("loud", 8, { priority: 100 });
      await startGroup("quiet", 8, { priority: -5 });
      await startGroup("quiet", 1, { priority: 7 });
      const jobs = await claim({ limit: 6 });
      const quiet = jobs.filter(({ group }) => group === "quiet");
      assert.equal(quiet.length, 3);
      assert.equal(quiet[0]?.priority, 7);
    }),
  );

  test(
    "a weight is worth so many turns",
    withLimits(async ({ setTypeRule, startGroup, claim }) => {
      await setTypeRule({ weights: { gold: 3, bronze: 0.5 } });
      for (const group of ["gold", "plain", "bronze"]) await startGroup(group, 70);
      const jobs: StateJob[] = [];
      for (let round = 0; round < 90; round += 1) jobs.push(...(await claim({ limit: 1 })));
      const { gold = 0, plain = 0, bronze = 0 } = countBy(jobs, groupOf);
      assert.equal(gold + plain + bronze, 90);
      assert.ok(Math.abs(gold / 3 - plain) <= 2, `gold ${gold}, plain ${plain}`);
      assert.ok(Math.abs(bronze / 0.5 - plain) <= 2, `bronze ${bronze}, plain ${plain}`);
    }),
  );

  test(
    "a group that comes back from idle gets its share, not the turns it missed",
    withLimits(async ({ startGroup, claim }) => {
      await startGroup("late", 1);
      await startGroup("steady", 90);
      await claim({ limit: 42 });
      await startGroup("late", 40);
      const counts = countBy(await claimOneByOne(claim, 20), groupOf);
      assert.ok(Math.abs((counts["late"] ?? 0) - 10) <= 2, `${counts["late"]} of 20`);
    }),
  );

  test(
    "nor does one that starts while all others are full",
    withLimits(async ({ setTypeRule, startGroup, claim, completeAll }) => {
      await startGroup("steady", 90);
      await completeAll(await claim({ limit: 40 }));
      await setTypeRule({ perGroup: { concurrency: 10, rate: null } });
      const running = await claim({ limit: 100 });
      assert.equal(running.length, 10);
      await startGroup("new", 40);
      await setTypeRule({ perGroup: null });
      const counts = countBy(await claimOneByOne(claim, 20), groupOf);
      assert.ok(Math.abs((counts["new"] ?? 0) - 10) <= 2, `${counts["new"]} of 20`);
    }),
  );

  test(
    "jobs without a group are a line like the others",
    withLimits(async ({ startGroup, startMany, claim }) => {
      await startMany(times(30, () => ({})));
      await startGroup("a", 30);
      const counts = countBy(await claimOneByOne(claim, 20), groupOf);
      assert.ok(Math.abs((counts["none"] ?? 0) - 10) <= 1, `${counts["none"]} of 20`);
    }),
  );

  for (const limit of [1, 7, 100]) {
    test(
      `between the types of a queue priority decides, in claims of ${limit}, with rules and groups as without`,
      withLimits(
        async ({ setQueueRule, setTypeRule, startGroup, startMany, claim, completeAll, typeName }) => {
          await setQueueRule({ concurrency: 1_000 });
          await setTypeRule({ paused: true }, "third");
          const other = `${typeName}-other`;
          // The group has had a turn, so that the jobs without a group are next.
          await startGroup("a", 1, { typeName: other });
          await completeAll(await claim({ limit: 1 }));
          await startMany(times(20, () => ({ priority: 0 })));
          await startMany(times(20, () => ({ typeName: other, priority: 9 })));
          await startGroup("a", 10, { typeName: other, priority: 5 });
          await startMany(times(20, () => ({ priority: 7 })));
          const jobs = await claimAll(claim, limit);
          const priorities = jobs.map(({ priority }) => priority);
          assert.equal(jobs.length, 70);
          assert.deepEqual(
            jobs.filter((job) => job.typeName === typeName).map(({ priority }) => priority),
            [...times(20, () => 7), ...times(20, () => 0)],
          );
          assert.equal(priorities.indexOf(0), 50, "all of the other type come before priority 0");
          assert.equal(priorities[0], 9);
          // When the group is in turn, its jobs are the next of their type, and the 9 behind them have to wait.
          assert.ok(priorities.indexOf(5) > priorities.lastIndexOf(7), "7 comes before 5");
        },
      ),
    );

    test(
      `types with the same priority run by time and then by creation, in claims of ${limit}`,
      withLimits(async ({ setQueueRule, startMany, claim, typeName }) => {
        await setQueueRule({ concurrency: 1_000 });
        const other = `${typeName}-other`;
        const created: string[] = [];
        for (let round = 0; round < 6; round += 1) {
          const names = round % 2 === 0 ? [typeName, other, other] : [other, typeName];
          created.push(...names);
          await startMany(
            names.map((name) => ({ typeName: name })),
            baseTime + Math.floor(round / 2),
          );
        }
        const jobs = await claimAll(claim, limit, baseTime + 10);
        assert.deepEqual(
          jobs.map((job) => job.typeName),
          created,
        );
      }),
    );
  }

  test(
    "a type with groups of different sizes gives all its jobs before one of lower priority",
    withLimits(async ({ startGroup, startMany, claim, typeName }) => {
      await startGroup("a", 1);
      await startMany(times(4, () => ({})));
      await startMany([{ typeName: `${typeName}-other`, priority: -1 }]);
      const jobs = await claim({ limit: 5 });
      assert.deepEqual(
        jobs.map((job) => job.typeName),
        times(5, () => typeName),
      );
      assert.equal((await claim({ limit: 5 })).length, 1);
    }),
  );

  for (const lift of ["pause", "limit", "group"] as const) {
    test(
      `priority decides between types after a ${lift} has gone`,
      withLimits(async ({ setQueueRule, startGroup, startMany, claim, completeAll, typeName }) => {
        if (lift === "group") {
          await startGroup("a", 1, { typeName: "third" });
          await completeAll(await claim({ limit: 1 }));
        } else {
          await setQueueRule(lift === "pause" ? { paused: true } : { concurrency: 1_000 });
          await setQueueRule(lift === "pause" ? { paused: false } : { concurrency: null });
        }
        await startMany(times(10, () => ({})));
        await startMany(times(10, () => ({ typeName: `${typeName}-urgent`, priority: 100 })));
        const first = await claimOneByOne(claim, 10);
        assert.deepEqual(new Set(first.map(({ priority }) => priority)), new Set([100]));
      }),
    );
  }
};

type Claim = (options: { readonly limit: number; readonly now?: number }) => Promise<StateJob[]>;

const claimAll = async (claim: Claim, limit: number, now = baseTime): Promise<StateJob[]> => {
  const jobs: StateJob[] = [];
  for (;;) {
    const found = await claim({ limit, now });
    if (found.length === 0) return jobs;
    jobs.push(...found);
  }
};

const claimOneByOne = async (
  claim: (options: { readonly limit: number }) => Promise<StateJob[]>,
  count: number,
): Promise<StateJob[]> => {
  const jobs: StateJob[] = [];
  for (let left = count; left > 0; left -= 1) jobs.push(...(await claim({ limit: 1 })));
  return jobs;
};
