import type { ConformanceRunner } from "./runner.ts";
import { defineScenarios, type Scenario } from "./scenario.ts";
import type { ScenarioFixture } from "./scenario-fixture.ts";
import { describeBlockerCycles } from "./scenarios/blocker-cycles.ts";
import { describeBlockerFailure } from "./scenarios/blocker-failure.ts";
import { describeBlockers } from "./scenarios/blockers.ts";
import { describeCancellation } from "./scenarios/cancellation.ts";
import { describeContinuations } from "./scenarios/continuations.ts";
import { describeDeduplication } from "./scenarios/deduplication.ts";
import { describeFamilyTrees } from "./scenarios/family-tree.ts";
import { describeNotifications } from "./scenarios/notifications.ts";
import { describePrepareAndComplete } from "./scenarios/prepare-complete.ts";
import { describeRedrive } from "./scenarios/redrive.ts";
import { describeRetries } from "./scenarios/retries.ts";
import { describeScheduling } from "./scenarios/scheduling.ts";
import { describeSimpleHandlers } from "./scenarios/simple-handler.ts";
import { describeTimeouts } from "./scenarios/timeouts.ts";
import { describeTransactions } from "./scenarios/transactions.ts";
import { describeWorkerlessCompletion } from "./scenarios/workerless-completion.ts";

const scenarios: Readonly<Record<string, Scenario>> = {
  "simple handlers": describeSimpleHandlers,
  continuations: describeContinuations,
  blockers: describeBlockers,
  "family trees": describeFamilyTrees,
  "failure of a blocker": describeBlockerFailure,
  "blocker cycles": describeBlockerCycles,
  "workerless completion": describeWorkerlessCompletion,
  deduplication: describeDeduplication,
  scheduling: describeScheduling,
  retries: describeRetries,
  redrive: describeRedrive,
  cancellation: describeCancellation,
  timeouts: describeTimeouts,
  "prepare and complete": describePrepareAndComplete,
  transactions: describeTransactions,
  notifications: describeNotifications,
};

/** The stories that every state adapter has to pass through the whole of core, in real time. */
export const scenarioConformance = (runner: ConformanceRunner, fixture: ScenarioFixture): void =>
  defineScenarios(runner, fixture, scenarios);
