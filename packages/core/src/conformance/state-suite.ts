import { repeatConflicts } from "./retry-transient.ts";
import type { ConformanceRunner } from "./runner.ts";
import type { StateAdapterFixture, StateAdapterUnderTest } from "./state-fixture.ts";
import { createStateScenario } from "./state-scenario.ts";
import type { StateScenario } from "./state-scenario.ts";

export type StateTest = (scenario: StateScenario) => Promise<void>;

export interface StateSuite {
  /**
   * A test on the store that all tests of the suite share, because making one is slow on a database. It must keep to
   * the scenario's own queue and job types, and may not count on the store being empty.
   */
  test(name: string, test: StateTest, timeoutMs?: number): void;
  /** A test of what goes through the whole store, such as pruning. It gets a store of its own. */
  testAlone(name: string, test: StateTest, timeoutMs?: number): void;
}

/** The tests of a part, by what they are about. */
export type StateSuites = Readonly<Record<string, (suite: StateSuite) => void>>;

export const defineStateSuite = (
  runner: ConformanceRunner,
  fixture: StateAdapterFixture,
  name: string,
  define: (suite: StateSuite) => void,
): void => {
  runner.describe(name, () => {
    let shared: Promise<StateAdapterUnderTest> | undefined;
    runner.afterAll(async () => {
      await (await shared)?.destroy();
    });

    define({
      test: (testName, test, timeoutMs) => {
        const run = async (): Promise<void> => {
          shared ??= fixture.create();
          await test(createStateScenario(repeatConflicts((await shared).adapter)));
        };
        runner.it(testName, run, timeoutMs);
      },
      testAlone: (testName, test, timeoutMs) => {
        const run = async (): Promise<void> => {
          const own = await fixture.create();
          try {
            await test(createStateScenario(repeatConflicts(own.adapter)));
          } finally {
            await own.destroy();
          }
        };
        runner.it(testName, run, timeoutMs);
      },
    });
  });
};
