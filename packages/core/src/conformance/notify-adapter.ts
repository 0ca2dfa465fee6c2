import { hintCountTests } from "./notify/hint-counts.ts";
import { jobOwnershipLostTests } from "./notify/job-ownership-lost.ts";
import { jobScheduledTests } from "./notify/job-scheduled.ts";
import { jobSequenceCompletedTests } from "./notify/job-sequence-completed.ts";
import { loadTests, nameTests } from "./notify/names-and-load.ts";
import { subscriptionTests } from "./notify/subscriptions.ts";
import type { NotifyAdapterFixture } from "./notify-fixture.ts";
import { defineNotifySuite, type NotifySuite } from "./notify-suite.ts";
import type { ConformanceRunner } from "./runner.ts";

const suites: readonly (readonly [string, (suite: NotifySuite) => void])[] = [
  ["job scheduled", jobScheduledTests],
  ["hint counts", hintCountTests],
  ["job sequence completed", jobSequenceCompletedTests],
  ["job ownership lost", jobOwnershipLostTests],
  ["subscriptions", subscriptionTests],
  ["names", nameTests],
  ["load", loadTests],
];

/** What every notify adapter does while its transport is healthy. What it does when it is not is its own tests' matter. */
export const notifyAdapterConformance = (runner: ConformanceRunner, fixture: NotifyAdapterFixture): void => {
  for (const [name, define] of suites) defineNotifySuite(runner, fixture, name, define);
};
