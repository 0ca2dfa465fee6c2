import assert from "node:assert/strict";
import type { Limits } from "../../../store/contract/limits.ts";
import type { NewJob } from "../../../store/contract/creation.ts";
import type { StateJob } from "../../../store/contract/job.ts";
import type { LimitRuleChange, Throttle, SetRuleResult } from "../../../store/contract/limits.ts";
import { requirePart } from "../../../store/parts.ts";
import { baseTime } from "../../state-fixture.ts";
import { type ClaimOptions, completion, type StateScenario } from "../../state-scenario.ts";

/** The words of the jobs suites, and those for groups and rules. */
export interface LimitsScenario extends StateScenario {
  readonly limits: Limits<object>;
  /** Sets what is named of the rule of the scenario's queue, or of a type in it. */
  setQueueRule(change: LimitRuleChange, now?: number): Promise<SetRuleResult>;
  setTypeRule(change: LimitRuleChange, typeName?: string, now?: number): Promise<SetRuleResult>;
  /** `count` jobs of a group, one after the other. */
  startGroup(group: string, count: number, overrides?: Partial<NewJob>, now?: number): Promise<StateJob[]>;
  hold(job: StateJob, now?: number): Promise<Throttle | null>;
  completeAll(jobs: readonly StateJob[], now?: number): Promise<void>;
  nextRunnableIn(now?: number): Promise<number | null>;
  /** Claims and returns the ids. */
  claimIds(options?: ClaimOptions): Promise<string[]>;
  /** Every counter is what the running jobs say. */
  assertCounters(): Promise<void>;
}

export const idsOf = (jobs: readonly { readonly id: string }[]): string[] => jobs.map(({ id }) => id);

export const times = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));

export const withLimits =
  (test: (scenario: LimitsScenario) => Promise<void>) =>
  async (scenario: StateScenario): Promise<void> => {
    const { adapter, queue, typeName } = scenario;
    const limits = requirePart(adapter, "limits", "The suite of groups and rules") as Limits<object>;
    await test({
      ...scenario,
      limits,
      setQueueRule: (change, now = baseTime) => limits.setRule({ queue, typeName: null, change, now }),
      setTypeRule: (change, type = typeName, now = baseTime) =>
        limits.setRule({ queue, typeName: type, change, now }),
      startGroup: (group, count, overrides = {}, now = baseTime) =>
        scenario.startMany(
          times(count, () => ({ ...overrides, group })),
          now,
        ),
      hold: ({ id }, now = baseTime) => limits.explainThrottle({ jobId: id, now }),
      completeAll: async (jobs, now = baseTime) => {
        for (const job of jobs) assert.equal((await scenario.end(job, completion, now)).kind, "applied");
      },
      nextRunnableIn: (now = baseTime) =>
        adapter.nextRunnableIn({ requests: [{ queue, typeNames: null }], now }),
      claimIds: async (options) => idsOf(await scenario.claim(options)),
      assertCounters: async () => {
        const { counters } = await limits.repairCounters({ repair: false, now: baseTime });
        assert.deepEqual(
          counters.filter((counter) => counter.queue === queue),
          [],
        );
      },
    });
  };
