import * as fc from "fast-check";
import {
  modelConformance,
  nthCallConformance,
  scenarioConformance,
  stateAdapterConformance,
} from "leasehold/testing";
import { afterAll, beforeAll, describe, inject, it } from "vitest";
import { createPgFixture } from "./testing/fixtures.ts";
import { reuseStores } from "./testing/reuse-stores.ts";
import { createRoleWithDefault, type RoleWithDefault } from "./testing/role-with-default.ts";
import { sampled } from "./testing/sampled.ts";

const runner = { describe, it, afterAll };

const create = (): ReturnType<typeof createPgFixture> => createPgFixture(inject("postgres18Url"));

describe("PostgreSQL 18 through pg", () => {
  stateAdapterConformance(runner, { create: reuseStores(create) });
  modelConformance(runner, { create }, { fc, runs: 80 });
  scenarioConformance(runner, {
    create: async () => {
      const { adapter, destroy } = await create();
      return { stateAdapter: adapter, destroy };
    },
  });
  nthCallConformance(runner, { create, time: "real" }, { every: 23 });
});

// Each server, client and default isolation level is tested at least once, not every combination.
describe("PostgreSQL 15 through pg, as a role with repeatable read", () => {
  let role: RoleWithDefault;
  beforeAll(async () => {
    role = await createRoleWithDefault(inject("postgres15Url"), "repeatable read");
  });
  afterAll(() => role.drop());

  const createAsRole = (): ReturnType<typeof createPgFixture> => createPgFixture(role.url);
  const asSerializable = "as a role with serializable, whose snapshots are those of repeatable read";
  stateAdapterConformance(sampled(1), {
    create: reuseStores(createAsRole),
    testedElsewhere: {
      recurring: asSerializable,
      edits: asSerializable,
      limits: asSerializable,
      history: asSerializable,
    },
  });
  modelConformance(runner, { create: createAsRole }, { fc, runs: 8 });
});
