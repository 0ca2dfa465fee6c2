import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { baseTime } from "../../state-fixture.ts";
import { completion, failure, release, retryAfter } from "../../state-scenario.ts";
import type { StateSuite } from "../../state-suite.ts";
import { idsOf, times, withLimits } from "./limits-scenario.ts";

export const describeConcurrencyLimits = ({ test }: StateSuite): void => {
  test(
    "a queue runs no more jobs at once than its rule says, whatever their types",
    withLimits(async ({ setQueueRule, startMany, claim, completeAll, typeName, assertCounters }) => {
      await setQueueRule({ concurrency: 3 });
      await startMany(times(8, (index) => ({ typeName: `${typeName}-${index % 2}` })));
      const first = await claim();
      assert.equal(first.length, 3);
      assert.ok(first.every(({ limited }) => limited));
      assert.equal((await claim()).length, 0);
      await completeAll(first.slice(0, 2));
      assert.equal((await claim()).length, 2);
      assert.equal((await claim()).length, 0);
      await assertCounters();
    }),
  );

  test(
    "a type has a limit of its own, and leaves other types alone",
    withLimits(async ({ setTypeRule, startMany, claim, typeName }) => {
      const other = `${typeName}-other`;
      await setTypeRule({ concurrency: 1 });
      await startMany([...times(4, () => ({})), ...times(4, () => ({ typeName: other }))]);
      const claimed = await claim();
      assert.equal(claimed.filter((job) => job.typeName === typeName).length, 1);
      assert.equal(claimed.filter((job) => job.typeName === other).length, 4);
    }),
  );

  test(
    "each group has the limit of its type, and jobs without a group have none",
    withLimits(async ({ setTypeRule, startGroup, startMany, claim, assertCounters }) => {
      await setTypeRule({ perGroup: { concurrency: 2, rate: null } });
      await startGroup("a", 4);
      await startGroup("b", 1);
      await startMany(times(4, () => ({})));
      const groups = (await claim()).map(({ group }) => group ?? "none").sort();
      assert.deepEqual(groups, ["a", "a", "b", "none", "none", "none", "none"]);
      await assertCounters();
    }),
  );

  test(
    "a group belongs to its type; the rule of a queue is for the groups of each type",
    withLimits(async ({ setQueueRule, startMany, claim, typeName }) => {
      const other = `${typeName}-other`;
      await setQueueRule({ perGroup: { concurrency: 1, rate: null } });
      await startMany([
        { group: "a" },
        { group: "a" },
        { group: "a", typeName: other },
        { group: "a", typeName: other },
      ]);
      assert.deepEqual((await claim()).map((job) => job.typeName).sort(), [typeName, other].sort());
    }),
  );

  test(
    "the limits of groups in the rule of a type override those of its queue",
    withLimits(async ({ setQueueRule, setTypeRule, startGroup, claim }) => {
      await setQueueRule({ perGroup: { concurrency: 1, rate: null } });
      await setTypeRule({ perGroup: { concurrency: 3, rate: null } });
      await startGroup("a", 5);
      assert.equal((await claim()).length, 3);
    }),
  );

  test(
    "all limits over a job have to have room",
    withLimits(async ({ setQueueRule, setTypeRule, startMany, startGroup, claim, typeName }) => {
      const other = `${typeName}-other`;
      await setQueueRule({ concurrency: 4 });
      await setTypeRule({ concurrency: 3, perGroup: { concurrency: 2, rate: null } });
      await startGroup("a", 5);
      await startGroup("b", 5);
      await startMany(times(5, () => ({ typeName: other })));
      const claimed = await claim();
      const ofType = claimed.filter((job) => job.typeName === typeName);
      assert.equal(claimed.length, 4);
      assert.ok(ofType.length <= 3);
      for (const name of ["a", "b"]) assert.ok(ofType.filter(({ group }) => group === name).length <= 2);
    }),
  );

  for (const [name, ending] of Object.entries({
    completion,
    failure,
    "a retry": retryAfter(60_000),
    "giving it back": { ...release, schedule: { afterMs: 60_000 } } as const,
  })) {
    test(
      `a slot comes free once by ${name}, even if the outcome is reported twice`,
      withLimits(async ({ setQueueRule, startMany, claim, end, assertCounters }) => {
        await setQueueRule({ concurrency: 2 });
        await startMany(times(5, () => ({})));
        const [job] = await claim();
        assert.ok(job);
        assert.equal((await end(job, ending)).kind, "applied");
        assert.equal((await end(job, ending)).kind, "repeated");
        assert.equal((await claim()).length, 1);
        await assertCounters();
      }),
    );
  }

  test(
    "a slot comes free by cancelling, deleting and workerless completion",
    withLimits(async ({ adapter, setQueueRule, startMany, claim, cancel, endWorkerless, assertCounters }) => {
      await setQueueRule({ concurrency: 3 });
      await startMany(times(9, () => ({})));
      const [cancelled, deleted, completed] = await claim();
      assert.ok(cancelled && deleted && completed);
      await cancel(cancelled);
      assert.equal((await claim()).length, 1);
      await adapter.deleteSequences({ rootSequenceIds: [deleted.id], now: baseTime });
      assert.equal((await claim()).length, 1);
      await endWorkerless(completed, completion);
      assert.equal((await claim()).length, 1);
      assert.equal((await claim()).length, 0);
      await assertCounters();
    }),
  );

  test(
    "ending jobs that do not run frees no slot",
    withLimits(async ({ adapter, setQueueRule, startMany, claim, cancel, endWorkerless, assertCounters }) => {
      await setQueueRule({ concurrency: 1 });
      const jobs = await startMany(times(6, () => ({})));
      const [running] = await claim();
      const [cancelled, deleted, completed] = jobs.filter(({ id }) => id !== running?.id);
      assert.ok(cancelled && deleted && completed);
      await cancel(cancelled);
      await adapter.deleteSequences({ rootSequenceIds: [deleted.id], now: baseTime });
      await endWorkerless(completed, completion);
      assert.equal((await claim()).length, 0);
      await assertCounters();
    }),
  );

  test(
    "a continuation is a job of its own: it waits for the slot that the job before it gives back",
    withLimits(async ({ setQueueRule, start, claim, continueSequence }) => {
      await setQueueRule({ concurrency: 1 });
      await start();
      const [first] = await claim();
      assert.ok(first);
      const next = await continueSequence(first);
      assert.deepEqual(idsOf(await claim()), [next.id]);
    }),
  );

  test(
    "an expired lease keeps its slot until the job is reaped, and counts once",
    withLimits(async ({ adapter, setQueueRule, startMany, claim, completeAll, end, assertCounters }) => {
      await setQueueRule({ concurrency: 2 });
      await startMany(times(4, () => ({ maxAttempts: 1 })));
      const lost = await claim({ leaseMs: 1_000 });
      const now = baseTime + 1_000;
      assert.equal((await claim({ now })).length, 0, "without attempts left they wait for the reaper");
      await adapter.reapExpiredLeases({ limit: 100, error: "lost", now });
      const next = await claim({ now });
      assert.equal(next.length, 2);
      assert.equal((await end(lost[0]!, completion, now)).kind, "refused");
      assert.equal((await claim({ now })).length, 0, "what a stale holder reports frees nothing");
      await completeAll(next, now);
      await assertCounters();
    }),
  );

  test(
    "a claim after the end of a lease takes one job for the slot, and no second one",
    withLimits(async ({ setTypeRule, startGroup, claim, end, reloadAll, assertCounters }) => {
      await setTypeRule({ perGroup: { concurrency: 1, rate: null } });
      const jobs = await startGroup("a", 3);
      const [lost] = await claim({ leaseMs: 1_000 });
      const now = baseTime + 1_000;
      const taken = await claim({ now });
      assert.equal(taken.length, 1);
      assert.equal((await claim({ now })).length, 0);
      const running = (await reloadAll(jobs)).filter(({ status }) => status === "running");
      assert.deepEqual(idsOf(running), idsOf(taken));
      const late = await end(lost!, completion, now);
      assert.equal(late.kind, "refused");
      assert.equal((await claim({ now })).length, 0, "the slot is its successor's");
      await assertCounters();
    }),
  );

  test(
    "a repeated claim gets the jobs its token holds, and no slots beside them",
    withLimits(async ({ setQueueRule, startMany, claim, assertCounters }) => {
      await setQueueRule({ concurrency: 3 });
      await startMany(times(6, () => ({})));
      const leaseToken = randomUUID();
      const first = await claim({ leaseToken, limit: 2 });
      const again = await claim({ leaseToken, limit: 5, isRepeat: true });
      assert.deepEqual(idsOf(again.slice(0, 2)).sort(), idsOf(first).sort());
      assert.equal(again.length, 3);
      assert.equal((await claim()).length, 0);
      await assertCounters();
    }),
  );

  test(
    "renewing a lease changes no counter",
    withLimits(async ({ adapter, setQueueRule, startMany, claim, assertCounters }) => {
      await setQueueRule({ concurrency: 1 });
      await startMany([{}, {}]);
      const [job] = await claim({ leaseMs: 1_000 });
      const leases = [{ jobId: job!.id, leaseToken: job!.leaseToken!, leaseMs: 9_000 }];
      await adapter.renewLeases({ leases, now: baseTime });
      assert.equal((await claim({ now: baseTime + 1_000 })).length, 0);
      await assertCounters();
    }),
  );

  test(
    "jobs without a group in a queue without rules are not limited",
    withLimits(async ({ startMany, claim, limits, queue }) => {
      await startMany(times(5, () => ({})));
      const claimed = await claim();
      assert.equal(claimed.length, 5);
      assert.ok(claimed.every(({ limited, group }) => !limited && group === null));
      assert.deepEqual(await limits.listRules({ queue, now: baseTime }), []);
    }),
  );
};
