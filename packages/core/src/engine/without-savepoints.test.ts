import * as fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { modelConformance } from "../conformance/model.ts";
import { defineScenarios } from "../conformance/scenario.ts";
import { describeBlockerCycles } from "../conformance/scenarios/blocker-cycles.ts";
import { describePrepareAndComplete } from "../conformance/scenarios/prepare-complete.ts";
import { describeRedrive } from "../conformance/scenarios/redrive.ts";
import { describeTransactions } from "../conformance/scenarios/transactions.ts";
import { defineStateSuite } from "../conformance/state-suite.ts";
import { describeTransactions as describeStateTransactions } from "../conformance/state/jobs/transactions.ts";
import { createInProcessStateAdapter } from "../memory/state-adapter.ts";
import { createNoopNotifyAdapter } from "../notify/in-process.ts";
import { withoutSavepoints } from "../testing/without-savepoints.ts";

// No store of this repository lacks savepoints, so core is held to what it says about such a store with this one.
const runner = { describe, it, afterAll };

const create = () => withoutSavepoints(createInProcessStateAdapter());

const stateFixture = {
  create: async () => {
    const adapter = create();
    return { adapter, destroy: () => adapter.close() };
  },
};

describe("a store without savepoints", () => {
  defineStateSuite(runner, stateFixture, "the contract in transactions", describeStateTransactions);
  modelConformance(runner, stateFixture, { fc, runs: 30 });

  const scenarioFixture = {
    create: async () => {
      const stateAdapter = create();
      return { stateAdapter, notifyAdapter: createNoopNotifyAdapter(), destroy: () => stateAdapter.close() };
    },
  };
  defineScenarios(runner, scenarioFixture, {
    transactions: describeTransactions,
    "blocker cycles": describeBlockerCycles,
    redrive: describeRedrive,
    "prepare and complete": describePrepareAndComplete,
  });

  it("says so", () => {
    expect(create().capabilities.savepoints).toBe(false);
  });
});
