import assert from "node:assert/strict";
import type { PartName } from "../store/contract/state-adapter.ts";
import { partNames } from "../store/parts.ts";
import type { ConformanceRunner } from "./runner.ts";
import type { StateAdapterFixture } from "./state-fixture.ts";
import { defineStateSuite, type StateSuites } from "./state-suite.ts";
import { diagnosticsSuites } from "./state/diagnostics/suites.ts";
import { editsSuites } from "./state/edits/suites.ts";
import { historySuites } from "./state/history/suites.ts";
import { jobsSuites } from "./state/jobs/suites.ts";
import { limitsSuites } from "./state/limits/suites.ts";
import { recurringSuites } from "./state/recurring/suites.ts";
import { statisticsSuites } from "./state/statistics/suites.ts";

const optionalSuites: Readonly<Record<PartName, StateSuites>> = {
  recurring: recurringSuites,
  edits: editsSuites,
  limits: limitsSuites,
  history: historySuites,
  statistics: statisticsSuites,
  diagnostics: diagnosticsSuites,
};

/**
 * Holds a state adapter to its contract. Every store passes all of the jobs part, and of each optional part either all or
 * nothing: a part that it leaves out has to be named in the fixture, with the reason.
 */
export const stateAdapterConformance = (runner: ConformanceRunner, fixture: StateAdapterFixture): void => {
  runner.describe("state adapter conformance", () => {
    const defineSuites = (suites: StateSuites): void => {
      for (const [name, describeSuite] of Object.entries(suites))
        defineStateSuite(runner, fixture, name, describeSuite);
    };

    defineSuites(jobsSuites);
    for (const part of partNames) {
      if (fixture.testedElsewhere?.[part] !== undefined) continue;
      const reason = fixture.without?.[part];
      if (reason === undefined) runner.describe(part, () => defineSuites(optionalSuites[part]));
      else
        runner.it(`${part}: skipped, the adapter does not offer it (${reason})`, async () => {
          const { adapter, destroy } = await fixture.create();
          try {
            assert.equal(adapter[part], undefined, `The adapter offers ${part}: remove it from \`without\`.`);
          } finally {
            await destroy();
          }
        });
    }
  });
};
