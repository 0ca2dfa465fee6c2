// The suites that a state adapter has to pass, here with the in-process store in the place of a new one.
// #region runner
import * as fc from "fast-check";
import {
  modelConformance,
  nthCallConformance,
  scenarioConformance,
  stateAdapterConformance,
} from "leasehold/testing";
import { afterAll, describe, it } from "vitest";

const runner = { describe, it, afterAll };
// #endregion
import { createInProcessStateAdapter } from "leasehold";
import { type ConformanceRunner, sampleRunner } from "leasehold/testing";

const createMyAdapter = async (options: Parameters<typeof createInProcessStateAdapter>[0] = {}) =>
  createInProcessStateAdapter(options);

const defineSuites = (runner: ConformanceRunner): void => {
  // #region state
  const createStore = async () => {
    const adapter = await createMyAdapter(/* an empty schema, file or database */);
    return { adapter, destroy: () => adapter.close() };
  };

  stateAdapterConformance(runner, { create: createStore });
  // #endregion

  // #region scenarios
  scenarioConformance(runner, {
    create: async () => {
      const { adapter, destroy } = await createStore();
      return { stateAdapter: adapter, destroy };
    },
  });
  // #endregion

  // #region model
  modelConformance(runner, { create: createStore }, { fc, runs: 200 });
  // #endregion

  // #region nth-call
  nthCallConformance(
    runner,
    {
      time: "manual", // "real" for a store with its own clock; then without the argument
      create: async (clock) => {
        const adapter = await createMyAdapter({ clock });
        return { adapter, destroy: () => adapter.close() };
      },
    },
    { every: 25 }, // in nightly runs, leave this out
  );
  // #endregion
};

// The in-process store passes the whole suites elsewhere.
defineSuites(sampleRunner(runner, { part: 0, of: 40 }));
