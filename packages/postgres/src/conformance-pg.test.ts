import * as fc from "fast-check";
import {
  modelConformance,
  nthCallConformance,
  scenarioConformance,
  stateAdapterConformance,
} from "leasehold/testing";
import { afterAll, describe, inject, it } from "vitest";
import { createPgFixture } from "./testing/fixtures.ts";

const runner = { describe, it, afterAll };
const create = (): ReturnType<typeof createPgFixture> => createPgFixture(inject("postgres18Url"));

describe("PostgreSQL 18 through pg", () => {
  stateAdapterConformance(runner, { create });
  modelConformance(runner, { create }, { fc, runs: 100 });
  scenarioConformance(runner, {
    create: async () => {
      const { adapter, destroy } = await create();
      return { stateAdapter: adapter, destroy };
    },
  });
  nthCallConformance(runner, { create, time: "real" }, { every: 23 });
});

describe("PostgreSQL 15 through pg", () => {
  const createOn15 = (): ReturnType<typeof createPgFixture> => createPgFixture(inject("postgres15Url"));
  stateAdapterConformance(runner, { create: createOn15 });
  modelConformance(runner, { create: createOn15 }, { fc, runs: 20 });
});
