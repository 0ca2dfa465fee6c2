import type { JobTypes } from "../job-types/define.ts";
import { patienceMs } from "./patience.ts";
import type { ConformanceRunner } from "./runner.ts";
import type { ScenarioFixture, ScenarioStores } from "./scenario-fixture.ts";
import { type Story, tellStory } from "./story.ts";

export type Tell = <TDefs>(
  name: string,
  jobTypes: JobTypes<TDefs>,
  tell: (story: Story<TDefs>) => Promise<void>,
) => void;

export interface ScenarioSuite {
  /**
   * A story on the store that all of them share, because making one is slow on a database. It must keep to its own
   * queue and keys, and may not count on the store being empty.
   */
  readonly test: Tell;
  /** A story about the whole store, such as pruning. It gets a store of its own. */
  readonly testAlone: Tell;
}

/** The stories of one file. */
export type Scenario = (suite: ScenarioSuite) => void;

/** Registers every scenario with the runner, under its name. */
export const defineScenarios = (
  runner: ConformanceRunner,
  fixture: ScenarioFixture,
  scenarios: Readonly<Record<string, Scenario>>,
): void => {
  let shared: Promise<ScenarioStores> | undefined;
  runner.afterAll(async () => {
    await (await shared)?.destroy();
  });

  const test: Tell = (name, jobTypes, tell) => {
    const run = async (): Promise<void> => {
      shared ??= fixture.create();
      await tellStory(await shared, fixture, jobTypes, tell);
    };
    runner.it(name, run, patienceMs * 2);
  };

  const testAlone: Tell = (name, jobTypes, tell) => {
    const run = async (): Promise<void> => {
      const own = await fixture.create();
      try {
        await tellStory(own, fixture, jobTypes, tell);
      } finally {
        await own.destroy();
      }
    };
    runner.it(name, run, patienceMs * 2);
  };

  for (const [name, scenario] of Object.entries(scenarios)) {
    runner.describe(name, () => scenario({ test, testAlone }));
  }
};
