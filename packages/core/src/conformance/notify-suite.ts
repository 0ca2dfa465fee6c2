import { randomUUID } from "node:crypto";
import type { NotifyAdapterFixture, NotifyAdapterUnderTest } from "./notify-fixture.ts";
import type { ConformanceRunner } from "./runner.ts";

export interface NotifyScenario extends NotifyAdapterUnderTest {
  /** A name no other test uses, on a broker that tests may share. */
  unique(label: string): string;
}

export interface NotifySuite {
  readonly countsHints: boolean;
  test(name: string, run: (scenario: NotifyScenario) => Promise<void>): void;
}

export const defineNotifySuite = (
  runner: ConformanceRunner,
  fixture: NotifyAdapterFixture,
  name: string,
  define: (suite: NotifySuite) => void,
): void => {
  runner.describe(name, () => {
    define({
      countsHints: fixture.countsHints,
      test: (testName, run) => {
        runner.it(testName, async () => {
          const underTest = await fixture.create();
          const suffix = randomUUID();
          try {
            await run({ ...underTest, unique: (label) => `${label}-${suffix}` });
          } finally {
            await underTest.destroy();
          }
        });
      },
    });
  });
};
