import type { ConformanceRunner } from "./runner.ts";
import { defineScenarios, type Scenario } from "./scenario.ts";
import type { ScenarioFixture } from "./scenario-fixture.ts";
import { describeBlockerCycles } from "./scenarios/blocker-cycles.ts";
import { describeBlockerFailure } from "./scenarios/blocker-failure.ts";
import { describeBlockers } from "./scenarios/blockers.ts";
import { describeContinuations } from "./scenarios/continuations.ts";
import { describeFamilyTrees } from "./scenarios/family-tree.ts";
import { describeSimpleHandlers } from "./scenarios/simple-handler.ts";

const scenarios: Readonly<Record<string, Scenario>> = {
  "simple handlers": describeSimpleHandlers,
  continuations: describeContinuations,
  blockers: describeBlockers,
  "family trees": describeFamilyTrees,
  "failure of a blocker": describeBlockerFailure,
  "blocker cycles": describeBlockerCycles,
};

/** The stories that every state adapter has to pass through the whole of core, in real time. */
export const scenarioConformance = (runner: ConformanceRunner, fixture: ScenarioFixture): void =>
  defineScenarios(runner, fixture, scenarios);
