import assert from "node:assert/strict";
import { requirePart } from "../../../store/parts.ts";
import type { Diagnostics } from "../../../store/contract/diagnostics.ts";
import { AdapterClosedError } from "../../../store/errors.ts";
import type { StateScenario } from "../../state-scenario.ts";
import type { StateSuite, StateSuites } from "../../state-suite.ts";

const diagnosticsOf = ({ adapter }: StateScenario): Diagnostics =>
  requirePart(adapter, "diagnostics", "The suite of diagnostics");

const call = { transactionAgeMs: 60_000 } as const;

const describeExamine = ({ test, testAlone }: StateSuite): void => {
  for (const depth of ["light", "usual", "full"] as const)
    test(`finds nothing wrong with a new store (${depth})`, async (scenario) => {
      const findings = await diagnosticsOf(scenario).runChecks({ ...call, depth });
      assert.deepEqual(
        findings.filter(({ status }) => status === "problem"),
        [],
      );
      for (const { check, summary, status, advice } of findings) {
        assert.ok(check.length > 0 && summary.length > 0);
        assert.equal(status === "ok", advice === undefined, `advice of ${check}: ${summary}`);
      }
    });

  testAlone("changes nothing", async (scenario) => {
    const job = await scenario.start();
    await diagnosticsOf(scenario).runChecks({ ...call, depth: "full" });
    assert.deepEqual(await scenario.reload(job), job);
  });

  testAlone("rejects after close", async (scenario) => {
    await scenario.adapter.close();
    await assert.rejects(diagnosticsOf(scenario).runChecks({ ...call, depth: "usual" }), AdapterClosedError);
  });
};

const describeEstimateJobs = ({ testAlone }: StateSuite): void => {
  testAlone("answers with a number of jobs, however many it may count", async (scenario) => {
    for (let n = 0; n < 5; n += 1) await scenario.start();
    const { estimateJobs } = diagnosticsOf(scenario);
    for (const limit of [3, 100]) {
      const count = await estimateJobs({ limit });
      // A store that does not count may not know of jobs this young, and still know of some that have gone.
      assert.ok(Number.isInteger(count) && count >= 0, `${count} of 5`);
    }
  });
};

export const diagnosticsSuites: StateSuites = {
  examine: describeExamine,
  estimateJobs: describeEstimateJobs,
};
