import assert from "node:assert/strict";
import type { JobFilter, PagePosition } from "../../../store/contract/reads.ts";
import { baseTime } from "../../state-fixture.ts";
import type { StateSuite } from "../../state-suite.ts";
import { times, withLimits } from "./limits-scenario.ts";

export const describeLimitsReads = ({ test }: StateSuite): void => {
  test(
    "a filter by group finds its jobs of every type and status, in the order of a page",
    withLimits(async ({ adapter, queue, typeName, start, startMany, run }) => {
      const group = `it's "acme, inc" ${queue}`;
      const first = await start({ input: "a", group });
      await run(first);
      await startMany([
        { input: "b", group, typeName: `${typeName}-2` },
        { input: "c", group: `${group}2` },
        { input: "d" },
        { input: "e", group, schedule: { afterMs: 60_000 } },
      ]);
      const cases: [JobFilter, string[]][] = [
        [{ groups: [group] }, ["a", "b", "e"]],
        [{ groups: [group, `${group}2`, "none"] }, ["a", "b", "c", "e"]],
        [{ groups: [group], typeNames: [typeName] }, ["a", "e"]],
        [{ groups: [group], statuses: ["pending"] }, ["b", "e"]],
        [{ groups: [group], statuses: ["completed", "running"] }, ["a"]],
        [{ groups: [group], ids: [first.id] }, ["a"]],
        [{ groups: ["none"] }, []],
        [{ groups: [] }, []],
      ];
      const list = async (filter: JobFilter, limit = 100, after: PagePosition | null = null) =>
        adapter.listJobs({ filter, order: "oldest", limit, after });
      for (const [filter, expected] of cases) {
        const { jobs } = await list(filter);
        assert.deepEqual(jobs.map(({ input }) => input).sort(), expected, JSON.stringify(filter));
        const counts = await adapter.countJobs({ filter });
        assert.equal(
          counts.reduce((sum, { count }) => sum + count, 0),
          expected.length,
        );
      }
      const page = await list({ groups: [group] }, 2);
      const rest = await list({ groups: [group] }, 2, page.next);
      assert.deepEqual([page.jobs.length, rest.jobs.length, rest.next], [2, 1, null]);
    }),
  );

  test(
    "listRules lists rules and types with groups, with how much is in use",
    withLimits(
      async ({ setQueueRule, setTypeRule, startGroup, startMany, claim, limits, queue, typeName }) => {
        const grouped = `${typeName}-grouped`;
        await setQueueRule({ concurrency: 10, rate: { limit: 5, perMs: 1_000, burst: 5 } });
        await setTypeRule({ concurrency: 1 });
        await startMany(times(3, () => ({})));
        await startGroup("a", 2, { typeName: grouped });
        await startGroup("b", 1, { typeName: grouped });
        assert.equal((await claim({ typeNames: [typeName] })).length, 1);
        const uses = await limits.listRules({ queue, now: baseTime });
        assert.deepEqual(
          uses.map(({ rule, running, tokens }) => [rule.typeName, rule.version, running, tokens]),
          [
            [null, 1, 1, 4],
            [typeName, 1, 1, null],
            [grouped, 0, 0, null],
          ],
        );
        assert.deepEqual(
          uses.map(({ claimableGroups, throttledGroups }) => [claimableGroups, throttledGroups]),
          [
            [2, 1],
            [0, 1],
            [2, 0],
          ],
        );
        const everywhere = await limits.listRules({ queue: null, now: baseTime });
        assert.equal(everywhere.filter(({ rule }) => rule.queue === queue).length, 3);
        assert.deepEqual(await limits.listRules({ queue: `${queue}-other`, now: baseTime }), []);
      },
    ),
  );

  test(
    "listGroups lists groups by who has waited longest or runs most",
    withLimits(async ({ setTypeRule, startGroup, claim, limits, queue, typeName }) => {
      await setTypeRule({ perGroup: { concurrency: 2, rate: null } });
      await startGroup("one", 3);
      assert.equal((await claim()).length, 2);
      await startGroup("two", 1, {}, baseTime + 1);
      await startGroup("three", 2, {}, baseTime + 2);
      assert.equal((await claim({ now: baseTime + 2, limit: 1 })).length, 1);
      const now = baseTime + 2;
      const list = async (call: { throttled?: boolean; order?: "waiting" | "running"; limit?: number }) =>
        (await limits.listGroups({ queue, typeName, order: "waiting", limit: 10, now, ...call })).groups.map(
          ({ group, running, waiting, waitingSince, throttledBy }) => [
            group,
            running,
            waiting,
            waitingSince === null ? null : waitingSince - baseTime,
            throttledBy,
          ],
        );
      const all = await list({});
      assert.deepEqual(all[0], ["one", 2, 1, 0, "concurrency"]);
      assert.equal(all.length, 3);
      assert.deepEqual(await list({ throttled: true }), [all[0]]);
      assert.deepEqual((await list({ throttled: false })).map(([group]) => String(group)).sort(), [
        "three",
        "two",
      ]);
      assert.deepEqual((await list({ order: "running", limit: 1 }))[0]?.[0], "one");
      assert.deepEqual(
        await limits.listGroups({ queue, typeName: "nobody's", order: "waiting", limit: 9, now }),
        { groups: [], next: null },
      );
    }),
  );

  test(
    "listGroups by name neither repeats nor skips a group while others come and go",
    withLimits(async ({ startGroup, claim, completeAll, limits, queue, typeName }) => {
      // Beyond U+FFFF the order of UTF-16 units differs from that of bytes.
      const names = [...times(7, (index) => `g${index}`), "\u{ff21}", "\u{1f600}"];
      const others = `${typeName}-others`;
      for (const name of names.toReversed()) await startGroup(name, 1);
      await startGroup("g1-other", 1, { typeName: others });
      const claimed = await claim({ limit: 3, typeNames: [typeName] });
      assert.equal(claimed.length, 3);
      const list = (after: string | null, limit = 2, wanted: { throttled?: boolean } = {}) =>
        limits.listGroups({ queue, typeName, order: "name", limit, after, now: baseTime, ...wanted });
      const readRest = async (from: string | null, limit: number): Promise<string[]> => {
        const { groups, next } = await list(from, limit);
        assert.ok(groups.length <= limit);
        assert.notEqual(next ?? "the end", from, "each page goes on");
        const read = groups.map(({ group }) => group);
        return next === null ? read : [...read, ...(await readRest(next, limit))];
      };
      for (const limit of [1, 2, 4, names.length, 100]) assert.deepEqual(await readRest(null, limit), names);
      const first = await list(null);
      assert.deepEqual([first.groups.map(({ group }) => group), first.next], [["g0", "g1"], "g1"]);
      // The group that the page ends with goes away, and others come before and behind it.
      claimed.push(...(await claim({ limit: 100, typeNames: [typeName] })));
      await completeAll(claimed.filter(({ group }) => group === "g1"));
      await startGroup("g0-new", 1);
      await startGroup("g5-new", 1);
      assert.deepEqual(await readRest(first.next, 2), [...names.slice(2, 6), "g5-new", ...names.slice(6)]);
      assert.deepEqual(await list(null, 2, { throttled: true }), { groups: [], next: null });
      assert.deepEqual(await list(names.at(-1)!), { groups: [], next: null });
    }),
  );

  test(
    "listGroups by name goes on behind groups that are not wanted",
    withLimits(async ({ startMany, limits, queue, typeName }) => {
      const names = times(230, (index) => `g${String(index).padStart(3, "0")}`);
      await startMany(names.map((group) => ({ group })));
      const stopped = names.filter((_name, index) => index % 100 === 99);
      for (const group of [...stopped, names.at(-1)!])
        await limits.pauseGroup({ queue, typeName, group, until: null, now: baseTime });
      const found: string[] = [];
      let after: string | null = null;
      do {
        const call = { queue, typeName, order: "name", throttled: true, limit: 1, now: baseTime } as const;
        const page = await limits.listGroups({ ...call, after });
        found.push(...page.groups.map(({ group }) => group));
        assert.notEqual(page.next ?? "the end", after, "each page goes on");
        after = page.next;
      } while (after !== null);
      assert.deepEqual(found, [...stopped, names.at(-1)]);
    }),
  );

  test(
    "repairCounters finds nothing to repair, and repairing leaves everything as it is",
    withLimits(async ({ setQueueRule, startGroup, claim, limits, assertCounters }) => {
      await setQueueRule({ concurrency: 2 });
      await startGroup("a", 4);
      await claim();
      await assertCounters();
      await limits.repairCounters({ repair: true, now: baseTime });
      assert.deepEqual(await claim(), []);
    }),
  );
};
