import assert from "node:assert/strict";
import type { StateJob } from "../../../store/contract/job.ts";
import { createRandom } from "../../random.ts";
import { retryTransient } from "../../retry-transient.ts";
import { baseTime } from "../../state-fixture.ts";
import { completion, failure, release } from "../../state-scenario.ts";
import type { StateSuite } from "../../state-suite.ts";
import { type LimitsScenario, times, withLimits } from "./limits-scenario.ts";

const longTimeoutMs = 120_000;

/**
 * Several workers at once take jobs and end them, until none is left. `look` sees what is running for certain: it is told
 * of a job after its claim has returned, and until before its outcome is sent.
 */
const drain = async (
  scenario: LimitsScenario,
  count: number,
  look: (running: ReadonlySet<StateJob>) => void,
): Promise<number> => {
  const random = createRandom(3);
  const running = new Set<StateJob>();
  const deadline = Date.now() + longTimeoutMs / 2;
  let done = 0;
  const work = async (): Promise<void> => {
    while (done < count && Date.now() < deadline) {
      const jobs = await retryTransient(scenario, () =>
        scenario.claim({ limit: 1 + Math.floor(random() * 3) }),
      );
      for (const job of jobs) running.add(job);
      look(running);
      await Promise.all(
        jobs.map(async (job) => {
          running.delete(job);
          const ending =
            job.attempt === 1 && random() < 0.1 ? release : random() < 0.1 ? failure : completion;
          const result = await retryTransient(scenario, () => scenario.end(job, ending));
          assert.ok(result.kind === "applied" || result.kind === "repeated");
          if (ending !== release) done += 1;
        }),
      );
    }
  };
  await Promise.all(times(6, work));
  return done;
};

export const describeLimitsRaces = ({ test }: StateSuite): void => {
  test(
    "however many claim at once, no limit is exceeded and no job is forgotten",
    withLimits(async (scenario) => {
      const { setQueueRule, setTypeRule, startMany, assertCounters } = scenario;
      await setQueueRule({ concurrency: 5 });
      await setTypeRule({ perGroup: { concurrency: 2, rate: null } });
      const count = 120;
      await startMany(times(count, (index) => ({ group: `group-${index % 4}` })));
      const done = await drain(scenario, count, (running) => {
        assert.ok(running.size <= 5, `${running.size} at once`);
        const groups = [...running].map(({ group }) => group);
        for (const group of groups) assert.ok(groups.filter((other) => other === group).length <= 2);
      });
      assert.equal(done, count);
      await assertCounters();
    }),
    longTimeoutMs,
  );

  test(
    "however many claim at once, ordered groups stay in order",
    withLimits(async (scenario) => {
      const count = 60;
      const jobs = await scenario.startMany(
        times(count, (index) => ({ group: `group-${index % 3}`, ordered: "continue" as const })),
      );
      const places = new Map(jobs.map(({ id }, place) => [id, place]));
      const last = new Map<string | null, number>();
      const done = await drain(scenario, count, (running) => {
        const groups = [...running].map(({ group }) => group);
        assert.equal(new Set(groups).size, groups.length, "one at a time");
        for (const { id, group } of running) {
          const place = places.get(id)!;
          assert.ok(place >= (last.get(group) ?? 0), "in order");
          last.set(group, place);
        }
      });
      assert.equal(done, count);
      await scenario.assertCounters();
    }),
    longTimeoutMs,
  );

  test(
    "claims that race for a limit take it once, in whatever order they come",
    withLimits(async (scenario) => {
      const { setQueueRule, startMany, claim, completeAll, assertCounters } = scenario;
      await setQueueRule({ concurrency: 7 });
      await startMany(times(100, () => ({})));
      for (let round = 0; round < 5; round += 1) {
        const claims = await Promise.all(times(8, () => retryTransient(scenario, () => claim({ limit: 3 }))));
        const taken = claims.flat();
        assert.ok(taken.length <= 7, `${taken.length} were taken`);
        await completeAll(taken);
        await assertCounters();
      }
    }),
    longTimeoutMs,
  );

  test(
    "rules may change while jobs are claimed and end",
    withLimits(async (scenario) => {
      const { setQueueRule, startMany, claim, assertCounters } = scenario;
      const count = 80;
      await startMany(times(count, (index) => ({ group: `group-${index % 3}` })));
      let isDone = false;
      const editing = (async () => {
        for (let round = 0; !isDone; round += 1) {
          const concurrency = round % 3 === 0 ? null : 1 + (round % 5);
          await retryTransient(scenario, () => setQueueRule({ concurrency, paused: round % 7 === 6 }));
        }
        await setQueueRule({ concurrency: 2, paused: false });
      })();
      const done = await drain(scenario, count, () => {});
      isDone = true;
      await editing;
      assert.equal(done, count);
      await startMany(
        times(5, () => ({})),
        baseTime,
      );
      assert.equal((await claim()).length, 2);
      await assertCounters();
    }),
    longTimeoutMs,
  );
};
