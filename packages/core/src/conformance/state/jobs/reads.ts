import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { JobFilter } from "../../../store/contract/reads.ts";
import type { StateJob } from "../../../store/contract/job.ts";
import { baseTime } from "../../state-fixture.ts";
import { completion, failure } from "../../state-scenario.ts";
import type { StateScenario } from "../../state-scenario.ts";
import type { StateSuite } from "../../state-suite.ts";

const inputsFor = async ({ adapter, queue }: StateScenario, filter: JobFilter): Promise<string[]> => {
  const ownQueues = filter.queues ?? [queue];
  const page = await adapter.listJobs({
    filter: { ...filter, queues: ownQueues },
    order: "oldest",
    limit: 100,
    after: null,
  });
  return page.jobs.map(({ input }) => input).sort();
};

export const describeReads = ({ test, testAlone }: StateSuite): void => {
  test("getJobs answers in order, with undefined for what does not exist, and twice when asked twice", async (scenario) => {
    const [one, two] = await scenario.startMany([{}, {}]);
    assert.ok(one && two);
    const jobIds = [two.id, randomUUID(), one.id, two.id];
    assert.deepEqual(await scenario.adapter.getJobs({ jobIds }), [two, undefined, one, two]);
    assert.deepEqual(await scenario.adapter.getJobs({ jobIds: [] }), []);
  });

  test("getSequences gives the first and the latest job", async (scenario) => {
    const single = await scenario.start();
    const started = await scenario.start({ priority: 1 });
    const second = await scenario.continueSequence(await scenario.run(started), { priority: 1 });
    const third = await scenario.continueSequence(await scenario.run(second));
    const first = await scenario.reload(started);
    const sequenceIds = [first.id, randomUUID(), single.id, third.id];
    assert.deepEqual(await scenario.adapter.getSequences({ sequenceIds }), [
      { first, current: third },
      undefined,
      { first: single, current: single },
      undefined,
    ]);
  });

  test("getBlockers gives each job's blockers in the order they were given", async (scenario) => {
    const [one, two, three] = await scenario.startMany([{}, {}, {}]);
    assert.ok(one && two && three);
    await scenario.endWorkerless(one, completion);
    const job = await scenario.startBlocked([three, one, two]);
    const [none, blockers] = await scenario.adapter.getBlockers({ jobIds: [two.id, job.id] });
    assert.deepEqual(none, []);
    const expected = await scenario.reloadAll([three, one, two]);
    assert.deepEqual(
      blockers,
      expected.map((blocker) => ({ first: blocker, current: blocker })),
    );
    assert.deepEqual(await scenario.adapter.getBlockers({ jobIds: [randomUUID()] }), [[]]);
  });

  test("listBlockedJobs pages through all that were given the sequence, oldest first", async (scenario) => {
    const blocker = await scenario.start();
    const other = await scenario.start();
    const ids: string[] = [];
    for (const delay of [30, 10, 20]) {
      const blockers = delay === 10 ? [other, blocker] : [blocker];
      ids.push((await scenario.startBlocked(blockers, {}, baseTime + delay)).id);
    }
    await scenario.startBlocked([other]);
    await scenario.endWorkerless(blocker, completion);
    const [thirty, ten, twenty] = ids;
    const call = { sequenceId: blocker.id, limit: 2 };
    const first = await scenario.adapter.listBlockedJobs({ ...call, after: null });
    assert.deepEqual(
      first.jobs.map(({ id }) => id),
      [ten, twenty],
    );
    assert.ok(first.next);
    const second = await scenario.adapter.listBlockedJobs({ ...call, after: first.next });
    assert.deepEqual(
      second.jobs.map(({ id }) => id),
      [thirty],
    );
    assert.equal(second.next, null);
  });

  for (const order of ["oldest", "newest"] as const) {
    test(`listJobs pages through all, ${order} first, then by id`, async (scenario) => {
      const created = await Promise.all(
        Array.from({ length: 23 }, (_, index) => scenario.start({}, baseTime + (index % 4))),
      );
      const expected = created.sort((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1));
      if (order === "newest") expected.reverse();
      const listed: unknown[] = [];
      let after = null;
      do {
        const page = await scenario.adapter.listJobs({
          filter: { queues: [scenario.queue] },
          order,
          limit: 5,
          after,
        });
        assert.ok(page.jobs.length <= 5);
        listed.push(...page.jobs);
        after = page.next;
      } while (after !== null);
      assert.deepEqual(listed, expected);
    });
  }

  test("a page is not moved by what is created after it or finished in it", async (scenario) => {
    const jobs = [];
    for (let index = 0; index < 4; index += 1) jobs.push(await scenario.start({}, baseTime + index));
    const call = { filter: { queues: [scenario.queue] }, order: "newest", limit: 2 } as const;
    const first = await scenario.adapter.listJobs({ ...call, after: null });
    await scenario.start({}, baseTime + 100);
    for (const job of jobs) await scenario.endWorkerless(job, completion);
    const second = await scenario.adapter.listJobs({ ...call, after: first.next });
    assert.deepEqual(
      [...first.jobs, ...second.jobs].map(({ id }) => id),
      jobs.map(({ id }) => id).reverse(),
    );
  });

  test("every filter narrows by itself, and together they narrow further", async (scenario) => {
    const { queue, typeName } = scenario;
    const [a, b] = [`${typeName}-a`, `${typeName}-b`];
    const root = await scenario.start({ input: "root", typeName: a }, baseTime);
    await scenario.start(
      { input: "child", typeName: b, rootSequenceId: root.id, originId: root.id },
      baseTime + 10,
    );
    const broken = await scenario.start({ input: "broken", typeName: b, sequenceTypeName: a }, baseTime + 20);
    await scenario.endWorkerless(broken, failure, baseTime + 200);
    const done = await scenario.start({ input: "done", typeName: a, queue: `${queue}-2` }, baseTime + 30);
    await scenario.endWorkerless(done, completion, baseTime + 100);
    const queues = [queue, `${queue}-2`];

    const cases: [JobFilter, string[]][] = [
      [{}, ["broken", "child", "root"]],
      [{ queues }, ["broken", "child", "done", "root"]],
      [{ queues: [] }, []],
      [{ queues, statuses: ["failed", "completed"] }, ["broken", "done"]],
      [{ queues, statuses: ["pending"] }, ["child", "root"]],
      [{ queues, typeNames: [a] }, ["done", "root"]],
      [{ queues, sequenceTypeNames: [a] }, ["broken", "done", "root"]],
      [{ ids: [broken.id, randomUUID()] }, ["broken"]],
      [{ ids: [] }, []],
      [{ sequenceId: root.id }, ["root"]],
      [{ rootSequenceId: root.id }, ["child", "root"]],
      [{ queues, firstOf: "sequence" }, ["broken", "child", "done", "root"]],
      [{ queues, firstOf: "tree" }, ["broken", "done", "root"]],
      [{ failureReasons: ["unrecoverable"] }, ["broken"]],
      [{ failureReasons: ["cancelled"] }, []],
      [{ queues, createdFrom: baseTime + 10 }, ["broken", "child", "done"]],
      [{ queues, createdBefore: baseTime + 10 }, ["root"]],
      [{ queues, scheduledFrom: baseTime + 30 }, ["done"]],
      [{ queues, scheduledFrom: baseTime + 10, scheduledBefore: baseTime + 30 }, ["broken", "child"]],
      [{ queues, finishedFrom: baseTime + 100 }, ["broken", "done"]],
      [{ queues, finishedFrom: baseTime + 101 }, ["broken"]],
      [{ queues, finishedBefore: baseTime + 200 }, ["done"]],
      [{ queues, typeNames: [a], statuses: ["pending"], createdBefore: baseTime + 5 }, ["root"]],
      [{ rootSequenceId: root.id, typeNames: [b] }, ["child"]],
    ];
    for (const [filter, expected] of cases) {
      assert.deepEqual(await inputsFor(scenario, filter), expected, JSON.stringify(filter));
    }
  });

  test("a filter by the beginning of the id finds the jobs that have it", async (scenario) => {
    const jobs = await scenario.startMany([{ input: "1" }, { input: "2" }, { input: "3" }]);
    const { id } = jobs[1]!;
    for (const length of [1, 8, 13, 18, id.length]) {
      const idPrefix = id.slice(0, length);
      const expected = jobs.filter((job) => job.id.startsWith(idPrefix)).map(({ input }) => input);
      assert.deepEqual(await inputsFor(scenario, { idPrefix }), expected.sort(), idPrefix);
    }
    assert.deepEqual(await inputsFor(scenario, { idPrefix: `${id}0` }), []);
    assert.deepEqual(await inputsFor(scenario, { idPrefix: "%" }), []);
  });

  test("a filter by worker finds the jobs that it holds now", async (scenario) => {
    const { adapter, queue, run, end } = scenario;
    const start = async (input: string, workerId: string): Promise<StateJob> =>
      run(await scenario.start({ input }), { workerId });
    await start("one", 'worker\'s "a"');
    await start("two", 'worker\'s "a"');
    await start("three", "b");
    await end(await start("completed", "b"), completion);
    await end(await start("failed", "b"), failure);
    await scenario.start({ input: "pending" });
    const cases: [JobFilter, string[]][] = [
      [{ leasedBy: ['worker\'s "a"'] }, ["one", "two"]],
      [{ leasedBy: ["b"] }, ["three"]],
      [{ leasedBy: ["b", 'worker\'s "a"', "c"], statuses: ["running"] }, ["one", "three", "two"]],
      [{ leasedBy: ["b"], statuses: ["completed", "failed"] }, []],
      [{ leasedBy: ["c"] }, []],
      [{ leasedBy: [] }, []],
    ];
    for (const [filter, expected] of cases) {
      assert.deepEqual(await inputsFor(scenario, filter), expected, JSON.stringify(filter));
      const counts = await adapter.countJobs({ filter: { queues: [queue], ...filter } });
      assert.equal(
        counts.reduce((sum, { count }) => sum + count, 0),
        expected.length,
      );
    }
  });

  test("a filter by deduplication key finds what was started with it, also when it has finished", async (scenario) => {
    const { queue, typeName } = scenario;
    const withKey = (input: string, key: string, more = {}): Promise<StateJob> =>
      scenario.start({ input, deduplication: { key, scope: "unfinished", windowMs: null }, ...more });
    await scenario.endWorkerless(await withKey("earlier", "one, and a comma"), completion);
    const current = await withKey("current", "one, and a comma");
    await withKey("other type", "one, and a comma", { typeName: `${typeName}-2` });
    await withKey("other key", "two");
    await scenario.start({ input: "no key" });
    await scenario.continueSequence(await scenario.run(current), { input: "continued" });

    const cases: [JobFilter, string[]][] = [
      [{ deduplicationKeys: ["one, and a comma"] }, ["current", "earlier", "other type"]],
      [{ deduplicationKeys: ["two", "none"] }, ["other key"]],
      [{ deduplicationKeys: [] }, []],
      [
        { deduplicationKeys: ["one, and a comma", "two"], sequenceTypeNames: [typeName] },
        ["current", "earlier", "other key"],
      ],
      [{ deduplicationKeys: ["two"], sequenceTypeNames: [`${typeName}-2`] }, []],
      [{ deduplicationKeys: ["one, and a comma"], statuses: ["pending"] }, ["other type"]],
      [{ deduplicationKeys: ["one, and a comma"], sequenceId: current.id }, ["current"]],
    ];
    for (const [filter, expected] of cases) {
      assert.deepEqual(await inputsFor(scenario, filter), expected, JSON.stringify(filter));
      const counts = await scenario.adapter.countJobs({ filter: { queues: [queue], ...filter } });
      assert.equal(
        counts.reduce((sum, { count }) => sum + count, 0),
        expected.length,
      );
    }
    const call = {
      filter: { deduplicationKeys: ["one, and a comma", "two"], sequenceTypeNames: [typeName] },
      order: "newest",
      limit: 2,
    } as const;
    const first = await scenario.adapter.listJobs({ ...call, after: null });
    const second = await scenario.adapter.listJobs({ ...call, after: first.next });
    assert.deepEqual([first.jobs.length, second.jobs.length, second.next], [2, 1, null]);
  });

  test("a filter by the text of the input takes every character as it is", async (scenario) => {
    const inputs = ['{"a":"50%_\\\\ é😀 \'"}', '{"A":"50%"}', '{"a":5}', "not JSON: {"];
    await scenario.startMany(inputs.map((input) => ({ input })));
    const cases: [string, number[]][] = [
      ['"a":', [0, 2]],
      ["50%_", [0]],
      ["\\\\ é😀 '", [0]],
      ["5_", []],
      ["{", [0, 1, 2, 3]],
    ];
    for (const [text, expected] of cases) {
      const wanted = inputs.filter((_, index) => expected.includes(index)).sort();
      assert.deepEqual(await inputsFor(scenario, { inputContains: text }), wanted, text);
    }
  });

  test("a filter by sequence finds its continuations", async (scenario) => {
    const first = await scenario.start({ input: "first" });
    await scenario.continueSequence(await scenario.run(first), { input: "second" });
    assert.deepEqual(await inputsFor(scenario, { sequenceId: first.id }), ["first", "second"]);
  });

  testAlone("countJobs counts by queue, type and status, and obeys the filter", async (scenario) => {
    const { adapter, queue, typeName } = scenario;
    const other = `${queue}-2`;
    await scenario.startMany([{}, {}, {}, { queue: other }, { typeName: `${typeName}-2` }]);
    const [running] = await scenario.claim({ limit: 1, typeNames: [typeName] });
    assert.ok(running);
    await scenario.endWorkerless(running, failure);

    const count = async (filter: JobFilter): Promise<string[]> =>
      (await adapter.countJobs({ filter }))
        .map((group) => `${group.queue} ${group.typeName} ${group.status} ${group.count}`)
        .sort();
    const pending = `${queue} ${typeName} pending 2`;
    const failed = `${queue} ${typeName} failed 1`;
    const elsewhere = `${other} ${typeName} pending 1`;
    const otherType = `${queue} ${typeName}-2 pending 1`;
    assert.deepEqual(await count({}), [pending, failed, elsewhere, otherType].sort());
    assert.deepEqual(await count({ queues: [other] }), [elsewhere]);
    assert.deepEqual(await count({ statuses: ["failed"] }), [failed]);
    assert.deepEqual(await count({ createdFrom: baseTime + 1 }), []);
  });

  test("countAhead counts the jobs that would be claimed first", async (scenario) => {
    const { adapter, queue, typeName } = scenario;
    const ahead = (job: { id: string }, now = baseTime, cap = 100): Promise<number | null> =>
      adapter.countAhead({ jobId: job.id, cap, now });
    const early = await scenario.start({}, baseTime - 1);
    const [first, second, urgent, otherType] = await scenario.startMany([
      {},
      {},
      { priority: 1 },
      { typeName: `${typeName}-2` },
      { queue: `${queue}-2`, priority: 9 },
      { awaitsBlockers: true, priority: 9 },
      { priority: 9, schedule: { afterMs: 1_000 } },
    ]);
    assert.ok(first && second && urgent && otherType);
    assert.deepEqual(
      [
        await ahead(urgent),
        await ahead(early),
        await ahead(first),
        await ahead(second),
        await ahead(otherType),
      ],
      [0, 1, 2, 3, 4],
    );
    assert.equal(await ahead(first, baseTime + 1_000), 3);
    // Counting ends at the cap.
    assert.deepEqual(
      [
        await ahead(urgent, baseTime, 2),
        await ahead(early, baseTime, 2),
        await ahead(otherType, baseTime, 2),
      ],
      [0, 1, 2],
    );
  });

  test("countAhead counts a job whose lease has run out, and none whose lease holds", async (scenario) => {
    const ahead = (job: { id: string }, now: number): Promise<number | null> =>
      scenario.adapter.countAhead({ jobId: job.id, cap: 10, now });
    await scenario.run(await scenario.start(), { leaseMs: 500 });
    const job = await scenario.start({ schedule: { afterMs: 600 } });
    assert.equal(await ahead(job, baseTime + 499), 0);
    assert.equal(await ahead(job, baseTime + 600), 1);
    // Waiting jobs and jobs with an expired lease count towards one cap.
    await scenario.startMany([{ priority: 1 }, { priority: 1 }]);
    assert.equal(await scenario.adapter.countAhead({ jobId: job.id, cap: 2, now: baseTime + 600 }), 2);
  });

  test("countAhead has no answer for a job that is not pending", async ({
    adapter,
    start,
    startBlocked,
    run,
  }) => {
    const running = await run(await start());
    const blocked = await startBlocked([running]);
    for (const jobId of [running.id, blocked.id, randomUUID()]) {
      assert.equal(await adapter.countAhead({ jobId, cap: 10, now: baseTime }), null);
    }
  });
};
