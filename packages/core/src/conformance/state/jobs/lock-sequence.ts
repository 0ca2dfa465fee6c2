import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { StateSequence } from "../../../store/contract/job.ts";
import { baseTime } from "../../state-fixture.ts";
import { completion, failure } from "../../state-scenario.ts";
import type { StateScenario } from "../../state-scenario.ts";
import type { StateSuite } from "../../state-suite.ts";

const lock = ({ adapter }: StateScenario, sequenceId: string): Promise<StateSequence | undefined> =>
  adapter.runInTransaction((ctx) => adapter.lockSequence({ sequenceId, ctx, now: baseTime }));

export const describeLockSequence = ({ test }: StateSuite): void => {
  test("returns the only job as both first and current, whatever its status", async (scenario) => {
    const blocker = await scenario.start();
    const jobs = [blocker, await scenario.startBlocked([blocker])];
    jobs.push(await scenario.run(await scenario.start({ typeName: `${scenario.typeName}-running` })));
    for (const ending of [completion, failure]) {
      const job = await scenario.start();
      await scenario.endWorkerless(job, ending);
      jobs.push(await scenario.reload(job));
    }
    for (const job of jobs)
      assert.deepEqual(await lock(scenario, job.sequenceId), { first: job, current: job });
  });

  test("returns the latest continuation as current", async (scenario) => {
    const first = await scenario.start();
    const continuation = await scenario.continueSequence(await scenario.run(first));
    assert.deepEqual(await lock(scenario, first.id), {
      first: await scenario.reload(first),
      current: continuation,
    });
  });

  test("knows no sequence by an id that is none", async (scenario) => {
    const continuation = await scenario.continueSequence(await scenario.run(await scenario.start()));
    assert.equal(await lock(scenario, randomUUID()), undefined);
    assert.equal(await lock(scenario, continuation.id), undefined);
  });

  test("needs a transaction", async ({ adapter, start }) => {
    const { sequenceId } = await start();
    await assert.rejects(adapter.lockSequence({ sequenceId, ctx: undefined, now: baseTime }), {
      code: "StateNotInTransaction",
    });
  });
};
